"""Open loads: the schedule, the paced loops, what is told of them, and a server whose law is known."""

import asyncio
import itertools
import time
from array import array

import numpy as np
import pytest
from handmade import handmade
from hypothesis import given
from hypothesis import strategies as some

from bench import stats
from bench.analysis import checks, overload
from bench.child import timed_loops
from bench.errors import UsageError
from bench.experiments import tables, words
from bench.experiments.openload.text import _growth
from bench.measurement import runner
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.plan.profiles import make_plan
from bench.plan.validation import checked
from bench.run.frames import Run
from bench.stats import queueing
from bench.systems import oracle


@given(some.floats(10, 5000), some.floats(0.05, 2), some.sampled_from(["uniform", "poisson"]), some.integers(0, 1000))
def test_schedules_lie_in_the_window_in_order_and_are_repeatable(rate, window_s, arrivals, seed):
    dues = timed_loops.schedule(rate, window_s, arrivals, seed)
    assert dues == timed_loops.schedule(rate, window_s, arrivals, seed)
    assert dues == sorted(dues) and all(0 <= due < window_s * 1e9 for due in dues)
    expected = rate * window_s
    assert abs(len(dues) - expected) <= (1 if arrivals == "uniform" else 6 * expected**0.5 + 6)


def test_poisson_arrivals_have_exponential_gaps():
    gaps = np.diff(timed_loops.schedule(1000, 20, "poisson", 1)) / 1e6
    assert gaps.mean() == pytest.approx(1, rel=0.05) and gaps.std() == pytest.approx(1, rel=0.05)


def buffers(n):
    return array("q", bytes(8)) * n, array("q", bytes(8)) * n


async def _late(payload):
    return payload


@pytest.mark.parametrize("is_async", [False, True])
def test_requests_leave_when_due_and_late_ones_as_soon_as_they_can(is_async):
    start = time.perf_counter_ns() + 2_000_000
    due = array("q", [start, start + 3_000_000, start + 3_000_001])
    sent, received = buffers(3)
    arguments = (due, sent, received, start + 10**9)
    if is_async:
        count = asyncio.run(timed_loops.opened_async(_late, [b"a", b"b"], *arguments))
    else:
        count = timed_loops.opened(lambda payload: payload, [b"a", b"b"], *arguments)
    assert count == 3 and all(at >= when for at, when in zip(sent, due, strict=True))
    assert list(sent) == sorted(sent) and received[0] < sent[1]


def test_what_is_not_sent_in_time_is_dropped():
    start = time.perf_counter_ns()
    due = array("q", [start + place * 1000 for place in range(1000)])

    def slow(payload):
        time.sleep(0.005)
        return payload

    assert timed_loops.opened(slow, [b"a"], due, *buffers(1000), start + 20_000_000) < 10


def test_an_open_load_is_measured_and_every_request_counted():
    case = Case("oracle", "ipc", 100, {"mean_us": 200}, load="open", offered_per_s=400, clients=2, arrivals="poisson")
    measured = measure(case, 0.5, 1)
    ledger = measured.ledger
    assert (
        ledger["scheduled"]
        == ledger["calls"]
        == ledger["server_calls"]
        == len(timed_loops.schedule(400, 0.5, "poisson", 1))
    )
    dues = np.sort(np.concatenate([times[2] for times in measured.calls]))
    assert dues.tolist() == timed_loops.schedule(400, 0.5, "poisson", 1)
    assert all(np.all(times[0] >= times[2]) and np.all(times[1] - times[0] >= 200_000) for times in measured.calls)


def test_an_awaited_client_is_paced_too():
    case = Case("grpc_aio", "ipc", 100, load="open", offered_per_s=100)
    ledger = measure(case, 0.3, 1).ledger
    assert ledger["calls"] == ledger["scheduled"] == 30


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"offered_per_s": 0}, "above 0"),
        ({"arrivals": "bursts"}, "there are uniform, poisson"),
        ({"callers": 2}, "give clients"),
        ({"system": "zeromq", "transport": "inproc"}, "use ipc or tcp"),
    ],
)
def test_loads_that_cannot_be_offered(wrong, text):
    with pytest.raises(UsageError, match=text):
        checked(Case(**{"system": "sockets", "transport": "ipc", "load": "open", "offered_per_s": 100} | wrong))


@pytest.mark.parametrize(("law", "scv"), [("constant", 0), ("exponential", 1), ("bimodal", 2.25)])
def test_the_oracle_keeps_its_law(law, scv):
    times = np.array(list(itertools.islice(oracle.service_times(oracle.Options(law=law, mean_us=500)), 100_000)))
    assert times.mean() == pytest.approx(500, rel=0.02)
    assert times.var() / times.mean() ** 2 == pytest.approx(scv, abs=0.06)
    frozen = list(itertools.islice(oracle.service_times(oracle.Options(freeze_after=3, freeze_ms=7)), 4))
    assert frozen == [1000, 1000, 8000, 1000]


