"""Claims that a run contradicts: the text says so, and first."""

import numpy as np
import pytest
from handmade import PAIR, handmade, measured, recorded, usual

from bench.experiments import claims, scaleup
from bench.experiments.latency import text as latency
from bench.experiments.throughput import findings as throughput
from bench.experiments.throughput import text as throughput_text
from bench.grammar.claim import CONTRADICTED, HOLDS
from bench.grammar.experiment import experiment
from bench.plan.case import Case
from bench.run.start_record import StartRecord


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
