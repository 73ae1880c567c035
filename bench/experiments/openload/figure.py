"""Panels of open-loop load: RTT and response time against the offered rate, and a freeze of the server."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.analysis import overload
from bench.analysis.quantiles import crossed, quantile
from bench.drawing.axes import GREY, SYSTEM_COLOURS, curve, distribution_axes, linear_axis, nothing, reach, time_axis
from bench.experiments.openload.findings import capacity, corrected, frozen, predicted, sweep
from bench.run.frames import Run, numbered
from bench.text import duration, listed, quantity

TITLE = "What do users experience under open-loop load?"

RTT, RESPONSE, MODEL = SYSTEM_COLOURS[0], SYSTEM_COLOURS[3], SYSTEM_COLOURS[4]


def against_load(run: Run, axes: Axes) -> None:
    """Draw the p50 and p99 of RTT and response time against the offered rate; overloaded rates have none."""
    cases = sweep(run)
    calm = cases[~cases.index.isin(overload.overloaded(run))]
    for name, colour, face, words in (("rtt", RTT, RTT, "RTT"), ("response", RESPONSE, "white", "response time")):
        for p, line, marker in ((0.5, "-", "o"), (0.99, "--", "s")):
            rates, known = [], []
            for case, row in numbered(calm):
                found = quantile(run, case, p, name)
                if found.over:
                    rates.append(row["offered_per_s"])
                    known.append((found.value, found.low, found.high))
            values, low, high = zip(*known, strict=True) if known else ((), (), ())
            label = f"{words}, p{100 * p:g}"
            axes.plot(rates, values, line, marker=marker, ms=5.5, mfc=face, lw=1.8, color=colour, label=label)
            axes.fill_between(rates, low, high, color=colour, alpha=0.15, lw=0)
        for case, row in numbered(calm):
            if words := crossed([(p, quantile(run, case, p, name)) for p in (0.5, 0.99)]):
                axes.plot([], [], " ", label=f"{quantity(row['offered_per_s'])}/s{words}")
    _scales(axes, run, cases, "time per request; band: range over starts")
    axes.legend(fontsize=9)
    axes.set_title("RTT and response time against offered rate")


def _scales(axes: Axes, run: Run, cases: pd.DataFrame, time: str) -> None:
    """Shade rates above the capacity, and name both axes."""
    most = capacity(run)
    right = 1.05 * max(cases["offered_per_s"].max(), most)
    axes.axvspan(most, right, color="#bbbbbb", alpha=0.3, lw=0, zorder=0.5, label="above the capacity")
    axes.set_xlim(0, right)
    linear_axis(axes.xaxis, quantity)
    axes.set_xlabel("offered requests per second")
    axes.set_yscale("log")
    time_axis(axes.yaxis)
    axes.set_ylabel(time)


def means(run: Run, axes: Axes) -> None:
    """Draw the mean response time of each start, and the prediction by the Pollaczek-Khinchine formula."""
    cases = sweep(run)
    calm = cases[~cases.index.isin(overload.overloaded(run))]
    grid = np.linspace(1, 0.97 * capacity(run), 300)
    model = predicted(run, grid)
    if model is not None:
        axes.plot(grid, model, color=MODEL, ls="-.", lw=1.8, label="predicted (Pollaczek-Khinchine)")
    mean_us = run.means_us("response")
    for start in run.ledger.index[run.ledger["case"].isin(calm.index)]:
        rate = run.ledger.loc[start, "offered_per_s"]
        axes.plot(rate, mean_us.get(start, np.nan), "o", ms=5, mec="white", mew=0.6, color=RESPONSE)
    axes.plot([], [], "o", color=RESPONSE, label="measured: each start")
    _scales(axes, run, cases, "mean response time")
    axes.legend(fontsize=9)
    axes.set_title("Mean response time: predicted and measured")


def pacing(run: Run, axes: Axes) -> None:
    """Draw the p99 of the lateness of requests on idle connections, each start: an error of the load generator."""
    cases = sweep(run)
    starts = run.starts[run.starts["case"].isin(cases.index)]
    dots: dict[str, Any] = {"ms": 5, "mec": "white", "mew": 0.6, "color": RTT, "label": "each start"}
    axes.plot(starts["offered_per_s"], starts["pacing_p99_us"], "o", **dots)
    axes.axhline(150, color=GREY, ls="--", lw=1)
    axes.plot([], [], color=GREY, ls="--", lw=1, label="limit of the check: 150 µs")
    _scales(axes, run, cases, "p99 of the send lateness")
    _, most = reach(values for _, values in starts.groupby("case")["pacing_p99_us"])
    within = starts["pacing_p99_us"] <= most
    if not within.all():
        shown = starts.loc[within, "pacing_p99_us"]
        axes.set_ylim(min(140, shown.min()) / 1.15, max(170, shown.max()) * 1.15)
        off = listed(duration(us) for us in starts.loc[~within, "pacing_p99_us"])
        axes.plot([], [], " ", label=f"off the axis: {off}")
    axes.legend(fontsize=9)
    axes.set_title("Pacing: send lateness of requests on idle connections")


def three_ways(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF under one freeze: closed loop, closed loop corrected, and open loop."""
    cases = {run.case(case).load: case for case in run.numbers if frozen(run, case)}
    if cases.keys() != {"closed", "open"}:
        return nothing(axes, "no frozen server in this run")
    rate = run.case(cases["open"]).offered_per_s
    rows = {load: run.samples_of(case, headline=True) for load, case in cases.items()}
    closed = rows["closed"]["rtt_ns"].to_numpy() / 1e3
    shown = {
        "closed loop, RTT": (closed, RTT, "-"),
        "closed loop, corrected for coordinated omission": (corrected(rows["closed"], 1e6 / rate), MODEL, "-."),
        f"open loop at {rate:g}/s, response time": (
            (rows["open"]["lag_ns"] + rows["open"]["rtt_ns"]).to_numpy() / 1e3,
            RESPONSE,
            "--",
        ),
    }
    for label, (values, colour, line) in shown.items():
        curve(axes, values, label, colour, line)
    distribution_axes(axes, "requests")
    axes.set_xlabel("time per request, warm-up and freeze included")
    frozen_ms = run.case(cases["open"]).options["freeze_ms"]
    axes.set_title(f"A freeze of {duration(1e3 * frozen_ms)}: closed loop and open loop")
    return None


PANELS = (against_load, means, three_ways, pacing)
