"""What is said of the machine: each explanation is tested by the run, and no run makes two days comparable."""

import numpy as np
import pytest
from handmade import handmade, in_order, recorded, usual

from bench.experiments.noise import findings, text
from bench.plan.case import Case
from bench.run.start_record import StartRecord


def waiting(beside, us=1000):
    return Case("pause", "inproc", options={"way": "sleep", "us": us, "beside": beside})


@pytest.mark.parametrize(("rtt_us", "word"), [(1060, "earlier"), (1400, "later"), (1120, "no distinguishable")])
def test_whether_waits_end_earlier_beside_a_busy_process_is_what_the_run_measured(rtt_us, word):
    def late(start, block, index):
        chance = np.random.default_rng([start, index])
        us = (1120, rtt_us)[index] + chance.normal(0, 3)
        return StartRecord(usual(50, 0.06), [in_order(np.full(50, int(1000 * us)))])

    run = recorded("noise", [waiting("nobody"), waiting("same")], late, starts=8)
    (line,) = text.idle(run).splitlines()
    assert word in line and "on its CPU" in line


@pytest.mark.parametrize(("spread", "differs"), [(0.2, True), (0.012, False)])
def test_a_placement_needs_more_starts_only_if_the_spreads_are_distinguishable(spread, differs):
    def level(start, block, index):
        factor = np.exp((0.01, spread)[index] * np.random.default_rng([start, index]).normal())
        return StartRecord(usual(50, 0.06), [in_order(np.full(50, int(20_000 * factor)))])

    cases = [Case("sockets", "ipc", placement=placement) for placement in ("same", "split")]
    run = recorded("noise", cases, level, starts=8)
    assert findings.differ_in_spread(run, 0, 1) == differs
    assert ("times as many starts" in text.starts(run)) == differs
    assert ("not distinguishable" in text.starts(run)) != differs


@pytest.mark.parametrize("drift", [0.0, 0.2])
def test_a_run_without_drift_does_not_make_runs_of_other_times_comparable(drift):
    run = handmade([Case("sockets", "ipc")], [20], notebook="noise", shape=lambda start, calls: 1 + drift * (start > 2))
    said = text.time(run)
    assert ("drifted by 2" in said) == (drift > 0)
    assert "within one run" in said and "comparable" not in said
