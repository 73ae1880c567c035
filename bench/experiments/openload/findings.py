"""Open loads by rate: capacity, mean response time by queueing theory, and one freeze under two loads."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench import stats
from bench.run.calls import Calls
from bench.run.frames import Run, once
from bench.stats import Array, queueing

MOMENTS = {  # second and third moment of the oracle's service times, of mean 1
    "constant": (1.0, 1.0),
    "exponential": (2.0, 6.0),
    "bimodal": (0.9 * 0.5**2 + 0.1 * 5.5**2, 0.9 * 0.5**3 + 0.1 * 5.5**3),
}
MOST_USUAL = 10  # times the median response time: a longer pause is of a slow request
TAIL = 0.99  # quantile from which on a response time is among the longest
MOST_UNSETTLED = 0.1  # share of a window that the settling time may be, if a mean is predicted


@once
def sweep(run: Run) -> pd.DataFrame:
    """Return the cases with offered rates, lowest first, without the server that freezes."""
    rows = run.cases_with(load="open")
    return rows[[not frozen(run, case) for case in rows.index]].sort_values("offered_per_s")


def frozen(run: Run, case: object) -> bool:
    """Return whether a case's server freezes once."""
    return bool(run.case(case).factor("freeze_after"))


def alone(run: Run) -> "pd.Series[float]":
    """Return the case of one closed loop, from which the capacity is predicted."""
    rows = run.cases_with(load="closed")
    return rows.loc[next(case for case in rows.index if not frozen(run, case))]


@once
def capacity(run: Run) -> float:
    """Return the server's capacity in requests per second: 1 / mean service time if known, else 1 / CPU per call."""
    row = alone(run)
    mean_us = run.case(row.name).options.get("mean_us")
    return float(1e6 / (mean_us or row["server_cpu_us_per_call"]))


def predicted(run: Run, rates: stats.Array) -> stats.Array | None:
    """Return the predicted mean response time in us at offered rates; None where the service times are not known."""
    moments = _moments(run)
    if moments is None:
        return None
    busy = 1e6 / capacity(run)
    around = max(0.0, alone(run)["mean_rtt_us"] - busy)  # round trip without the service time
    return around + queueing.response(np.asarray(rates) / 1e6, busy, moments[0] - 1)


def _moments(run: Run) -> tuple[float, float] | None:
    """Return the moments of the service times; None where they or Poisson arrivals are not known."""
    paced = run.case(sweep(run).index[0]).arrivals if len(sweep(run)) else ""
    return MOMENTS.get(str(run.case(alone(run).name).options.get("law"))) if paced == "poisson" else None


def settling_s(run: Run, rates: stats.Array) -> stats.Array:
    """Return the settling time of the queue at offered rates, in s; NaN where it is not predicted."""
    moments, busy = _moments(run), 1e6 / capacity(run)
    if moments is None:
        return np.full(np.shape(rates), np.nan)
    second, third = moments
    return queueing.settling(np.asarray(rates) / 1e6, (busy, second * busy**2, third * busy**3)) / 1e6


def is_settled(run: Run, rates: stats.Array) -> "np.ndarray[Any, Any]":
    """Return at which offered rates the settling time is at most ``MOST_UNSETTLED`` of a window."""
    return np.asarray(settling_s(run, rates) <= MOST_UNSETTLED * run.plan.window_s)


def corrected(rows: pd.DataFrame, interval_us: float) -> stats.Array:
    """Return a closed loop's round trips in us, corrected for coordinated omission at a load of this interval."""
    return stats.corrected(rows["rtt_ns"].to_numpy() / 1e3, interval_us)


def freeze_cases(run: Run) -> dict[str, int]:
    """Return the cases of the server that freezes, by load; empty unless it was measured under both."""
    cases = {run.case(case).load: case for case in run.numbers if frozen(run, case)}
    return cases if cases.keys() == {"closed", "open"} else {}


