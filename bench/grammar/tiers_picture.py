"""The picture of several occasions of overview: each system's ratio to raw sockets with its prediction interval."""

import hashlib
import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.analysis.replication import RTT_RATIO, Row, ratio_text
from bench.analysis.tiers import APART, SHARED, Published
from bench.grammar.axes import GREY, SMALL, log_axis, look, style, write_beside
from bench.grammar.figure import framed
from bench.stats.meta_analysis import times
from bench.text import quantity

FIRST, EACH = 0.12, 0.08  # inches of a system's row: beside its marks, and for each machine's
LINE = 100  # characters
MOST_APART, ALL_APART = 0.36, 0.48  # rows between the marks of two machines, and of the first and the last
LOOKS = {APART: (look(0).colour, "o", "a CPU each (split)"), SHARED: (GREY, "D", "on one CPU (same)")}


def draw(published: Published, title: str, caption: str) -> Figure:
    """Return a figure with a panel for each transport, its systems in tiers from the shortest RTT on."""
    counts = [sum(map(len, tiers)) for tiers in published.tiers.values()]
    each = FIRST + EACH * max(2, len(_machines(published)))
    with style():
        figure = Figure(figsize=(11, 2.4 + each * sum(counts)), layout="constrained")
        axes = figure.subplots(len(counts), 1, height_ratios=counts, sharex=True, squeeze=False)[:, 0]
        for part, (transport, tiers) in zip(axes, published.tiers.items(), strict=True):
            _panel(published, part, tiers)
            part.set_title(f"{transport}: median RTT divided by that of raw sockets")
        axes[-1].set_xlabel(
            "× raw sockets; bar: 95 % prediction interval of another occasion; numbers: split; shades: tiers"
            + _order(published)
        )
        handles, labels = axes[0].get_legend_handles_labels()
        axes[0].legend(handles[::-1], labels[::-1], loc="upper right", title="client and server")
    return framed(figure, title, caption)


def _machines(published: Published) -> list[str]:
    """Return the name of each machine."""
    return [of.name for of in {of.machine.machine_id: of.machine for of in published.occasions}.values()]


def _order(published: Published) -> str:
    """Return which machine each of a system's marks is from; "" of one machine."""
    machines = _machines(published)
    if len(machines) < 2:
        return ""
    words = f"marks of a system from top to bottom: {', '.join(machines)}; fewer marks: not measured on all machines"
    return f"\n{textwrap.fill(words, LINE)}"


def _panel(published: Published, axes: Axes, tiers: list[list[Row]]) -> None:
    ordered = [row for tier in tiers for row in tier]
    for placement, (colour, marker, label) in reversed(LOOKS.items()):
        axes.plot([], [], marker, color=colour, mfc="white" if placement == SHARED else colour, label=label)
        for y, row in enumerate(ordered):  # the baseline is compared with nothing
            if not row.measured.over:
                axes.plot(1, y, "|", ms=13, mew=2, color="black")
            elif found := published.of(row.system, row.place[0], placement, RTT_RATIO):
                _ratio(axes, y, found, colour, marker, placement)
    first = 0
    for number, tier in enumerate(tiers, 1):
        if number % 2 == 0:
            axes.axhspan(first - 0.5, first + len(tier) - 0.5, color=GREY, alpha=0.12, lw=0, zorder=0)
        first += len(tier)
    for y, row in enumerate(ordered):
        write_beside(axes, y, ratio_text(*row.predictions) if row.measured.over else "baseline")
    axes.axvline(1, color=GREY, lw=1, ls="--", zorder=0.9)
    axes.set_yticks(range(len(ordered)), [row.system for row in ordered], fontsize=SMALL)
    axes.set_ylim(len(ordered) - 0.5, -0.5)
    log_axis(axes.xaxis, quantity)


def _ratio(axes: Axes, y: int, row: Row, colour: str, marker: str, placement: str) -> None:
    """Draw a ratio on each machine, one below the other."""
    apart = min(MOST_APART, ALL_APART / max(1, len(row.predictions) - 1))
    for place, of in enumerate(row.predictions):
        at = y + apart * (place - (len(row.predictions) - 1) / 2)
        if of.has_ends:
            axes.plot([times(of.low), times(of.high)], [at, at], color=colour, lw=3, alpha=0.45, solid_capstyle="round")
        axes.plot(times(of.middle), at, marker, ms=5, color=colour, mfc="white" if placement == SHARED else colour)


def provenance(published: Published, title: str) -> dict[str, str]:
    """Return what is written into the picture's metadata: which occasions it was drawn from."""
    runs = [occasion.run for occasion in published.occasions]
    data = hashlib.sha256(repr(published.occasions).encode()).hexdigest()[:16]
    return {"Title": title, "Description": f"occasions={','.join(runs)} data={data} notebook=overview (roundtrip)"}
