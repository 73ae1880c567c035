"""What the figure of open loads says."""

import math
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench import stats
from bench.analysis import comparison, overload
from bench.analysis.resources import crowded
from bench.experiments.openload.findings import (
    MOST_UNSETTLED,
    alone,
    capacity,
    corrected,
    delayed_share,
    freeze_cases,
    freeze_share,
    is_settled,
    mean_response_us,
    predicted,
    settling_s,
    slow_request,
    sweep,
)
from bench.grammar.contrast import times
from bench.run.frames import Run, number_of, numbered
from bench.text import counted, duration, listed, paragraphs


def conclusion(run: Run) -> str:
    """Say how response times grow with the load, how good the prediction is, and what a freeze does to users."""
    return paragraphs(growth(run), freeze(run))


def growth(run: Run) -> str:
    """Say how response times grow with the load, and how good the prediction is."""
    return paragraphs(_growth(run), *map(partial(_slow, run), _calm(run).index), _model(run))


def _calm(run: Run) -> pd.DataFrame:
    """Return the cases of ``sweep`` whose response times are reported."""
    cases = sweep(run)
    return cases[~cases.index.isin(overload.without_times(run).keys())]


def _slow(run: Run, case: int) -> str:
    """Say which slow request, and the wait for it, made most of a case's longest response times; "" where none did."""
    found = slow_request(run, case)
    if found is None:
        return ""
    return (
        f"At {run.case(case).offered_per_s:g}/s, {found.of_tail:.0%} of the longest response times of all starts (1 % "
        f"of the requests) are of one slow request and of those behind it. It is request {found.number:,} of start "
        f"{found.start}: no reply came for {duration(found.pause_us)} until its own did, and "
        f"{counted(found.behind, 'later request')} waited until the queue was empty again."
    )


def _growth(run: Run) -> str:
    cases, calm = sweep(run), _calm(run)
    over = [case for case in cases.index if case in overload.overloaded(run)]
    source = "1 / mean service time" if run.case(alone(run).name).options.get("mean_us") else "1 / server CPU per call"
    text = f"The upper limit of the server's rate is {capacity(run):,.0f} requests/s ({source})."
    if over:
        most = max(over, key=lambda case: run.case(case).offered_per_s)
        answered = run.over_starts(most, "rate_per_s").words("{:,.0f}/s".format)
        text += f" Overloaded, at {run.case(most).offered_per_s:g}/s offered, it answered {answered}."
    calm = _in_steady_state(run, calm)
    if len(calm):
        ends = number_of(calm.index[0]), number_of(calm.index[-1])
        medians = (
            f"{run.over_starts(case, 'p50_response_us').words(duration)} at {run.case(case).offered_per_s:g}/s"
            for case in dict.fromkeys(ends)
        )
        text += f" The median response time is {listed(medians)}."
    if len(calm) > 1:
        low, high = calm.iloc[0], calm.iloc[-1]
        response, rtt = (comparison.effect(run, *ends, name) for name in ("p50_response_us", "p50_rtt_us"))
        lowest, highest = (f"{row['offered_per_s']:g}/s" for row in (low, high))
        text += (
            f" Block by block, the median response time at {highest} is {times(response)} that at {lowest}, and "
            f"the median round trip, counted from sending, {times(rtt)}. Each of these two numbers is the "
            "Hodges-Lehmann median of the blocks' ratios, not the ratio of two medians."
        )
    if over:
        rates = listed(f"{cases.loc[case, 'offered_per_s']:g}/s" for case in cases.index if case in over)
        text += f" **Overloaded** at {rates}: the queue grows as long as the run lasts, and response times with it."
        text += _below_the_limit(run, over)
    refused = [
        f" At {of.offered_per_s:g}/s {found.shortfall}: no response times are given there."
        for of, found in (
            (run.case(case), found) for case, found in overload.failing(run).items() if case in cases.index
        )
    ]
    return text + "".join(refused)


def _below_the_limit(run: Run, over: list[int]) -> str:
    """Say which overloaded rates are below the upper limit, and whether other processes may be why; "" if none is."""
    below = [case for case in over if run.case(case).offered_per_s < capacity(run)]
    if not below:
        return ""
    rates, busy = listed(f"{run.case(case).offered_per_s:g}/s" for case in below), [crowded(run, one) for one in below]
    shares = [share for share in busy if share]
    why = "the upper limit does not explain that."
    if shares:
        why = f"with other processes the machine's CPUs were up to {max(shares):.0%} busy, which may be the reason."
    return f" Below the upper limit, at {rates}: {why}"


def _in_steady_state(run: Run, cases: pd.DataFrame) -> pd.DataFrame:
    """Return the cases whose windows are long enough for steady state; all, where fewer than two are known to be."""
    settled = cases[is_settled(run, cases["offered_per_s"].to_numpy())]
    return settled if len(settled) > 1 else cases


def _model(run: Run) -> str:
    calm = _calm(run)
    model = predicted(run, calm["offered_per_s"].to_numpy()) if len(calm) else None
    if model is None:
        return ""
    reached = is_settled(run, calm["offered_per_s"].to_numpy())
    text = paragraphs(*(_too_short(run, row["offered_per_s"]) for _, row in calm[~reached].iterrows()))
    settled = zip(calm.index[reached], model[reached], strict=True)
    starts = [mean_response_us(run, number_of(case)).dropna() / mean for case, mean in settled]
    if not any(map(len, starts)):
        return text
    middles = [level for ratios in starts if len(ratios) for level in stats.across_starts(ratios).medians]
    return paragraphs(
        "Where the window is long enough for steady state, mean response times are compared with the prediction. The "
        f"medians over the starts differ from it by a factor of at most {_factor(middles):.2f}, single starts by a "
        f"factor of up to {_factor(np.concatenate(starts)):.2f}.",
        text,
    )


