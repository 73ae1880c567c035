"""Panels of users who do not wait: service and response time against offered load, and a freeze seen three ways."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.analysis import overload
from bench.analysis.quantiles import quantile
from bench.experiments.axes import GREY, curve, distribution_axes, linear_axis, nothing, time_axis
from bench.experiments.openload.findings import capacity, expanded, frozen, predicted, sweep
from bench.run.frames import Run, numbered
from bench.text import duration, quantity

TITLE = "How does it behave when users do not wait?"

SERVICE, RESPONSE, MODEL = "#0173b2", "#d55e00", "#cc78bc"


def against_load(run: Run, axes: Axes) -> None:
    """Draw p50 and p99 of service and response time against the offered rate; past the capacity nothing is told."""
    cases = sweep(run)
    calm = cases[~cases.index.isin(overload.overloaded(run))]
    for name, colour, words in (
        ("rtt", SERVICE, "service: from sending"),
        ("response", RESPONSE, "response: from when due"),
    ):
        for p, line in ((0.5, "-"), (0.99, "--")):
            rates, known = [], []
            for case, row in numbered(calm):
                found = quantile(run, case, p, name)
                if found.over:
                    rates.append(row["offered_per_s"])
                    known.append((found.value, found.low, found.high))
            values, low, high = zip(*known, strict=True) if known else ((), (), ())
            label = f"{words}, p{100 * p:g}"
            axes.plot(rates, values, line, marker="o", ms=5, lw=1.8, color=colour, label=label)
            axes.fill_between(rates, low, high, color=colour, alpha=0.15, lw=0)
    _scales(axes, run, cases, "time of a request")
    axes.legend(loc="upper left")
    axes.set_title("Service and response time against offered load")


def _scales(axes: Axes, run: Run, cases: pd.DataFrame, time: str) -> None:
    """Shade what lies above the capacity, and name both axes."""
    most = capacity(run)
    right = 1.05 * max(cases["offered_per_s"].max(), most)
    axes.axvspan(most, right, color="#bbbbbb", alpha=0.3, lw=0, label="above the capacity")
    axes.set_xlim(0, right)
    linear_axis(axes.xaxis, quantity)
    axes.set_xlabel("offered requests per second")
    axes.set_yscale("log")
    time_axis(axes.yaxis)
    axes.set_ylabel(time)


def means(run: Run, axes: Axes) -> None:
    """Draw the mean response time, and what Pollaczek and Khinchine foretell from the one closed loop."""
    cases = sweep(run)
    calm = cases[~cases.index.isin(overload.overloaded(run))]
    grid = np.linspace(1, 0.97 * capacity(run), 300)
    model = predicted(run, grid)
    if model is not None:
        axes.plot(grid, model, color=MODEL, ls="-.", lw=1.8, label="foretold from the server's law")
    for start in run.ledger.index[run.ledger["case"].isin(calm.index)]:
        rows = run.samples[(run.samples["start"] == start) & run.samples["warm"]]
        rate = run.ledger.loc[start, "offered_per_s"]
        axes.plot(rate, (rows["lag_ns"] + rows["rtt_ns"]).mean() / 1e3, "o", ms=5, mec="white", mew=0.6, color=RESPONSE)
    axes.plot([], [], "o", color=RESPONSE, label="measured: each start")
    _scales(axes, run, cases, "mean response time")
    axes.legend(loc="upper left")
    axes.set_title("The mean, foretold and measured")


def pacing(run: Run, axes: Axes) -> None:
    """Draw how late requests left that found an idle connection: the instrument's own part."""
    cases = sweep(run)
    starts = run.starts[run.starts["case"].isin(cases.index)]
    axes.plot(starts["offered_per_s"], starts["pacing_p99_us"], "o", ms=5, mec="white", mew=0.6, color=SERVICE)
    axes.axhline(150, color=GREY, ls="--", lw=1)
    axes.text(0.99, 150, "wanted: 150 µs ", va="bottom", ha="right", color=GREY, transform=axes.get_yaxis_transform())
    _scales(axes, run, cases, "p99 of the lateness, each start")
    axes.set_title("Pacing: how late a request left without having to wait")


def three_ways(run: Run, axes: Axes) -> None:
    """Draw the frozen server's times as a closed loop sees them, as users do, and as a what-if of the closed loop."""
    cases = {run.case(case).load: case for case in run.numbers if frozen(run, case)}
    if cases.keys() != {"closed", "open"}:
        return nothing(axes, "no frozen server in this run")
    rate = run.case(cases["open"]).offered_per_s
    rows = {load: run.samples_of(case) for load, case in cases.items()}
    closed = rows["closed"]["rtt_ns"].to_numpy() / 1e3
    shown = {
        "closed loop: it waits, too": (closed, SERVICE, "-"),
        "closed loop, expanded (what-if)": (expanded(rows["closed"], 1e6 / rate), MODEL, "-."),
        f"users at {rate:g}/s: from when they came": (
            (rows["open"]["lag_ns"] + rows["open"]["rtt_ns"]).to_numpy() / 1e3,
            RESPONSE,
            "-",
        ),
    }
    for label, (values, colour, line) in shown.items():
        curve(axes, values, label, colour, line)
    distribution_axes(axes)
    axes.set_xlabel("time of a request, warm-up and freeze included")
    axes.set_title(f"One freeze of {duration(1e3 * run.case(cases['open']).options['freeze_ms'])}, seen three ways")
    return None


PANELS = (against_load, means, three_ways, pacing)
