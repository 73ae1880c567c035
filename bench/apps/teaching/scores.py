"""Predictions compared with measurements: in words, and on a logarithmic axis."""

import math
import textwrap
from typing import NamedTuple

from IPython.display import Markdown, display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.apps.teaching import predictions, questions
from bench.apps.teaching.predictions import Prediction
from bench.apps.teaching.questions import RATIO, Answer, Question
from bench.errors import UsageError
from bench.grammar.axes import log_axis, style
from bench.grammar.display import show_figure
from bench.run.frames import Run

PREDICTED, MEASURED = "#0173b2", "#d55e00"


class Score(NamedTuple):
    """A question, its prediction, and its measurement: a value with its interval or its range over starts."""

    asked: Question
    made: Prediction | None
    remark: str
    measured: Answer | None

    def __str__(self) -> str:
        text = f"**{self.asked.text}** "
        if self.measured is None:
            return f"{text}Not measured in this run."
        value = f"{self.asked.in_words(self.measured)} ({self._ends()})"
        if self.made is None:
            return f"{text}Measured: {value}; {self.remark}."
        off, side = self.made.off_by(self.measured[0]), "high" if self.made.middle > self.measured[0] else "low"
        factor = f"{math.exp(off):.3g}"
        centre = "the centre of your range is right" if factor == "1" else f"its centre is {factor} times too {side}"
        held = "contains" if self.made.holds(self.measured[0]) else "does **not** contain"
        return (
            f"{text}Predicted {self.made.low:g} to {self.made.high:g}{self.remark}, measured {value}: your range "
            f"{held} it; {centre} (score {off:.2f}; 0 is exact). "
            f"Your reason: *{self.made.why}*"
        )

    def _ends(self) -> str:
        """Return the interval or range of the measurement in words."""
        assert self.measured
        if math.isnan(self.measured.low):
            return f"no {self.asked.spread} from fewer than six blocks"
        is_equal = self.asked.unit == RATIO and self.measured.low <= 1 <= self.measured.high
        doubt = ", not distinguishable" if is_equal else ""
        return "{0} {2} to {3}".format(self.asked.spread, *self.asked.shown(self.measured)) + doubt


def scores(run: Run, *names: str) -> list[Score]:
    """Return the scores of these questions ("q1"), or of all that the run answers."""
    notebook = run.plan.notebook
    chosen = [questions.find(name, notebook) for name in names] or questions.of_plan(run.plan)
    if not questions.of_notebook(notebook):
        raise UsageError(f"nothing is predicted in {notebook}.ipynb: it asks no questions")
    return [Score(asked, *predictions.before(asked, run), questions.measured(run, asked)) for asked in chosen]


def score(run: Run, *names: str) -> None:
    """Show each predicted range and its measurement on a logarithmic axis, and the score in words."""
    outcomes = scores(run, *names)
    drawn = [score for score in outcomes if score.made and score.measured]
    if drawn:
        with style():
            figure = Figure(figsize=(10, 1.2 + 1.1 * len(drawn)), layout="constrained")
            for score, axes in zip(drawn, figure.subplots(len(drawn), squeeze=False).flat, strict=True):
                draw_score(score, axes)
        show_figure(figure, "predicted and measured")
    display(Markdown("\n\n".join(map(str, outcomes))))


def draw_score(score: Score, axes: Axes) -> None:
    """Draw a predicted range with its geometric mean, and the measurement with its interval or range over starts."""
    assert score.made and score.measured
    made, (value, low, high, _) = score.made, score.measured
    low, high = (value, value) if math.isnan(low) else (low, high)
    for y, colour, ends, middles in (
        (1, PREDICTED, (made.low, made.high), (made.middle,)),
        (0, MEASURED, (low, high), score.measured.medians),
    ):
        axes.plot(ends, [y, y], color=colour, lw=9, alpha=0.35, solid_capstyle="butt")
        axes.plot(middles, [y] * len(middles), "|", ms=16, mew=2.5, color=colour)
    axes.set_xlim(min(made.low, low) / 2, max(made.high, high) * 2)
    log_axis(axes.xaxis, lambda at: f"{at:g}")
    axes.set_yticks([1, 0], ["predicted", "measured"])
    axes.set_ylim(-0.7, 1.7)
    axes.yaxis.grid(False)
    axes.set_xlabel(score.asked.unit)
    axes.set_title(textwrap.fill(f"{score.asked.name.split()[1]}: {score.asked.text}", 100), fontsize=10.5)
