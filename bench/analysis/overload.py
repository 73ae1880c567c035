"""Which open loads have no response times to report: they exceeded the capacity, or requests failed."""

import math

import numpy as np

from bench.plan.case import LEAST_ACHIEVED, Case
from bench.run import requests
from bench.run.calls import Calls
from bench.run.frames import P50, Run, once_per_run
from bench.run.start_values import was_waiting

MOST_FAILED = 0.001  # share of the requests that may fail before the times are those of the luckier ones
RESPONSE = P50.replace("rtt", "response")


def overloaded(run: Run) -> list[int]:
    """Return the overloaded open cases: their queue grew over the run, or requests were dropped.

    A queue grows where the offered rate is at least the known capacity. Else it grew if the median response time of the
    last fifth of the requests is above 1.5 times that of the third fifth and above ten median round trips of the first
    fifth.
    """
    cases = []
    for case in run.find(load="open"):
        factors = run.case(case)
        if factors.offered_per_s >= known_capacity(factors):
            cases.append(case)
            continue
        grew = [_piles_up(calls) for _, calls in run.calls_of(case)]
        dropped = run.cases.loc[case, "achieved"] < LEAST_ACHIEVED
        if (dropped and _is_busy(run, case)) or (grew and np.mean(grew) > 0.5):
            cases.append(case)
    return cases


def known_capacity(case: Case) -> float:
    """Return the requests per second that the server's service times allow; infinite where these are not known."""
    if not (mean_us := case.options.get("mean_us")):
        return math.inf
    service_us = mean_us + case.options.get("ns_per_byte", 0) * case.payload_bytes / 1e3
    return float(1e6 * case.options.get("workers", 1) / service_us)


@once_per_run
def failing(run: Run) -> dict[int, requests.Requests]:
    """Return the requests of each open case of which more than ``MOST_FAILED`` failed."""
    counts_by_case = {case: requests.of_starts(run, run.ledger_of(case)) for case in run.find(load="open")}
    return {case: counts for case, counts in counts_by_case.items() if counts.errors > MOST_FAILED * counts.sent}


@once_per_run
def without_times(run: Run) -> dict[int, str]:
    """Return the open cases whose response times are not reported, and why."""
    failed = {case: f"{counts.part(counts.errors):.1%} failed" for case, counts in failing(run).items()}
    return failed | dict.fromkeys(overloaded(run), "overloaded")


def _piles_up(calls: Calls) -> bool:
    times = (calls.response_ns / 1e3)[np.argsort(calls.t_send_ns)]
    fifth = len(times) // 5
    if fifth < 10:
        return False
    middle, last = np.median(times[2 * fifth : 3 * fifth]), np.median(times[-fifth:])
    return bool(last > 1.5 * middle and last > 10 * np.median(calls.rtt_ns[:fifth]) / 1e3)


def _is_busy(run: Run, case: int) -> bool:
    """Return whether most requests were late because their connections still waited for earlier replies."""
    waiting = [was_waiting(calls) for _, calls in run.calls_of(case)]
    return 2 * sum(map(np.count_nonzero, waiting)) > sum(map(len, waiting))
