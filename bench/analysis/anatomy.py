"""Where the time of traced calls goes: breakdowns of a run's calls, typical and slow ones, and counts per call."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis.call_path import (
    FILE_SENDS,
    KERNEL,
    OTHER,
    OUTSIDE,
    SOCKET_SENDS,
    USER,
    WAKING,
    Part,
    Trace,
    caller_of,
    rows_of,
)
from bench.run.calls import ONE_REQUEST
from bench.run.frames import Run, number_of, once_per_run
from bench.run.schema import SAMPLED
from bench.run.start_values import ROLES

EDGE_NS = 3_000  # between a call's own times and the first and last event that is kept of it
LEAST_CALLS = 20  # traced calls of a request: fewer say too little of it
SLOW, LEAST_SLOW = 0.01, 5  # the slowest calls: this share of the traced ones, and at least so many
LEAST_OF_SLOW = 100  # traced calls: of fewer, five are not the slowest
Row = tuple[str, str]  # role, and what

INTERRUPTED: Row = ("", OTHER)
ROWS: tuple[Row, ...] = (
    ("client", USER),
    ("client", KERNEL),
    ("router", WAKING),
    ("router", USER),
    ("router", KERNEL),
    ("controller", WAKING),
    ("controller", USER),
    ("controller", KERNEL),
    ("server", WAKING),
    ("server", USER),
    ("server", KERNEL),
    ("client", WAKING),
    INTERRUPTED,
    ("", OUTSIDE),
)
"""The rows of a breakdown, in the order in which they are shown."""


def row_words(row: Row) -> str:
    """Return a row in words."""
    role, what = row
    return {
        USER: f"{role}, user code",
        KERNEL: f"{role}, kernel",
        WAKING: f"waking the {role}",
        OTHER: "another process ran",
        OUTSIDE: "waiting for a timer or a device",
    }[what]


class TracedCall(NamedTuple):
    """A traced call: when it was sent and answered, in ns since *go* without pauses; its path; its request.

    request: as in ``Calls``. parts: None where the events do not explain the call.
    """

    start: int
    slice: int
    sent_ns: int
    received_ns: int
    parts: list[Part] | None
    request: int = ONE_REQUEST

    @property
    def rtt_ns(self) -> int:
        """Its RTT."""
        return self.received_ns - self.sent_ns


@once_per_run
def calls(run: Run, case: int) -> list[TracedCall]:
    """Return the traced calls of a case, in their order; none of a case that was not traced."""
    return [call for start in map(number_of, run.ledger_of(case).index) for call in _of_start(run, start)]


def _of_start(run: Run, start: int) -> Iterator[TracedCall]:
    made = run.calls.of_start(start)
    for number, events, pairs in _kept(run, start):
        trace = Trace(events)
        caller = caller_of(trace, pairs)
        for sent_ns, received_ns in pairs[1:]:  # what the first one depended on began before its events
            parts = trace.path(caller, sent_ns, received_ns)
            request = int(made.request[np.searchsorted(made.t_send_ns, sent_ns)])
            yield TracedCall(start, number, sent_ns, received_ns, parts, request)


def _kept(run: Run, start: int) -> Iterator[tuple[int, pd.DataFrame, list[tuple[int, int]]]]:
    """Yield each slice of a start: its number, its events, and when each of their whole calls began and ended."""
    made = run.calls.of_start(start)
    for number, events in scheduled(run, start).groupby("slice"):
        began_ns, ended_ns = events["t_ns"].iloc[0], events["t_ns"].iloc[-1]
        first, last = np.searchsorted(made.t_send_ns, [began_ns - EDGE_NS, ended_ns])
        sent, received = made.t_send_ns[first:last], (made.t_send_ns + made.rtt_ns)[first:last]
        is_whole = received <= ended_ns + EDGE_NS
        pairs = [
            (int(sent_ns), int(received_ns))
            for sent_ns, received_ns in zip(sent[is_whole], received[is_whole], strict=True)
        ]
        yield number_of(number), events, pairs


def scheduled(run: Run, start: int) -> pd.DataFrame:
    """Return the events of a start without the samples of user code."""
    events = run.events_of(start)
    return events[events["event"] != SAMPLED]


@once_per_run
def breakdown(run: Run, case: int) -> pd.DataFrame:
    """Return the breakdown of a case: one row for each call that is explained, in ns.

    Columns: ``start``, ``request``, ``rtt_ns``, then one for each of ``ROWS``.
    """
    explained = [call for call in calls(run, case) if call.parts is not None]
    rows = []
    for call in explained:
        sums = dict.fromkeys(ROWS, 0)
        for part in call.parts or ():
            sums[part.role, part.what] += part.ns
        rows.append([call.start, call.request, call.rtt_ns, *sums.values()])
    names = pd.Index(["start", "request", "rtt_ns", *ROWS], tupleize_cols=False)
    return pd.DataFrame(rows, columns=names, dtype="int64")


def requests(run: Run, case: int) -> dict[str, int]:
    """Return the requests of a service's traced case that enough calls made, and their numbers; none of one request."""
    made = breakdown(run, case)["request"].value_counts()
    there = {name: number for number, name in enumerate(run.calls.requests) if made.get(number, 0) >= LEAST_CALLS}
    return there if len(made) > 1 else {}