def test_an_oracle_takes_the_time_it_says():
    times = measure(Case("oracle", "ipc", 10, {"mean_us": 2000}), 0.2, 1).calls[0]
    assert np.all(times[1] - times[0] >= 2_000_000)


def test_queueing_theory_with_known_answers():
    assert queueing.response(0.5, 1.0) == 2 and queueing.response(0.9, 1.0) == pytest.approx(10)
    assert queueing.response(0.5, 1.0, scv=0) == 1.5
    assert queueing.response(1.0, 1.0) == np.inf and queueing.response(0, 3.0) == 3


def test_the_expansion_adds_what_a_closed_loop_did_not_send():
    assert sorted(stats.expanded([1, 10], 3)) == [1, 1, 4, 7, 10]
    assert stats.expanded([1, 2], 3).tolist() == [1, 2] and stats.expanded([], 3).size == 0


def simulated(service, dues):
    """Return the response times of one server that takes requests in order: what users truly wait."""
    free, responses = 0.0, []
    for due, takes in zip(dues, service, strict=True):
        free = max(free, due) + takes
        responses.append(free - due)
    return np.array(responses)


def test_the_expansion_of_a_freeze_comes_close_to_what_users_wait():
    n, every, freeze = 5000, 10.0, 2000.0  # ms; users take a tenth of the server
    takes = np.ones(n)
    takes[1000] = freeze
    users = simulated(takes, every * np.arange(n))
    assert stats.quantile(takes, 0.99) == 1 < 100 < stats.quantile(users, 0.99)
    for p in (0.99, 0.999):
        assert stats.quantile(stats.expanded(takes, every), p) == pytest.approx(stats.quantile(users, p), rel=0.1)


def test_simulated_users_wait_as_theory_says():
    random = np.random.default_rng(1)
    dues = np.cumsum(random.exponential(size=200_000))
    responses = simulated(0.7 * random.exponential(size=200_000), dues)
    assert responses.mean() == pytest.approx(queueing.response(1.0, 0.7), rel=0.1)
    assert stats.quantile(responses, 0.99) == pytest.approx(0.7 / 0.3 * np.log(100), rel=0.1)


def open_run(rtt_us, rate, scheduled=None, **known):
    case = Case("oracle", "ipc", load="open", offered_per_s=rate)
    return handmade([case], [rtt_us], notebook="openload", calls=2000, scheduled=scheduled or 2000, **known)


def outcome(run):
    (found,) = [one for one in checks.check(run) if one.name == "pacing"]
    return found


def test_pacing_passes_where_all_left_in_time_and_fails_where_it_did_not():
    assert outcome(open_run(1000, 500)).verdict == checks.PASS
    assert outcome(open_run(1000, 500, scheduled=3000)).verdict == checks.INVALID  # idle, and yet not sent
    assert outcome(handmade([Case("sockets", "ipc")], [10])).verdict == checks.PASS


def test_overload_is_named_and_no_quantile_of_it_is_told(monkeypatch):
    case = Case("oracle", "ipc", 100, {"mean_us": 1000}, load="open", offered_per_s=3000, clients=2)
    closed = Case("oracle", "ipc", 100, {"mean_us": 1000})
    from bench.measurement import runner
    from bench.plan.profiles import make_plan
    from bench.run.frames import Run

    run = Run(runner.run(make_plan("openload", [closed, case], starts=1, window_s=0.4)))
    assert overload.overloaded(run) == [1]
    assert "Overloaded" in _growth(run) and "oracle" in outcome(run).found
    assert words.text(run, "freeze").startswith("**No conclusion.** every offered rate is above")


def test_windows_in_which_nothing_was_due_are_complete_and_said():
    idle = Case("sockets", "ipc", load="open", offered_per_s=0.01, arrivals="poisson")
    run = Run(runner.run(make_plan("openload", [idle, Case("sockets", "ipc")], starts=2, window_s=0.05)))
    assert len(run.ledger) == 4 and run.cases.loc[0, "n"] == 0
    assert run.labels == ["sockets ipc 0.01/s", "sockets ipc"]
    (found,) = [one for one in checks.check(run) if one.name == "pacing"]
    assert found.verdict == checks.INVALID and "no request was due" in found.found
    assert tables.loads(run)["response p50"].iloc[0] == "n/a (needs 6 samples, has 0)"
