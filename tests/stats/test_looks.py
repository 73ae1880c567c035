"""Looks fixed beforehand: their bounds are the published ones, and stopping at one of them keeps the coverage."""

import pytest
from scipy import special

from bench.stats import looks
from bench.stats.intervals import CONFIDENCE
from certify.instrument import covered_at_stop


def test_looks_are_half_as_many_blocks_apart_again_and_end_with_the_last_block():
    assert looks.looks(80) == (12, 18, 27, 41, 80) and looks.looks(6) == (6,) and looks.looks(12) == (12,)


def test_bounds_are_those_published_for_five_equal_looks():
    """Pocock-like spending, two-sided 5 %: program of Reboussin, DeMets, Kim & Lan (2000), ldbounds in R."""
    published = [2.4380, 2.4268, 2.4101, 2.3966, 2.3859]
    assert looks.bounds([0.2, 0.4, 0.6, 0.8, 1.0]) == pytest.approx(published, abs=1.5e-4)


def test_a_single_look_is_the_usual_interval_and_all_error_is_spent_at_the_end():
    assert looks.bounds([1.0]) == pytest.approx([special.ndtri(0.975)]) and looks.confidences(6)[0] == pytest.approx(
        0.95
    )
    assert looks.spent(1.0, 0.05) == pytest.approx(0.05) and looks.spent(0.0, 0.05) == 0


def test_stopping_when_precise_covers_and_stopping_at_the_usual_interval_does_not():
    assert covered_at_stop(1000) >= CONFIDENCE
    assert covered_at_stop(1000, [CONFIDENCE] * len(looks.looks(80))) < CONFIDENCE - 0.01
