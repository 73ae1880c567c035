"""What a drawn panel shows, in one sentence, for readers who cannot see it: read from the panel's own axes."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from bench.drawing.axes import CURVES, LANES, tail_scale

MOST = 8  # rows or curves that a sentence names

Point = tuple[float, float]


def sentence(axes: Axes) -> str:
    """Return a panel's title and what its rows, bars, curves or lanes say; nothing where none has a name."""
    title = axes.get_title(loc="left").replace("\n", " ")
    if axes.get_gid() == CURVES:
        return _said(title, _distributions(axes))
    if axes.get_gid() == LANES:
        return _said(title, _lanes(axes))
    if not len(axes.get_xticks()) and not len(axes.get_yticks()):  # the panel says why it is empty
        return _said(title, [text.get_text() for text in axes.texts])
    return _said(title, _rows(axes) or _columns(axes)) or _said(_scales(axes, title), _curves(axes))


def _said(title: str, parts: list[str]) -> str:
    """Return a sentence on one line, with round brackets: alt texts in Markdown end at square ones."""
    if not parts:
        return ""
    shown = parts if len(parts) <= MOST else [*parts[:MOST], f"and {len(parts) - MOST} more"]
    text = f"{title}: {'; '.join(shown)}.".replace("..", ".")
    return " ".join(text.replace("[", "(").replace("]", ")").replace("$", "").split())


def _scales(axes: Axes, title: str) -> str:
    """Return the title of a panel of curves with what its two axes show."""
    shown = [re.sub(r" \[[^\]]*\]", "", axis.get_label_text().split(";")[0]) for axis in (axes.yaxis, axes.xaxis)]
    return f"{title} ({' against '.join(one for one in shown if one)})"


def _rows(axes: Axes) -> list[str]:
    """Return each named row of the vertical axis with the words beside it, or the range of its markers."""
    known = {place: name for place, name in _names(axes.yaxis) if name}
    words = _written(axes, 1, known)
    if not words:
        marked = [point for one in _marks(axes) for point in one]
        text = _text(axes.xaxis)
        for place in known:
            mine = [x for x, y in marked if abs(y - place) < 0.5]
            words |= {place: f"{text(min(mine))} to {text(max(mine))}"} if mine else {}
    return [f"{known[place]} {words[place]}" for place in known if place in words] if _is_named(axes.yaxis) else []


def _columns(axes: Axes) -> list[str]:
    """Return each named bar of the horizontal axis with the words above it, or its height by part."""
    if not any(isinstance(one, BarContainer) for one in axes.containers):
        return []
    known = dict(_names(axes.xaxis))
    if words := _written(axes, 0, known):
        return [f"{known[place]} {words[place]}" for place in known if place in words]
    text, parts = _text(axes.yaxis), []
    for one in axes.containers:
        heights = [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in getattr(one, "patches", [])]
        named = [f"{text(high)} at {known[near]}" for x, high in heights if (near := _nearest(known, x)) is not None]
        parts.append(f"{one.get_label()} {', '.join(named)}")
    return parts


def _curves(axes: Axes) -> list[str]:
    """Return each curve of the legend with its values at both ends; of markers alone their range."""
    horizontal, vertical, parts = _text(axes.xaxis), _text(axes.yaxis), []
    for one, label in _labelled(axes):
        points = _points(one)
        (first, low), (last, high) = points[0], points[-1]
        if len(points) == 1 or one.get_linestyle() == "None":
            heights = [y for _, y in points]
            ends = dict.fromkeys(vertical(end) for end in (min(heights), max(heights)))
            parts.append(f"{label} {' to '.join(ends)}")
        elif len(points) == 2 and low == high and vertical(low).split()[0] in label:
            parts.append(f"{label} throughout")
        elif one.get_transform() == axes.transData:
            parts.append(f"{label} {vertical(low)} at {horizontal(first)} and {vertical(high)} at {horizontal(last)}")
    return parts


