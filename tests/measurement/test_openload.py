"""Open loads: the schedule, the paced loops, what is told of them, and a server whose law is known."""

import asyncio
import itertools
import time
from array import array
from dataclasses import replace

import numpy as np
import pytest
from handmade import handmade
from hypothesis import given
from hypothesis import strategies as some

from bench import stats
from bench.analysis import checks, open_load, overload
from bench.child import timed_loops
from bench.contract import PACING
from bench.experiments import openload
from bench.grammar import result_tables
from bench.grammar.experiment import experiment
from bench.measurement import runner
from bench.measurement.start import measure
from bench.measurement.validation import oracle_options
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run.frames import Run
from bench.stats import queueing
from bench.systems import oracle

pytestmark = pytest.mark.slow


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
    assert [row["value"] > 0 for row in measured.tables["reports"] if row["name"] == PACING] == [True, True]


@pytest.mark.parametrize(("law", "scv"), [("constant", 0), ("exponential", 1), ("bimodal", 2.25)])
def test_the_oracle_keeps_its_law(law, scv):
    times = np.array(list(itertools.islice(oracle.service_times(oracle.Options(law=law, mean_us=500)), 100_000)))
    assert times.mean() == pytest.approx(500, rel=0.02)
    assert times.var() / times.mean() ** 2 == pytest.approx(scv, abs=0.06)


def test_a_freeze_of_the_oracle_is_in_the_service_time_of_one_request():
    frozen = list(itertools.islice(oracle.service_times(oracle.Options(freeze_after=3, freeze_ms=7)), 4))
    assert frozen == [1000, 1000, 8000, 1000]


def test_queueing_theory_with_known_answers():
    assert queueing.response(0.5, 1.0) == 2 and queueing.response(0.9, 1.0) == pytest.approx(10)
    assert queueing.response(0.5, 1.0, scv=0) == 1.5
    assert queueing.response(1.0, 1.0) == np.inf and queueing.response(0, 3.0) == 3


