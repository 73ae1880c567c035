"""The picture of several occasions of overview: each system's ratio to raw sockets on each machine, and its rank."""

import hashlib
import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.analysis.occasions import RTT_RATIO
from bench.analysis.published import Published, rank_text, ratio_text
from bench.analysis.replication import APART, SHARED, Order, Row
from bench.grammar.axes import GREY, SMALL, SYSTEM_MARKERS, legend_entries, log_axis, look, style, write_beside
from bench.grammar.figure import framed
from bench.text import quantity
from docs.published_tables import machine_name

EACH = 0.27  # inches of a system's row
MARKS = (*SYSTEM_MARKERS, "P", "X", "p", "h", "*")  # of the machines
LOOKS = {APART: (look(0).colour, -0.17, "on separate CPUs (split)"), SHARED: (GREY, 0.17, "on one CPU (same)")}


def draw(published: Published, title: str) -> Figure:
    """Return a figure with a panel for each transport, the shortest RTT on separate CPUs on top."""
    counts = [len(order.rows) for order in published.orders.values()]
    with style():
        figure = Figure(figsize=(11, 2.4 + EACH * sum(counts)), layout="constrained")
        body = figure.subfigures()
        axes = body.subplots(len(counts), 1, height_ratios=counts, sharex=True, squeeze=False)[:, 0]
        for part, (transport, order) in zip(axes, published.orders.items(), strict=True):
            _panel(published, part, order)
            part.set_title(f"{transport}: median RTT divided by that of raw sockets (right: on separate CPUs)")
        axes[-1].set_xlabel("median RTT / that of raw sockets")
        entries = legend_entries(axes[0])
        body.legend(entries.values(), entries, loc="outside lower left", ncols=4)
    return framed(figure, title, "")


def mark(number: int) -> str:
    """Return the mark of a machine, as matplotlib names it."""
    return MARKS[number % len(MARKS)]


def _panel(published: Published, axes: Axes, order: Order) -> None:
    for placement, (colour, _, label) in LOOKS.items():
        axes.plot([], [], "s", color=colour, mfc="white" if placement == SHARED else colour, label=label)
    for number in published.machines:
        axes.plot([], [], mark(number), ms=5, color=GREY, label=f"machine {machine_name(number)}")
    for y, (row, rank) in enumerate(zip(order.rows, order.ranks, strict=True)):
        if not row.measured.over:  # the baseline is compared with nothing
            axes.plot(1, y, "|", ms=13, mew=2, color="black")
            write_beside(axes, y, f"baseline, rank {rank_text(rank)}")
            continue
        for placement in LOOKS:
            if ratio := published.row(row.system, row.place[0], placement, RTT_RATIO):
                draw_ratio(axes, y, ratio, placement)
        write_beside(axes, y, f"{ratio_text(row)}, rank {rank_text(rank)}")
    axes.axvline(1, color=GREY, lw=1, ls="--", zorder=0.9)
    axes.set_yticks(range(len(order.rows)), [row.system for row in order.rows], fontsize=SMALL)
    axes.set_ylim(len(order.rows) - 0.5, -0.5)
    log_axis(axes.xaxis, quantity)


def draw_ratio(axes: Axes, y: float, row: Row, placement: str) -> None:
    """Draw a ratio on each machine, and the range between them."""
    colour, off, _ = LOOKS[placement]
    axes.plot([math.exp(end) for end in row.ends], [y + off] * 2, color=colour, lw=3, alpha=0.35)
    for number, ln in row.on.items():
        fill = "white" if placement == SHARED else colour
        axes.plot(math.exp(ln), y + off, mark(number), ms=5, color=colour, mfc=fill)


def provenance(published: Published, title: str) -> dict[str, str]:
    """Return what is written into the picture's metadata: which occasions it was drawn from."""
    runs = [occasion.run for occasion in published.occasions]
    data = hashlib.sha256(repr(published.occasions).encode()).hexdigest()[:16]
    return {"Title": title, "Description": f"occasions={','.join(runs)} data={data} notebook=overview (roundtrip)"}
