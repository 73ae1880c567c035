"""Panels of languages of a run of servers in other languages: calls per second, server CPU time per call, memory."""

from collections.abc import Callable

from matplotlib.axes import Axes

from bench.drawing.axes import RangeRow, log_axis, look, name_rows, range_row, ratio_text
from bench.experiments.languages import findings
from bench.experiments.languages.findings import Server
from bench.experiments.sentences import AT_LEAST, limit_of
from bench.run.frames import Run
from bench.text import counted, duration, quantity

TITLE = "What does the server's language cost?"


def one_connection(run: Run, axes: Axes) -> None:
    """Draw the calls per second of each server on one connection; ×: over the first server."""
    _calls(run, axes, [of for of in findings.servers(run) if of.callers == 1])


def connections(run: Run, axes: Axes) -> None:
    """Draw the calls per second of each server on several connections; ×: over the first server."""
    _calls(run, axes, _several(run))


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time of each server per call, with several connections; ×: over the first server."""
    shown = _several(run)
    _rows(run, axes, shown, findings.CPU["server"], duration)
    axes.set_xlabel("server CPU time per call of each start; line: median")
    axes.set_title(f"Server CPU time per call, {_count(shown)}")


def memory(run: Run, axes: Axes) -> None:
    """Draw the largest resident memory of each server, with several connections; ×: over the first server."""
    shown = _several(run)
    _rows(run, axes, shown, findings.MEMORY, "{:,.0f} MB".format, 1e-6)
    axes.set_xlabel("largest resident memory of the server's processes in each start; line: median")
    axes.set_title(f"Server memory, {_count(shown)}")


def _several(run: Run) -> list[Server]:
    return [of for of in findings.servers(run) if of.callers > 1]


def _count(shown: list[Server]) -> str:
    return counted(shown[0].callers, "connection")


def _calls(run: Run, axes: Axes, shown: list[Server]) -> None:
    _rows(run, axes, shown, findings.RATE, quantity)
    axes.set_xlabel("calls per second of each start; line: median\n×: ratio, by block, to the first [95 % CI]")
    axes.set_title(f"Calls per second, {_count(shown)}")


def _rows(
    run: Run, axes: Axes, shown: list[Server], name: str, text: Callable[[float], str], factor: float = 1.0
) -> None:
    """Draw a row for each server, in the colour of its protocol: the first part of its name."""
    protocols = list(dict.fromkeys(of.system.partition("_")[0] for of in shown))
    for y, of in enumerate(shown):
        more = f", {ratio_text(findings.ratio(run, of, name))}" if of.case != of.first else ""
        is_least = name == findings.RATE and of.callers > 1 and limit_of(run, of.case).capacity == AT_LEAST
        least = " (at least)" if is_least else ""
        drawn = look(protocols.index(of.system.partition("_")[0]))
        values = factor * run.starts_of(of.case)[name]
        range_row(axes, y, RangeRow(values, drawn.colour, more + least, marker=drawn.marker), text)
    for place, protocol in enumerate(protocols):
        drawn = look(place)
        axes.plot([], [], drawn.marker, ls="", color=drawn.colour, label=protocol)
    log_axis(axes.xaxis, text)
    name_rows(axes, [of.name for of in shown])


PANELS = {"medians": one_connection, "shares": memory, "cpu": cpu, "rates": connections}
