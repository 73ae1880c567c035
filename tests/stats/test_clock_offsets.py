"""Offsets of clocks: exact answers, and bounds that hold whatever the network and the clocks do."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from bench.stats import clock_offsets
from bench.stats.clock_offsets import ClockReading, ClockStepError, drift, offset, step_ns

PPM = 1e-6


def read(*exchanges, **options):
    """Return the reading of exchanges, each (sent, arrived, answered, received)."""
    return offset(*np.array(exchanges, dtype=np.int64).T, **options)


def test_one_exchange_gives_the_mean_of_both_ways_and_half_its_round_trip():
    # sent at 0, 400 ns there, 100 ns at the second clock, 600 ns back: the second clock shows 1,000,000 more
    reading = read((0, 1_000_400, 1_000_500, 1100), resolution_ns=0)
    assert reading == ClockReading(999_900, 501, 550)  # half of 1,000 ns, and 1 ns for drift within the exchange
    assert clock_offsets.round_trips(*np.array([[0], [1_000_400], [1_000_500], [1100]])) == [1000]


def test_the_resolution_of_the_timestamps_is_part_of_the_bound():
    assert read((0, 1_000_400, 1_000_500, 1100)) == ClockReading(999_900, 502, 550)
    assert read((0, 1_000_400, 1_000_500, 1100), resolution_ns=100) == ClockReading(999_900, 601, 550)


def test_the_smallest_round_trip_decides_and_slow_exchanges_change_nothing():
    fast = (10_000, 15_000, 15_000, 10_200)
    assert read(fast) == ClockReading(4900, 102, 10_100)
    assert read((0, 12_000, 12_000, 9000), fast, (20_000, 25_900, 25_900, 90_000)) == read(fast)


def test_exchanges_that_exclude_different_sides_leave_less_than_half_a_round_trip():
    quick_there, quick_back = (0, 5010, 5010, 1000), (2000, 7990, 7990, 3000)
    reading = read(quick_there, quick_back, resolution_ns=0)
    assert reading == ClockReading(4999, 12, 500)  # 4,990 to 5,010, widened by 3 and 1 ns of drift


def test_a_clock_that_is_set_between_exchanges_has_no_offset():
    with pytest.raises(ClockStepError):
        read((0, 1_000_100, 1_000_100, 200), (1000, 1100, 1100, 1200))


def test_drift_is_the_change_of_the_offset_in_millionths():
    before, after = ClockReading(1000, 10, 0), ClockReading(51_000, 30, 1_000_000_000)
    assert drift(before, after) == (50.0, 0.04)
    assert all(math.isnan(value) for value in drift(ClockReading(), ClockReading()))


@pytest.mark.parametrize(
    ("changed_ns", "step"),
    [(1_000_040, 0), (1_000_041, 1_000_041), (-1_000_040, 0), (-1_000_041, -1_000_041), (10**9, 10**9), (0, 0)],
)
def test_a_step_is_what_drift_and_bounds_do_not_explain(changed_ns, step):
    before = ClockReading(7000, 10, 0)
    assert step_ns(before, ClockReading(7000 + changed_ns, 30, 10**9)) == step


def second_clock(at_ns, offset_ns, rate):
    """Return what the second clock shows at an instant of the first."""
    return math.floor(at_ns + offset_ns + rate * at_ns)


delays = some.integers(0, 10**8) | some.integers(0, 10**4)
offsets = some.integers(-(10**13), 10**13)
rates = some.floats(-990, 990).map(lambda ppm: ppm * PPM)


@given(
    offset_ns=offsets,
    rate=rates,
    exchanges=some.lists(some.tuples(delays, delays, delays, delays), min_size=1, max_size=50),
)
def test_the_true_offset_is_within_the_bound_for_any_delays(offset_ns, rate, exchanges):
    at_ns, rows = 10**9, []
    for pause, there, inside, back in exchanges:
        sent = at_ns + pause
        arrived = sent + there
        answered = arrived + inside
        at_ns = answered + back
        rows.append((sent, *(second_clock(t, offset_ns, rate) for t in (arrived, answered)), at_ns))
    reading = read(*rows)
    assert abs(reading.offset_ns - (offset_ns + rate * reading.at_ns)) <= reading.bound_ns
    columns = np.array(rows, dtype=np.int64).T
    smallest = int(clock_offsets.round_trips(*columns).min())
    at = int(np.argmin(clock_offsets.round_trips(*columns)))
    held_ns = rows[at][3] - rows[at][0]
    assert reading.bound_ns <= smallest / 2 + clock_offsets.LARGEST_DRIFT * held_ns + 4


@given(
    rate=rates,
    elapsed_ns=some.integers(1, 10**11),
    bounds=some.tuples(delays, delays),
    errors=some.tuples(rates, rates),
)
def test_no_drift_within_its_limit_is_called_a_step(rate, elapsed_ns, bounds, errors):
    shares = [error / (1000 * PPM) for error in errors]
    before = ClockReading(math.trunc(shares[0] * bounds[0]), bounds[0], 0)
    after = ClockReading(math.trunc(rate * elapsed_ns + shares[1] * bounds[1]), bounds[1] + 1, elapsed_ns)
    assert step_ns(before, after) == 0
    clock_drift = drift(before, after)
    assert abs(clock_drift.ppm - 1e6 * rate) <= clock_drift.bound_ppm + 1e6 / elapsed_ns
