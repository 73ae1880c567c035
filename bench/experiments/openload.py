"""openload.ipynb: offered rates from low load to overload, and one server that freezes, under two loads."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench import stats, systems
from bench.analysis.open_load import (
    by_service_times,
    capacity,
    is_frozen,
    is_settled,
    mean_response_us,
    offered,
    predicted,
    reported,
    settling_s,
    steady,
)
from bench.analysis.overload import RESPONSE, without_times
from bench.analysis.pacing import MOST_LATE, lateness, limit_us
from bench.analysis.quantiles import CALLS, STARTS, crossed, of_all_calls, quantile
from bench.analysis.slow_requests import slow_request
from bench.grammar import P50, Claim, Contrast, Estimand, Estimate, Level, Table, fewest, most
from bench.grammar.axes import (
    GREY,
    SYSTEM_COLOURS,
    Look,
    band_words,
    curve,
    distribution_axes,
    draw_spreads,
    label_axis,
    log_axis,
    needed,
)
from bench.grammar.estimand import of_spread
from bench.grammar.sweep import Bytes, Count, OwnEngine, Rate, Rates, as_sweep
from bench.grammar.table import as_table, with_ends
from bench.measurement.validation.amount import OnHosts
from bench.measurement.validation.cases import one_way
from bench.measurement.validation.oracle_options import frozen, oracle_server
from bench.plan import parameters
from bench.plan.arrivals import named as arrivals_of
from bench.plan.arrivals import steps_of
from bench.plan.case import Case
from bench.run.frames import Run, number_of, numbered, once_per_run
from bench.stats import Spread
from bench.stats.intervals import Interval
from bench.text import counted, duration, listed, quantity

TITLE = "What do users experience under open-loop load?"
ORACLE = "{law: exponential, mean_us: 1000}"
PREDICTED = "mean response time divided by the predicted one, round trip included"
FROZEN_US = 1000  # constant service time of the server that freezes


@as_sweep()
def sweep(
    amount: OnHosts,
    system: object = "oracle",
    transport: object = "auto",
    payload_bytes: Bytes = 100,
    rates: Rates = (100, 300, 500, 700, 850, 950, 1100),
    arrivals: object = "poisson",
    clients: Count = 8,
    callers: Count = 1,
    options: object = ORACLE,
    freeze_rate: Rate = 500,
    engine: OwnEngine = "library",
) -> Iterator[Case]:
    """Yield one closed loop, the same system under offered rates, and a server that freezes once under both loads.

    The freeze takes the same share of the window in both cases. callers: requests that each client process of an
    asynchronous library, or of the engine wire, has under way at most, a connection each. engine: of the system; the
    server that freezes is loaded by its library. hosts: see ``bench.plan.hosts``; the clients that share the schedule
    are then on the hosts that load.
    """
    name, transport_name = one_way(system, transport, amount.there)
    server = {"server": oracle_server()}
    asked = "" if name != "oracle" and options == ORACLE else options  # the notebook's are of the oracle alone
    shared: dict[str, Any] = {
        "payload_bytes": payload_bytes,
        "placement": amount.chosen_placement(is_parallel=True),
        "hosts": amount.there,
    }
    of_system = {
        "options": (server if name == "oracle" else {}) | parameters.mapping(asked, "options"),
        "engine": engine,
    }
    paced: dict[str, Any] = {"load": "open", "clients": clients, "arrivals": arrivals_of(arrivals)}
    cases = [Case(name, transport_name, **of_system, **shared)]
    cases += [
        Case(name, transport_name, offered_per_s=rate, callers=callers, **of_system, **paced, **shared)
        for rate in rates
    ]
    yield from cases
    if systems.has_own_requests(name):  # of a user's service: the server that freezes is another one
        return
    window_s = amount.window_s_of([*cases, *cases[:1] * 2])  # and two of the server that freezes
    at_a_time, users = (
        {"mean_us": FROZEN_US, **server, **frozen(window_s, per_s)} for per_s in (1e6 / FROZEN_US, freeze_rate)
    )
    frozen_by, uniform = "tcp" if amount.there else "ipc", {**paced, "arrivals": "uniform"}
    yield Case("oracle", frozen_by, options=at_a_time, **shared)
    yield Case("oracle", frozen_by, options=users, offered_per_s=freeze_rate, **uniform, **shared)


def in_steady_state(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the offered rates whose windows are long enough for steady state."""
    return [number_of(case) for case in steady(run).index]


