"""Tables: one row for each case, one column for each quantity, with the range over starts."""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pandas as pd

from bench.grammar.choose import Chooser, chosen
from bench.grammar.model import Model
from bench.grammar.quantities import Quantity, over_starts, quantity_of
from bench.plan.labels import distinguished
from bench.run.frames import Run
from bench.stats import Spread, Text
from bench.stats.intervals import Interval
from bench.text import quantity, ratio_ends

Column = str | Quantity | Model | Callable[[Run, int], object]
"""A quantity, shown with its range over starts; what a model predicts; or a function of a run and a case's number."""


@dataclass(frozen=True)
class Table:
    """One row for each case.

    columns: by title. where: chooses the cases. label: returns what a row is called; None: what distinguishes it.
    """

    columns: Mapping[str, Column]
    where: Chooser = field(default_factory=dict)
    label: Callable[[Run, int], str] | None = None

    def __call__(self, run: Run) -> pd.DataFrame:
        """Return the table of a run, its values in words; without rows an empty frame."""
        cases = chosen(run, self.where)
        names, shared = self._names(run, cases)
        rows = [{title: value(run, case, column) for title, column in self.columns.items()} for case in cases]
        return pd.DataFrame(rows, pd.Index(names, name=f"case{shared}")) if rows else pd.DataFrame()

    def _names(self, run: Run, cases: Sequence[int]) -> tuple[list[str], str]:
        """Return what each row is called, and what all rows share: " (all: on one CPU, 1 client)", or ""."""
        if self.label or len(cases) < 2:
            return [self.label(run, case) if self.label else run.labels[case] for case in cases], ""
        names, shared = distinguished([run.label_parts[case] for case in cases], with_system=True)
        return (names, shared) if shared else ([run.labels[case] for case in cases], "")


def value(run: Run, case: int, column: Column) -> object:
    """Return what a column says of a case."""
    if isinstance(column, Model):
        predicted = column.at(run, case)
        return "n/a" if math.isnan(predicted) else quantity(predicted)
    return level(run, case, column) if isinstance(column, str | Quantity) else column(run, case)


def level(run: Run, case: int, name: str | Quantity) -> str:
    """Return a quantity of a case with its range over starts: "26.1 µs [25.0 µs, 27.3 µs]"; "n/a" if not known."""
    spread = over_starts(run, case, name)
    return "n/a" if math.isnan(spread.middle) else with_ends(spread, quantity_of(name).text)


def with_ends(estimate: Interval | Spread, text: Text) -> str:
    """Return a value with its interval or range: "1.53 [1.41, 1.66]"; without ends if they are not known."""
    middle = estimate.words(text) if isinstance(estimate, Spread) else text(estimate.middle)
    return middle if math.isnan(estimate.low) else "{} [{}, {}]".format(middle, *estimate.ends(text))


def ratio_with_ends(interval: Interval) -> str:
    """Return a ratio of two cases with its interval, in as many digits as that needs: "1.126 [1.001, 1.191]"."""
    middle, low, high = ratio_ends(interval.middle, interval.low, interval.high)
    return f"{middle} [{low}, {high}]" if interval.has_ends else middle


Source = TypeVar("Source")
Rows = Iterable[Mapping[str, object]]


def as_table(
    index: str, missing: str | Mapping[str, str] = ""
) -> Callable[[Callable[[Source], Rows]], Callable[[Source], pd.DataFrame]]:
    """Make a table of the rows that a function of a run, or of a class, yields, with one of their columns as its index.

    missing: what is shown if a row lacks what another one has, for all columns or by column.
    """

    def of_rows(rows: Callable[[Source], Rows]) -> Callable[[Source], pd.DataFrame]:
        @functools.wraps(rows)
        def framed(source: Source) -> pd.DataFrame:
            frame = pd.DataFrame(rows(source))
            return frame.fillna(missing).set_index(index) if len(frame) else frame

        return framed

    return of_rows
