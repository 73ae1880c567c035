"""Put legends where they cover no data, and wrap titles that are wider than their panel: after the panels are drawn."""

import textwrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox, ScaledTranslation

CORNERS = (
    *("upper left", "upper right", "lower right", "lower left"),
    *("center right", "center left", "upper center", "lower center", "center"),
)

BACKGROUND = 0.95  # what is drawn below this order is no data: shades, and lines for orientation

PAD = 4.0  # free pixels around a legend, at least

MOST_ROWS = 3  # of a legend below the axes; a longer one is drawn beside them


def settle(figure: Figure) -> None:
    """Place every legend where it covers no data, or outside the axes; wrap titles and labels that are too wide."""
    FigureCanvasAgg(figure)  # keeps one renderer, which keeps the sizes of the texts that it has measured
    _arrange(figure)
    wrapped = [_wrap(axes) for axes in figure.axes]
    for _ in range(4):  # a legend that moves out makes its axes smaller, and perhaps others
        if any(wrapped):
            _arrange(figure)
        wrapped = [_place(axes) for axes in figure.axes]
        if not any(wrapped):
            break
    figure.set_layout_engine(None)  # what was settled stays: no file works it out again, or is drawn twice for it


def _arrange(figure: Figure) -> None:
    """Let the layout engine give every axes its place; nothing is drawn."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)


def _wrap(axes: Axes) -> bool:
    """Break a title or a label that is wider than there is room for; return whether there was one."""
    renderer = _renderer(axes)
    axes.yaxis.get_tightbbox(renderer)  # puts its label where the axes are now
    box = axes.get_window_extent(renderer)
    title = next((text for text in (axes._left_title, axes.title) if text.get_text()), axes.title)  # type: ignore[attr-defined]
    right = max(box.x1, _words_right(axes, renderer))
    changed = _fill(title, right - box.x0, renderer)
    left = min(text.get_window_extent(renderer).x0 for text in (*axes.get_yticklabels(), axes.yaxis.label))
    room = 2 * min(right - (box.x0 + box.x1) / 2, (box.x0 + box.x1) / 2 - min(left, box.x0))
    return _fill(axes.xaxis.label, max(room, box.width), renderer) or changed


def _renderer(axes: Axes) -> Any:
    figure: Any = axes.figure
    return figure._get_renderer()


def _words_right(axes: Axes, renderer: Any) -> float:
    """Return where the words beside the rows end."""
    return max((text.get_window_extent(renderer).x1 for text in axes.texts if text.get_text()), default=0.0)


def _fill(text: Text, room: float, renderer: Any) -> bool:
    """Break a text's lines to a width in pixels; return whether that was needed."""
    width = text.get_window_extent(renderer).width
    if not text.get_text() or width <= room or "\n" in text.get_text():
        return False
    letters = max(12, int(len(text.get_text()) * room / width))
    text.set_text(textwrap.fill(text.get_text(), letters))
    return True


def _place(axes: Axes) -> bool:
    """Put a legend into the first corner where it covers no data, else outside; return whether it went outside."""
    legend: Any = axes.get_legend()
    if legend is None or getattr(legend, "is_outside", False):
        return False
    renderer = _renderer(axes)
    inside = axes.get_window_extent(renderer)
    for corner in CORNERS:
        legend.set_loc(corner)
        box = legend.get_window_extent(renderer)
        if box.width < inside.width and box.height < inside.height and not covered(axes, box.padded(PAD)):
            return False
    _outside(axes, renderer)
    return True


def _outside(axes: Axes, renderer: Any) -> None:
    """Put a legend beside the axes if it is long and nothing else is there, else below in columns."""
    old: Any = axes.get_legend()
    handles, labels = axes.get_legend_handles_labels()
    look = {"fontsize": old.get_texts()[0].get_fontsize(), "title": old.get_title().get_text() or None}
    inside, outline = axes.get_window_extent(renderer), old.get_window_extent(renderer)
    columns = max(1, min(len(labels), int(1.15 * inside.width / outline.width)))
    is_free = _words_right(axes, renderer) <= inside.x1 and outline.width < 0.9 * inside.width
    if is_free and len(labels) > MOST_ROWS * columns:
        legend: Any = axes.legend(
            handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0, **look
        )
    else:
        below = axes.xaxis.get_tightbbox(renderer)
        depth = (inside.y0 - below.y0 if below else 0) * 72 / axes.figure.dpi + 4
        at = axes.transAxes + ScaledTranslation(0, -depth / 72, axes.figure.dpi_scale_trans)
        legend = axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=at,
                             borderaxespad=0, ncols=columns, columnspacing=1.2, **look)  # fmt: skip
    legend.is_outside = True


def covered(axes: Axes, box: Bbox) -> bool:
    """Return whether a box in pixels covers something that was drawn: points, lines, areas, bars or words."""
    renderer = _renderer(axes)
    shown: list[Any] = [one for one in axes.get_children() if one.get_visible() and one.get_zorder() >= BACKGROUND]
    if any(text.get_text() and text.get_window_extent(renderer).overlaps(box) for text in axes.texts):
        return True
    if any(box.overlaps(patch.get_window_extent(renderer)) for patch in axes.patches
           if patch in shown and patch.get_data_transform() == axes.transData):  # fmt: skip
        return True
    if any(_touches(path, box) for one in axes.collections if one in shown and one.get_transform() == axes.transData
           for path in _paths(axes, one)):  # fmt: skip
        return True
    return any(_line_touches(axes, one, box) for one in axes.lines if one in shown)


def _paths(axes: Axes, collection: Any) -> list[Any]:
    return [axes.transData.transform_path(path) for path in collection.get_paths()]


def _touches(path: Any, box: Bbox) -> bool:
    return bool(len(path.vertices) and path.intersects_bbox(box, filled=True))


def _line_touches(axes: Axes, line: Any, box: Bbox) -> bool:
    """Return whether a line, or one of its markers, is in a box; lines across the whole axes are for orientation."""
    if line.get_transform() != axes.transData or not len(line.get_xdata()):
        return False
    path = line.get_transform().transform_path(line.get_path())
    if line.get_linestyle() != "None" and len(path.vertices) > 1:
        return bool(path.intersects_bbox(box, filled=False))
    points = path.vertices[np.isfinite(path.vertices).all(axis=1)]
    inside = (points >= box.min) & (points <= box.max)
    return bool(inside.all(axis=1).any())