CORRECTED = "closed loop, corrected for coordinated omission"


def freeze_cases(run: Run) -> tuple[Case, int, int] | None:
    """Return the load of the users, and the cases of the server that freezes: of one caller, and of these users.

    None unless it was measured under both loads.
    """
    cases = {run.case(case).load: case for case in run.numbers if is_frozen(run, case)}
    if cases.keys() != {"closed", "open"}:
        return None
    return run.case(cases["open"]), cases["closed"], cases["open"]


@once_per_run
def under_freeze(run: Run) -> dict[str, stats.Array]:
    """Return the times per request under one freeze, in us, warm-up included, counted in three ways; {} without it."""
    if (cases := freeze_cases(run)) is None:
        return {}
    load, closed, paced = cases
    at_a_time, users = (run.samples_of(case, headline=True) for case in (closed, paced))
    rtt_us = at_a_time["rtt_ns"].to_numpy() / 1e3
    return {
        "closed loop, RTT": rtt_us,
        CORRECTED: stats.corrected(rtt_us, 1e6 / load.offered_per_s),
        f"open loop at {load.offered_per_s:g}/s, response time": (users["lag_ns"] + users["rtt_ns"]).to_numpy() / 1e3,
    }


def tails_under_freeze(run: Run) -> list[Estimate]:
    """Return the p99 that a closed loop and scheduled requests report of one freeze: values without an interval."""
    p99_us = [stats.quantile(us, 0.99) for words, us in under_freeze(run).items() if words != CORRECTED]
    subjects = ("the RTT of a closed loop", "the response time of users who arrive on schedule")
    return [
        Estimate(words, Interval(us, us, us), duration(us), "of all calls, warm-up included")
        for words, us in zip(subjects, p99_us, strict=False)
    ]


growth, growth_from_sending = (
    Contrast(name, of=most("offered_per_s"), over=fewest("offered_per_s"), where=in_steady_state)
    for name in (RESPONSE, P50)
)


def over_predicted(run: Run) -> list[Estimate]:
    """Return the mean response time divided by the predicted one, of rates whose windows are long enough for it."""
    estimates = []
    for case in in_steady_state(run, []):
        mean_us = predicted(run, np.array([run.case(case).offered_per_s]))
        if mean_us is not None and np.isfinite(mean_us[0]):
            ratio = stats.across_starts(mean_response_us(run, case) / mean_us[0])
            estimates.append(of_spread(f"{run.case(case).offered_per_s:g}/s", ratio, "{:.2f}".format, (case,)))
    return estimates


freeze = Estimand("with one freeze, the p99", tails_under_freeze)
answer = (
    freeze,
    Level(RESPONSE, lambda run, among: in_steady_state(run, among)[:1]),
    growth,
    growth_from_sending,
    Estimand(PREDICTED, over_predicted),
)
claims = (
    Claim(
        "the median response time is longer at the highest rate whose queue settles than at the lowest",
        growth,
        above=1,
    ),
)


FAR = 2  # times the highest offered rate: a capacity beyond it would leave the rates too little of the axis
MOST_LINEAR = 20  # the highest rate over the lowest on a linear axis
PARTS = 20  # of a window in which the rate changes
RTT_COLOUR, RESPONSE_COLOUR, MODEL = SYSTEM_COLOURS[0], SYSTEM_COLOURS[3], SYSTEM_COLOURS[4]


class RateAxis(NamedTuple):
    """The ends of the axis of offered rates, and whether it is logarithmic."""

    low: float
    high: float
    is_log: bool


def rate_axis(run: Run) -> RateAxis:
    """Return an axis on which the offered rates have most of the room.

    The capacity is on it only if it is at most ``FAR`` times the highest rate. Rates that differ by a factor of more
    than ``MOST_LINEAR`` have a logarithmic axis; rates that are all near its end have one that begins below them.
    """
    rates = offered(run)["offered_per_s"]
    lowest, highest = float(rates.min()), float(rates.max())
    is_near = capacity(run) <= FAR * highest
    high = max(highest, capacity(run)) if is_near else highest
    if highest > MOST_LINEAR * lowest:
        return RateAxis(lowest / 1.5, 1.5 * high, True)
    high *= 1.05
    return RateAxis(max(0.0, lowest - (high - lowest) / 2) if is_near else 0.0, high, False)


