"""calibration.ipynb: a server with known service times, in closed and open loops, beside the same in virtual time."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bench import stats
from bench.analysis import virtual_time
from bench.analysis.quantiles import STARTS, Quantile, quantile, times
from bench.grammar import P50, Claim, Estimand, Estimate
from bench.grammar.axes import (
    GREY,
    SYSTEM_COLOURS,
    Look,
    curve,
    distribution_axes,
    interval_row,
    log_axis,
    name_rows,
    ratio_axis,
    tail_scale,
)
from bench.grammar.quantities import signed
from bench.grammar.sweep import Count, Rates, as_sweep
from bench.grammar.table import as_table, with_ends
from bench.measurement.validation.amount import Placed
from bench.measurement.validation.cases import one_transport
from bench.measurement.validation.oracle_options import frozen, oracle_server
from bench.plan import parameters
from bench.plan.case import Case
from bench.run.frames import Run, number_of, once_per_run
from bench.text import counted, duration

TITLE = "How accurate are this instrument's quantiles?"
LAWS = ("constant", "exponential", "bimodal")
FROZEN_US = 100  # constant service time of the server that freezes
PACED_PER_S = 500.0  # rate of the one caller whose server freezes: its utilization is 5 %
MARGIN = 0.10
RECORDED, CORRECTED = "RTT, as recorded", "corrected for coordinated omission"
RESPONSE, TRUE_RESPONSE = "response time, measured", "response time, true"
SHOWN = (0.5, 0.8, 0.95, 0.99)  # not 0.9: there the bimodal distribution has a step


@as_sweep(windows_s={"class": 1.2})  # longer than the profile's: p99 of the lowest rate needs the calls
def sweep(
    amount: Placed,
    transport: object = "ipc",
    mean_us: object = 1000,
    rates: Rates = (200, 400, 600),
    clients: Count = 4,
) -> Iterator[Case]:
    """Yield a closed loop of each distribution, open loads of the exponential one, and a freeze."""
    transport, mean = one_transport("oracle", transport), parameters.count(mean_us, "mean_us", 1_000_000)
    shared: dict[str, Any] = {"payload_bytes": 100, "placement": amount.chosen_placement(is_parallel=True)}
    server = {"mean_us": mean, "server": oracle_server()}
    paced: dict[str, Any] = {"load": "open", "arrivals": "poisson", "clients": clients}
    exponential = {"law": "exponential", **server}
    cases = [Case("oracle", transport, options={"law": law, **server}, **shared) for law in LAWS]
    cases += [Case("oracle", transport, options=exponential, offered_per_s=rate, **paced, **shared) for rate in rates]
    single_caller = Case("oracle", transport, load="open", offered_per_s=PACED_PER_S, **shared)
    freeze = frozen(amount.window_s_of([*cases, single_caller]), PACED_PER_S)
    yield from cases
    yield Case(
        "oracle",
        transport,
        options={**server, "mean_us": FROZEN_US, **freeze},
        load="open",
        offered_per_s=PACED_PER_S,
        **shared,
    )


@dataclass(frozen=True)
class Truth:
    """One quantile of one case, as measured, and its true value in us."""

    label: str
    time: str
    p: float
    measured: Quantile
    true: float

    @property
    def name(self) -> str:
        """The quantile and its case in words."""
        return f"p{100 * self.p:g} of {self.label}"

    def ratio(self, overhead_us: float = 0.0) -> stats.Spread:
        """Return measured divided by true, or by true + overhead: the value, and both ends of its interval."""
        measured, expected = self.measured, self.true + overhead_us
        return stats.Spread(measured.value / expected, measured.low / expected, measured.high / expected)


@once_per_run
def virtual(run: Run) -> Run:
    """Return the run in virtual time; worked out once for a run."""
    return virtual_time.replay(run)


@once_per_run
def truths(run: Run) -> list[Truth]:
    """Return each quantile with enough samples, measured and true: of round trips, or of open loads' response times."""
    quantiles = []
    for case in virtual(run).numbers:
        time = "response" if run.case(case).load == "open" else "rtt"
        for p in SHOWN:
            measured, true = quantile(run, case, p, time), quantile(virtual(run), case, p, time)
            if measured.over and true.over:
                quantiles.append(Truth(law_of(run, case), time, p, measured, true.value))
    return quantiles


def law_of(run: Run, case: int) -> str:
    """Return a case's distribution and load, in words."""
    factors = run.case(case)
    law = "one freeze" if factors.options["freeze_after"] else str(factors.options["law"])
    return f"{law}, {f'{factors.offered_per_s:g}/s' if factors.load == 'open' else 'closed'}"


