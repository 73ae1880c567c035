"""Retry policies in simulated time, with exact values: a server that answers in order, one request at a time."""

import heapq
import itertools
from array import array

import pytest

from bench.child.retry_attempts import Requests, connection_of
from bench.plan.retry_policy import RetryPolicy

MS = 1_000_000


def simulated(due_ms, policy, service_ms=2.0, freeze=(0.0, 0.0), until_ms=10_000.0, workers=1):
    """Return the requests after workers have answered in order; the first begins nothing within ``freeze``, in ms."""
    requests = Requests(array("q", (int(one * MS) for one in due_ms)), policy, seed=1)
    free_ns, replies = [0] * workers, []  # (when, attempt), the earliest first
    while (wake := requests.wake_ns) is not None and wake <= until_ms * MS:
        while replies and replies[0][0] <= wake:
            requests.was_answered(replies[0][1], heapq.heappop(replies)[0])
        while (attempt := requests.next_attempt(wake)) is not None:
            requests.was_sent(attempt, wake)
            worker = connection_of(requests.request[attempt], requests.number[attempt], workers)
            begin = max(free_ns[worker], wake)
            if not worker and freeze[0] * MS <= begin < freeze[1] * MS:
                begin = int(freeze[1] * MS)
            free_ns[worker] = begin + int(service_ms * MS)
            heapq.heappush(replies, (free_ns[worker], attempt))
    for when, attempt in replies:
        requests.was_answered(attempt, when)
    return requests


def made(requests):
    """Return (request, number, ms of sending, ms of the reply) of each attempt."""
    rows = zip(requests.request, requests.number, requests.sent, requests.replied, strict=True)
    return [(r, n, sent / MS, replied / MS) for r, n, sent, replied in list(rows)[: requests.attempts]]


def test_without_retries_a_late_request_is_given_up():
    simulation = simulated([0, 10], RetryPolicy(timeout_ms=50), freeze=(0, 100))
    assert made(simulation) == [(0, 0, 0, 102), (1, 0, 10, 104)]


def test_retries_at_once_follow_each_timeout_and_their_replies_are_queued_behind():
    simulation = simulated([0], RetryPolicy(timeout_ms=50, retries=3), freeze=(0, 120))
    assert made(simulation) == [(0, 0, 0, 122), (0, 1, 50, 124), (0, 2, 100, 126)]  # the third is in time: 26 ms


def test_no_attempt_begins_at_the_deadline_and_none_outlasts_it():
    simulation = simulated([0], RetryPolicy(timeout_ms=40, deadline_ms=100, retries=9), freeze=(0, 1000))
    assert [sent for _, _, sent, _ in made(simulation)] == [0, 40, 80]
    assert simulation.wake_ns is None  # the third was abandoned at 100 ms, not at 120


def test_a_retry_that_is_late_counts_its_timeout_from_its_sending():
    requests = Requests(array("q", [0]), RetryPolicy(timeout_ms=50, retries=1), 1)
    assert requests.next_attempt(0) == 0 and requests.next_attempt(0) is None
    requests.was_sent(0, 7 * MS)
    assert requests.wake_ns == 57 * MS and requests.next_attempt(57 * MS - 1) is None
    assert requests.next_attempt(57 * MS) == 1


def test_a_reply_at_the_limit_is_in_time_and_one_after_it_is_late():
    for reply_ns, tried in ((50 * MS, 1), (50 * MS + 1, 2)):
        requests = Requests(array("q", [0]), RetryPolicy(timeout_ms=50, retries=1), 1)
        requests.was_sent(requests.next_attempt(0), 0)
        requests.was_answered(0, reply_ns)
        requests.next_attempt(60 * MS)
        assert requests.attempts == tried


