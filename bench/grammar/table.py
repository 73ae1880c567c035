"""Tables: one row for each case, one column for each quantity, with the range over starts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bench.grammar.choose import Chooser, chosen
from bench.grammar.model import Model
from bench.grammar.quantities import over_starts, quantity_of
from bench.run.frames import Run
from bench.stats import Spread, Text
from bench.text import quantity

Column = str | Model | Callable[[Run, int], object]
"""A quantity, shown with its range over starts; what a model predicts; or a function of a run and a case's number."""


@dataclass(frozen=True)
class Table:
    """One row for each case. columns: by title;"""

    columns: Mapping[str, Column]
    where: Chooser = field(default_factory=dict)

    def __call__(self, run: Run) -> pd.DataFrame:
        """Return the table of a run, its values in words; without rows an empty frame."""
        rows = [{"case": run.labels[case], **self._row(run, case)} for case in chosen(run, self.where)]
        return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()

    def _row(self, run: Run, case: int) -> dict[str, Any]:
        return {title: value(run, case, column) for title, column in self.columns.items()}


def value(run: Run, case: int, column: Column) -> object:
    """Return what a column says of a case."""
    if isinstance(column, Model):
        predicted = column.at(run, case)
        return "n/a" if math.isnan(predicted) else quantity(predicted)
    return level(run, case, column) if isinstance(column, str) else column(run, case)


def level(run: Run, case: int, name: str) -> str:
    """Return a quantity of a case with its range over starts: "26.1 µs [25.0 µs, 27.3 µs]"; "n/a" if not known."""
    spread = over_starts(run, case, name)
    return "n/a" if math.isnan(spread.middle) else ranged(spread, quantity_of(name).text)


def ranged(spread: Spread, text: Text) -> str:
    """Return a median over starts with their range: "26.1 µs [25.0 µs, 27.3 µs]"; no range where it is not known."""
    words = spread.words(text)
    return words if math.isnan(spread.low) else "{} [{}, {}]".format(words, *spread.ends(text))
