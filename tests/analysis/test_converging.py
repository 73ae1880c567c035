"""What a run in slices shows while it is measured: the same ratios as the whole run, and narrower with each block."""

from dataclasses import replace

import pytest
from handmade import file_by_file, in_turns

from bench.analysis.comparison import effect
from bench.analysis.converging import Converging
from bench.run.frames import P50
from bench.stats import looks

LEVELS = [20.0, 30.0]


def growing(run, blocks):
    """Return what is known after so many blocks."""
    converging = Converging(run.plan, run.folder)
    stored = [converging.step() for _ in range(2 * blocks)]
    assert stored == [False, True] * blocks and converging.blocks == blocks
    return converging


def test_after_the_last_block_ratios_and_medians_are_those_of_the_run():
    run = in_turns(LEVELS, drift=0.004, interference=1.02, write=file_by_file)
    converging = growing(run, 8)
    (pair,) = converging.ratios()
    ratio, whole = converging.ratios()[pair], effect(run, *pair, P50)
    assert (ratio.middle, ratio.low, ratio.high) == pytest.approx((whole.middle, whole.low, whole.high), rel=1e-12)
    for case in (0, 1):
        assert sorted(converging.medians_us(case)) == sorted(run.starts_of(case)[P50])


def test_there_is_a_ratio_from_the_first_block_and_an_interval_from_the_sixth():
    run = in_turns(LEVELS, write=file_by_file)
    (first,) = growing(run, 1).ratios().values()
    assert max(first.middle, 1 / first.middle) == pytest.approx(1.5) and not first.has_ends
    assert [growing(run, blocks).ratios().popitem()[1].has_ends for blocks in (5, 6)] == [False, True]
    nothing = Converging(run.plan, run.folder)
    assert nothing.ratios() == {} and not len(nothing.medians_us(0)) and nothing.blocks == 0


def test_a_plan_that_stops_when_precise_shows_the_interval_of_its_next_look():
    run = in_turns([20.0, 30.0], drift=0.01, blocks=20, rounds=2, calls=40, write=file_by_file)
    until = Converging(replace(run.plan, until_width=0.02, starts=40), run.folder)
    fixed = Converging(run.plan, run.folder)
    for _ in range(40):
        until.step()
        fixed.step()
    (wide,), (narrow,) = until.ratios().values(), fixed.ratios().values()
    assert wide.middle == narrow.middle and wide.low <= narrow.low and wide.high >= narrow.high
    assert wide.confidence >= looks.confidences(40)[looks.looks(40).index(40)] > narrow.confidence