def explained_share(run: Run, case: int) -> float:
    """Return the share of the traced calls of a case whose events explain all of the RTT; NaN if none was traced."""
    traced = calls(run, case)
    return sum(call.parts is not None for call in traced) / len(traced) if traced else np.nan


@once_per_run
def typical(run: Run, case: int, request: int | None = None) -> pd.DataFrame:
    """Return the rows of a case's breakdown of the middle half of its calls by RTT, in each start; or of a request."""
    rows = breakdown(run, case)
    rows = rows if request is None else rows[rows["request"] == request]
    ranks = rows.groupby("start")["rtt_ns"].rank(pct=True)
    return rows[(ranks > 0.25) & (ranks <= 0.75)]


class Slow(NamedTuple):
    """The slowest calls of a case or request, typical ones, and those left out; frames as ``breakdown`` has them.

    interrupted: calls as slow as these for which another process held the CPU most of the extra time.
    """

    rows: pd.DataFrame
    usual: pd.DataFrame
    interrupted: pd.DataFrame


def slow(run: Run, case: int, request: int | None = None) -> Slow | None:
    """Return the slowest 1 % of a case's calls, or of a request's, at least five; None of fewer than 100 calls.

    Without those that another process made slow: else it hides what the case's own slow calls do.
    """
    rows, usual = breakdown(run, case), typical(run, case, request)
    rows = rows if request is None else rows[rows["request"] == request]
    extra_ns = rows["rtt_ns"] - usual["rtt_ns"].mean()
    is_interrupted = (extra_ns > 0) & (rows[INTERRUPTED] > extra_ns / 2)
    own = rows[~is_interrupted]
    if len(own) < LEAST_OF_SLOW:
        return None
    slowest = own.nlargest(max(LEAST_SLOW, round(SLOW * len(own))), "rtt_ns")
    return Slow(slowest, usual, rows[is_interrupted & (rows["rtt_ns"] >= slowest["rtt_ns"].min())])


def typical_us(run: Run, case: int, row: Row | None = None, request: int | None = None) -> "pd.Series[float]":
    """Return the mean of a row over the typical calls of each start of a case, of the RTT if ``row`` is None, in us.

    request: those that made it alone.
    """
    rows = typical(run, case, request)
    values = rows["rtt_ns"] if row is None else rows[row]
    return values.groupby(rows["start"]).mean() / 1e3


def kernel_us(run: Run, case: int) -> dict[tuple[str, str], float]:
    """Return the mean time of typical calls in each system call on their path, in us, by role and name."""
    usual = typical(run, case)
    of_starts = usual["rtt_ns"].groupby(usual["start"])
    low, high = of_starts.min().to_dict(), of_starts.max().to_dict()  # without starts of a single traced call
    total: dict[tuple[str, str], float] = {}
    for call in calls(run, case):
        if low.get(call.start, math.inf) <= call.rtt_ns <= high.get(call.start, 0):
            for part in call.parts or ():
                if part.what == KERNEL:
                    total[part.role, part.name] = total.get((part.role, part.name), 0.0) + part.ns / 1e3 / len(usual)
    return total


@once_per_run
def user_samples(run: Run, case: int) -> Counter[tuple[str, str]]:
    """Return how many samples of a traced case were in each file's code, by role and file.

    Of the threads whose user code was on a path; what others do beside it is left out.
    """
    on_path = {
        (call.start, part.role, part.thread)
        for call in calls(run, case)
        for part in call.parts or ()
        if part.what == USER
    }
    found: Counter[tuple[str, str]] = Counter()
    for start in map(number_of, run.ledger_of(case).index):
        events = run.events_of(start)
        for role, thread, name in rows_of(events[events["event"] == SAMPLED], "role", "thread", "name"):
            if (start, role, thread) in on_path:
                found[role, name] += 1
    return found


def by_level(run: Run, case: int) -> tuple["pd.Series[float]", "pd.Series[float]"] | None:
    """Return the mean of each row in us, typical calls, over the faster and over the slower starts of a case.

    None where its starts do not have two levels.
    """
    of_starts = typical_us(run, case)
    levels = stats.across_starts(of_starts.to_list()).levels
    if levels is None:
        return None
    usual = typical(run, case)
    is_slow = usual["start"].map(of_starts > sum(levels) / 2)
    fast, slower = (usual.loc[flag, list(ROWS)].mean() / 1e3 for flag in (~is_slow, is_slow))
    return fast, slower