def busiest(run: Run) -> int:
    """Return the case of the highest offered rate to the exponential server."""
    rows = run.cases[(run.cases["load"] == "open") & (run.cases["clients"] > 1)]
    return number_of((rows if len(rows) else run.cases)["offered_per_s"].idxmax())


def overhead_us(run: Run) -> float:
    """Return what a round trip adds to the service time: median RTT of the constant distribution minus that time."""
    case = run.find(load="closed", law="constant")[0]
    return float(run.cases.loc[case, P50]) - float(run.case(case).options["mean_us"])


def frozen_case(run: Run) -> int:
    """Return the case whose server freezes once."""
    return next(case for case in run.numbers if run.case(case).factor("freeze_after"))


def ratios_to_true(run: Run) -> list[Estimate]:
    """Return each measured quantile divided by the true one."""
    estimates = []
    for truth in truths(run):
        spread = truth.ratio()
        what = "range over starts" if truth.measured.over == STARTS else "95 % CI"
        ends = "no interval" if math.isnan(spread.low) else f"{what} {spread.low:.3g} to {spread.high:.3g}"
        estimates.append(Estimate(truth.name, spread, f"{spread.middle:.3g}", ends))
    return estimates


def medians_off(run: Run) -> list[Estimate]:
    """Return the error of the medians, in us: the median over the cases of each load, with their range."""
    estimates = []
    for time, words in (("rtt", "closed loops"), ("response", "open loads")):
        off = [truth.measured.value - truth.true for truth in truths(run) if truth.time == time and truth.p == 0.5]
        if off:
            spread = stats.Spread(float(np.median(off)), min(off), max(off))
            between = f"range over {counted(len(off), 'case')} {signed(spread.low)} to {signed(spread.high)}"
            estimates.append(Estimate(words, spread, signed(spread.middle), between))
    return estimates


def freeze_ratios(run: Run) -> list[Estimate]:
    """Return the p99 under the freeze divided by the true one: of response times, and of RTTs as they are recorded."""
    p99_us = freeze_p99_us(run)
    true_us = p99_us[TRUE_RESPONSE]
    estimates = []
    for words in (RESPONSE, RECORDED):
        ratio = p99_us[words] / true_us
        ends = f"{duration(p99_us[words])} instead of {duration(true_us)}"
        estimates.append(Estimate(words, stats.Spread(ratio, ratio, ratio), f"{ratio:.3g}", ends))
    return estimates


def freeze_p99_us(run: Run) -> dict[str, float]:
    """Return the p99 under the freeze in each of four ways, in us."""
    return {words: stats.quantile(times_us, 0.99) for words, times_us in under_freeze(run).items()}


answer = (
    Estimand("measured median minus the server's own, which excludes the round trip", medians_off),
    Estimand("p99 of a server that freezes once, divided by the true p99", freeze_ratios),
)
claims = (
    Claim(
        "the round trip makes a quantile longer: measured divided by true is above 1",
        ratios_to_true,
        above=1,
    ),
)

MEASURED, TRUE, THEORY = SYSTEM_COLOURS[0], SYSTEM_COLOURS[3], SYSTEM_COLOURS[2]
LOOKS = dict(zip(SHOWN, map(Look, (SYSTEM_COLOURS[index] for index in (0, 2, 1, 3)), "osD^"), strict=True))


def against_truth(run: Run, axes: Axes) -> None:
    """Draw every quantile as measured against its true value, and a band around true + overhead of a round trip."""
    true = [truth.true for truth in truths(run)]
    ends = np.array([0.8 * min(true), 1.25 * max(true)])
    grid = np.geomspace(ends[0], ends[1], 100)
    expected, words = grid + overhead_us(run), f"true + round trip ({duration(overhead_us(run))}), ± {100 * MARGIN:g} %"
    band = expected / (1 + MARGIN), expected * (1 + MARGIN)
    axes.fill_between(grid, *band, color="#bbbbbb", alpha=0.4, lw=0, label=words)
    axes.plot(ends, ends, color="black", lw=1)
    for p, (colour, marker) in LOOKS.items():
        p_truths = [truth for truth in truths(run) if truth.p == p]
        at = [truth.true for truth in p_truths]
        axes.vlines(
            at,
            [truth.measured.low for truth in p_truths],
            [truth.measured.high for truth in p_truths],
            color=colour,
            lw=2,
        )
        axes.plot(at, [truth.measured.value for truth in p_truths], marker, color=colour, ms=6, label=f"p{100 * p:g}")
    log_axis(axes.xaxis)
    log_axis(axes.yaxis)
    axes.set_xlabel("true value: the same requests in virtual time")
    axes.set_ylabel("measured, with its range over starts")
    axes.set_title("Quantiles: measured against true")


