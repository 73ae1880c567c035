"""Arrivals of open loads whose rate changes in steps."""

from dataclasses import replace

import numpy as np
import pytest
from handmade import reference
from matplotlib.figure import Figure

from bench.child.timed_loops import schedule
from bench.errors import UsageError
from bench.experiments import openload
from bench.plan.arrivals import STEPS, in_steps, named, steps_of
from bench.run.frames import Run


@pytest.mark.parametrize(
    ("arrivals", "parts"),
    [("step", [1 / 3, 2 / 3]), ("spike", [9, 10, 9]), ("1x0+3x1+1x0", [0, 1, 0]), ("0.5x2+1x1", [0.5, 0.5])],
)
def test_each_step_gets_the_requests_of_its_length_and_rate(arrivals, parts):
    steps = steps_of(arrivals)
    ends = np.cumsum([long for long, _ in steps]) / sum(long for long, _ in steps)
    due = list(in_steps((np.arange(28_000) + 0.5) / 28_000, steps))
    counts = np.histogram(due, [0, *ends])[0]
    assert due == sorted(due) and counts / 28_000 == pytest.approx(np.array(parts) / sum(parts), abs=1e-3)


def test_a_schedule_in_steps_has_the_mean_rate_and_ten_rates_in_a_ramp():
    due = schedule(10_000, 2.0, "ramp", seed=1)
    counts = np.histogram(due, np.linspace(0, 2e9, 11))[0]
    assert len(due) == pytest.approx(20_000, rel=0.05) and due[0] >= 0 and due[-1] < 2e9
    assert counts / 2000 == pytest.approx(np.arange(1, 11) / 5.5, rel=0.25)


def test_steps_that_are_none_are_refused():
    assert [named(name) for name in STEPS] == list(STEPS) and named("10x1+1.5x5") == "10x1+1.5x5"
    for wrong in ("1x", "1x1+", "1y2", "0x1", "1x0", "spik", "1e9x1", "-1x1"):
        with pytest.raises(UsageError):
            named(wrong)


def test_the_response_time_is_drawn_over_the_window_where_the_rate_changes(monkeypatch):
    run, stored_case = reference("openload"), Run.case
    monkeypatch.setattr(Run, "case", lambda run, case: replace(stored_case(run, case), arrivals="spike"))
    axes = Figure().subplots()
    openload.means(run, axes)
    assert "spike" in axes.get_title()
    medians, longest = (np.concatenate([line.get_ydata() for line in axes.lines[n::2]]) for n in (0, 1))
    assert len(medians) > openload.PARTS and (medians <= longest).all()
    assert "/s on average, median" in axes.get_legend_handles_labels()[1][0]
