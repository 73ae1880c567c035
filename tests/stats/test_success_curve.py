"""The rate at which tries succeed: exact shares, and intervals that cover where a search chose the rates."""

import math

import numpy as np
import pytest
import scipy  # its parts are imported when they are used
from conftest import slow_but

from bench.stats.success_curve import chance_of_so_few, rate_of_success, share_of_successes
from selfcheck.verdicts import searched


@pytest.mark.parametrize(("count", "tries"), [(4, 6), (0, 5), (5, 5), (1, 40)])
def test_shares_are_those_of_the_textbook(count, tries):
    share, exact = share_of_successes(count, tries), scipy.stats.binomtest(count, tries).proportion_ci()
    assert (share.middle, share.low, share.high) == pytest.approx((count / tries, exact.low, exact.high))


@pytest.mark.parametrize("width", slow_but([0.03, 0.15], 0.15))
def test_the_interval_covers_where_a_search_chose_the_rates(width):
    random, covered, wide = np.random.default_rng(1), [], []
    truth = 10_000 * math.exp(-width * math.log(19))
    for _ in range(60):
        rate = rate_of_success(*searched(random, 10_000, width), 0.95)
        covered.append(rate.low <= truth <= rate.high)
        wide.append(rate.high / rate.low)
    assert np.mean(covered) >= 0.9 and np.median(wide) < 8


def test_there_is_no_rate_where_tries_fail_at_any_rate():
    random, rates = np.random.default_rng(1), np.repeat([200, 400, 800, 1600], 10)
    assert not math.isnan(rate_of_success(rates, rates < 1000, 0.95).middle)
    assert math.isnan(rate_of_success(rates, (rates < 1000) & (random.random(40) > 0.2), 0.95).middle)


def test_more_tries_narrow_the_interval_and_none_says_nothing():
    rates, won = [100, 200, 400, 800], [True, True, False, False]
    one, many = rate_of_success(rates, won, 0.5), rate_of_success(rates * 20, won * 20, 0.5)
    assert one.low < many.low < 200 * 1.5 < many.high < one.high and 200 < many.middle < 400
    assert math.isnan(rate_of_success([], [], 0.95).middle)


@pytest.mark.parametrize(("own", "others"), [((0, 6), (6, 6)), ((2, 6), (6, 6)), ((3, 6), (3, 6)), ((6, 6), (1, 3))])
def test_the_chance_of_so_few_is_that_of_fishers_exact_test(own, others):
    table = [[own[0], own[1] - own[0]], [others[0], others[1] - others[0]]]
    assert chance_of_so_few(*own, *others) == pytest.approx(scipy.stats.fisher_exact(table, "less").pvalue)
    assert math.isnan(chance_of_so_few(0, 6, 0, 0))
