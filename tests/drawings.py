"""Figures of the reference runs, for tests that only look at them; and what can be measured on a figure as drawn."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import ROOT
from handmade import reference
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from bench.grammar import display
from bench.grammar import figure as panels
from bench.run.frames import Run

RUNS = sorted(folder.name for folder in (ROOT / "data" / "reference").iterdir() if "." not in folder.name)

KEPT: dict[str, dict[str, Figure]] = {}  # of the notebook that was executed last: the run's id, and what it drew

LEAST_POINTS = 9  # of text in a figure that is shown 1280 pixels wide, at 96 pixels an inch
SLIVER = 2  # pixels by which two texts may overlap
MOST_CURVES = 7  # six, and a baseline beside them
WHOLE = "whole"


@functools.lru_cache(2)
def whole(notebook: str) -> Figure:
    """Return the figure of a notebook's reference run, laid out: the one that its notebook drew, if it was the last."""
    run = reference(notebook)
    made = KEPT.get(run.id, {}).get(WHOLE) or panels.whole(run)
    written(made)
    return made


def shown(notebook: str) -> dict[str, Figure]:
    """Return the figures of a notebook's reference run by name: the whole, and each panel that the notebook shows.

    Those that it drew, if it was the last; else the whole alone.
    """
    kept = KEPT.get(reference(notebook).id, {})
    for name, figure in kept.items():
        if name != WHOLE:  # as it was laid out when it was shown
            figure.set_dpi(display.DPI)
            figure.set_layout_engine(None)
    return {WHOLE: whole(notebook)} | kept


def legend(axes: Any) -> list[str]:
    """Return the labels in a panel's legend."""
    return [text.get_text() for legend in legends(axes) for text in legend.get_texts()]


def legends(axes: Any) -> list[Any]:
    """Return the legends that explain a panel: its own, or the one that its row shares."""
    part = axes.get_figure()
    return [*part.legends] if isinstance(part, Figure) else [*part.legends, *part.get_figure(root=False).legends]


def kept_by(patch: pytest.MonkeyPatch) -> None:
    """Keep the figures that a notebook draws while a patch lasts."""
    KEPT.clear()
    whole, panel = panels.whole, panels.panel

    def keep(run: Run, name: str, figure: Figure) -> Figure:
        KEPT.setdefault(run.id, {})[name] = figure
        return figure

    patch.setattr(panels, "whole", lambda run: keep(run, WHOLE, whole(run)))
    patch.setattr(panels, "panel", lambda run, name: keep(run, name, panel(run, name)))


class Written(NamedTuple):
    """One text of a figure as it is drawn: its letters, its box in pixels, its size in points, and what cuts it."""

    words: str
    box: Bbox
    points: float
    cut_by: Bbox | None


@functools.lru_cache(8)
def written(figure: Figure) -> tuple[Written, ...]:
    """Draw a figure, once for all that is measured on it, and return each text that is drawn."""
    with _recorded() as texts:
        figure.draw_without_rendering()
    return tuple(
        Written(
            words, text.get_window_extent(), text.get_fontsize(), text.get_clip_box() if text.get_clip_on() else None
        )
        for text in texts
        if (words := text.get_text()).strip()
    )


@contextmanager
def _recorded() -> Iterator[list[Text]]:
    texts, draw = [], Text.draw

    def record(self: Text, *arguments: Any, **named: Any) -> None:
        if self.get_visible():
            texts.append(self)
        draw(self, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", record)
        yield texts


def clipped(figure: Figure) -> list[str]:
    """Return the texts that are not wholly inside the figure, or are cut by the axes that they are in."""
    boxes = [(text, (figure.bbox, text.cut_by or figure.bbox)) for text in written(figure)]
    return [text.words for text, outer in boxes if not all(_holds(box, text.box) for box in outer)]


def _holds(outer: Any, inner: Bbox) -> bool:
    return bool(
        inner.x0 >= outer.x0 - 1 and inner.y0 >= outer.y0 - 1 and inner.x1 <= outer.x1 + 1 and inner.y1 <= outer.y1 + 1
    )


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Return the pairs of texts that cover each other by more than a sliver, in both directions."""
    texts = written(figure)
    ends = np.array([text.box.extents for text in texts]).reshape(-1, 4)
    low, high = np.maximum(ends[:, None, :2], ends[:, :2]), np.minimum(ends[:, None, 2:], ends[:, 2:])
    pairs = np.argwhere(np.triu((high - low).min(axis=2) > SLIVER, 1))
    return [(texts[one].words, texts[other].words) for one, other in pairs]


def too_small(figure: Figure) -> list[str]:
    """Return the texts that are smaller than can be read where the figure is 1280 pixels wide."""
    scale = 1280 / 96 / figure.get_figwidth()
    return [text.words for text in written(figure) if text.points * scale < LEAST_POINTS]


def curves(axes: Axes) -> int:
    """Return how many curves of three points or more can be distinguished by colour or by line."""
    drawn = (line for line in axes.lines if _is_visible(line) and len(np.unique(line.get_xdata())) >= 3)
    return len({(to_rgba(line.get_color()), line.get_linestyle()) for line in drawn if line.get_linestyle() != "None"})


def _is_visible(line: Line2D) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.asarray(line.get_xydata(), float)).all(axis=1).any())


def not_drawn(axes: Axes) -> list[str]:
    """Return the entries of a panel's legend for which nothing is drawn in its colour or with its marker."""
    lines = [line for line in axes.lines if _is_visible(line)]
    colours = {to_rgba(line.get_color())[:3] for line in lines}
    colours |= {to_rgba(line.get_markeredgecolor())[:3] for line in lines}
    filled = [*axes.collections, *(patch for patch in axes.patches if patch.get_window_extent().width >= 1)]
    colours |= {to_rgba(one)[:3] for artist in filled for one in _faces(artist)}
    markers = {line.get_marker() for line in lines} - {"None", "", " "}
    missing = []
    for panel_legend in legends(axes):
        for handle, text in zip(panel_legend.legend_handles, panel_legend.get_texts(), strict=True):
            marker = handle.get_marker() if isinstance(handle, Line2D) else None
            colour = handle.get_color() if isinstance(handle, Line2D) else _faces(handle)[0]
            if to_rgba(colour)[:3] not in colours and marker not in markers:
                missing.append(text.get_text())
    return missing


def _faces(artist: Any) -> Any:
    faces = np.atleast_2d(artist.get_facecolor())
    return faces if faces.size else np.atleast_2d(artist.get_edgecolor())


def texts(axes):
    """Return everything that is written in a panel."""
    named = [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()]
    words = [axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel(), *(text.get_text() for text in named)]
    return [*words, *legend(axes)]
