"""Models: what is predicted before the sweep, drawn beside what was measured."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bench.run.frames import Run
from bench.stats import Array


class Curve(NamedTuple):
    """A predicted quantity by a factor, with the range of the prediction if it has one; arrays of one length."""

    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None


@dataclass(frozen=True)
class Model:
    """A prediction of a quantity by a factor ``x``: its words in a legend, its curve in a run; None without one."""

    words: str
    x: str
    curve: Callable[[Run], Curve | None]
    line: str = "-."

    def at(self, run: Run, case: int) -> float:
        """Return the predicted quantity of a case; NaN if none can be made."""
        curve = self.curve(run)
        return math.nan if curve is None else float(np.interp(run.case(case).factor(self.x), curve.x, curve.y))
