"""noise.ipynb: how quiet this machine is: late waits and timers, spread over starts by placement, drift."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench import stats
from bench.analysis.checks import divided
from bench.analysis.comparison import ratio_of
from bench.analysis.resources import cpus_of
from bench.grammar import P50, Claim, Estimand, Estimate, Rows, Table, as_sweep, chosen, of_interval, per_start
from bench.grammar.axes import (
    GREY,
    Look,
    curve,
    distribution_axes,
    log_axis,
    look,
    name_rows,
    range_row,
)
from bench.grammar.table import ratio_with_ends, with_ends
from bench.measurement.validation.amount import Amount
from bench.measurement.validation.cases import instrument, one_transport
from bench.measurement.validation.profiles import PROFILES
from bench.plan import parameters
from bench.plan import placement as places
from bench.plan.case import BASELINE, Case
from bench.plan.labels import placed_as
from bench.run.frames import Run
from bench.stats import across_starts, power
from bench.stats.intervals import Interval, dependence, quantile_interval
from bench.text import counted, duration, quantity

TITLE = "How quiet is this machine?"
TIMER_US = 200  # a wait as short as the gaps of a paced load
SHUFFLED = 2000  # orders of the starts
LECTURE = "class"  # the profile
STOLEN = 0.01  # share of the CPUs' time above which a start is marked
NEIGHBOURS = {
    "nobody": "without other load",
    "same": "beside a busy process on its CPU",
    "others": "beside busy processes on the other CPUs",
}
TIMERS = {"sleep": "time.sleep", "asyncio": "asyncio.sleep", "spin": "sleep, then spin"}
SOCKETS = {"system": BASELINE}


@as_sweep()
def sweep(
    amount: Amount, transport: object = "ipc", pause_us: object = 1000, payload_bytes: object = 100
) -> Iterator[Case]:
    """Yield waits alone and beside busy neighbours, short waits by each kind of timer, and sockets by placement."""
    transport_name, default_placement = one_transport(BASELINE, transport), places.default()
    long_us = parameters.count(pause_us, "pause_us", 1_000_000)
    size = parameters.count(payload_bytes, "payload_bytes", 1_000_000)
    for name in NEIGHBOURS:
        yield Case("pause", "inproc", size, {"us": long_us, "beside": name}, default_placement)
    for name in TIMERS:
        yield Case("pause", "inproc", size, {"us": TIMER_US, "way": name}, default_placement)
    for placement in ["free"] if places.why_not() else places.PLACEMENTS:
        yield Case(BASELINE, transport_name, size, placement=placement)
    yield instrument(size, default_placement)


def asked_us(run: Run, case: int) -> int:
    """Return how long a case's waits were to be."""
    return int(run.case(case).options["us"])