def test_backoff_waits_up_to_a_bound_that_doubles_and_is_the_same_for_the_same_seed():
    policy = RetryPolicy(timeout_ms=10, deadline_ms=10_000, retries=4, backoff_ms=20)
    gaps = []
    for seed in range(200):
        requests = Requests(array("q", [0]), policy, seed)
        times = []
        while (wake := requests.wake_ns) is not None:
            if (attempt := requests.next_attempt(wake)) is not None:
                requests.was_sent(attempt, wake)
                times.append(wake / MS)
        assert len(times) == 5
        gaps.append([later - earlier - 10 for earlier, later in itertools.pairwise(times)])
    for place, bound in enumerate((20, 40, 80, 160)):
        each = [one[place] for one in gaps]
        assert min(each) >= 0 and max(each) < bound and abs(sum(each) / len(each) - bound / 2) < bound / 8
    again = [made(simulated([0, 5], policy, freeze=(0, 400))) for _ in range(2)]
    assert again[0] == again[1] and len(again[0]) > 2


def test_a_budget_allows_its_burst_and_then_its_share():
    policy = RetryPolicy(timeout_ms=10, deadline_ms=1000, retries=5, budget=0.25, burst=2)
    simulation = simulated([100 * number for number in range(12)], policy, service_ms=20)  # every reply is late
    tried = [sum(1 for one, *_ in made(simulation) if one == request) for request in range(12)]
    assert tried[:2] == [3, 1]  # the burst of two tokens; then a quarter of a token for each request
    assert sum(tried) == 12 + 2 + 2 and len(made(simulation)) == simulation.attempts  # 11 requests bring 2.75 tokens


def test_a_storm_outlives_its_cause_where_all_attempts_together_exceed_the_capacity():
    every_ms = [10 * number / 3 for number in range(600)]  # 300/s of 2 ms each: utilization 60 %
    outcome = {}
    for name, policy in {
        "none": RetryPolicy(),
        "at once": RetryPolicy(retries=3),
        "backoff": RetryPolicy(retries=3, backoff_ms=50),
        "budget": RetryPolicy(retries=3, budget=0.1),
    }.items():
        rows = made(simulated(every_ms, policy, freeze=(400, 600)))
        met = {request for request, _, sent, replied in rows if replied - sent <= 50}
        late = [request for request in range(300, 600) if request not in met]  # due 400 ms after the freeze or later
        outcome[name] = (len(rows), len(met), len(late))
    assert outcome["none"] == (600, 486, 0)  # request 120 + j is late by 202 ms - 4j/3 ms: over 50 ms for j < 114
    assert outcome["at once"][1:] == (120, 300) and outcome["at once"][0] == 120 + 4 * 480
    assert outcome["backoff"][1:] == (120, 300)
    assert outcome["budget"][2] == 0 and outcome["budget"][0] <= 600 + 10 + 60


def overtaken(requests):
    """Return the requests that a retry answered before the first attempt was answered."""
    first = {request: replied for request, number, _, replied in made(requests) if not number}
    return {request for request, number, _, replied in made(requests) if number and replied < first[request]}


def test_with_two_workers_a_retry_is_answered_before_its_original_and_with_one_never():
    due = [10 * number / 3 for number in range(600)]  # 300/s
    for workers, service_ms in ((1, 2.0), (2, 4.0)):  # utilization 60 %
        plain, retried, budgeted = (
            simulated(due, policy, service_ms, (400, 700), workers=workers)
            for policy in (RetryPolicy(), RetryPolicy(retries=3), RetryPolicy(retries=3, budget=0.1))
        )
        late = {
            name: {r for r, *_ in made(simulation)}
            - {r for r, _, sent, replied in made(simulation) if replied - sent <= 50}
            for name, simulation in (("plain", plain), ("retried", retried), ("budgeted", budgeted))
        }
        assert bool(overtaken(retried)) == bool(overtaken(budgeted)) == (workers == 2) and not overtaken(plain)
        assert (len(late["budgeted"]) < len(late["plain"])) == (workers == 2)  # only then retries save requests


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"timeout_ms": 0}, "timeout_ms"),
        ({"timeout_ms": 600}, "deadline_ms"),
        ({"patience": 3}, "patience"),
    ],
)
def test_impossible_policies_are_refused(values, words):
    with pytest.raises(ValueError, match=words):
        RetryPolicy.from_values(values)
