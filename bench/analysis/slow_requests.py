"""Slow requests of open loads: one whose delay the requests behind it inherit, and so the longest response times."""

from typing import NamedTuple

import numpy as np

from bench import stats
from bench.run.calls import Calls
from bench.run.frames import Run, once_per_run
from bench.stats import Array

MOST_USUAL = 10  # times the median response time: a longer pause is of a slow request
TAIL = 0.99  # quantile from which on a response time is among the longest


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


@once_per_run
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
    requests = []
    for start, calls in run.calls_of(case, headline=True):
        slow, pause_ns, chain = _slowest(calls)
        inherited = calls.response_ns[chain]
        if len(chain) > 1 and pause_ns >= max(least_ns, inherited.max() / 2):
            is_warm = calls.t_send_ns[chain] >= run.ledger.loc[start, "warm_up_ns"]
            share = (inherited[is_warm] >= tail_ns).sum() / (of_all >= tail_ns).sum()
            requests.append(Slow(start, slow, pause_ns / 1e3, len(chain) - 1, float(share)))
    return max(
        (request for request in requests if request.of_tail >= 0.5), key=lambda request: request.of_tail, default=None
    )


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
