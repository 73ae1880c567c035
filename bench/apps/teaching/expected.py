"""The results to expect in class: computed from the reference runs, so that they are always current."""

import pandas as pd

from bench import paths
from bench.apps.teaching import questions
from bench.apps.teaching.questions import Question
from bench.errors import DataError
from bench.experiments.case_ratios import RATE, ratio
from bench.experiments.mystery.findings import alone, crowded
from bench.run import stored
from bench.run.frames import Run, number_of, shared
from bench.text import quantity

BEGIN, END = "<!-- expected: begin (make expected writes this) -->", "<!-- expected: end -->"
HEAD = ("| notebook | question | reference run | interval or range |", "|---|---|---|---|")


def reference(notebook: str) -> Run:
    """Return a notebook's reference run, which all who ask share."""
    return shared(stored.find(f"reference/{notebook}").path)


def table() -> str:
    """Return a Markdown table: each question, the answer of its reference run, and the interval or range of that."""
    return "\n".join([*HEAD, *map(row, questions.ALL), mystery_row()])


def row(one: Question) -> str:
    """Return the table's row of a question; DataError if its reference run does not answer it."""
    found = questions.measured(reference(one.notebook), one)
    if found is None:
        raise DataError(f"the reference run of {one.notebook} does not answer {one.name}: measure it anew")
    value, low, high = map(one.shown, found)
    return f"| {one.notebook} | {one.text} | {value} {one.unit} | {one.spread} {low} to {high} |"


def mystery_row() -> str:
    """Return the row with the gain of several callers in the boxes, smallest and largest: not which boxes these are."""
    run = reference("mystery")
    one, many = alone(run), crowded(run)
    callers = int(many["callers"].iloc[0])
    times = pd.Series(
        {
            box: ratio(run, number_of(one.loc[box, "case"]), case, RATE).value
            for box in one.index.intersection(many.index).drop("sound")
            if (case := run.first(system="mystery", box=box, callers=callers)) is not None
        }
    )
    asked = f"How many times the calls per second of one caller do {callers} callers make, in the box with least gain?"
    rest = times.drop(times.idxmin())
    others = f"the other boxes: {quantity(rest.min())} to {quantity(rest.max())}"
    return f"| mystery | {asked} | {quantity(times.min())} times | {others} |"


def written(text: str) -> str:
    """Return the text of docs/teaching.md with the table made anew; DataError if it has no place for it."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DataError(f"{paths.shown(paths.home() / 'docs' / 'teaching.md')} lost the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"
