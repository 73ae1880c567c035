"""Panels of throughput by number of clients: measured, and predicted from one client."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from bench.analysis.prediction import Prediction, predict
from bench.drawing.axes import (
    GREY,
    ROLE_COLOURS,
    ROLE_HATCHES,
    SYSTEM_COLOURS,
    RangeRow,
    band,
    hold,
    linear_axis,
    name_rows,
    near,
    nothing,
    range_rows,
)
from bench.experiments import published
from bench.experiments.clients.findings import bursts, first_calls_us, grown
from bench.experiments.sentences import clients_of
from bench.run.frames import Run, numbered
from bench.text import duration, quantity

TITLE = "How does throughput grow with the number of clients?"

MEASURED, MODEL, ASYMPTOTE = SYSTEM_COLOURS[0], SYSTEM_COLOURS[4], GREY


def the_lab(run: Run, axes: Axes) -> None:
    """Draw the RTT of the lab's call: the first one, in a loop of 100, in a window; and the lab's own number."""
    burst, sweep = bursts(run), grown(run)
    rows = {
        "first call, cold\n(connects, too)": first_calls_us(run),
        "mean of 100 calls,\n1 client": _mean_of(run, burst, 1),
        "mean of 100 calls,\n2 clients": _mean_of(run, burst, 2),
        "mean of a\nwhole window,\n1 client": _windows(run, sweep),
    }
    shown = {name: values for name, values in rows.items() if len(values)}
    range_rows(axes, (RangeRow(values, MEASURED) for values in shown.values()))
    theirs = 1e3 * published.GRPC_LAB["one_call_ms"]
    axes.plot([theirs], [0], "D", ms=8, color=GREY, label=f"the lab, one call: {duration(theirs)}")
    name_rows(axes, shown)
    near(axes)
    axes.set_xlabel("RTT of each start; bar: their range, line: their median")
    axes.legend()
    axes.set_title("RTT of one call: cold, and in a loop")


def _mean_of(run: Run, cases: pd.DataFrame, clients: int) -> "pd.Series[float]":
    chosen = cases.index[cases["clients"] == clients]
    return run.samples[run.samples["case"].isin(chosen)].groupby("start")["rtt_ns"].mean() / 1e3


def _windows(run: Run, cases: pd.DataFrame) -> "pd.Series[float]":
    """Return the mean RTT of each start of one client after the warm-up, in us, as the panel by clients has it."""
    chosen = [case for case, row in numbered(cases) if row["clients"] == 1]
    return run.starts_of(chosen[0])["mean_rtt_us"] if chosen else pd.Series(dtype=float)


def throughput(run: Run, axes: Axes) -> None:
    """Draw calls per second against clients: measured, predicted from one client, and the lab's two numbers."""
    cases, model = grown(run), predict(run)
    axes.plot(cases["clients"], cases["rate_per_s"], "o-", color=MEASURED, lw=2, ms=7, label="measured", zorder=5)
    band(axes, cases, "clients", "rate_per_s", MEASURED, 0.25)
    if model is not None:
        _model_lines(axes, model)
    lab = published.GRPC_LAB["calls_per_s"]
    axes.plot(list(lab), [sum(rates) for rates in lab.values()], "D", color=GREY, ms=7, label="the lab, 2022", zorder=4)
    _client_axis(axes, cases)
    axes.set_ylim(0)
    hold(axes, cases["rate_per_s"], cases["rate_per_s_low"], cases["rate_per_s_high"], quantity)
    linear_axis(axes.yaxis, quantity)
    axes.set_ylabel("calls per second, all clients together")
    axes.legend()
    axes.set_title("Throughput: measured, and predicted from one client")


def _model_lines(axes: Axes, model: Prediction) -> None:
    axes.plot(model.clients, model.asymptote, color=ASYMPTOTE, lw=1.5, ls="--",
              label="prediction from one client: asymptote")  # fmt: skip
    axes.plot(model.clients, model.rate, color=MODEL, lw=1.8, ls="-.", label="prediction from one client: MVA")
    axes.fill_between(model.clients, model.rate_low, model.rate_high, color=MODEL, alpha=0.18, lw=0)


def rtt_by_clients(run: Run, axes: Axes) -> None:
    """Draw the mean RTT against clients, measured and predicted from one client."""
    cases, model = grown(run), predict(run)
    axes.plot(cases["clients"], cases["mean_rtt_us"] / 1e3, "o-", color=MEASURED, lw=2, ms=7, label="measured")
    low, high = cases["mean_rtt_us_low"] / 1e3, cases["mean_rtt_us_high"] / 1e3
    axes.fill_between(cases["clients"], low, high, color=MEASURED, alpha=0.25, lw=0)
    if model is not None:
        axes.plot(
            model.clients, model.rtt_us / 1e3, color=MODEL, lw=1.8, ls="-.", label="prediction from one client: MVA"
        )
    lone = cases["mean_rtt_us"].iloc[0]
    axes.axhline(lone / 1e3, color=ASYMPTOTE, ls="--", lw=1.2, label=f"{clients_of(cases.iloc[0])}: {duration(lone)}")
    _client_axis(axes, cases)
    axes.set_ylim(0)
    hold(axes, cases["mean_rtt_us"] / 1e3, low, high, lambda ms: duration(1e3 * ms))
    axes.set_ylabel("mean RTT [ms]")
    axes.legend()
    axes.set_title("Mean RTT by number of clients")


def cost_by_clients(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role against clients; the prediction takes it as constant."""
    cases = grown(run)
    if cases["server_cpu_us_per_call"].isna().all():
        return nothing(axes, "the server's CPU time is not known")
    places, left = np.arange(len(cases)), np.zeros(len(cases))
    for role, colour in ROLE_COLOURS.items():
        values = cases[f"{role}_cpu_us_per_call"].fillna(0).to_numpy()
        if values.any():
            axes.bar(places, values, bottom=left, color=colour, hatch=ROLE_HATCHES[role], label=role, width=0.62)
            left = left + values
    for x, total in zip(places, left, strict=True):
        axes.annotate(duration(total), (x, total), (0, 4), textcoords="offset points", ha="center", fontsize=10.5)
    axes.set_xticks(places, [str(n) for n in cases["clients"]])
    axes.set_ylim(0, 1.1 * left.max())
    axes.xaxis.grid(False)
    axes.set_xlabel("parallel client processes")
    axes.set_ylabel("CPU time per call [µs]")
    axes.legend()
    axes.set_title("CPU time per call, by role")
    return None


def _client_axis(axes: Axes, cases: pd.DataFrame) -> None:
    axes.xaxis.set_major_locator(FixedLocator(sorted(cases["clients"].unique())))
    axes.set_xlim(0, 1.04 * cases["clients"].max())
    axes.set_xlabel("parallel client processes")


PANELS = (the_lab, throughput, rtt_by_clients, cost_by_clients)
