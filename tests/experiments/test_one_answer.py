"""One question, one answer: what a score reports is what the sentences and tables of the same notebook report."""

import numpy as np
import pytest
from handmade import reference

from bench.apps.teaching import questions
from bench.experiments import calibration, openload, retries
from bench.grammar import figure as panels
from bench.grammar.axes import tail_scale
from bench.text import duration


def test_retries_score_is_the_number_of_its_table():
    run = reference("retries")
    row = retries.tables["retries"](run).loc["retries at once"]
    attempts, met = (questions.measured(run, questions.find(f"retries {name}")) for name in ("q1", "q2"))
    assert row["attempts per request"].startswith(attempts.words("{:.2f}".format))
    assert row["deadline met"].startswith(met.words("{:.0f}%".format))


def test_openloads_mean_response_time_is_one_number_in_score_and_table():
    run = reference("openload")
    measured = openload.tables["utilization"](run)["measured [range over starts]"].to_list()
    for question in ("openload q1", "openload q2"):
        answer = questions.measured(run, questions.find(question)).times(1e3).words(duration)
        assert any(text.startswith(f"{answer} [") for text in measured)


def test_calibration_measured_the_server_in_c():
    run = reference("calibration")
    assert {case.options["server"] for case in run.plan.cases} == {"c"}


def p99s(axes):
    """Return the 99th percentile of each curve in the legend of a panel on the scale of tails, in words."""
    curves = [line for line in axes.lines if not line.get_label().startswith("_") and len(line.get_xdata()) > 2]
    return [duration(line.get_xdata()[np.argmax(line.get_ydata() >= tail_scale(0.99) - 1e-9)]) for line in curves]


@pytest.mark.parametrize(("notebook", "panel", "say"), [("openload", "three_ways", openload.freeze_rows),
                                                        ("calibration", "freeze", calibration.freeze_p99)])  # fmt: skip
def test_quantiles_under_a_freeze_are_those_of_the_picture_and_say_that_the_warm_up_is_included(notebook, panel, say):
    run = reference(notebook)
    drawn = p99s(panels.panel(run, panel).axes[0])
    statement = str(say(run)).partition("warm-up included")[2]
    assert len(drawn) >= 3 and statement and all(value in statement for value in drawn)
