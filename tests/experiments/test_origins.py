"""The origins' numbers beside a run's: how much faster, and whether a ratio is reproduced."""

import pytest

from bench.experiments import origins
from bench.experiments.origins import Relation, Replica
from bench.experiments.published import Number
from bench.plan.case import Case
from bench.stats import Spread


@pytest.mark.parametrize(("unit", "theirs"), [("us", (100, 100)), ("us", (50, 150)), ("1/s", (25, 25))])
def test_faster_is_more_per_second_and_less_time(unit, theirs):
    number = Number("", "", unit, theirs, Case("sockets", "tcp"), "")
    assert Replica(number, 0, Spread(50.0, 40.0, 60.0)).speed == 2


@pytest.mark.parametrize(
    ("theirs", "low", "high", "verdict"),
    [
        (2.0, 1.5, 2.2, origins.REPRODUCED),
        (2.0, 1.9997, 2.0003, origins.REPRODUCED),
        (1.93, 1.45, 1.94, origins.REPRODUCED),
        (3.18, 1.91, 3.17, origins.SAME_DIRECTION),  # within a factor of 1.5, and yet not the same
        (9.8, 1.2, 1.9, origins.SAME_DIRECTION),
        (0.5, 0.6, 0.8, origins.SAME_DIRECTION),
        (9.8, 0.5, 0.9, origins.OPPOSITE),
        (1.35, 0.87, 1.4, origins.UNDECIDED),
    ],
)
def test_a_ratio_is_reproduced_only_where_its_interval_holds_the_published_one_and_not_1(theirs, low, high, verdict):
    relation = Relation("", "", theirs, Spread((low * high) ** 0.5, low, high))
    assert relation.verdict == verdict
