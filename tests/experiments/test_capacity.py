"""capacity.ipynb: how far fewer switches explain cheaper calls, and whose response times are shown."""

import math

import pytest
from handmade import reference

from bench import stats
from bench.analysis import capacity as search
from bench.stats import Spread


def spread(value):
    return Spread(value, 0.9 * value, 1.1 * value)


@pytest.mark.parametrize(
    ("cpu_us", "switches", "switch_us", "falls", "share"),
    [
        ((100, 30), (4.0, 3.0), 3.5, True, 0.05),  # fewer switches, and yet something else makes calls cheaper
        ((20, 13), (3.0, 1.0), 3.5, True, 1.0),
        ((20, 10), (3.0, 1.0), 2.75, True, 0.55),  # half of it is not an explanation
        ((30, 30), (4.0, 1.0), 3.5, False, math.nan),
        ((100, 30), (4.0, 3.0), math.nan, True, math.nan),
    ],
)
def test_fewer_switches_explain_cheaper_calls_only_as_far_as_switches_cost(cpu_us, switches, switch_us, falls, share):
    cost = search.Cost("server", tuple(map(spread, cpu_us)), tuple(map(spread, switches)), switch_us)
    assert cost.falls == falls and cost.by_switches == pytest.approx(share, nan_ok=True)


def test_response_times_are_those_that_the_search_judged():
    run = reference("capacity")
    p, rows = search.searched(run)["p"], search.probes(run)
    ends = [search.response_us(run, search.case_at(run, rate)) for rate in search.bracket(run)]
    for start, us in [one for of_starts in ends for one in of_starts.items()]:
        assert stats.quantile(us, p) == pytest.approx(rows.loc[start, "quantile_us"])