def scale(axes: Axes, run: Run) -> None:
    """Shade rates above the capacity, and name the axis of rates."""
    ends, limit = rate_axis(run), capacity(run)
    what = "capacity" if math.isfinite(by_service_times(run)) else "rate that saturates the server's CPU"
    if limit < ends.high:
        axes.axvspan(limit, ends.high, color="#bbbbbb", alpha=0.3, lw=0, zorder=0.5, label=f"above the {what}")
    (log_axis if ends.is_log else label_axis)(axes.xaxis, quantity)
    axes.set_xlim(ends.low, ends.high)
    beyond = f" (the {what}, {limit:,.0f}/s, is beyond the axis)" if limit >= ends.high else ""
    axes.set_xlabel(f"offered requests per second{beyond}")
    log_axis(axes.yaxis)


def rates_of(run: Run) -> dict[int, float]:
    """Return the offered rate of each case whose response times are reported."""
    return {case: float(row["offered_per_s"]) for case, row in numbered(reported(run))}


def against_load(run: Run, axes: Axes) -> None:
    """Draw the p50 and p99 of RTT and response time against the offered rate; overloaded or failing rates have none."""
    rates = rates_of(run)
    pooled: dict[str, list[str]] = {}  # by rate: the quantiles of all calls together, because a start has too few
    without, drawn = False, list[Spread]()
    for time, colour, words in (("rtt", RTT_COLOUR, "RTT"), ("response", RESPONSE_COLOUR, "response time")):
        for p, line, marker in ((0.5, "-", "o"), (0.99, "--", "s")):
            quantiles = [quantile(run, case, p, time) for case in rates]
            without |= not all(estimate.over for estimate in quantiles)
            spreads = [estimate.spread for estimate in quantiles]
            drawn += spreads
            draw_spreads(axes, rates.values(), spreads, Look(colour, marker), f"{words}, p{100 * p:g}", line)
        for case, rate in rates.items():
            both = [(p, quantile(run, case, p, time)) for p in (0.5, 0.99)]
            pooled.setdefault(quantity(rate), []).extend(of_all_calls(both))
            if out_of_order := crossed(both):
                axes.plot([], [], " ", label=f"{quantity(rate)}/s{out_of_order}")
    scale(axes, run)
    if of_calls := {rate: names for rate, names in pooled.items() if names}:
        names = listed(sorted({name for names in of_calls.values() for name in names}))
        note = f"{names} at {listed(of_calls)}/s: of all calls; band: 95 % CI, if there are enough"
        axes.set_xlabel(f"{axes.get_xlabel()}\n{note}")
    if without:
        axes.set_xlabel(f"{axes.get_xlabel()}\nno marker: too few independent requests for this quantile")
    axes.set_ylabel(f"time per request; {band_words(drawn)}")
    axes.set_title("RTT and response time against offered rate")


def over_window(run: Run, axes: Axes) -> None:
    """Draw the median and the longest response time in parts of the window, of all starts together."""
    for number, (case, rate) in enumerate(rates_of(run).items()):
        samples = run.samples_of(case)
        due_s = (samples["t_send_ns"] - samples["lag_ns"]) / 1e9
        response_us = (samples["lag_ns"] + samples["rtt_ns"]) / 1e3
        ends = np.linspace(0, run.ledger_of(case)["window_s"].max(), PARTS + 1)
        parts = response_us.groupby(np.digitize(due_s, ends[1:-1]))
        colour = SYSTEM_COLOURS[number % len(SYSTEM_COLOURS)]
        for words, at, line in (("median", parts.median(), "-"), ("longest", parts.max(), "--")):
            label = f"{quantity(rate)}/s on average, {words}"
            axes.plot(ends[at.index] + ends[1] / 2, at, line, marker=".", color=colour, label=label)
    log_axis(axes.yaxis)
    axes.set_xlabel("time in the window at which a request was due [s]")
    axes.set_ylabel(f"response time in {PARTS} parts of the window")
    axes.set_title(f"Response time while the rate changes: {run.case(offered(run).index[0]).arrivals}")


