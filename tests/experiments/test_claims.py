"""Claims that a run contradicts: the text says so, and first."""

from dataclasses import replace

import numpy as np
import pytest
from handmade import PAIR, handmade, in_order, noisy, recorded, usual

from bench.experiments import claims, scaleup
from bench.experiments.clients import findings as clients
from bench.experiments.clients import text as clients_text
from bench.experiments.latency import text as latency
from bench.experiments.placement import text as placement
from bench.experiments.placement.findings import one_cpu_is_fastest
from bench.experiments.throughput import findings as throughput
from bench.experiments.throughput import text as throughput_text
from bench.grammar.claim import CONTRADICTED, HOLDS
from bench.grammar.experiment import experiment
from bench.plan.case import Case
from bench.run.start_record import StartRecord


def measured(notebook, cases, each_us, client_us=(), server_us=(), calls=2000, **ledger):
    """Return a run in which a call of case c comes every each_us[c] us and costs so much CPU time, starts 1 % apart."""

    def record(start, block, index):
        rtt = np.full(calls, round(1000 * each_us[index] * (1 + block / 100)), "i8")
        cpu = {
            f"{role}_cpu_ns": int(1000 * us[index] * calls)
            for role, us in (("client", client_us), ("server", server_us))
            if us
        }
        return StartRecord(usual(calls, float(rtt.sum()) / 1e9) | cpu | ledger, [in_order(rtt)])

    return recorded(notebook, cases, record, window_s=1.0)


def of_its_own_level(start, calls):
    """Return factors of a start whose level differs by up to a tenth from the others'."""
    return np.full(calls, 1 + 0.1 * np.random.default_rng(start).random())


def test_contradictions_come_first_and_what_is_open_last():
    said = claims.judged("it rains", {"a": True, "b": False, "c": None})
    assert said.index("b") < said.index("it rains") < said.rindex(" a") < said.rindex(" c") and claims.AGAINST in said
    assert (
        claims.AGAINST not in claims.judged("it rains", {"a": True, "c": None}) and claims.judged("it rains", {}) == ""
    )


def test_a_contradiction_is_first_and_is_shown_with_the_answer():
    against, holds = (claims.judged("it rains", {"here": here}) for here in (False, True))
    assert (
        claims.with_verdict(against, "3 mm").startswith(against)
        and claims.with_verdict(holds, "3 mm") == f"3 mm\n\n{holds}"
    )
    assert claims.contradictions(claims.with_verdict(against, "3 mm", holds)) == against


GROWN = [Case("zeromq", "tcp", clients=count, placement="split") for count in (1, 2, 4)]
BURSTS = [replace(case, max_calls=100 * case.clients) for case in GROWN[:2]]


@pytest.mark.parametrize(
    ("client_us", "server_us", "holds"),
    [((30, 40, 49), (60, 40, 25), False), ((30, 25, 20), (60, 55, 49), True), ((30, 45, 48), (60, 55, 49), None)],
    ids=["the clients are saturated", "the server is saturated", "both are"],
)
def test_clients_say_whether_one_client_predicted_what_is_saturated(client_us, server_us, holds):
    run = measured("clients", GROWN, (100, 60, 50), client_us, server_us)
    (found,) = [one for one in clients.limits(run) if one.clients == 4]
    assert found.holds is holds and "server" in found.predicted.name
    assert (claims.AGAINST in clients_text.conclusion(run)) is (holds is False)


def test_a_gain_above_the_ceiling_of_one_client_is_named():
    cheaper = measured("clients", GROWN, (100, 60, 50), (30, 30, 30), (80, 50, 40))
    assert clients.ceiling(cheaper)[1] == pytest.approx(100 / 80, rel=0.03) and clients_text._room(cheaper).count("**")
    below = measured("clients", GROWN, (100, 90, 85), (30, 30, 30), (80, 80, 80))
    assert not clients_text._room(below).count("**")


