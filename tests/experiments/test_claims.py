"""Claims that a run contradicts: the text says so, and first."""

import numpy as np
import pytest
from handmade import handmade, measured

from bench.experiments import claims
from bench.experiments.scaleup import findings as scaleup
from bench.experiments.scaleup import text as scaleup_text
from bench.plan.case import Case


def of_its_own_level(start, calls):
    """Return factors of a start whose level differs by up to a tenth from the others'."""
    return np.full(calls, 1 + 0.1 * np.random.default_rng(start).random())


def test_contradictions_come_first_and_what_is_open_last():
    said = claims.judged("it rains", {"a": True, "b": False, "c": None})
    assert said.index("b") < said.index("it rains") < said.rindex(" a") < said.rindex(" c") and claims.AGAINST in said
    assert (
        claims.AGAINST not in claims.judged("it rains", {"a": True, "c": None}) and claims.judged("it rains", {}) == ""
    )


def test_a_contradiction_is_first_and_is_shown_with_the_answer():
    against, holds = (claims.judged("it rains", {"here": here}) for here in (False, True))
    assert (
        claims.with_verdict(against, "3 mm").startswith(against)
        and claims.with_verdict(holds, "3 mm") == f"3 mm\n\n{holds}"
    )
    assert claims.contradictions(claims.with_verdict(against, "3 mm", holds)) == against


WORKERS = [
    Case("http_aiohttp", "tcp", 16, {"resource": "bytes", "workers": n}, engine="wire", callers=2) for n in (1, 2)
]


def test_scaleup_says_that_two_workers_served_more_than_twice_the_requests():
    twice, less = (measured("scaleup", WORKERS, each_us, callers=2) for each_us in ((100, 40), (100, 70)))
    assert scaleup.is_below_twice(twice) == {"16 B": False} and scaleup.is_below_twice(less) == {"16 B": True}
    assert scaleup_text.conclusion(twice).startswith(claims.AGAINST) and claims.AGAINST not in scaleup_text.conclusion(
        less
    )
    assert [one.value for one in scaleup.ratios(less)] == [pytest.approx(100 / 70, rel=1e-3)]


def test_a_gain_of_workers_that_is_none_is_not_distinguishable():
    equal = handmade(WORKERS, (100, 99), notebook="scaleup", shape=of_its_own_level)
    (gain,) = scaleup.ratios(equal)
    assert not gain.is_certain and "not distinguishable" in scaleup_text.conclusion(equal)