def means(run: Run, axes: Axes) -> None:
    """Draw the mean response time of each start, and the prediction by the Pollaczek-Khinchine formula.

    Where the plan changes the rate inside the window: ``over_window``.
    """
    if any(steps_of(run.case(case).arrivals) for case in offered(run).index):
        return over_window(run, axes)
    ends = rate_axis(run)
    low, high = max(ends.low, ends.high / 1000), min(ends.high, 0.97 * capacity(run))
    grid = np.geomspace(low, high, 300) if ends.is_log else np.linspace(low, high, 300)
    if (model := predicted(run, grid)) is not None:
        reached = is_settled(run, grid)
        axes.plot(grid[reached], model[reached], color=MODEL, ls="-.", lw=1.8, label="predicted (Pollaczek-Khinchine)")
        if not reached.all():
            too_slow = "steady state, not reached in the window"
            axes.plot(grid[~reached], model[~reached], color=MODEL, ls=":", lw=1.2, label=too_slow)
    starts = run.ledger[run.ledger["case"].isin(rates_of(run))]
    mean_us = run.means_us("response").reindex(starts.index)
    dots: dict[str, Any] = {
        "ms": 5,
        "mec": "white",
        "mew": 0.6,
        "color": RESPONSE_COLOUR,
        "label": "measured: each start",
    }
    axes.plot(starts["offered_per_s"], mean_us, "o", **dots)
    scale(axes, run)
    axes.set_ylabel("mean response time")
    axes.set_title(f"Mean response time{': predicted and measured' if model is not None else ''}")


def pacing(run: Run, axes: Axes) -> None:
    """Draw the p99 of the lateness of requests on idle connections: an error of the load generator.

    It is drawn where there are enough such requests, with the limit of the check, also of the server that freezes.
    Overloaded rates have none.
    """
    rates, frozen_case = rates_of(run), freeze_cases(run)
    late = lateness(run, rates)
    for over, marker, words in ((STARTS, "o", "median and range over starts"), (CALLS, "s", "all starts, and 95 % CI")):
        shown = np.array(
            [
                (rates[case], estimate.value, estimate.low, estimate.high)
                for case, estimate in late.items()
                if estimate.over == over
            ]
        )
        if len(shown):
            at, values, low, high = shown.T
            axes.vlines(at, low, high, color=RTT_COLOUR, lw=5, alpha=0.3)
            axes.plot(at, values, marker, ms=5.5, mec="white", mew=0.6, color=RTT_COLOUR, label=words)
    limits = [limit_us(run, case) for case in rates]
    label = f"limit: {100 * MOST_LATE:g} % of the median response time"
    axes.plot([*rates.values()], limits, "--", marker="_", color=GREY, lw=1, label=label)
    scale(axes, run)
    if frozen_case and (of_frozen := lateness(run, frozen_case[2:])):
        rate = frozen_case[0].offered_per_s
        axes.plot(rate, of_frozen[frozen_case[2]].value, "D", ms=6, color=RESPONSE_COLOUR, label="server that freezes")
        axes.plot(rate, limit_us(run, frozen_case[2]), "_", ms=12, mew=2, color=RESPONSE_COLOUR, label="its limit")
    if len(late) < len(rates):
        axes.set_xlabel(f"{axes.get_xlabel()}\nno marker: too few requests on idle connections")
    axes.set_ylabel("p99 of the send lateness")
    axes.set_title("Pacing: send lateness of requests on idle connections")


