"""What the page shows of its results: rows, the picture, trust cards, tables and commands, as HTML and bytes."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from bench import stats
from bench.analysis import checks
from bench.analysis.trust_card import Check, tally
from bench.apps.exploring.axis import BASE, Shown
from bench.apps.exploring.result_set import Result
from bench.experiments.explore import Row, draw_distributions, ratio_of, row, to_shortest
from bench.grammar import Estimand, result_tables
from bench.grammar.axes import explaining_emptiness, style
from bench.grammar.markup import as_html, png, table
from bench.grammar.statement import as_markdown
from bench.run.frames import Run
from bench.stats.intervals import Interval
from bench.text import counted, paragraphs

# Keys typed into an input are its own: JupyterLab would take those of a list or a button for its shortcuts.
OWN_KEYS = (
    "this.closest('.rt-page').onkeydown = e => e.ctrlKey || e.metaKey || e.key == 'Escape' || e.stopPropagation()"
)
STYLE = f'<style onload="{OWN_KEYS}">{Path(__file__).with_name("page.css").read_text("utf-8")}</style>'


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
        """How many checks passed, the names of those that did not, and how many decided nothing (N/A)."""
        counts = tally(self.card)
        return f"{'INVALID: ' * counts.is_invalid}checks passed {counts}"


def entry(result: Result) -> Entry:
    """Return a result with what is drawn of it and its trust card, which is kept beside the run."""
    card = tuple(checks.check(result.run))
    if "id" not in result.run.manifest:  # not one of those that come with the project
        result.run.folder.update(checks=[check.as_dict() for check in card])
    return Entry(result, row(result.run, result.number, ""), card)


def shown(entries: Sequence[Entry]) -> list[Shown]:
    """Return the rows of results: each divided by the first of its run, in the run that holds most of them."""
    runs = [entry.result.run for entry in entries]
    base = next((entry for entry in entries if runs.count(entry.result.run) > 1), None)
    ratios = [None if base is None else _ratio(base, entry) for entry in entries]
    rows = []
    for entry, ratio in zip(entries, ratios, strict=True):
        note = f"{counted(len(entry.row.medians), 'start')}; {entry.score}"
        ratio = BASE if entry is base and any(ratios) else ratio
        rows.append(Shown(entry.row.name, entry.row.medians, ratio, note, entry.row.over))
    return rows


def _ratio(base: Entry, other: Entry) -> Interval | None:
    """Return the ratio of two results' medians, other over base; None of different runs, or where there is none."""
    if base.result.run is not other.result.run:
        return None
    return ratio_of(base.result.run, base.result.number, other.result.number)


def picture(rows: Sequence[Row]) -> bytes:
    """Return the empirical CDFs as a PNG, in the colours of the rows above it, whose names are its legend."""
    with style():
        figure = Figure(figsize=(7.4, 3.5), layout="constrained")
        axes = figure.subplots()
        with explaining_emptiness(axes):
            draw_distributions(rows, axes)
        axes.xaxis.label.set_fontsize(9.5)
        return png(figure, dpi=120)


def heading(entries: Sequence[Entry], is_example: bool) -> str:
    """Return what the results are: the stored example, or what was measured here."""
    if not entries:
        return "Nothing is measured yet: press <b>Run</b>"
    if is_example:
        when = html.escape(entries[0].result.run.manifest["created"][:10])
        return f"<b>Example</b>: the project's stored run of {when}. Press <b>Run</b> to measure your choice here"
    return "<b>Measured here</b>: choose another setting and press <b>Run</b> to measure all of these in turns"


def heading_of(text: str) -> str:
    """Return the line above the results."""
    return f'<div class="rt-heading">{text}</div>'


def card(result: Entry) -> str:
    """Return a result's trust card."""
    return f'<div class="rt-card">{table(result_tables.card(list(result.card)), border=0)}</div>'


def numbers(entries: Sequence[Entry]) -> str:
    """Return the conclusions from the results, and their tables."""
    if not entries:
        return NOTHING_YET
    carrying = [entry.row for entry in entries if entry.carries]
    medians = Estimand("median", lambda run: to_shortest(carrying, _paired(entries)))
    without = [
        f"**No conclusion** from {entry.row.name}: {len(entry.row.medians)} starts, {entry.score}."
        for entry in entries
        if not entry.carries
    ]
    text = as_html(paragraphs(as_markdown(medians.statements(entries[0].result.run)), *without))
    frames = [
        frame
        for make in (result_tables.calls, result_tables.loads, result_tables.costs)
        if len(frame := _frame(entries, make))
    ]
    folded = f"<details><summary>Tables</summary>{'<br>'.join(table(frame, border=0) for frame in frames)}</details>"
    return f'<div class="rt-numbers"><p>{text}</p>{folded}</div>'


def _paired(entries: Sequence[Entry]) -> dict[tuple[str, str], Interval]:
    """Return the ratios to the shortest result of those that were measured in one run with it, by their names."""
    known = [entry for entry in entries if entry.carries and not entry.row.over]
    base = min(known, key=lambda entry: stats.across_starts(entry.row.medians).middle, default=None)
    ratios = {entry.row.name: _ratio(base, entry) for entry in known if base and entry is not base}
    return {(base.row.name, name): ratio for name, ratio in ratios.items() if base and ratio}


def _frame(entries: Sequence[Entry], make: Callable[[Run], pd.DataFrame]) -> pd.DataFrame:
    """Return one table of all results; a load table only of open loads, where it says more than the first."""
    frames = []
    for entry in entries:
        if make is result_tables.loads and not entry.row.paced:
            continue
        frame = make(entry.result.run)
        label = entry.result.run.labels[entry.result.number]
        frames += [frame.loc[[label]].rename(index={label: entry.row.name})] if label in frame.index else []
    return pd.concat(frames).fillna("") if frames else pd.DataFrame()


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
