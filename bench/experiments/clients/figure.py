"""Panels of throughput by number of clients: measured, and predicted from one client."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from bench.analysis.prediction import predict
from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    Look,
    RangeRow,
    band,
    cpu_bars,
    draw_line,
    label_axis,
    log_axis,
    name_rows,
    range_rows,
    say_why_empty,
)
from bench.experiments import published
from bench.experiments.clients.findings import bursts, first_calls_us, grown
from bench.experiments.sentences import clients_of
from bench.run.frames import Run, numbered
from bench.text import duration, quantity

TITLE = "How does throughput grow with the number of clients?"

MEASURED, MODEL = Look(SYSTEM_COLOURS[0], "o"), SYSTEM_COLOURS[4]


def greeter(run: Run, axes: Axes) -> None:
    """Draw the RTT of the greeter exercise's call: the first one, in a loop of 100, in a window; and its own number."""
    burst, sweep = bursts(run), grown(run)
    rows = {
        "first call, cold\n(connects, too)": first_calls_us(run),
        "mean of 100 calls,\n1 client": _mean_of(run, burst, 1),
        "mean of 100 calls,\n2 clients": _mean_of(run, burst, 2),
        "mean of a\nwhole window,\n1 client": _windows(run, sweep),
    }
    shown = {name: values for name, values in rows.items() if len(values)}
    range_rows(axes, (RangeRow(values, MEASURED.colour) for values in shown.values()))
    theirs = 1e3 * published.GREETER["one_call_ms"]
    axes.plot(
        [theirs], [0], "D", ms=8, color=GREY, label=f"the greeter, one call, on another machine: {duration(theirs)}"
    )
    name_rows(axes, shown)
    log_axis(axes.xaxis)
    axes.set_xlabel("RTT of each start; bar: their range, line: their median")
    axes.set_title("RTT of one call: cold, and in a loop")


def _mean_of(run: Run, cases: pd.DataFrame, clients: int) -> "pd.Series[float]":
    chosen = cases.index[cases["clients"] == clients]
    means = {start: calls.rtt_ns.mean() / 1e3 for case in chosen for start, calls in run.calls_of(case)}
    return pd.Series(means, dtype=float).sort_index()


def _windows(run: Run, cases: pd.DataFrame) -> "pd.Series[float]":
    """Return the mean RTT of each start of one client after the warm-up, in us, as the panel by clients has it."""
    chosen = [case for case, row in numbered(cases) if row["clients"] == 1]
    return run.starts_of(chosen[0])["mean_rtt_us"] if chosen else pd.Series(dtype=float)


def throughput(run: Run, axes: Axes) -> None:
    """Draw calls per second against clients: measured, predicted from one client, and the greeter's two numbers."""
    cases, model = grown(run), predict(run)
    draw_line(run, axes, cases, "clients", "rate_per_s", MEASURED, "measured")
    if model is not None:
        axes.plot(
            model.clients, model.asymptote, "--", color=GREY, lw=1.5, label="prediction from one client: asymptote"
        )
        axes.plot(model.clients, model.rate, "-.", color=MODEL, lw=1.8, label="prediction from one client: MVA")
        band(axes, model.clients, model.rate_low, model.rate_high, MODEL)
    there = {clients: sum(rates) for clients, rates in published.GREETER["calls_per_s"].items()}
    scale = float(cases["rate_per_s"].iloc[0]) / there[1] if cases["clients"].iloc[0] == 1 else math.nan
    axes.plot(list(there), [scale * rate for rate in there.values()], "D", color=GREY, ms=7, zorder=4,
              label="the greeter's growth, from our rate of one client")  # fmt: skip
    _client_axis(axes, cases)
    axes.set_ylim(0)
    label_axis(axes.yaxis, quantity)
    axes.set_ylabel("calls per second of all clients\nbands: range over starts")
    axes.set_title("Throughput: measured, and predicted from one client")


def rtt_by_clients(run: Run, axes: Axes) -> None:
    """Draw the mean RTT against clients, measured and predicted from one client."""
    cases, model = grown(run), predict(run)
    draw_line(run, axes, cases, "clients", "mean_rtt_us", MEASURED, "measured")
    if model is not None:
        axes.plot(model.clients, model.rtt_us, "-.", color=MODEL, lw=1.8, label="prediction from one client: MVA")
    lone = cases["mean_rtt_us"].iloc[0]
    axes.axhline(lone, color=GREY, ls="--", lw=1.2, label=f"{clients_of(cases.iloc[0])}: {duration(lone)}")
    _client_axis(axes, cases)
    axes.set_ylim(0)
    label_axis(axes.yaxis, duration)
    axes.set_ylabel("mean RTT; band: range over starts")
    axes.set_title("Mean RTT by number of clients")


def cost_by_clients(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role for each number of clients; the prediction takes it as constant."""
    cases = grown(run)
    if cases["server_cpu_us_per_call"].isna().all():
        return say_why_empty(axes, "the server's CPU time is not known")
    cpu_bars(run, axes, cases)
    name_rows(axes, [clients_of(row) for _, row in cases.iterrows()])
    axes.set_title("CPU time per call, by role")


def _client_axis(axes: Axes, cases: pd.DataFrame) -> None:
    axes.xaxis.set_major_locator(FixedLocator(sorted(cases["clients"].unique())))
    axes.set_xlim(0, 1.04 * cases["clients"].max())
    axes.set_xlabel("parallel client processes")


PANELS = (greeter, throughput, rtt_by_clients, cost_by_clients)
