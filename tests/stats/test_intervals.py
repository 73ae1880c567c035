"""Intervals and effects: exact answers, coverage by simulation, and laws that hold for all data (hypothesis)."""

import math

import numpy as np
import pytest
import scipy  # its parts are imported when they are used
from conftest import slow_but
from hypothesis import given
from hypothesis import strategies as some

from bench import stats
from bench.stats import intervals, steady_state
from bench.stats.intervals import (
    false_discovery,
    paired_shift,
    quantile_interval,
    unpaired,
)

RNG = np.random.default_rng
numbers = some.lists(some.floats(0.1, 1e6), min_size=0, max_size=80)


def covers(interval, truth):
    return interval is not None and interval[0] <= truth <= interval[1]


@pytest.mark.parametrize(("p", "n"), [(0.5, 40), (0.9, 200), (0.99, 1000)])
def test_quantile_intervals_cover(p, n):
    random, truth = RNG(1), -math.log(1 - p)
    ends = [quantile_interval(random.exponential(size=n), p) for _ in range(600)]
    assert np.mean([covers(one, truth) for one in ends if one]) >= 0.93 and ends.count(None) <= 0.08 * 600


def test_dependent_calls_are_worth_less():
    random, n, rho = RNG(2), 100_000, 0.9
    noise, series = random.normal(size=n), np.empty(n)
    series[0] = noise[0]
    for i in range(1, n):
        series[i] = rho * series[i - 1] + noise[i]
    above = 2 / math.pi * math.asin(rho)  # the correlation of being above the median, of neighbours
    worth = intervals.dependence(series, 0.5).worth
    assert n * (1 - rho) / (1 + rho) < worth < n * (1 - above) / (1 + above)
    wide, narrow = quantile_interval(series, 0.5), quantile_interval(random.permutation(series), 0.5)
    assert wide[1] - wide[0] > 3 * (narrow[1] - narrow[0])
    assert intervals.dependence(random.normal(size=10_000), 0.5).worth > 5000


@pytest.mark.parametrize("share", slow_but([0.015, 0.03], 0.03))
def test_intervals_of_tails_cover_where_slow_calls_come_in_bursts(share):
    truth = 1 + 0.5 * math.log(share / 0.01)
    hits = []
    for seed in range(200):
        random = RNG([seed, 5])
        begins = random.random(20_019) < 1 - (1 - share) ** (1 / 20)
        is_slow = np.convolve(begins, np.ones(20), "valid") > 0.5
        calls = np.where(is_slow, 1 + 0.5 * random.exponential(size=20_000), random.uniform(0.5, 1, 20_000))
        hits.append(covers(quantile_interval(calls, 0.99), truth))
    assert np.mean(hits) >= 0.93


def two_speeds(seed, n, changes, slower):
    random = RNG([seed, 7])
    speed = np.searchsorted(np.sort(random.integers(0, n, changes)), np.arange(n), "right") + random.integers(2)
    return np.exp(0.3 * random.normal(size=n)) * np.where(speed % 2, slower, 1)


@pytest.mark.parametrize(("slower", "n"), [(1.15, 20_000), (1.5, 20_000), (2, 3000)])
@pytest.mark.parametrize("p", slow_but([0.5, 0.9, 0.99], 0.9))
def test_few_changes_of_speed_within_a_start_have_no_interval(p, slower, n):
    truth = stats.quantile(two_speeds(0, 1_000_000, 200_000, slower), p)
    ends = [quantile_interval(two_speeds(seed, n, 5, slower), p) for seed in range(1, 101)]
    assert np.mean([interval is None or covers(interval, truth) for interval in ends]) >= 0.9
    assert ends.count(None) > 50


@pytest.mark.parametrize("p", [0.5, 0.9, 0.99])
def test_many_changes_of_speed_have_intervals_that_cover(p):
    truth = stats.quantile(two_speeds(0, 1_000_000, 200_000, 1.15), p)
    ends = [quantile_interval(two_speeds(seed, 20_000, 200, 1.15), p) for seed in range(1, 201)]
    assert ends.count(None) < 20 and np.mean([covers(one, truth) for one in ends if one]) >= 0.93


def test_an_interval_is_seldom_missing_where_calls_are_independent():
    for n in (400, 3000):
        missing = [quantile_interval(RNG([seed, n]).exponential(size=n), 0.9) is None for seed in range(200)]
        assert np.mean(missing) <= 0.05


def test_what_bursts_do_to_a_share():
    begins = np.arange(500, 20_000, 1000) + RNG(6).integers(-300, 300, 20)
    is_slow = np.isin(np.arange(20_000), begins[:, None] + np.arange(20))
    assert intervals.clustering([is_slow]).worth < 20_000 / 8
    assert intervals.clustering([RNG(7).permutation(is_slow)]).worth > 20_000 / 2
    assert intervals.clustering([np.zeros(9, bool)]) == intervals.Dependence(9, 0.0)
    assert intervals.clustering([np.ones(9, bool), np.ones(1, bool)]) == intervals.Dependence(10, 0.0)


def test_slow_starts_are_no_bursts():
    calls = np.concatenate([RNG(number).uniform(1, 2, 1000) * (1 + number / 5) for number in range(6)])
    starts = np.repeat(np.arange(6), 1000)
    assert quantile_interval(calls, 0.99) is None
    low, high = quantile_interval(calls, 0.99, starts)
    assert low < stats.quantile(calls, 0.99) < high


def test_few_bursts_have_no_interval():
    calls = RNG(8).uniform(0.5, 1, 3000)
    calls[1000:1060] += 1
    assert quantile_interval(calls, 0.99) is None and quantile_interval(RNG(9).permutation(calls), 0.99) is not None


