"""The figure of several certificates: what each generator's checks found, its times, its load, and its CPU time."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.grammar.axes import (
    SMALL,
    Look,
    log_axis,
    look,
    name_rows,
    ratio_axis,
    sheet,
    ticks_at,
    write_beside,
)
from bench.text import listed
from certify.certificate_figure import MARKERS
from certify.check import HELD, NOT_DECIDED, NOT_HELD
from certify.protocols import PROTOCOLS
from certify.scenarios import FEW
from certify.stored_certificate import GROUPS, P99, Row, of_group

TITLE = "Do load generators tell the truth?"
TIMES = ("single", "many", "half-load", "freeze")  # scenarios whose times are compared
FROZEN, P90 = "freeze-few", "p90"
RINGS = {NOT_HELD: ("o", 13), NOT_DECIDED: ("D", 12)}  # around times: marker and size


def draw(rows: Sequence[Row], *panels: str) -> Figure:
    """Return a figure of some panels, named as their functions, one below the other."""
    size = (10, (1.6 + 0.34 * len(rows)) * len(panels))
    return sheet(size, len(panels), [partial(panel_of_rows, globals()[name], _filled(rows)) for name in panels])


def whole(rows: Sequence[Row]) -> Figure:
    """Return the figure: all panels."""
    draws = [partial(panel_of_rows, panel, _filled(rows)) for panel in PANELS]
    return sheet((14, 5.4 + 0.6 * len(rows)), 2, draws)


def _filled(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows so that stored ones are hollow beside those that were made here, and filled without any."""
    return rows if any(not row.is_stored for row in rows) else [replace(row, is_stored=False) for row in rows]


def panel_of_rows(panel: Callable[[Axes, Sequence[Any]], None], rows: Sequence[Any], axes: Axes) -> None:
    """Draw a panel that has a row for each load generator, and name its rows."""
    panel(axes, rows)
    name_rows(axes, [row.name for row in rows])