def long_waits(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the waits by ``time.sleep`` that are longest: alone, and beside busy processes."""
    waits = [case for case in run.find(system="pause", way="sleep") if case in among]
    return [case for case in waits if asked_us(run, case) == max(asked_us(run, wait) for wait in waits)]


def short_waits(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the waits without other load that are shortest: by each timer."""
    waits = [case for case in run.find(system="pause", beside="nobody") if case in among]
    return [case for case in waits if asked_us(run, case) == min(asked_us(run, wait) for wait in waits)]


def neighbour(run: Run, case: int) -> str:
    """Return what runs beside a case's waits."""
    return NEIGHBOURS[run.case(case).options["beside"]]


def timer(run: Run, case: int) -> str:
    """Return what a case waits with."""
    return TIMERS[run.case(case).options["way"]]


def lateness(run: Run, case: int) -> "pd.Series[float]":
    """Return how much longer than asked for each wait of a case took, in us; index: start."""
    rows = run.samples_of(case, warm=True)
    return (rows["rtt_ns"] / 1e3 - asked_us(run, case)).set_axis(rows["start"])


def of_starts(run: Run, case: int, p: float) -> list[float]:
    """Return a quantile of the lateness of each start in us."""
    return [stats.quantile(late_us.to_numpy(), p) for _, late_us in lateness(run, case).groupby(level="start")]


def late_tails(run: Run) -> list[Estimate]:
    """Return the lateness of long waits, all starts together, at the highest quantile that each case has waits for."""
    late = {case: lateness(run, case) for case in chosen(run, long_waits)}

    def has_waits(p: float) -> bool:
        worth = (dependence(series.to_numpy(), p, series.index.to_numpy()).worth for series in late.values())
        return min(worth) >= stats.needed_samples(p)

    p = max(filter(has_waits, stats.QUANTILES), default=0.5)
    estimates = []
    for case, late_us in late.items():
        ends = quantile_interval(late_us.to_numpy(), p, late_us.index.to_numpy()) or ()
        interval = Interval(stats.quantile(late_us.to_numpy(), p), *ends)
        subject = f"waits {neighbour(run, case)}, exceeded by 1 in {round(1 / (1 - p)):,}"
        estimates.append(of_interval(subject, interval, duration, (case,)))
    return estimates


def over_alone(run: Run, case: int) -> Interval:
    """Return the median lateness of a case's waits over that without other load, paired by block."""
    alone, *_ = chosen(run, {"beside": "nobody"}, chosen(run, long_waits))
    base, late = (run.starts_of(number).set_index("block")[P50] - asked_us(run, number) for number in (alone, case))
    return ratio_of(base, late)


def on_its_cpu(run: Run) -> list[Estimate]:
    """Return the median lateness beside a busy process on the same CPU over that without other load."""
    cases = chosen(run, {"beside": "same"}, chosen(run, long_waits))
    return [of_interval(neighbour(run, case), over_alone(run, case), quantity, (case,)) for case in cases]


def deviation(run: Run, case: int) -> float:
    """Return the standard deviation of ln(median RTT of a start); NaN of one start.

    It has no interval: of six starts with rare slow ones none that was tried covers.
    """
    return float(np.log(per_start(run, case, P50)).std())


def detectable(run: Run, case: int, profile: str) -> float:
    """Return the smallest difference of two such cases that the starts of a profile detect, if they vary normally."""
    return power.detectable(math.sqrt(2) * deviation(run, case), PROFILES[profile].starts)


def detectable_differences(run: Run) -> list[Estimate]:
    """Return what the starts of a lecture's run detect, of the baseline under each placement."""
    estimates = []
    for case in chosen(run, SOCKETS):
        starts, value = per_start(run, case, P50), detectable(run, case, LECTURE)
        words, ends = f"{value:.0%}", f"from {counted(len(starts), 'start')}, taken as normal"
        if case in divided(run):
            words, ends = "not known", "the starts have two levels, which are not normal"
        estimates.append(Estimate(run.labels[case], Interval(value, value, value), words, ends, cases=(case,)))
    return estimates


def timeline(run: Run) -> pd.DataFrame:
    """Return the baseline's starts: ``at_s`` in the run, ``ratio`` to the case's median, ``stolen`` share."""
    rows = run.starts[run.starts["system"] == BASELINE].copy()
    begun = pd.to_datetime(run.ledger["utc"])
    rows["at_s"] = (begun.reindex(rows.index) - begun.min()).dt.total_seconds()
    rows["ratio"] = rows[P50] / rows.groupby("case")[P50].transform("median")
    rows["stolen"] = rows["steal_ns"] / rows["metered_ns"] / cpus_of(run.manifest["machine"])
    return rows.sort_values("at_s")


def moved(run: Run) -> tuple[float, float]:
    """Return how far the baseline's median in the last third of the run is from that in the first, as a share.

    And in which share of shuffled orders it is as far, or farther: above 5 % the order of the starts shows no drift.
    """
    logs, chance = np.log(timeline(run)["ratio"].to_numpy()), np.random.default_rng(1)
    third = max(1, len(logs) // 3)

    def apart(values: stats.Array) -> float:
        return abs(float(np.median(values[-third:]) - np.median(values[:third])))

    far = [apart(chance.permutation(logs)) >= apart(logs) - 1e-12 for _ in range(SHUFFLED)]
    return math.expm1(apart(logs)), (1 + sum(far)) / (1 + SHUFFLED)


answer = (
    Estimand("lateness", late_tails),
    Estimand(f"smallest difference that {PROFILES[LECTURE].starts} starts detect", detectable_differences),
)
claims = (
    Claim(
        "the median wait is less late beside a busy process on its CPU than without other load", on_its_cpu, at_most=1
    ),
)


def hiccups(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the lateness of a wait: alone, and beside busy processes."""
    cases = chosen(run, long_waits)
    for case, line in zip(cases, ("-", "--", ":"), strict=False):
        late_us = lateness(run, case).to_numpy()
        curve(axes, stats.distribution(late_us), f"{neighbour(run, case)}, n = {len(late_us):,}", "black", line)
    distribution_axes(axes, "waits")
    axes.set_xlabel(f"lateness of a wait of {duration(asked_us(run, cases[0]))}")
    axes.set_title("Lateness of a long wait")


def timers(run: Run, axes: Axes) -> None:
    """Draw the lateness of short waits by kind of timer: median and p99 of each start."""
    cases = chosen(run, short_waits)
    names: list[str] = []
    for case in cases:
        for p, marker in ((0.5, "o"), (0.99, "s")):
            range_row(axes, len(names), of_starts(run, case, p), Look(GREY, marker))
            names.append(f"{timer(run, case)}, p{100 * p:g}")
    log_axis(axes.xaxis)
    name_rows(axes, names)
    axes.set_xlabel(f"lateness of a wait of {duration(asked_us(run, cases[0]))}, each start; line: median")
    axes.set_title("Lateness of a short wait, by timer")


def placed(run: Run, case: int) -> str:
    """Return a placement with the standard deviation of its starts."""
    return f"{placed_as(run.case(case))}\nsd of ln: {deviation(run, case):.2f}"


def drift(run: Run, axes: Axes) -> None:
    """Draw the baseline's median RTT of each start over time, as a ratio to the median of its placement."""
    rows = timeline(run)
    for index, case in enumerate(chosen(run, SOCKETS)):
        starts, (colour, marker) = rows[rows["case"] == case], look(index)
        label = run.case(case).placement
        axes.plot(starts["at_s"], starts["ratio"], marker=marker, ms=6, lw=1.2, color=colour, label=label)
    stolen = rows[rows["stolen"] > STOLEN]
    if len(stolen):
        axes.plot(stolen["at_s"], stolen["ratio"], "o", color="black", ms=13, mfc="none", mew=1.4,
                  label=f"steal time above {100 * STOLEN:g} %")  # fmt: skip
    axes.axhline(1, color="black", lw=1)
    log_axis(axes.yaxis, "{:g}".format)
    axes.set_ylabel("median RTT / median of its placement")
    change, share = moved(run)
    axes.set_xlabel(
        f"time since the run began [s]; from the first to the last third the median\nchanged by {change:.1%}; "
        f"in {share:.0%} of {SHUFFLED:,} random orders by as much or more"
    )
    axes.set_title("Drift of the baseline, start by start")


def late(p: float) -> Callable[[Run, int], str]:
    """Return the column of a quantile of the lateness of each start."""
    return lambda run, case: with_ends(across_starts(of_starts(run, case, p)), duration)


def detected(profile: str) -> Callable[[Run, int], str]:
    """Return the column of the smallest difference of two cases that the starts of a profile detect."""
    return lambda run, case: f"{detectable(run, case, profile):.0%}"


panels = {
    "hiccups": hiccups,
    "timers": timers,
    "placements": Rows(
        "Repeatability of the baseline, by placement", P50, colour_by=placed_as, where=SOCKETS, label=placed
    ),
    "drift": drift,
}
tables = {
    "waits": Table(
        {
            "median lateness [range over starts]": late(0.5),
            "divided by that without other load [95 % CI]": lambda run, case: ratio_with_ends(over_alone(run, case)),
        },
        where=long_waits,
        label=neighbour,
    ),
    "timers": Table(
        {"median lateness [range over starts]": late(0.5), "p99 [range over starts]": late(0.99)},
        where=short_waits,
        label=timer,
    ),
    "starts": Table(
        {
            "sd of ln(median RTT of a start)": lambda run, case: f"{deviation(run, case):.2f}",
            **{f"{PROFILES[name].starts} starts detect": detected(name) for name in ("class", "full")},
        },
        where=SOCKETS,
        label=lambda run, case: placed_as(run.case(case)),
    ),
}
