"""An answer whose value is of starts with two levels: what it is at each."""

import re

import numpy as np

from bench.analysis import checks
from bench.analysis.comparison import ratios
from bench.grammar.contrast import Ratio
from bench.grammar.experiment import experiment
from bench.run.frames import Run
from bench.stats.intervals import paired_shift
from bench.stats.levels import Levels
from bench.text import ratio_ends


def of_answer(run: Run, answer: str) -> str:
    """Return sentences on the values of an answer whose case has two levels: both of them; "" where none has.

    A value is a ratio of the notebook, or the median over the starts of a case.
    """
    return " ".join(filter(None, (_of_case(run, case, two, answer) for case, two in checks.divided(run).items())))


def _of_case(run: Run, case: int, two: Levels, answer: str) -> str:
    text = checks.level_text(run, case)
    said = f"The starts of {run.labels[case]} have two levels, {text(two.low)} and {text(two.high)}"
    of_case = [one for one in _ratios(run) if case in (one.base, one.other)]
    if shown := [one for one in of_case if _is_in(run, one.other, f"{one.words} times", answer)]:
        return " ".join([f"{said}.", *(_at_both(run, one, case, two) for one in shown)])
    value = run.over_starts(case, checks.level_of(run, case)).values(text)
    return f"{said}." if _is_in(run, case, value, answer) else ""


def _ratios(run: Run) -> list[Ratio]:
    return experiment(run.plan.notebook).ratios(run)


def _is_in(run: Run, case: int, value: str, answer: str) -> bool:
    """Return whether an answer has a value, and names its system, if the run has several."""
    system = run.case(case).system
    is_named = system in answer or {of.system for of in run.plan.cases} <= {system, "loopback"}
    return is_named and re.search(rf"(?<![\d.,]){re.escape(value)}", answer) is not None


def _at_both(run: Run, of: Ratio, case: int, two: Levels) -> str:
    """Say what a ratio is at the lower and at the upper level of one of its cases."""
    logs = ratios(run, of.base, of.other, of.name)
    level = run.starts_of(case).set_index("block")[checks.level_of(run, case)].reindex(logs.index)
    ends = [paired_shift(logs[group].to_numpy()).middle for group in (level < two.between, level > two.between)]
    value, lower, upper = ratio_ends(of.value, *np.exp(ends))
    return f"At the lower one the ratio, {value} times, is {lower}, and at the upper one {upper}."