def _factor(ratios: npt.ArrayLike) -> float:
    """Return the largest factor by which ratios differ from 1, up or down."""
    return float(np.exp(np.abs(np.log(ratios)).max()))


def _too_short(run: Run, rate: float) -> str:
    """Return the settling time of the queue at a rate, and which share of its mean delay the window may miss."""
    (time,) = settling_s(run, np.array([rate]))
    if not np.isfinite(time):
        return f"At {rate:g}/s no mean is predicted: at this utilization the queue never settles."
    text = (
        f"At {rate:g}/s no mean is predicted: the queue begins empty, its settling time is {duration(1e6 * time)}, and "
        f"the window is {duration(1e6 * run.plan.window_s)}."
    )
    short = time / run.plan.window_s
    lacks = f" The mean queueing delay in it can be {short:.0%} below that of steady state."
    return text + (lacks if short < 1 else "")


def utilization(run: Run) -> str:
    """Return a table of M/M/1 by hand: utilization and mean response time at each rate, predicted and measured."""
    untold, cases = overload.without_times(run), sweep(run)
    model = predicted(run, cases["offered_per_s"].to_numpy()) if len(cases) else None
    if model is None:
        return "The service times of this system, or of these arrivals, are not known: no response time is predicted."
    service = 1 / capacity(run)
    lines = [
        "| rate λ | utilization ρ = λ S | server CPU, measured | settling time | mean response time: predicted | "
        "measured |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    rates = cases["offered_per_s"].to_numpy()
    found = zip(numbered(cases), model, settling_s(run, rates), is_settled(run, rates), strict=True)
    for (case, row), mean, settling, reached in found:
        rho, busy = row["offered_per_s"] * service, row["server_cpu_percent"]
        measured = untold.get(case) or stats.across_starts(mean_response_us(run, number_of(case))).values(duration)
        wanted = "no limit: ρ ≥ 1" if np.isinf(mean) else duration(mean) if reached else "none: the window is too short"
        time = duration(1e6 * settling) if np.isfinite(settling) else "never"
        cpu = "not known" if math.isnan(busy) else f"{busy:.0f} %"
        lines.append(f"| {row['offered_per_s']:g}/s | {rho:.0%} | {cpu} | {time} | {wanted} | {measured} |")
    around = alone(run)["mean_rtt_us"] - 1e6 * service
    said = (
        f"S = {duration(1e6 * service)} is the mean service time. A closed loop's round trip is longer than that by "
        f"{duration(max(0.0, around))}, which is added to each prediction. The settling time of a "
        "queue that begins empty is S / (1 − ρ)² for M/M/1. The mean queueing delay over a window of "
        f"{duration(1e6 * run.plan.window_s)} is below that of steady state by at most the settling time divided by "
        f"the window. Where that is more than {MOST_UNSETTLED:.0%}, no mean is predicted. The measured value is the "
        "median over the starts of their means."
    )
    return "\n".join([*lines, "", said])


def freeze(run: Run) -> str:
    """Say how long the freeze is, which quantiles that decides, and what p99 each way of measuring reports."""
    cases = freeze_cases(run)
    if not cases:
        return ""
    of = run.case(cases["open"])
    rows = {load: run.samples_of(case, headline=True) for load, case in cases.items()}
    closed = rows["closed"]["rtt_ns"].to_numpy() / 1e3
    users = (rows["open"]["lag_ns"] + rows["open"]["rtt_ns"]).to_numpy() / 1e3
    every_us = 1e6 / of.offered_per_s
    p99 = [duration(stats.quantile(values, 0.99)) for values in (closed, users, corrected(rows["closed"], every_us))]
    due = round(of.offered_per_s * of.options["freeze_ms"] / 1e3)
    frozen = (rows["closed"]["rtt_ns"] >= 1e6 * of.options["freeze_ms"]).groupby(rows["closed"]["start"]).sum()
    return (
        f"{_share(run)}\n\np99 of the frozen server over whole windows, warm-up included (the tables leave it "
        f"out):\n- closed loop: {p99[0]}\n"
        f"- users, from the scheduled send time: {p99[1]}\n- closed loop corrected for coordinated omission at one "
        f"request each {duration(every_us)}: {p99[2]}. The correction knows nothing of the queue that the freeze "
        "leaves.\n\nThe closed loop waits for a reply during the freeze and sends nothing else: no start recorded more "
        f"than {counted(int(frozen.max()), 'call')} as long as the freeze. Of the users' requests, {due} are due "
        "during a freeze on average. Those that are delayed afterwards, while the queue drains, are not among them."
    )


def _share(run: Run) -> str:
    """Say which share of the window the freeze takes, and which quantiles depend on that choice."""
    of, delayed = run.case(freeze_cases(run)["open"]), delayed_share(run)
    set_by = f"quantiles above p{100 * (1 - delayed):.0f} depend" if delayed < 1 else "all quantiles depend"
    return (
        f"The freeze lasts {duration(1e3 * of.options['freeze_ms'])}, {freeze_share(run):.0%} of each window, in both "
        f"cases. By the service time, at least {delayed:.0%} of users are expected during the freeze or while its "
        f"queue drains, so {set_by} on the freeze and the window that we chose."
    )
