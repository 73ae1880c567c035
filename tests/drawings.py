"""Figures of the reference runs, for tests that only look at them."""

import functools

import pytest
from handmade import reference
from matplotlib.figure import Figure

from bench.experiments import panels
from bench.run.frames import Run

DRAWN: dict[str, Figure] = {}  # by the notebook that was executed last: the run's id, and its figure


@functools.lru_cache(2)
def whole(notebook: str) -> Figure:
    """Return the figure of a notebook's reference run, laid out: the one that its notebook drew, if it was the last."""
    run = reference(notebook)
    made = DRAWN.get(run.id) or panels.whole(run)
    made.draw_without_rendering()
    return made


def kept_by(patch: pytest.MonkeyPatch) -> None:
    """Keep the figure that a notebook draws while a patch lasts."""
    draw = panels.whole

    def keep(run: Run) -> Figure:
        DRAWN.clear()
        DRAWN[run.id] = draw(run)
        return DRAWN[run.id]

    patch.setattr(panels, "whole", keep)