def test_the_correction_adds_v_minus_k_e_down_to_e():
    assert sorted(stats.corrected([1, 10], 3)) == [1, 4, 7, 10]
    assert sorted(stats.corrected([1, 9], 3)) == [1, 3, 6, 9]  # E itself is the last
    assert sorted(stats.corrected([0.1, 0.7], 0.1)) == pytest.approx([0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    assert stats.corrected([1, 2, 3], 3).tolist() == [1, 2, 3] and stats.corrected([], 3).size == 0
    assert sorted(stats.corrected([5, 9], 2)) == [5, 5, 7, 9]  # never below the smallest measured value


def test_the_interval_is_the_plan_s_and_jitter_of_a_closed_loop_adds_nothing():
    rtt = np.concatenate([np.full(500, 1000.0), np.full(500, 1010.0)])  # its own median gap lies between the two
    assert len(stats.corrected(rtt, 2000.0)) == 1000
    run = handmade(FROZEN, [1000, 1200], notebook="openload", planned_s=1.0, calls=800)
    p99 = float(stats.quantile(run.samples_of(0)["rtt_ns"].to_numpy() / 1e3, 0.99))
    assert len(openload.under_freeze(run)["closed loop, corrected for coordinated omission"]) == len(run.samples_of(0))
    assert f"{p99 / 1e3:.2f} ms" in openload.tables["freeze"](run)["value"].to_list()


FREEZE = {"law": "constant", "mean_us": 1000, "freeze_after": 150, "freeze_ms": 100}
FROZEN = [
    Case("oracle", "ipc", 100, FREEZE),
    Case("oracle", "ipc", 100, FREEZE, load="open", offered_per_s=500, clients=8),
]


def test_the_freeze_takes_the_same_share_of_the_window_in_every_case():
    for asked in ({"profile": "smoke"}, {"profile": "class"}, {"window_s": 3, "starts": 6}, {"freeze_rate": 200}):
        plan = experiment("openload").plan(**asked)
        shares = [one.options["freeze_ms"] / 1e3 / plan.window_s for one in plan.cases if one.options["freeze_after"]]
        assert shares == pytest.approx([oracle_options.FREEZE_SHARE] * 2)
        closed, users = (one.options["freeze_after"] for one in plan.cases[-2:])
        assert closed / 1000 == pytest.approx(users / plan.cases[-1].offered_per_s, rel=0.1)  # the same moment
    run = handmade(FROZEN, [1000, 1200], notebook="openload", planned_s=1.0, calls=800)
    assert openload.tables["freeze"](run)["value"].to_list()[:4] == ["100 ms, 10%", "20%", "above p80", "50"]


PACED = {"load": "open", "arrivals": "poisson", "clients": 8}


def swept(rates, rtt_us, **known):
    cases = [Case("oracle", "ipc", 100, {"law": "exponential", "mean_us": 1000})]
    cases += [replace(cases[0], offered_per_s=rate, **PACED) for rate in rates]
    return handmade(cases, rtt_us, notebook="openload", planned_s=1, **known)


def test_mm1_by_hand_has_the_utilization_and_the_predicted_and_measured_means():
    run = swept([500, 800], [1100, 2100, 5100], calls=1000, scheduled=1000)
    table = openload.tables["utilization"](run)
    assert table.iloc[:, 0].to_list() == ["50%", "80%"]
    assert table.iloc[0, 3:].to_list() == ["2.13 ms", "2.15 ms [2.10 ms, 2.21 ms]"]  # 1 / (1 - 0.5), 0.13 around
    assert open_load.is_settled(run, [500, 800, 950]).tolist() == [True, True, False]  # 4, 25 and 400 ms
    handed = [Case("sockets", "ipc"), Case("sockets", "ipc", offered_per_s=500, **PACED)]
    unknown = openload.tables["utilization"](handmade(handed, [10, 10], notebook="openload"))
    assert unknown.iloc[0, 3] == "not known" and unknown.iloc[0, 4].startswith("10.3 µs [")


def test_what_is_answered_is_of_rates_whose_windows_are_long_enough_for_steady_state():
    run = swept([100, 500, 950], [1000, 1100, 2000, 9000], calls=100, scheduled=100)  # 400 ms to settle at 950/s
    unsettled = swept([900, 950], [1000, 6000, 9000], calls=100, scheduled=100)
    for measured, ends in ((run, (100, 500)), (unsettled, (900, 950))):
        (ratio,) = openload.growth.ratios(measured)
        assert tuple(measured.case(case).offered_per_s for case in (ratio.base, ratio.other)) == ends


def simulated(service, dues):
    """Return the response times of one server that takes requests in order: what users truly wait."""
    free, responses = 0.0, []
    for due, takes in zip(dues, service, strict=True):
        free = max(free, due) + takes
        responses.append(free - due)
    return np.array(responses)


def test_the_correction_of_a_freeze_is_close_to_what_users_wait():
    n, every, freeze = 5000, 10.0, 2000.0  # ms; users take a tenth of the server
    takes = np.ones(n)
    takes[1000] = freeze
    users = simulated(takes, every * np.arange(n))
    assert stats.quantile(takes, 0.99) == 1 < 100 < stats.quantile(users, 0.99)
    for p in (0.99, 0.999):
        assert stats.quantile(stats.corrected(takes, every), p) == pytest.approx(stats.quantile(users, p), rel=0.1)


def open_run(rtt_us, rate, scheduled=None, **known):
    case = Case("oracle", "ipc", load="open", offered_per_s=rate)
    return handmade([case], [rtt_us], notebook="openload", calls=2000, scheduled=scheduled or 2000, **known)


def outcome(run):
    (pacing_check,) = [one for one in checks.check(run) if one.name == "pacing"]
    return pacing_check


def test_pacing_passes_where_all_left_in_time_and_fails_where_it_did_not():
    assert outcome(open_run(1000, 500)).verdict == checks.PASS
    assert outcome(open_run(1000, 500, scheduled=3000)).verdict == checks.INVALID  # idle, and yet not sent
    assert outcome(handmade([Case("sockets", "ipc")], [10])).verdict == checks.NOTHING


@pytest.mark.parametrize(("busy_s", "begin"), [(19, "the machine was too busy: other processes used "), (1, "only ")])
def test_where_other_processes_used_the_cpus_they_are_named_before_rates_and_clients(busy_s, begin):
    late = outcome(open_run(5000, 100, scheduled=3000, machine_busy_ns=busy_s * 10**9))
    assert late.verdict == checks.INVALID and late.found.startswith(begin)
    assert (
        late.advice.startswith("repeat when the machine is quiet") == (busy_s == 19) and "lower the rate" in late.advice
    )


def test_overload_is_named_and_no_quantile_of_it_is_told():
    case = Case("oracle", "ipc", 100, {"mean_us": 1000}, load="open", offered_per_s=3000, clients=2)
    closed = Case("oracle", "ipc", 100, {"mean_us": 1000})
    run = Run(runner.run(make_plan("openload", [closed, case], starts=1, window_s=0.4)))
    assert overload.overloaded(run) == [1]
    assert "oracle" in outcome(run).found and "overloaded" in openload.tables["utilization"](run).iloc[0, 4]
    assert experiment("openload").conclusion(run).startswith("**No conclusion")


def test_windows_in_which_nothing_was_due_are_complete_and_said():
    idle = Case("sockets", "ipc", load="open", offered_per_s=0.01, arrivals="poisson")
    run = Run(runner.run(make_plan("openload", [idle, Case("sockets", "ipc")], starts=2, window_s=0.05)))
    assert len(run.ledger) == 4 and run.cases.loc[0, "n"] == 0
    assert run.labels == ["sockets ipc 0.01/s", "sockets ipc"]
    (pacing_check,) = [one for one in checks.check(run) if one.name == "pacing"]
    assert pacing_check.verdict == checks.INVALID and pacing_check.found and pacing_check.advice
    assert result_tables.loads(run).filter(like="p50").iloc[0, 0].startswith("n/a")