def errors(run: Run, axes: Axes) -> None:
    """Draw each measured quantile divided by true + overhead of a round trip, case by case."""
    names = list(dict.fromkeys(truth.label for truth in truths(run)))
    axes.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color="#bbbbbb", alpha=0.35, lw=0, zorder=0.5)
    for truth in truths(run):
        y = names.index(truth.label) + 0.2 * (SHOWN.index(truth.p) - 1.5)
        interval_row(axes, y, truth.ratio(overhead_us(run)), LOOKS[truth.p], label=f"p{100 * truth.p:g}")
    ratio_axis(axes)
    name_rows(axes, names)
    axes.yaxis.grid(False)
    axes.set_xlabel(f"ratio; round trip: {duration(overhead_us(run))}; grey band: within {100 * MARGIN:g} %")
    axes.set_title("Measured divided by true + round trip")


def draw_curve(axes: Axes, values: Any, label: str, colour: str, line: str) -> None:
    """Draw the empirical CDF of some times, with their number in its label."""
    curve(axes, stats.distribution(np.asarray(values)), f"{label}, n = {len(values):,}", colour, line)


def open_loop(run: Run, axes: Axes) -> None:
    """Draw the response times at the highest rate: measured, in virtual time, and predicted by M/M/1."""
    case = busiest(run)
    factors = run.case(case)
    draw_curve(axes, times(run, case, "response"), "measured", MEASURED, "-")
    draw_curve(axes, times(virtual(run), case, "response"), "true: virtual time", TRUE, "--")
    mean = float(factors.options["mean_us"])
    if factors.options["law"] == "exponential" and factors.offered_per_s * mean < 1e6:
        grid = np.linspace(0.02, 0.9999, 4000)
        theory = -np.log1p(-grid) * mean / (1 - factors.offered_per_s * mean / 1e6)
        axes.plot(theory, tail_scale(grid), ":", color=THEORY, lw=2, label="M/M/1, steady state")
    distribution_axes(axes, "requests")
    axes.set_xlabel("response time (from the scheduled send time)")
    axes.set_title(f"Open loop, {factors.offered_per_s:g} requests/s: measured and true")


def under_freeze(run: Run) -> dict[str, stats.Array]:
    """Return the times of the requests to the server that freezes, in us, warm-up included, in four ways."""
    case = frozen_case(run)
    here, there = run.samples_of(case), virtual(run).samples_of(case)
    recorded = here["rtt_ns"].to_numpy() / 1e3
    return {
        RECORDED: recorded,
        CORRECTED: stats.corrected(recorded, 1e6 / PACED_PER_S),
        RESPONSE: (here["rtt_ns"] + here["lag_ns"]).to_numpy() / 1e3,
        TRUE_RESPONSE: (there["rtt_ns"] + there["lag_ns"]).to_numpy() / 1e3,
    }


def freeze(run: Run, axes: Axes) -> None:
    """Draw one freeze of the server: RTT as recorded, corrected for coordinated omission, and response times."""
    looks = ((GREY, ":"), (THEORY, "-."), (MEASURED, "-"), (TRUE, "--"))
    for (words, times_us), (colour, line) in zip(under_freeze(run).items(), looks, strict=True):
        draw_curve(axes, times_us, words, colour, line)
    distribution_axes(axes, "requests")
    axes.set_xlabel("time of a request, warm-up included")
    frozen_ms = run.case(frozen_case(run)).options["freeze_ms"]
    axes.set_title(f"A server freeze of {duration(1e3 * frozen_ms)}, calls at a fixed rate")


panels = {"against_truth": against_truth, "errors": errors, "open_loop": open_loop, "freeze": freeze}


@as_table("case")
def truth_rows(run: Run) -> Iterator[dict[str, str]]:
    """Yield for each quantile its true value, the measured one, and the error."""
    for truth in truths(run):
        yield {
            "case": truth.label,
            "quantile": f"p{100 * truth.p:g} of {'response time' if truth.time == 'response' else 'round trip'}",
            "true": duration(truth.true),
            "measured": with_ends(truth.measured.spread, duration),
            "error": f"{truth.measured.value / truth.true - 1:+.1%}",
        }


@as_table("time of a request, warm-up included")
def freeze_p99(run: Run) -> Iterator[dict[str, str]]:
    """Yield the p99 under the freeze in each way, and its ratio to the true one."""
    p99_us = freeze_p99_us(run)
    for words, us in p99_us.items():
        yield {
            "time of a request, warm-up included": words,
            "p99": duration(us),
            "p99 / true": f"{us / p99_us[TRUE_RESPONSE]:.3g}",
        }


tables = {"truths": truth_rows, "freeze": freeze_p99}