def three_ways(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF under one freeze: closed loop, closed loop corrected, and open loop."""
    cases = needed(freeze_cases(run), "no frozen server in this run")
    looks = ((RTT_COLOUR, "-"), (MODEL, "-."), (RESPONSE_COLOUR, "--"))
    for (words, times_us), (colour, line) in zip(under_freeze(run).items(), looks, strict=True):
        curve(axes, stats.distribution(times_us), words, colour, line)
    distribution_axes(axes, "requests")
    axes.set_xlabel("time per request, warm-up and freeze included")
    axes.set_title(f"A freeze of {duration(1e3 * cases[0].options['freeze_ms'])}: closed loop and open loop")


panels = {"against_load": against_load, "means": means, "three_ways": three_ways, "pacing": pacing}


def mean_predicted(run: Run, case: int) -> str:
    """Return the predicted mean response time at the rate of a case, or why there is none."""
    rate = np.array([run.case(case).offered_per_s])
    mean_us = predicted(run, rate)
    if mean_us is None:
        return "not known"
    if np.isinf(mean_us[0]):
        return "no limit: ρ ≥ 1"
    return duration(mean_us[0]) if is_settled(run, rate)[0] else "none: settling takes more than a tenth of the window"


def mean_measured(run: Run, case: int) -> str:
    """Return the median over the starts of their mean response times and its range, or why it is not reported."""
    return without_times(run).get(case) or with_ends(stats.across_starts(mean_response_us(run, case)), duration)


def settling(run: Run, case: int) -> str:
    """Return the settling time of the queue at the rate of a case."""
    (time_s,) = settling_s(run, np.array([run.case(case).offered_per_s]))
    return "not known" if np.isnan(time_s) else "never" if np.isinf(time_s) else duration(1e6 * time_s)


mm1 = Table(
    {
        "utilization ρ = λ S": lambda run, case: f"{run.case(case).offered_per_s / capacity(run):.0%}",
        "server CPU [% of one CPU, range over starts]": "server_cpu_percent",
        "settling time": settling,
        "mean response time: predicted, with the round trip": mean_predicted,
        "measured [range over starts]": mean_measured,
    },
    where=lambda run, among: [number_of(case) for case in offered(run).index],
)


def freeze_share(run: Run, case: Case) -> float:
    """Return how much of its window the freeze takes."""
    return float(case.options["freeze_ms"]) / 1e3 / run.plan.window_s


def delayed_share(run: Run, case: Case) -> float:
    """Return the share of users that the freeze delays: who arrives during it, or before its queue is empty.

    At utilization u the queue takes u / (1 - u) times the freeze to empty: s / (1 - u) of the window in all, or what
    is left of the window.
    """
    utilization = case.offered_per_s * case.options["mean_us"] / 1e6
    left = max(0.0, 1 - case.options["freeze_after"] / case.offered_per_s / run.plan.window_s)
    return min(left, freeze_share(run, case) / (1 - utilization)) if utilization < 1 else left


def freeze_rows(run: Run) -> pd.DataFrame:
    """Return the length of the freeze, whom it delays, and the p99 that each way of counting reports."""
    if (cases := freeze_cases(run)) is None:
        return pd.DataFrame()
    load, closed, _ = cases
    delayed, calls = delayed_share(run, load), run.samples_of(closed, headline=True)
    as_long = (calls["rtt_ns"] >= 1e6 * load.options["freeze_ms"]).groupby(calls["start"]).sum()
    values = {
        "length, share of each window": f"{duration(1e3 * load.options['freeze_ms'])}, {freeze_share(run, load):.0%}",
        "users delayed by the freeze or its queue, predicted": f"{delayed:.0%}",
        "quantiles of users that depend on the freeze": f"above p{100 * (1 - delayed):.0f}" if delayed < 1 else "all",
        "requests due during the freeze, on average": f"{load.offered_per_s * load.options['freeze_ms'] / 1e3:.0f}",
        "calls of the closed loop as long as the freeze, per start at most": f"{int(as_long.max())}",
    }
    p99 = {f"p99, {words}": duration(stats.quantile(us, 0.99)) for words, us in under_freeze(run).items()}
    return pd.DataFrame({"value": values | p99}).rename_axis("freeze, warm-up included")


@as_table("rate")
def slow_rows(run: Run) -> Iterator[dict[str, str]]:
    """Yield for each rate the slow request of which, and of those behind it, most of the longest 1 % of times are."""
    for case in rates_of(run):
        if slow := slow_request(run, case):
            yield {
                "rate": f"{run.case(case).offered_per_s:g}/s",
                "share of the longest 1 % of the response times": f"{slow.of_tail:.0%}",
                "slow request": f"{slow.number:,} of start {slow.start}",
                "without any reply for": duration(slow.pause_us),
                "until the queue was empty": f"{counted(slow.behind, 'later request')} waited",
            }


tables = {"utilization": mm1, "freeze": freeze_rows, "slow_requests": slow_rows}
