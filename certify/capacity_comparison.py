"""The figure of several load generators' capacities: a row for each, at the connections of its highest capacity."""

from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.grammar.axes import GREY, log_axis, look, sheet, write_beside
from bench.text import counted, duration, harmless, listed, one_line, quantity
from certify.capacity import Capacity, Point
from certify.capacity_report import name
from certify.comparison_figure import panel_of_rows
from certify.load_checks import REPORTED_RATE_OFF

ALIKE = 0.8  # of the largest capacity per CPU: one load of some seconds decides no smaller difference
SHARES = (0.5, 1.0, 1.2)  # of the capacity, whose delivered rates are compared


def in_order(measurements: Sequence[Capacity]) -> list[Capacity]:
    """Return those with the most requests per second of CPU time first."""
    return sorted((measurement for measurement in measurements if measurement.points), key=per_cpu, reverse=True)


def per_cpu(measurement: Capacity) -> float:
    """Return the capacity divided by the CPUs used for it, in requests per second; 0 if these are not known."""
    best = measurement.best()
    return best.delivered_per_s / best.cpus if best.cpus else 0.0


def _most_per_cpu(measurement: Capacity) -> float:
    """Return the most requests per second of CPU time in an open load with the connections of the capacity."""
    used = (point.cpu_us_per_request for point in measurement.opened())
    return max((1e6 / each for each in used if each), default=0.0)


def draw(measurements: Sequence[Capacity]) -> Figure:
    """Return the figure: capacity per CPU, rates delivered at shares of the capacity, CPU time per request."""
    rows = in_order(measurements)
    size = (10, (1.8 + 0.36 * len(rows)) * len(PANELS))
    return sheet(size, len(PANELS), [partial(panel_of_rows, panel, rows) for panel in PANELS])


def capacity(axes: Axes, rows: Sequence[Capacity]) -> None:
    """Draw the capacity divided by the CPUs used; beside it the capacity itself."""
    for y, row in enumerate(rows):
        best = row.best()
        if best.cpus:
            drawn = look(3 if best.is_front_saturated else 0)
            label = "at least: the server's CPU was saturated" if best.is_front_saturated else "capacity"
            axes.plot([per_cpu(row)], [y], drawn.marker, color=drawn.colour, ms=8, label=label, clip_on=False)
        least = "≥ " if best.is_front_saturated else ""
        beside = (
            f"{least}{quantity(best.delivered_per_s)}/s",
            counted(best.connections, "connection"),
            f"{best.duration_s:g} s",
        )
        write_beside(axes, y, ", ".join((*beside, row.date)))
    log_axis(axes.xaxis, quantity)
    axes.set_xlabel("capacity divided by the CPUs that the generator used [requests/s]")
    axes.set_title("Capacity per CPU")


def delivered(axes: Axes, rows: Sequence[Capacity]) -> None:
    """Draw the delivered rate divided by the one asked for, and the reported one, at shares of the capacity."""
    for index, share in enumerate(SHARES):
        drawn, dy = look(index), 0.22 * (index - 1)
        for y, row in enumerate(rows):
            point = row.at(share)
            if point is None or not point.asked_per_s:
                continue
            asked = point.asked_per_s / 100
            axes.plot([point.answers_per_s / asked], [y + dy], drawn.marker, color=drawn.colour, ms=7,
                      label=f"delivered, {share:.0%} of the capacity asked for", clip_on=False)  # fmt: skip
            if point.reported_per_s is not None:
                axes.plot([point.reported_per_s / asked], [y + dy], "|", ls="", color="black", ms=10, mew=1.6,
                          label="reported", clip_on=False)  # fmt: skip
    for y, row in enumerate(rows):
        if not row.opened():
            write_beside(axes, y, "no open load")
    axes.axvline(100, color=GREY, ls="--", lw=1)
    axes.set_xlim(left=0)
    axes.set_xlabel("rate delivered, of the rate asked for [%]")
    axes.set_title("Does it deliver the rate?")