def verdicts(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw what the checks of each kind found."""
    for y, row in enumerate(rows):
        for x, names in enumerate(GROUPS.values()):
            if verdict := of_group(row, names):
                _mark(axes, x, y, *MARKERS[verdict], verdict, row)
    ticks_at(axes.xaxis, range(len(GROUPS)))
    axes.set_xticklabels(GROUPS, rotation=30, ha="right", fontsize=SMALL)
    axes.set_xlim(-0.6, len(GROUPS) - 0.4)
    axes.set_title("What the checks found")


def times(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the reported p99 divided by the true one, in each scenario whose times are compared."""
    for index, name in enumerate(TIMES):
        for y, row in enumerate(rows):
            _ratio(axes, y + 0.12 * (index - 1.5), row, name, P99, look(index), name)
    for y, row in enumerate(rows):
        if not any(row.check(name, P99) for name in TIMES):
            version = row.document["version"]
            write_beside(axes, y, f"no p99 reported{f' by {version}' if version else ''}")
    ratio_axis(axes)
    axes.set_xlabel(f"reported p99 divided by the true p99, in four scenarios\n{times_note(rows)}", fontsize=10)
    axes.set_title("Reported times")


def times_note(rows: Sequence[Row]) -> str:
    """Return what a difference in ``single`` is, and which true times count from the arrival."""
    phrases = [f"{name} of {listed(generators)}" for name in TIMES if (generators := _from_arrival(rows, name))]
    since = f", in {' and in '.join(phrases)}" if phrases else ""
    return (
        "single: the service takes 1 ms (of streams 0.2 s), so 0.1 is 0.1 ms of the way and of the client's own time. "
        f"True times count from the arrival in the closed loads single and many{since}; in other open loads from when "
        "each request was due."
    )


def _from_arrival(rows: Sequence[Row], name: str) -> list[str]:
    """Return the generators that report p99 of an open load whose true times count from the arrival."""
    return [
        str(row.generator)
        for row in rows
        if (scenario := row.scenario(name)).get("load") == "open"
        and row.check(name, P99)
        and scenario["true_us"]["since"] == "arrival"
    ]


def frozen(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the reported p90, or mean, divided by the true one, before a server that freezes, with few connections.

    True times count from the schedule; of a load that did not keep it, they are not known to the server.
    """
    for y, row in enumerate(rows):
        scenario = row.scenario(FROZEN)
        if not scenario:
            has_open = any(entry["load"] == "open" for entry in row.document["scenarios"])
            write_beside(axes, y, "not measured" if has_open else "no open load")
        elif scenario["true_us"]["since"] == "arrival":
            arrived = scenario["arrivals_per_s"] / scenario["rate_per_s"]
            write_beside(axes, y, f"no schedule kept, {arrived:.0%} of the rate")
        else:
            for index, name in enumerate((P90, "mean")):
                _ratio(axes, y, row, FROZEN, name, look(index), name)
            if row.needs_no_connection:
                write_beside(axes, y, "waits for no connection")
    ratio_axis(axes)
    what = "reported p90 and mean divided by the true ones, from when each request was due"
    axes.set_xlabel("\n".join([what, *frozen_notes(rows)]), fontsize=10)
    axes.set_title(f"A server that freezes, {FEW} connections")


def frozen_notes(rows: Sequence[Row]) -> list[str]:
    """Return a sentence on the generators without a marker that did not send all, and on those that never wait."""
    left_out = []
    for row in rows:
        scenario, check = row.scenario(FROZEN), row.check(FROZEN, "rate-delivered")
        if check and check["verdict"] == NOT_HELD and scenario["true_us"]["since"] == "arrival":
            left_out.append(f"{row.generator} {1 - check['found'] / check['expected']:.0%}")
    free = [row.generator for row in rows if row.needs_no_connection and row.scenario(FROZEN)]
    sentences = (
        [f"Without a marker nothing is shown to be true. Requests not sent: {', '.join(left_out)}."] if left_out else []
    )
    return sentences + ([f"With {listed(free)}, no request waits for a connection."] if free else [])


def cost(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the generator's CPU time per request: of a closed load of many connections, and of an open load.

    Not of streams, each of which is many replies.
    """
    for y, row in enumerate(rows):
        if _has_streams(row):
            write_beside(axes, y, "streams")
    for index, (name, load) in enumerate((("many", "closed load"), ("half-load", "open load"))):
        for y, row in enumerate(rows):
            used = row.scenario(name).get("generator_cpu_us_per_request")
            if used and not _has_streams(row):
                _mark(axes, used, y + 0.16 * (index - 0.5), *look(index), load, row)
    log_axis(axes.xaxis)
    axes.set_xlabel("CPU time of the generator per request")
    axes.set_title("CPU time")


def _has_streams(row: Row) -> bool:
    return PROTOCOLS[row.document["protocol"]].has_streams


PANELS = (verdicts, times, frozen, cost)


def _mark(axes: Axes, x: float, y: float, colour: str, marker: str, label: str, row: Row) -> None:
    """Draw a marker: hollow of a stored row beside one that was made here."""
    face = "white" if row.is_stored else colour
    axes.plot([x], [y], ls="", marker=marker, color=colour, mfc=face, ms=7, label=label, clip_on=False)


def _ratio(axes: Axes, y: float, row: Row, scenario: str, name: str, drawn: Look, label: str) -> None:
    """Draw a reported time divided by the true one, if there is one; around it what its check did not hold."""
    if not (ratio := row.ratio(scenario, name)):
        return
    _mark(axes, ratio, y, *drawn, label, row)
    if (verdict := row.check(scenario, name)["verdict"]) != HELD:
        marker, size = RINGS[verdict]
        axes.plot([ratio], [y], ls="", marker=marker, color=MARKERS[verdict][0], mfc="none", ms=size, mew=1.4,
                  label=verdict, clip_on=False)  # fmt: skip