@pytest.mark.parametrize(
    ("each_us", "cpu_us", "verdict", "reason"),
    [
        ((100, 50, 25), (10, 10, 10), "above", "because one client leaves CPU time unused."),
        ((100, 60, 45), (60, 50, 42), "above", "because calls become cheaper with more clients."),
        ((100, 40, 30), (40, 30, 29), "above", "one client leaves CPU time unused and calls become cheaper"),
        ((100, 90, 85), (60, 60, 60), "below", ""),
    ],
)
def test_clients_say_whether_the_largest_gain_is_above_the_number_of_cpus_and_why_it_can_be(
    each_us, cpu_us, verdict, reason
):
    run = measured("clients", GROWN + BURSTS, (*each_us, 100, 90), (*cpu_us, 9, 9), (*cpu_us, 9, 9))
    said = clients_text.answers(run)
    assert f"is {verdict} 2, the number of CPUs" in said and reason in said and ("because" in said) is bool(reason)
    gain, most = clients.gain(run, clients.grown(run), 4), clients.room(run, 4, 4)
    assert gain.value <= most.middle and f"{gain} with 4 clients" in said and f"for {most.middle:.2f} times" in said


@pytest.mark.parametrize(
    ("two_us", "said"), [(40, "make more than twice as many"), (60, "less than twice as many"), (50, "not shown")]
)
def test_clients_say_whether_two_make_more_than_twice_the_calls_of_one(two_us, said):
    run = measured("clients", GROWN + BURSTS, (100, two_us, 30, 100, 90), [9] * 5, [9] * 5)
    assert said in clients_text.answers(run)


PLACED = [Case("zeromq", "ipc", placement=where) for where in ("same", "split", "free")]


@pytest.mark.parametrize(
    ("rtt_us", "holds"),
    [((100, 50, 60), False), ((50, 100, 60), True), ((50, 50, 60), None)],
    ids=["two CPUs are faster", "one is", "no difference"],
)
def test_placement_says_whether_one_cpu_is_fastest(rtt_us, holds):
    run = handmade(PLACED, rtt_us, notebook="placement", shape=noisy)
    assert one_cpu_is_fastest(run) == {"zeromq over ipc": holds}
    assert placement.conclusion(run).startswith(claims.AGAINST) is (holds is False)


def test_placement_says_whether_one_cpu_costs_less_cpu_time():
    dearer = measured("placement", PLACED, (100, 100, 100), (9, 5, 6), (9, 5, 6))
    assert placement.cpu(dearer).startswith(claims.AGAINST)


def test_latency_says_that_a_system_is_faster_than_raw_sockets():
    assert latency.conclusion(handmade(PAIR, [5, 10])).startswith(claims.AGAINST)
    assert claims.AGAINST not in latency.conclusion(handmade(PAIR, [10, 5]))


WORKERS = [
    Case("http_aiohttp", "tcp", 16, {"resource": "bytes", "workers": n}, engine="wire", callers=2) for n in (1, 2)
]


def test_scaleup_says_whether_two_workers_served_more_than_twice_the_requests():
    twice, less = (measured("scaleup", WORKERS, each_us, callers=2) for each_us in ((100, 40), (100, 70)))
    assert [scaleup.claims[0].verdict(run) for run in (twice, less)] == [CONTRADICTED, HOLDS]
    assert [one.value for one in scaleup.second.ratios(less)] == [pytest.approx(100 / 70, rel=1e-3)]


def test_a_gain_of_workers_that_is_none_is_not_distinguishable():
    equal = handmade(WORKERS, (100, 99), notebook="scaleup", shape=of_its_own_level)
    (gain,) = scaleup.second.ratios(equal)
    assert not gain.is_certain and "not distinguishable" in experiment("scaleup").answer(equal)


def streamed(cases, each_us, count=1000):
    """Return a run of one-way streams in which a message of case c takes each_us[c] us, starts 1 % apart."""

    def record(start, block, index):
        at = np.rint(1000 * each_us[index] * (1 + block / 100) * np.arange(count)).astype("i8")
        numbers = np.arange(1, count + 1)
        marks = {
            "role": ["client"] * count + ["server"] * count,
            "t_ns": np.concatenate([at, at + 100]),
            "messages": np.concatenate([numbers, numbers]),
        }
        return StartRecord(usual(count, at[-1] / 1e9), tables={"marks": marks})

    return recorded("throughput", cases, record)


def test_throughput_says_that_larger_messages_made_fewer_bits_per_second():
    streams = [Case("zeromq", "tcp", size, load="stream") for size in (100, 10_000)]
    falling, rising = (streamed(streams, gap_us) for gap_us in ((1, 200), (1, 50)))
    assert throughput.bits_rise(falling) == {"tcp": False} and throughput.bits_rise(rising) == {"tcp": True}
    assert throughput_text.conclusion(falling).startswith(claims.AGAINST)