def _distributions(axes: Axes) -> list[str]:
    """Return the median and the 99th percentile of each empirical CDF of the legend."""
    text = _text(axes.xaxis)
    return [_distribution(one, label, text) for one, label in _labelled(axes) if len(_points(one)) > 2]


def _labelled(axes: Axes) -> list[tuple[Line2D, str]]:
    """Return the lines of the legend that have points, with their labels."""
    known = [(one, str(one.get_label())) for one in axes.lines]
    return [(one, label) for one, label in known if not label.startswith("_") and _points(one)]


def _distribution(one: Line2D, label: str, text: Callable[[float], str]) -> str:
    """Return the median and the 99th percentile of an empirical CDF that is drawn on the scale of tails."""
    x, y = np.array(_points(one)).T
    found = [(name, float(tail_scale(p))) for name, p in (("p50", 0.5), ("p99", 0.99))]
    reached = [f"{name} {text(x[np.argmax(y >= height - 1e-9)])}" for name, height in found if y[-1] >= height]
    return f"{label.split(', n = ')[0]} {', '.join(reached)}"


def _lanes(axes: Axes) -> list[str]:
    """Return the median and the largest value of the marks in each lane of width 1 of the horizontal axis."""
    marked, text, parts = [point for one in _marks(axes) for point in one], _text(axes.yaxis), []
    for place, name in _names(axes.xaxis):
        heights = [y for x, y in marked if abs(x - place) < 0.5]
        if heights:
            parts.append(f"{name} median {text(float(np.median(heights)))}, largest {text(max(heights))}")
    return parts


def _marks(axes: Axes) -> Iterator[list[Point]]:
    """Yield the points of each line of markers that lies on the data's scales."""
    for one in axes.lines:
        if one.get_transform() == axes.transData and one.get_marker() not in ("None", "", " ", None):
            yield _points(one)


def _points(one: Line2D) -> list[Point]:
    """Return the points of a line that are numbers."""
    x, y = (np.asarray(each, float) for each in (one.get_xdata(), one.get_ydata()))
    return [(float(a), float(b)) for a, b in zip(x, y, strict=True) if np.isfinite(a) and np.isfinite(b)]


def _written(axes: Axes, axis: int, known: dict[float, str]) -> dict[float, str]:
    """Return the words of annotations by the named place that each is at; ``axis`` 0: horizontal, 1: vertical."""
    found: dict[float, str] = {}
    for one in axes.texts:
        if (place := _nearest(known, float(getattr(one, "xy", one.get_position())[axis]))) is not None:
            found[place] = f"{found.get(place, '')} {one.get_text()}".strip()
    return found


def _nearest(known: dict[float, str], at: float) -> float | None:
    return next((place for place in known if abs(place - at) < 0.25), None)


def _names(axis: Any) -> list[tuple[float, str]]:
    """Return the ticks of an axis with the names that are written at them, on one line each."""
    places = [float(place) for place in axis.get_majorticklocs()]
    return [
        (place, " ".join(name.split()))
        for place, name in zip(places, axis.get_major_formatter().format_ticks(places), strict=False)
    ]


def _is_named(axis: Any) -> bool:
    """Return whether the ticks of an axis are names, not numbers: whether ``set_ticks`` was given labels."""
    return isinstance(getattr(axis.get_major_formatter(), "func", None), partial)


def _text(axis: Any) -> Callable[[float], str]:
    """Return the function that writes a value of an axis as its ticks are written."""
    formatter, unit = axis.get_major_formatter(), _unit(axis)
    if isinstance(formatter, FuncFormatter):
        return lambda value: f"{formatter(float(f'{value:.3g}'), None)}{unit}"
    return lambda value: f"{value:.3g}{unit}"


def _unit(axis: Any) -> str:
    """Return the unit in an axis' label, after a space: "mean RTT [ms]" has " ms", "codec [% of the call]" has " %"."""
    found = re.search(r"\[([^\] ]+)", axis.get_label_text())
    return f" {found[1]}" if found else ""