@given(numbers)
def test_intervals_hold_their_quantile_and_need_enough_values(values):
    for p in (0.5, 0.9):
        ends = quantile_interval(values, p)
        assert ends is None or len(values) >= stats.needed_samples(p)
        assert ends is None or ends[0] <= stats.quantile(np.asarray(values), p) <= ends[1]


@given(some.lists(some.floats(-5, 5), min_size=6, max_size=14), some.randoms())
def test_paired_shifts_know_no_order_and_turn_with_the_sign(values, random):
    shift, turned = paired_shift(values), paired_shift([-value for value in values])
    assert (shift.middle, shift.low, shift.high) == pytest.approx((-turned.middle, -turned.high, -turned.low))
    assert shift.low <= shift.middle <= shift.high and shift.confidence >= 0.95
    random.shuffle(values)
    assert paired_shift(values) == shift


def test_effects_by_hand():
    assert paired_shift([1, 2, 3, 4, 5, 6]) == intervals.Interval(3.5, 1, 6, 1 - 2 / 64)
    assert unpaired(np.arange(6) + 10, np.arange(6)).interval().middle == 10
    few = paired_shift([1, 2, 3, 4, 5])
    assert few.middle == 3 and not few.has_ends and not few.excludes(0)
    assert math.isnan(paired_shift([]).middle) and math.isnan(unpaired([], [1, 2]).interval().middle)
    assert unpaired([1, 2], [1, 2]).interval().middle == 0 and not unpaired([1, 2], [1, 2]).interval().has_ends


def test_effects_cover_and_a_case_against_itself_seldom_differs():
    random = RNG(3)
    paired = [paired_shift(random.normal(size=7)) for _ in range(1000)]
    apart = [unpaired(random.normal(size=6), random.normal(size=6)).interval() for _ in range(1000)]
    for effects in (paired, apart):
        assert np.mean([one.low <= 0 <= one.high for one in effects]) >= 0.94


def test_an_interval_of_several_excludes_no_difference_where_the_textbook_says_so():
    random = RNG(9)
    for _ in range(50):
        groups = [random.normal(rise, 1, 30) for rise in random.choice([0, 0.4, 0.8], 8)]
        effects = intervals.together([intervals.paired(group) for group in groups], [0.95] * 8)
        chances = [scipy.stats.wilcoxon(group, method="asymptotic", correction=True).pvalue for group in groups]
        chosen = scipy.stats.false_discovery_control(chances) <= 0.05
        assert [one.excludes(0) for one in effects] == chosen.tolist()
        assert len({one.confidence for one in effects}) == 1 and effects[0].confidence >= 0.95


def test_many_equal_cases_seldom_have_one_that_differs():
    random = RNG(10)
    tries = [[intervals.paired(random.normal(size=20)) for _ in range(10)] for _ in range(200)]
    alarms = [any(one.excludes(0) for one in intervals.together(cases, [0.95] * 10)) for cases in tries]
    assert np.mean(alarms) <= 0.07


def test_chances_are_adjusted_as_in_the_textbook():
    chances = [0.01, 0.04, 0.03, 0.9, 0.002]
    assert false_discovery(chances) == pytest.approx(scipy.stats.false_discovery_control(chances))


def series(*parts, seed=4):
    random = RNG(seed)
    return np.concatenate([level * (1 + 0.02 * random.standard_normal(n)) for n, level in parts])


@pytest.mark.parametrize(
    ("parts", "label", "cut"),
    [
        ([(20_000, 100)], steady_state.FLAT, 0),
        ([(4_000, 150), (16_000, 100)], steady_state.WARM_UP, 4_000),
        ([(2_000, 300), (2_000, 150), (16_000, 100)], steady_state.WARM_UP, 4_000),
        ([(3_000, 60), (17_000, 100)], steady_state.SLOW_DOWN, 3_000),
        ([(15_000, 100), (5_000, 150)], steady_state.UNSETTLED, 15_000),
        ([(303, 100), (96, 300)], steady_state.UNSETTLED, 303),  # of 399 calls each one counts
    ],
)
def test_how_a_start_settles(parts, label, cut):
    settling = steady_state.settle(series(*parts))
    assert settling.label == label and abs(settling.cut - cut) <= 20_000 // steady_state.BINS


def test_lone_slow_calls_are_no_new_level():
    values = series((10_000, 100))
    values[::997] *= 50
    assert steady_state.settle(values).label == steady_state.FLAT


def test_drift_is_a_share_of_the_median_over_the_window():
    times = np.linspace(0, 1e9, 10_000)
    assert steady_state.drift(100 * (1 + 0.1 * times / 1e9), times) == pytest.approx(0.095, abs=0.005)


@pytest.mark.parametrize("n", [5, 25, 26, 60, 400])
def test_tails_are_those_of_the_tests_and_end_at_one(n):
    random = RNG(n)
    ours, theirs = random.normal(0.1, 1, n), random.normal(0, 1, n - 1)
    counted = scipy.stats.mannwhitneyu(ours, theirs, method="asymptotic" if n > 25 else "exact")
    tail, place = intervals._mann_whitney_tail(n, n - 1), int(min(counted.statistic, n * (n - 1) - counted.statistic))
    assert min(1, 2 * tail[place]) == pytest.approx(counted.pvalue, rel=1e-3)
    ranked = scipy.stats.wilcoxon(ours, method="asymptotic" if n > 25 else "exact", correction=n > 25)
    assert min(1, 2 * intervals._signed_rank_tail(n)[int(ranked.statistic)]) == pytest.approx(ranked.pvalue, rel=1e-3)
    for tail in (intervals._mann_whitney_tail(n, n), intervals._signed_rank_tail(n)):
        assert np.all(np.diff(tail) >= 0) and tail[0] > 0 and tail[-1] == pytest.approx(1, abs=1e-4)
