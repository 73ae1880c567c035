"""What a comparison can detect: by the noise that is there, and not by that of a textbook."""

import math

import numpy as np
import pytest
import scipy  # its parts are imported when they are used
from conftest import slow_but

from bench.stats import power
from bench.stats.intervals import paired, unpaired
from selfcheck.verdicts import NOISE

RNG = np.random.default_rng


def test_more_starts_detect_less_and_the_planner_knows_how_many():
    assert power.detectable(0.05, 6) > power.detectable(0.05, 12) > 0
    needed = power.starts_for(0.05, 0.05)
    assert power.detectable(0.05, needed) <= 0.05 < power.detectable(0.05, needed // 2)
    assert power.detectable(0.05, 1) == math.inf


@pytest.mark.parametrize("starts", [6, 12, 60])
def test_a_detectable_effect_is_found_in_four_of_five_tries(starts):
    random, effect = RNG(starts), math.log1p(power.detectable(0.05, starts))
    tries = random.normal(effect, 0.05, (4000, starts))
    assert np.mean(scipy.stats.ttest_1samp(tries, 0, axis=1).pvalue <= 0.05) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("starts", slow_but([12, 40], 12))
def test_what_is_detectable_is_found_in_about_four_of_five_tries_whatever_the_noise(noise, starts):
    random, draw = RNG(starts), lambda: NOISE[noise](random, starts)
    for sample, spread in (
        (lambda: (draw() - draw(),), lambda d: power.spread_of_pairs(d)),
        (lambda: (draw(), draw()), lambda *groups: power.spread_of_groups(*groups)),
    ):
        effects = [math.log1p(power.detectable(spread(*sample()), starts)) for _ in range(16)]
        test = unpaired if len(sample()) > 1 else paired
        lows = np.array([test(*sample()).interval().low for _ in range(200)])
        assert 0.7 <= np.mean([np.mean(lows + effect > 0) for effect in effects]) <= 0.9


def test_too_few_starts_for_an_interval_are_judged_by_their_deviation():
    few = np.array([0.1, -0.1, 0.2])
    assert power.spread_of_pairs(few) == pytest.approx(few.std(ddof=1))
    assert power.spread_of_groups(few, few) == pytest.approx(math.sqrt(2) * few.std(ddof=1))
    assert power.spread_of_pairs(np.zeros(1)) == 0
