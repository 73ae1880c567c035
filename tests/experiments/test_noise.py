"""The machine itself: waits beside busy processes, spread over starts by placement, drift."""

import numpy as np
import pytest
from handmade import handmade, in_order, noisy, recorded, usual

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


def test_the_spread_of_starts_stands_for_each_placement_and_what_they_detect():
    cases = [Case("sockets", "ipc", placement=placement) for placement in ("same", "split")]
    run = handmade(cases, [20, 30], notebook="noise")
    assert noise.deviation(run, 0) > 0 and list(noise.tables["starts"](run).index) == ["on one CPU", "on separate CPUs"]
    assert noise.detectable(run, 0, "class") > noise.detectable(run, 0, "full") > 0


@pytest.mark.parametrize(("drift", "is_shown"), [(0.0, False), (0.2, True)])
def test_a_drift_is_the_change_from_the_first_to_the_last_third_beside_that_of_shuffled_starts(drift, is_shown):
    def level(start, block, index):
        factor = (1 + drift * (start >= 12)) * np.exp(0.03 * np.random.default_rng(start).normal())
        return StartRecord(usual(50, 0.06), [in_order(np.full(50, int(20_000_000 * factor)))])

    run = recorded("noise", [Case("sockets", "ipc")], level, starts=18)
    change, share = noise.moved(run)
    assert (change > 0.1) == is_shown and (share <= 0.05) == is_shown


def test_a_tail_is_the_highest_quantile_that_the_waits_carry():
    run = handmade([waiting("nobody"), waiting("same")], [1100, 1200], notebook="noise", calls=200, shape=noisy)
    for tail, case in zip(noise.late_tails(run), (0, 1), strict=True):
        late_us = noise.lateness(run, case)
        assert len(late_us) > 400 and tail.subject.endswith("1 in 100")
        assert 0.005 < (late_us > tail.interval.middle).mean() <= 0.01
