"""Panels of open-loop load: RTT and response time against the offered rate, and a freeze of the server."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from bench import stats
from bench.analysis.overload import without_times
from bench.analysis.pacing import MOST_LATE, lateness, limit_us
from bench.analysis.quantiles import CALLS, STARTS, crossed, of_all_calls, quantile
from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    band,
    curve,
    distribution_axes,
    label_axis,
    log_axis,
    say_why_empty,
)
from bench.experiments.openload.findings import (
    capacity,
    corrected,
    frozen,
    is_settled,
    predicted,
    sweep,
)
from bench.plan.arrivals import steps_of
from bench.run.frames import Run, numbered
from bench.text import duration, listed, quantity

TITLE = "What do users experience under open-loop load?"

FAR = 2  # times the highest offered rate: a capacity beyond it would leave the rates too little of the axis
MOST_LINEAR = 20  # the highest rate over the lowest on a linear axis
PARTS = 20  # of a window in which the rate changes
RTT, RESPONSE, MODEL = SYSTEM_COLOURS[0], SYSTEM_COLOURS[3], SYSTEM_COLOURS[4]


def against_load(run: Run, axes: Axes) -> None:
    """Draw the p50 and p99 of RTT and response time against the offered rate; overloaded or failing rates have none."""
    rates = _below_capacity(run)
    for name, colour, face, words in (("rtt", RTT, RTT, "RTT"), ("response", RESPONSE, "white", "response time")):
        for p, line, marker in ((0.5, "-", "o"), (0.99, "--", "s")):
            quantiles = {rate: quantile(run, case, p, name) for case, rate in rates.items()}
            shown = np.array([(rate, of.value, of.low, of.high) for rate, of in quantiles.items() if of.over])
            at, values, low, high = shown.reshape(-1, 4).T
            axes.plot(at, values, line, marker=marker, ms=5.5, mfc=face, lw=1.8, color=colour,
                      label=f"{words}, p{100 * p:g}")  # fmt: skip
            band(axes, at, low, high, colour)
        for case, rate in rates.items():
            if out_of_order := crossed([(p, quantile(run, case, p, name)) for p in (0.5, 0.99)]):
                axes.plot([], [], " ", label=f"{quantity(rate)}/s{out_of_order}")
    _scales(axes, run)
    pooled = {rate: found for case, rate in rates.items() if (found := _pooled(run, case))}
    if pooled:
        names = listed(sorted({name for found in pooled.values() for name in found}))
        where = listed(map(quantity, pooled))
        of_calls = f"{names} at {where}/s: of all calls; band: 95 % CI, where they are enough"
        axes.set_xlabel(f"{axes.get_xlabel()}\n{of_calls}")
    axes.set_ylabel("time per request; band: range over starts")
    axes.set_title("RTT and response time against offered rate")


def _pooled(run: Run, case: int) -> list[str]:
    """Return which quantiles of a case are of all calls together, because a start has too few."""
    return of_all_calls((p, quantile(run, case, p, name)) for name in ("rtt", "response") for p in (0.5, 0.99))


def _below_capacity(run: Run) -> dict[int, float]:
    """Return the offered rate of each case whose response times are reported."""
    cases = sweep(run)
    cases = cases[~cases.index.isin(without_times(run).keys())]
    return {case: float(row["offered_per_s"]) for case, row in numbered(cases)}


@dataclass(frozen=True)
class Rates:
    """The ends of the axis of offered rates, and whether it is logarithmic."""

    low: float
    high: float
    is_log: bool

    def between(self, limit: float) -> stats.Array:
        """Return rates from end to end of the axis, below a limit."""
        low, high = max(self.low, self.high / 1000), min(self.high, limit)
        return np.geomspace(low, high, 300) if self.is_log else np.linspace(low, high, 300)


def axis_of_rates(run: Run) -> Rates:
    """Return an axis on which the offered rates have most of the room.

    The capacity is on it only if it is at most ``FAR`` times the highest rate. Rates that differ by a factor of more
    than ``MOST_LINEAR`` have a logarithmic axis; rates that are all near its end have one that begins below them.
    """
    rates = sweep(run)["offered_per_s"]
    lowest, highest = float(rates.min()), float(rates.max())
    is_near = capacity(run) <= FAR * highest
    high = max(highest, capacity(run)) if is_near else highest
    if highest > MOST_LINEAR * lowest:
        return Rates(lowest / 1.5, 1.5 * high, True)
    high *= 1.05
    return Rates(max(0.0, lowest - (high - lowest) / 2) if is_near else 0.0, high, False)


def _scales(axes: Axes, run: Run) -> None:
    """Shade rates above the capacity, and name the axis of rates."""
    ends, limit = axis_of_rates(run), capacity(run)
    if limit < ends.high:
        axes.axvspan(limit, ends.high, color="#bbbbbb", alpha=0.3, lw=0, zorder=0.5, label="above the capacity")
    if ends.is_log:
        log_axis(axes.xaxis, quantity)
    else:
        label_axis(axes.xaxis, quantity)
    axes.set_xlim(ends.low, ends.high)
    beyond = f" (the capacity, {limit:,.0f}/s, is beyond the axis)" if limit >= ends.high else ""
    axes.set_xlabel(f"offered requests per second{beyond}")
    log_axis(axes.yaxis)


def over_window(run: Run, axes: Axes) -> None:
    """Draw the median and the longest response time in parts of the window, of all starts together."""
    for number, (case, rate) in enumerate(_below_capacity(run).items()):
        samples = run.samples_of(case)
        due_s = (samples["t_send_ns"] - samples["lag_ns"]) / 1e9
        response_us = (samples["lag_ns"] + samples["rtt_ns"]) / 1e3
        ends = np.linspace(0, run.ledger.loc[run.ledger["case"] == case, "window_s"].max(), PARTS + 1)
        parts = response_us.groupby(np.digitize(due_s, ends[1:-1]))
        colour = SYSTEM_COLOURS[number % len(SYSTEM_COLOURS)]
        for words, at, line in (("median", parts.median(), "-"), ("longest", parts.max(), "--")):
            label = f"{quantity(rate)}/s on average, {words}"
            axes.plot(ends[at.index] + ends[1] / 2, at, line, marker=".", color=colour, label=label)
    log_axis(axes.yaxis)
    axes.set_xlabel("time in the window at which a request was due [s]")
    axes.set_ylabel(f"response time in {PARTS} parts of the window")
    axes.set_title(f"Response time while the rate changes: {run.case(sweep(run).index[0]).arrivals}")


def means(run: Run, axes: Axes) -> None:
    """Draw the mean response time of each start, and the prediction by the Pollaczek-Khinchine formula.

    Where the plan changes the rate inside the window: ``over_window``.
    """
    if any(steps_of(run.case(case).arrivals) for case in sweep(run).index):
        return over_window(run, axes)
    grid = axis_of_rates(run).between(0.97 * capacity(run))
    model = predicted(run, grid)
    if model is not None:
        reached = is_settled(run, grid)
        axes.plot(grid[reached], model[reached], color=MODEL, ls="-.", lw=1.8, label="predicted (Pollaczek-Khinchine)")
        if not reached.all():
            axes.plot(grid[~reached], model[~reached], color=MODEL, ls=":", lw=1.2,
                      label="steady state, too slow for the window")  # fmt: skip
    starts = run.ledger[run.ledger["case"].isin(_below_capacity(run))]
    mean_us = run.means_us("response").reindex(starts.index)
    axes.plot(starts["offered_per_s"], mean_us, "o", ms=5, mec="white", mew=0.6, color=RESPONSE,
              label="measured: each start")  # fmt: skip
    _scales(axes, run)
    axes.set_ylabel("mean response time")
    axes.set_title("Mean response time: predicted and measured")
    return None


def pacing(run: Run, axes: Axes) -> None:
    """Draw the p99 of the lateness of requests on idle connections: an error of the load generator.

    It is drawn where there are enough such requests, with the limit of the check. Overloaded rates have none.
    """
    rates = _below_capacity(run)
    late = lateness(run, rates)
    for over, marker, words in ((STARTS, "o", "median and range over starts"), (CALLS, "s", "all starts, and 95 % CI")):
        shown = np.array([(rates[case], of.value, of.low, of.high) for case, of in late.items() if of.over == over])
        if len(shown):
            at, values, low, high = shown.T
            axes.vlines(at, low, high, color=RTT, lw=5, alpha=0.3)
            axes.plot(at, values, marker, ms=5.5, mec="white", mew=0.6, color=RTT, label=words)
    limits = [limit_us(run, case) for case in rates]
    label = f"{100 * MOST_LATE:g} % of the median response time"
    axes.plot([*rates.values()], limits, "--", marker="_", color=GREY, lw=1, label=label)
    _scales(axes, run)
    axes.set_ylabel("p99 of the send lateness")
    axes.set_title("Pacing: send lateness of requests on idle connections")


def three_ways(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF under one freeze: closed loop, closed loop corrected, and open loop."""
    cases = {run.case(case).load: case for case in run.numbers if frozen(run, case)}
    if cases.keys() != {"closed", "open"}:
        return say_why_empty(axes, "no frozen server in this run")
    of = run.case(cases["open"])
    closed, paced = (run.samples_of(cases[load], headline=True) for load in ("closed", "open"))
    response_us = (paced["lag_ns"] + paced["rtt_ns"]).to_numpy() / 1e3
    for label, values, colour, line in (
        ("closed loop, RTT", closed["rtt_ns"].to_numpy() / 1e3, RTT, "-"),
        ("closed loop, corrected for coordinated omission", corrected(closed, 1e6 / of.offered_per_s), MODEL, "-."),
        (f"open loop at {of.offered_per_s:g}/s, response time", response_us, RESPONSE, "--"),
    ):
        curve(axes, stats.distribution(np.asarray(values)), label, colour, line)
    distribution_axes(axes, "requests")
    axes.set_xlabel("time per request, warm-up and freeze included")
    axes.set_title(f"A freeze of {duration(1e3 * of.options['freeze_ms'])}: closed loop and open loop")
    return None


PANELS = (against_load, means, three_ways, pacing)
