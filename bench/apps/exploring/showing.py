"""What the page shows of its results: the picture, rows, trust cards, tables and commands, as bytes and HTML."""

import html
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from bench import stats
from bench.analysis import checks
from bench.analysis.trust_card import Check, tally
from bench.apps.exploring.result_set import Result
from bench.drawing.axes import style
from bench.experiments import tables
from bench.experiments.explore.figure import colour, draw_distributions, draw_medians
from bench.experiments.explore.findings import Row, row, wrapped
from bench.experiments.explore.text import sentences
from bench.run.frames import Run
from bench.text import duration

# Keys typed into an input are its own: JupyterLab would take those of a list or a button for its shortcuts.
OWN_KEYS = (
    "this.closest('.rt-page').onkeydown = e => e.ctrlKey || e.metaKey || e.key == 'Escape' || e.stopPropagation()"
)
STYLE = (
    f'<style onload="{OWN_KEYS}">'
    + """
.rt-note {line-height: 1.3; color: #555; padding: 0 2px 4px}
.rt-error {line-height: 1.3; color: #b00020; font-weight: 600; overflow-wrap: anywhere}
.rt-status {line-height: 1.3; min-height: 2.6em; overflow-wrap: anywhere}
.rt-name {line-height: 1.3}
.rt-swatch {display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .5em}
.rt-command {display: flex; gap: 8px; align-items: flex-start; margin: 2px 0}
.rt-command code {flex: 1; line-height: 1.35; background: #f3f3f3; color: #111; padding: 3px 6px; user-select: all;
  overflow-wrap: anywhere; white-space: pre-wrap}
.rt-command button {flex: none; cursor: pointer; padding: 3px 10px}
.rt-card, .rt-numbers {overflow-x: auto; contain: inline-size}
.rt-numbers p {line-height: 1.4}
.rt-card table, .rt-numbers table {border-collapse: collapse; font-size: 13px}
.rt-card td, .rt-card th, .rt-numbers td, .rt-numbers th {text-align: left; padding: 2px 10px; line-height: 1.3;
  border-bottom: 1px solid #ddd; vertical-align: top}
</style>"""
)


@dataclass(frozen=True, eq=False)
class Entry:
    """A result on the page: what is drawn of it, and its trust card."""

    result: Result
    row: Row
    card: tuple[Check, ...]

    @property
    def carries(self) -> bool:
        """Whether a conclusion may be drawn from it."""
        return not tally(self.card).is_invalid and len(self.row.medians) >= stats.LEAST_STARTS

    @property
    def score(self) -> str:
        """How many checks passed, the names of those that did not, and how many had nothing to check."""
        return tally(self.card).words


def entry(result: Result) -> Entry:
    """Return a result with what is drawn of it and its trust card, which is kept beside the run."""
    card = tuple(checks.check(result.run))
    if "id" not in result.run.manifest:  # not one of those that come with the project
        result.run.folder.update(checks=[check.as_dict() for check in card])
    return Entry(result, row(result.run, result.case, ""), card)


def picture(rows: Sequence[Row]) -> bytes:
    """Return the comparison as a PNG: medians with their ranges above, empirical CDFs below in the same colours."""
    names = [name.splitlines() for name in wrapped(row.name for row in rows)]
    widest = max((len(line) for lines in names for line in lines), default=4)
    left = 0.05 + 0.0135 * widest
    with style():
        figure = Figure(figsize=(6.4, 5.6))
        above, below = (figure.add_axes(place) for place in ((left, 0.65, 0.97 - left, 0.3), (0.16, 0.09, 0.81, 0.41)))
        draw_medians(rows, above)
        draw_distributions(rows, below)
        if rows:
            above.set_title("Median RTT of each start", x=-left / (0.97 - left))
            above.set_xlabel(above.get_xlabel().partition(";")[0])
            below.xaxis.label.set_fontsize(9.5)
            most = len(rows) * max(map(len, names))  # lines of names, one above the other
            fontsize = max(6, min(10.5, 85 / most))
            above.tick_params(axis="y", labelsize=fontsize)
            for text in above.texts:
                text.set_fontsize(fontsize)
            _make_room(figure, above)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=120)
        return buffer.getvalue()


def _make_room(figure: Figure, above: Axes) -> None:
    """Make room on the right for the words beside the rows above; the names of these rows are the legend of both."""
    figure.draw_without_rendering()
    words = max((text.get_window_extent().x1 for text in above.texts), default=0.0) / figure.bbox.width
    place = above.get_position()
    above.set_position((place.x0, place.y0, max(0.15, place.width - max(0.0, words - 0.985)), place.height))


def named(place: int, entry: Entry) -> str:
    """Return a result's line: its colour, name, median with its range, and how its checks ended."""
    of = stats.across_starts(list(entry.row.medians))
    time = "overloaded" if entry.row.over else f"{of.words(duration)} [{duration(of.low)}, {duration(of.high)}]"
    starts = f"{len(entry.row.medians)} start{'s' * (len(entry.row.medians) > 1)}"
    swatch = f'<span class="rt-swatch" style="background:{to_hex(colour(place))}"></span>'
    return f'<div class="rt-name">{swatch}<b>{html.escape(entry.row.name)}</b> {time}, {starts}; {entry.score}</div>'


def card(of: Entry) -> str:
    """Return a result's trust card."""
    return f'<div class="rt-card">{_table(tables.card(list(of.card)))}</div>'


def numbers(entries: Sequence[Entry]) -> str:
    """Return the conclusions from the results, and their tables."""
    if not entries:
        return NOTHING_YET
    said = [sentences([entry.row for entry in entries if entry.carries])]
    said += [
        f"**No conclusion** from {entry.row.name}: {len(entry.row.medians)} starts, {entry.score}."
        for entry in entries
        if not entry.carries
    ]
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(" ".join(said)))
    frames = [frame for make in (tables.calls, tables.loads, tables.costs) if len(frame := _frame(entries, make))]
    return f'<div class="rt-numbers"><p>{text}</p>{"<br>".join(map(_table, frames))}</div>'


def _frame(entries: Sequence[Entry], make: Callable[[Run], pd.DataFrame]) -> pd.DataFrame:
    """Return one table of all results; a load table only of open loads, where it says more than the first."""
    frames = []
    for entry in entries:
        if make is tables.loads and not entry.row.paced:
            continue
        frame = make(entry.result.run)
        label = entry.result.run.labels[entry.result.case]
        frames += [frame.loc[[label]].rename(index={label: entry.row.name})] if label in frame.index else []
    return pd.concat(frames).fillna("") if frames else pd.DataFrame()


def _table(frame: pd.DataFrame) -> str:
    return frame.reset_index().to_html(index=False, border=0)


def command(what: str, line: str) -> str:
    """Return a command with a button that copies it."""
    copy = "navigator.clipboard.writeText(this.dataset.command); this.textContent = 'Copied'"
    shown = html.escape(line)
    return (
        f'<div class="rt-note">{what}</div><div class="rt-command">'
        f'<code>{shown}</code><button data-command="{shown}" onclick="{copy}">Copy</button></div>'
    )


def status(text: str) -> str:
    """Return a line with the current state."""
    return f'<div class="rt-status">{text}</div>'


def error(what: object) -> str:
    """Return an error as one line, without its traceback."""
    return f'<div class="rt-error" role="alert">{html.escape(" ".join(str(what).split()))}</div>'


NOTHING_YET = status("Nothing is measured yet: press <b>Run</b> on the page.")