def cost(axes: Axes, rows: Sequence[Capacity]) -> None:
    """Draw the CPU time per request at the capacity, and of an open load of half of it."""
    for y, row in enumerate(rows):
        for index, point in enumerate((row.best(), row.at(SHARES[0]))):
            used, drawn = point.cpu_us_per_request if point else None, look(index)
            label = ("at the capacity", f"open load, {SHARES[0]:.0%} of the capacity")[index]
            if used:
                axes.plot([used], [y + 0.16 * (2 * index - 1)], drawn.marker, color=drawn.colour, ms=7, label=label,
                          clip_on=False)  # fmt: skip
    log_axis(axes.xaxis, duration)
    axes.set_xlabel("CPU time of the generator per request")
    axes.set_title("CPU time")


PANELS: tuple[Callable[[Axes, Sequence[Capacity]], None], ...] = (capacity, delivered, cost)


def conclusion(measurements: Sequence[Capacity]) -> str:
    """Return which generators make the most requests per CPU, and which rates were not those asked for, or reported."""
    rows = in_order(measurements)
    largest = per_cpu(rows[0])
    alike = [row.name for row in rows if per_cpu(row) >= ALIKE * largest]
    near = [row.name for row in rows if _most_per_cpu(row) >= ALIKE * largest > per_cpu(row)]
    half = {row.name: point for row in rows if (point := row.at(SHARES[0]))}
    over = {row.name: point for row in rows if (point := row.at(SHARES[-1]))}
    short = [
        f"{whose} ({counted(point.connections, 'connection')})"
        for whose, point in half.items()
        if not _is_asked(point, point.answers_per_s)
    ]
    planned = [
        whose
        for whose, point in over.items()
        if _is_asked(point, point.reported_per_s) and not _is_asked(point, point.answers_per_s)
    ]
    sentences = [
        f"**In closed loads the most requests per second of CPU time, {ALIKE:.0%} of {quantity(largest)} or more, are "
        f"made by {listed(alike)}.** Each capacity is that of one load, so smaller differences decide nothing.",
        f"In an open load {listed(near)} did as much." if near else "",
        f"At half of their capacity these do not deliver the rate asked for: {listed(short)}." if short else "",
        f"Beyond it these report the rate asked for, not the one delivered: {listed(planned)}." if planned else "",
    ]
    drawn = [(row.name, point) for row in rows for point in row.opened()]
    if any(point.reported_per_s for _, point in drawn):
        off = dict.fromkeys(whose for whose, point in drawn if any(map(_is_of_rate, point.not_held)))
        verdict = f"it is not held for {listed(off)}" if off else "it is held for all"
        check = "The check `rate-reported` compares the rates that open loads report with those delivered"
        sentences.append(f"{check}: {verdict}.")
    return " ".join(filter(None, sentences))


def _is_of_rate(words: str) -> bool:
    """Return whether a check that is not held, as a point has it, is the one of the reported rate."""
    return words.startswith("rate-reported")


def _is_asked(point: Point, per_s: float | None) -> bool:
    """Return whether a rate is the one that was asked for."""
    asked = point.asked_per_s or 0.0
    return per_s is not None and abs(per_s - asked) <= REPORTED_RATE_OFF * asked


def table(measurements: Sequence[Capacity]) -> pd.DataFrame:
    """Return a row for each generator, at the connections of its highest capacity: version, date, seconds, rates."""
    rows = []
    for measurement in in_order(measurements):
        best = measurement.best()
        rows.append({
            "generator": measurement.generator,
            "version": measurement.version or "not stored",
            "date": measurement.date,
            "connections": f"{best.connections:,}",
            "seconds of each load": f"{best.duration_s:g}",
            "capacity": f"{'at least ' if best.is_front_saturated else ''}{quantity(best.delivered_per_s)}/s",
            "CPUs": f"{best.cpus:.2f}" if best.cpus else "",
        })  # fmt: skip
    return pd.DataFrame(rows)


def findings(measurements: Sequence[Capacity]) -> list[str]:
    """Return a sentence for each check that is not held, of the loads that are drawn."""
    return [
        f"**{row.name}**, {name(point)}: {one_line(harmless(words), 400)}"
        for row in in_order(measurements)
        for point in (row.best(), *row.opened())
        for words in point.not_held
    ]
