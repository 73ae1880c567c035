"""compare.ipynb: verdicts beside their intervals, and what more starts would find, of runs whose answers are known."""

import pytest
from handmade import in_turns

from bench.experiments import compare
from bench.plan.case import Case

CASES = [Case("zeromq", "ipc"), Case("zeromq", "ipc"), Case("zeromq", "tcp")]


@pytest.mark.parametrize(("b_us", "verdict"), [(120, "worse"), (80, "better"), (103, "worse, by less than 5%")])
def test_b_is_better_or_worse_in_time_and_in_rate_alike(b_us, verdict):
    run = in_turns([100, 100, b_us], cases=CASES, wobble=0.001)
    estimates = {estimate.subject.partition(" (")[0]: estimate for estimate in compare.b_over_a(run)}
    assert estimates["median RTT"].interval.middle == pytest.approx(b_us / 100, rel=0.01)
    assert estimates["median RTT"].ends.endswith(f"; {verdict}")
    assert estimates["calls per second"].ends.endswith(f"; {verdict}")
    shown = compare.comparisons(run).loc["median RTT"]
    assert list(shown["compared"]) == ["B over A", "A over A"] and shown["verdict"].iloc[0] == verdict
