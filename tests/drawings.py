"""Figures of the reference runs, for tests that only look at them."""

import functools

from handmade import reference
from matplotlib.figure import Figure

from bench.experiments import panels


@functools.lru_cache(2)
def whole(notebook: str) -> Figure:
    """Return the figure of a notebook's reference run, laid out; made once for tests that follow each other."""
    drawn = panels.whole(reference(notebook))
    drawn.draw_without_rendering()
    return drawn
