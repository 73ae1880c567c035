"""The machine itself: waits beside busy processes, spread over starts by placement, drift."""

import re

import numpy as np
import pytest
from handmade import handmade, in_order, recorded, usual

from bench.experiments import noise
from bench.grammar.claim import CONTRADICTED, HOLDS, UNDECIDED
from bench.plan.case import Case
from bench.run.start_record import StartRecord

(EARLIER,) = noise.claims


def waiting(beside, us=1000):
    return Case("pause", "inproc", options={"way": "sleep", "us": us, "beside": beside})


@pytest.mark.parametrize(("rtt_us", "verdict"), [(1060, HOLDS), (1400, CONTRADICTED), (1120, UNDECIDED)])
def test_whether_waits_end_earlier_beside_a_busy_process_is_what_the_run_measured(rtt_us, verdict):
    def late(start, block, index):
        chance = np.random.default_rng([start, index])
        us = (1120, rtt_us)[index] + chance.normal(0, 3)
        return StartRecord(usual(50, 0.06), [in_order(np.full(50, int(1000 * us)))])

    run = recorded("noise", [waiting("nobody"), waiting("same")], late, starts=8)
    assert EARLIER.verdict(run) == verdict
    assert noise.over_alone(run, 1).middle == pytest.approx((rtt_us - 1000) / 120, rel=0.05)
    shown = noise.tables["waits"](run).iloc[:, 0]
    assert shown.iloc[0].startswith("120 µs [") and len(shown) == 2


@pytest.mark.parametrize(("spread", "differs"), [(0.2, True), (0.012, False), (0.0005, True)])
def test_placements_differ_in_spread_only_if_the_variances_are_distinguishable(spread, differs):
    def level(start, block, index):
        factor = np.exp((0.01, spread)[index] * np.random.default_rng([start, index]).normal())
        return StartRecord(usual(50, 0.06), [in_order(np.full(50, int(20_000_000 * factor)))])

    cases = [Case("sockets", "ipc", placement=placement) for placement in ("same", "split")]
    run = recorded("noise", cases, level, starts=8)
    same, split = (noise.deviation(run, case) for case in (0, 1))
    assert same.low < same.middle < same.high
    ratio, low, high = map(float, re.findall(r"[\d.]+", noise.over_same(run, 1)))
    assert ratio == pytest.approx(split.middle / same.middle, rel=0.05) and (low > 1 or high < 1) == differs
    assert noise.over_same(run, 0) == "" and list(noise.tables["starts"](run).index) == ["same", "split"]


@pytest.mark.parametrize("drift", [0.0, 0.2])
def test_a_drift_is_the_change_from_the_first_to_the_last_third(drift):
    run = handmade([Case("sockets", "ipc")], [20], notebook="noise", shape=lambda start, calls: 1 + drift * (start > 2))
    assert noise.moved(run) == pytest.approx(1.04 * (1 + drift) - 1, abs=0.01)  # a start adds its number in percent


def test_a_tail_is_the_highest_quantile_that_the_waits_carry():
    run = handmade([waiting("nobody"), waiting("same")], [1100, 1200], notebook="noise", calls=100)
    for found, case in zip(noise.late_tails(run), (0, 1), strict=True):
        late_us = noise.lateness(run, case)
        assert len(late_us) > 400 and found.subject.endswith("1 in 100")
        assert 0.005 < (late_us > found.interval.middle).mean() <= 0.01
