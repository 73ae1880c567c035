"""Random effects: textbook answers, properties that hold for all effects, and intervals that cover."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.stats import intervals
from bench.stats.meta_analysis import pool, standard_error

# Colditz et al. 1994, BCG vaccine against tuberculosis: cases and others, vaccinated and not. The answers are those of
# R's metafor, rma(measure="RR", method="DL"), and the data its dat.bcg.
BCG = [
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
    (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232), (17, 1699, 65, 1600),
    (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
]  # fmt: skip


def bcg():
    effects = [math.log(a / (a + b)) - math.log(c / (c + d)) for a, b, c, d in BCG]
    errors = [math.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)) for a, b, c, d in BCG]
    return effects, errors


def test_the_textbook_answer():
    pooled = pool(*bcg())
    assert pooled.q == pytest.approx(152.2330, abs=5e-5)
    assert pooled.tau2 == pytest.approx(0.3088, abs=5e-5) and pooled.i2 == pytest.approx(0.9212, abs=5e-5)
    assert pooled.middle == pytest.approx(-0.7141, abs=5e-5) and pooled.error == pytest.approx(0.1787, abs=5e-5)


def test_an_answer_by_hand():
    pooled = pool([0, 2, 4], [1, 1, 1])  # Q = 8, C = 3 - 1 = 2, so tau2 = (8 - 2) / 2
    assert (pooled.q, pooled.tau2, pooled.middle, pooled.i2) == (8, 3, 2, 0.75)
    assert pooled.error == pytest.approx(math.sqrt(4 / 3))
    student = {2: 4.30265273}  # t of 95 %, two-sided
    assert pooled.high - pooled.middle == pytest.approx(student[2] * math.sqrt(4 / 3))  # Hartung-Knapp's factor is 1
    assert pooled.predicted == pytest.approx((2 - student[2] * math.sqrt(16 / 3), 2 + student[2] * math.sqrt(16 / 3)))


EFFECTS = st.floats(-5, 5)
ERRORS = st.floats(0.01, 2)
STUDIES = st.lists(st.tuples(EFFECTS, ERRORS), min_size=1, max_size=12)


@given(STUDIES)
def test_what_holds_for_all_effects(studies):
    effects, errors = zip(*studies, strict=True)
    pooled = pool(effects, errors)
    assert pooled.tau2 >= 0 and pooled.q >= 0 and 0 <= pooled.i2 <= 1 and pooled.k == len(studies)
    assert min(effects) - 1e-9 <= pooled.middle <= max(effects) + 1e-9
    assert pooled.low <= pooled.middle <= pooled.high
    assert (pooled.predicted is None) == (len(studies) < 3)
    if pooled.predicted:  # one machine is known no better than their mean
        assert pooled.predicted[0] <= pooled.low and pooled.predicted[1] >= pooled.high
    assert pooled.error >= 1 / math.sqrt(sum(error**-2 for error in errors)) - 1e-12  # never below the fixed effect's


@given(EFFECTS, ERRORS)
def test_one_machine_stays_what_it_is(effect, error):
    pooled = pool([effect], [error])
    assert (pooled.k, pooled.tau2, pooled.q, pooled.i2, pooled.predicted) == (1, 0, 0, 0, None)
    assert pooled.middle == pytest.approx(effect) and pooled.error == pytest.approx(error)
    assert pooled.high - effect == pytest.approx(1.959964 * error, rel=1e-5)


@pytest.mark.parametrize("starts", [6, 24])
def test_a_standard_error_from_an_interval_is_that_of_the_mean(starts):
    chance = np.random.default_rng(starts)
    shifts = [intervals.paired_shift(chance.normal(size=starts)) for _ in range(1000)]
    errors = [standard_error(one, starts) * math.sqrt(starts) for one in shifts]
    assert 0.95 < math.sqrt(np.mean(np.square(errors))) < 1.15  # of sigma, which is 1


@pytest.mark.parametrize(("machines", "tau"), [(3, 0.3), (12, 0.1), (10, 0.03), (20, 0.0)])
def test_intervals_and_predictions_cover(machines, tau):
    """The whole way, from six starts of each machine: of 600 classes at least 92 in 100 are right."""
    chance, covered, predicted, runs = np.random.default_rng(machines), 0, 0, 600
    for _ in range(runs):
        truths = 0.7 + tau * chance.normal(size=machines)
        shifts = [intervals.paired_shift(truth + 0.1 * chance.normal(size=6)) for truth in truths]
        pooled = pool([one.middle for one in shifts], [standard_error(one, 6) for one in shifts])
        covered += pooled.low <= 0.7 <= pooled.high
        one_more = intervals.paired_shift(0.7 + tau * chance.normal() + 0.1 * chance.normal(size=6)).middle
        predicted += pooled.predicted[0] <= one_more <= pooled.predicted[1]
    assert covered / runs >= 0.92 and predicted / runs >= 0.92
