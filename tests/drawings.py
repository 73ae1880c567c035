"""Figures of the reference runs, for tests that only look at them."""

import functools
from typing import Any

import pytest
from conftest import ROOT
from handmade import reference
from matplotlib.figure import Figure

from bench.experiments import panels
from bench.run.frames import Run

RUNS = sorted(folder.name for folder in (ROOT / "data" / "reference").iterdir())

DRAWN: dict[str, Figure] = {}  # by the notebook that was executed last: the run's id, and its figure


@functools.lru_cache(2)
def whole(notebook: str) -> Figure:
    """Return the figure of a notebook's reference run, laid out: the one that its notebook drew, if it was the last."""
    run = reference(notebook)
    made = DRAWN.get(run.id) or panels.whole(run)
    made.draw_without_rendering()
    return made


def legend(axes: Any) -> list[str]:
    """Return the labels in a panel's legend."""
    return [text.get_text() for legend in axes.get_figure().legends for text in legend.get_texts()]


def kept_by(patch: pytest.MonkeyPatch) -> None:
    """Keep the figure that a notebook draws while a patch lasts."""
    draw = panels.whole

    def keep(run: Run) -> Figure:
        DRAWN.clear()
        DRAWN[run.id] = draw(run)
        return DRAWN[run.id]

    patch.setattr(panels, "whole", keep)
