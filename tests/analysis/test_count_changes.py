"""Counts per call of two states: when one has risen, on made slices whose true counts are known."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bench.analysis import anatomy, count_changes
from bench.analysis.anatomy import PREEMPTED, SENT_BYTES, SLEEPS, Count
from bench.analysis.count_changes import FELL, ROSE, SEGMENTS, UNCHANGED, UNJUDGED, Change, changes
from bench.errors import DataError

EXACT = {"recvfrom": 1, "sendto": 1, "getpid": 8}  # per call, beside one at each end of a slice
VARYING = {"futex": 15.0, "epoll_wait": 2.5, "poll": 1.2, "mmap": 0.03}  # on average


def made(chance, starts, more=(), sent=1004):
    """Return the counts of a state: slices of starts that differ, and within which counts vary too."""
    slices: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for _ in range(starts):
        levels = {name: mean * chance.uniform(0.8, 1.25) for name, mean in VARYING.items()}
        for _ in range(4):
            calls = int(chance.integers(10, 38))
            for role in ("client", "server"):
                for name, per_call in EXACT.items():
                    times = (per_call + ((role, name) in more)) * calls + int(chance.choice((-1, 0, 0, 1)))
                    slices.setdefault((role, name), []).append((calls, times))
                for name, mean in levels.items():
                    slices.setdefault((role, name), []).append((calls, int(chance.poisson(mean * calls))))
                slices.setdefault((role, SENT_BYTES), []).append((calls, sent * calls))
                slices.setdefault((role, SLEEPS), []).append((calls, calls * int(chance.integers(3))))
    return [anatomy.count(*role_and_name, times) for role_and_name, times in slices.items()]


def rises(base, head):
    return [(change.head.role, change.head.what) for change in changes(base, head) if change.verdict == ROSE]


def test_equal_states_raise_no_alarm_in_a_hundred_tries_and_one_more_call_is_found_in_all():
    chance = np.random.default_rng(1)
    injected = ("server", "recvfrom")
    for _ in range(100):
        base = made(chance, 10)
        assert not rises(base, made(chance, 5))
        assert rises(base, made(chance, 5, more=[injected])) == [injected]
        assert rises(base, made(chance, 5, sent=1005)) == [("client", SENT_BYTES), ("server", SENT_BYTES)]


def server_count(what="futex", low=1.0, high=1.0, is_exact=False):
    return Count("server", what, (low + high) / 2, low, high, 20, is_exact)


@pytest.mark.parametrize(
    ("base", "head", "verdict"),
    [
        (server_count(low=1, high=1.4), server_count(low=1.5, high=1.9), ROSE),
        (server_count(low=1.5, high=1.9), server_count(low=1, high=1.4), FELL),
        (server_count(low=1, high=1.4), server_count(low=1.4, high=4), UNCHANGED),
        (server_count(low=1, high=1), server_count(low=1.2, high=1.6), UNCHANGED),
        (server_count(SLEEPS, 1, 1), server_count(SLEEPS, 2, 2), UNJUDGED),
        (server_count(PREEMPTED, 1, 1), server_count(PREEMPTED, 2, 2), UNJUDGED),
        (server_count(SEGMENTS, 2, 2, True), server_count(SEGMENTS, 3, 3, True), ROSE),
        (server_count(SEGMENTS, 2, 2.4), server_count(SEGMENTS, 3, 3, True), UNJUDGED),
    ],
)
def test_a_count_rises_where_the_ranges_are_apart_by_half_of_one_or_more(base, head, verdict):
    assert Change(base, head).verdict == verdict


def test_what_only_one_state_does_is_a_change_from_or_to_nothing():
    (rose,) = changes([], [server_count("sendmsg", is_exact=True)])
    assert rose.verdict == ROSE and str(rose) == "server: sendmsg 0 -> 1 per call"
    (fell,) = changes([server_count(low=1, high=2)], [])
    assert fell.verdict == FELL and str(fell) == "server: futex 1.50 (1.00 to 2.00) -> 0 per call"
    assert not list(changes([], [server_count("brk", 0, 0.008)]))


class MadeRun:
    """A run of one case: each call of 100 ns is one ``sendto`` of the client and one of the server, and a wake-up."""

    def __init__(self, slices=8, calls=12, transport="ipc", segments=24):
        rows, sent = [], []
        for number, call in np.ndindex(slices, calls):
            at = 10_000 * number + 100 * call
            sent.append(at)
            rows += [
                (number, at + 1, "client", "calls", "sendto", None),
                (number, at + 2, "client", "returns", "sendto", 50.0),
                (number, at + 50, "server", "calls", "sendto", None),
                (number, at + 103, "server", "returns", "sendto", 70.0),  # when the client has the reply
                (number, at + 104, "server", "calls", "write", None),
                (number, at + 105, "server", "returns", "write", 8.0),
            ]
        columns = ["slice", "t_ns", "role", "event", "name", "result"]
        self.events = pd.DataFrame(rows, columns=columns).assign(thread=0).sort_values(["slice", "t_ns"])
        self.made = SimpleNamespace(t_send_ns=np.array(sent), rtt_ns=np.full(len(sent), 100))
        self.calls, self.labels = SimpleNamespace(of_start=lambda start: self.made), {0: "made"}
        self.ledger = pd.DataFrame({"tcp_segments_out": [segments, segments + 1], "calls": [calls, calls]})
        self.transport = transport

    def ledger_of(self, case):
        return self.ledger[:1] if self.transport == "ipc" else self.ledger

    def events_of(self, start):
        return self.events if start == 0 else self.events[:0]

    def case(self, number):
        return SimpleNamespace(transport=self.transport)


def test_bytes_count_for_the_call_in_which_their_sending_began_and_not_those_that_wake_a_thread():
    counted = {(count.role, count.what): count for count in anatomy.counts(MadeRun(), 0)}
    assert counted["server", SENT_BYTES][2:] == (70.0, 70.0, 70.0, 8, True)
    assert counted["client", SENT_BYTES][2:] == (50.0, 50.0, 50.0, 8, True)
    assert counted["server", "write"].is_exact and counted["server", "write"].mean == 1


def test_too_few_calls_or_slices_are_an_error_that_says_what_to_do():
    with pytest.raises(DataError, match=r"made: 0 slices have 10 calls.*slice_ms 500"):
        count_changes.counts(MadeRun(calls=11), 0)
    with pytest.raises(DataError, match=r"7 slices.*-p starts 10"):
        count_changes.counts(MadeRun(slices=7), 0)
    assert len(count_changes.counts(MadeRun(), 0)) == 5


def test_tcp_segments_are_exact_if_each_start_has_nearly_the_same_whole_number():
    assert count_changes.counts(MadeRun(transport="tcp"), 0)[-1][1:3] == (SEGMENTS, 2.0)
    noisy = count_changes.segments(MadeRun(transport="tcp", segments=30), 0)
    assert not noisy.is_exact and (noisy.low, noisy.high, noisy.slices) == (2.5, 31 / 12, 2)