def call_nearest(run: Run, case: int, share: float) -> TracedCall | None:
    """Return the explained call of a case whose RTT is nearest to a quantile of theirs; None if there is none."""
    explained = [call for call in calls(run, case) if call.parts is not None]
    if not explained:
        return None
    wanted = np.quantile([call.rtt_ns for call in explained], share)
    return min(explained, key=lambda call: abs(call.rtt_ns - wanted))


def roles_of(run: Run, case: int) -> list[str]:
    """Return the roles of a traced case's threads, in the order of ``ROLES``."""
    seen = {row[0] for row in ROWS if (breakdown(run, case)[row] > 0).any()}
    return [role for role in ROLES if role in seen]


class Count(NamedTuple):
    """How often something happens per call: ``what`` of a role; its mean over all slices, and the range over them.

    slices: how many there are. is_exact: every slice has the same whole number for each of its calls, which is then the
    mean; at the ends of a slice one system call, but no byte, may belong to a call outside of it.
    """

    role: str
    what: str
    mean: float
    low: float
    high: float
    slices: int
    is_exact: bool

    @property
    def words(self) -> str:
        """The mean; of a count that is not exact with its range over slices."""
        if self.is_exact or self.high == 0:
            return f"{self.mean:.0f}"
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


SLEEPS, PREEMPTED, SENT_BYTES = "sleeps (voluntary switches)", "preempted (involuntary switches)", "bytes sent"
COUNTED = {"calls": "", "sleeps": SLEEPS, "preempted": PREEMPTED}  # events; a system call is counted under its name


@once_per_run
def counts(run: Run, *cases: int, least_calls: int = 1) -> list[Count]:
    """Return what happens in each call of equal traced cases, by role: system calls by name, switches, bytes sent.

    least_calls: slices with fewer calls are left out.
    """
    slices: list[tuple[int, dict[tuple[str, str], float]]] = []
    for start in (number_of(start) for case in cases for start in run.ledger_of(case).index):
        for _, events, pairs in _kept(run, start):
            if (made := len(pairs) - 2) >= least_calls:  # the second call and all up to the last one
                slices.append((made, _counted(events, pairs[1][0], pairs[-1][0])))
    whats = sorted({what for _, counted in slices for what in counted})
    return [count(*what, [(made, counted.get(what, 0.0)) for made, counted in slices]) for what in whats]


def _counted(events: pd.DataFrame, from_ns: int, to_ns: int) -> dict[tuple[str, str], float]:
    """Return how often each thing happened in a part of a slice, by role."""
    occurrences: Counter[tuple[str, str]] = Counter()
    sent: Counter[tuple[str, tuple[str, ...]]] = Counter()
    called: dict[tuple[str, int], str] = {}  # what each thread called in this part, if it has not returned
    rows = rows_of(events, "t_ns", "role", "thread", "event", "name", "result")
    for t_ns, role, thread, event, name, result in rows:
        if event == "returns":
            name = called.pop((role, thread), "")
            for names in (SOCKET_SENDS, FILE_SENDS):
                if name in names and result > 0:
                    sent[role, names] += result
        elif from_ns <= t_ns < to_ns and event in COUNTED:
            occurrences[role, COUNTED[event] or name] += 1
            if event == "calls":
                called[role, thread] = name
    for role in {role for role, _ in sent}:  # who sends by sockets' own calls writes to wake threads
        occurrences[role, SENT_BYTES] = sent[role, SOCKET_SENDS] or sent[role, FILE_SENDS]
    return {what: float(times) for what, times in occurrences.items()}


def count(role: str, what: str, slices: Sequence[tuple[int, float]]) -> Count:
    """Return the count of what happened so many times in slices: of each its number of calls, and the times."""
    per_call = [times / made for made, times in slices]
    mean = sum(times for _, times in slices) / sum(made for made, _ in slices)
    usual = round(float(np.median(per_call)))
    at_ends = 0 if what == SENT_BYTES else 1
    is_exact = usual >= 1 and all(abs(times - usual * made) <= at_ends for made, times in slices)
    return Count(role, what, float(usual) if is_exact else mean, min(per_call), max(per_call), len(slices), is_exact)


def running(run: Run, call: TracedCall) -> list[Part]:
    """Return all times in which threads of a case ran during a call, on its path or beside it."""
    events = scheduled(run, call.start)
    trace = Trace(events[events["slice"] == call.slice])
    return [
        part
        for thread, times in trace.running.items()
        for ran in times
        for part in trace.ran(thread, max(ran.begin_ns, call.sent_ns), min(ran.end_ns, call.received_ns))
    ]