def freeze_share(run: Run) -> float:
    """Return how much of its window the freeze takes: the same in both cases."""
    of = run.case(freeze_cases(run)["open"])
    return float(of.options["freeze_ms"]) / 1e3 / run.plan.window_s


def delayed_share(run: Run) -> float:
    """Return the share of users that the freeze delays: who arrives during it, or before its queue is empty.

    At utilization u the queue takes u / (1 - u) times the freeze to empty: s / (1 - u) of the window in all, or what
    is left of the window.
    """
    of = run.case(freeze_cases(run)["open"])
    utilization = of.offered_per_s * of.options["mean_us"] / 1e6
    left = max(0.0, 1 - of.options["freeze_after"] / of.offered_per_s / run.plan.window_s)
    return min(left, freeze_share(run) / (1 - utilization)) if utilization < 1 else left


class Slow(NamedTuple):
    """One request that made later ones wait, and so the longest response times of its case.

    start: its number. number: of the requests of this start, in the order in which they were due, from 1. pause_us: how
    long no reply came until its own did. behind: how many later requests waited until the queue that it left was empty.
    of_tail: the share of the case's longest response times that are its own and theirs.
    """

    start: int
    number: int
    pause_us: float
    behind: int
    of_tail: float


@once
def slow_request(run: Run, case: int) -> Slow | None:
    """Return the request of a case whose delay most of the longest response times (1 % of all) inherit, if one does.

    Its pause is at least ten times the median response time, and half of the longest: a queue that grew by itself has
    no such request.
    """
    warm_ns = [calls.response_ns for _, calls in run.calls_of(case, warm=True, headline=True)]
    if not warm_ns:
        return None
    of_all = np.concatenate(warm_ns)
    tail_ns, least_ns = stats.quantile(of_all, TAIL), MOST_USUAL * stats.quantile(of_all, 0.5)
    found = []
    for start, calls in run.calls_of(case, headline=True):
        slow, pause_ns, chain = _slowest(calls)
        inherited = calls.response_ns[chain]
        if len(chain) > 1 and pause_ns >= max(least_ns, inherited.max() / 2):
            is_warm = calls.t_send_ns[chain] >= run.ledger.loc[start, "warm_up_ns"]
            share = (inherited[is_warm] >= tail_ns).sum() / (of_all >= tail_ns).sum()
            found.append(Slow(start, slow, pause_ns / 1e3, len(chain) - 1, float(share)))
    return max((one for one in found if one.of_tail >= 0.5), key=lambda one: one.of_tail, default=None)


def _slowest(calls: Calls) -> tuple[int, float, Array]:
    """Return the request before whose reply the longest pause was: its number, the pause in ns, and who waited.

    Pauses are without any reply, while the request was under way. Who waited: the places of the request and of those
    that were due after it, until one was due when all before had their replies, or took no more than the median.
    """
    due = calls.t_send_ns - calls.lag_ns
    order = np.argsort(due, kind="stable")
    due, sent, received = due[order], calls.t_send_ns[order], calls.received_ns[order]
    replies = np.argsort(received, kind="stable")
    before = np.concatenate([received[replies][:1], received[replies][:-1]])
    pauses = received[replies] - np.maximum(sent[replies], before)
    slow = int(replies[np.argmax(pauses)])
    under_way_until = np.maximum.accumulate(received[slow:])[:-1]
    waits = (due[slow + 1 :] < under_way_until) & ((received - due)[slow + 1 :] > np.median(received - due))
    behind = int(np.argmin(np.append(waits, False)))
    return slow + 1, float(pauses.max()), order[slow : slow + behind + 1]


def mean_response_us(run: Run, case: int) -> "pd.Series[float]":
    """Return the mean response time of each start of a case after the warm-up, in us; index: start."""
    means = run.means_us("response")
    return means[means.index.isin(run.ledger_of(case).index)]
