"""Hosts are pooled where their quantiles agree start by start: pinned ratios, and both errors counted in simulation."""

import math

import numpy as np
import pytest

from bench.stats import pooling
from bench.stats.pooling import AGREE, DIFFER, UNKNOWN

BASE = np.array([100.0, 103.0, 98.0, 120.0, 99.0, 101.0])


def test_ratios_are_the_hodges_lehmann_median_of_each_start_s_ratio():
    agreement = pooling.agreement(np.column_stack([BASE, 2 * BASE]))
    assert [one.middle for one in agreement.ratios] == pytest.approx([0.5, 2.0])
    assert [(one.low, one.high) for one in agreement.ratios] == [pytest.approx((0.5, 0.5)), pytest.approx((2.0, 2.0))]
    assert (agreement.verdict, agreement.slowest) == (DIFFER, 1)
    factors = np.array([1.00, 1.01, 1.02, 0.99, 1.03, 1.00])
    walsh = [math.sqrt(a * b) for i, a in enumerate(factors) for b in factors[i:]]
    agreement = pooling.agreement(np.column_stack([BASE, BASE * factors]))
    assert agreement.ratios[1].middle == pytest.approx(np.median(walsh), rel=1e-4)
    # the ends are those of all ratios, of six starts
    assert (agreement.ratios[1].low, agreement.ratios[1].high) == pytest.approx((0.99, 1.03))
    assert agreement.verdict == AGREE


def test_of_three_hosts_each_is_compared_with_the_geometric_mean_of_the_others():
    agreement = pooling.agreement(np.tile(np.column_stack([BASE, BASE, 8 * BASE]), (2, 1)))
    assert [one.middle for one in agreement.ratios] == pytest.approx([1 / math.sqrt(8), 1 / math.sqrt(8), 8.0])
    assert (agreement.verdict, agreement.slowest) == (DIFFER, 2)


def test_equal_hosts_do_not_differ_the_more_often_the_more_they_are():
    chance = np.random.default_rng(1)
    differ = [pooling.agreement(np.exp(0.1 * chance.normal(size=(12, 8)))).verdict == DIFFER for _ in range(200)]
    assert np.mean(differ) <= 0.07  # 27 % with intervals of 95 % each


@pytest.mark.parametrize("starts", [1, 2, 5])
def test_below_six_starts_nothing_is_shown(starts):
    agreement = pooling.agreement(np.column_stack([BASE, BASE])[:starts])
    assert agreement.verdict == UNKNOWN and agreement.ratios[0].middle == 1.0 and math.isnan(agreement.ratios[0].low)


def test_an_interval_that_reaches_beyond_the_margin_is_no_agreement():
    swinging = BASE * [1.2, 0.8, 1.1, 0.9, 1.0, 1.0]
    assert pooling.agreement(np.column_stack([BASE, swinging])).verdict == UNKNOWN
    assert pooling.agreement(np.column_stack([BASE, 1.04 * BASE])).verdict == AGREE  # differ, by less than matters
    assert pooling.agreement(np.column_stack([BASE, 1.04 * BASE]), margin=0.03).verdict == DIFFER


def test_hosts_that_differ_by_the_margin_are_rarely_pooled_and_equal_ones_rarely_refused_as_different():
    chance = np.random.default_rng(1)
    at_margin = equal = 0
    for _ in range(300):
        noise = np.exp(0.02 * chance.standard_normal((8, 2)))
        at_margin += pooling.agreement(BASE.mean() * noise * [1.0, 1 + pooling.MARGIN]).verdict == AGREE
        equal += pooling.agreement(BASE.mean() * noise).verdict == DIFFER
    assert at_margin <= 15 and equal <= 15
