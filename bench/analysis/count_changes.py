"""Counts per call of two states, BASE and HEAD: what rose, what fell, and what cannot be judged.

A count has risen where every slice of HEAD has more of it per call than any of BASE, and the mean is at least half of
one higher. Then one more system call per call is found, and a count that varies from slice to slice does not rise by
itself: which of them are BASE's would have to be chance.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bench.analysis import anatomy
from bench.analysis.anatomy import PREEMPTED, SLEEPS, Count
from bench.errors import DataError
from bench.run.frames import Run

LEAST_CALLS = 10  # of a slice that is counted: at its ends one system call more or less
LEAST_SLICES = 8  # of a state: the range of fewer says little
LEAST_RISE = 0.5  # per call
LEAST_SHOWN = 0.005  # per call: what is rarer belongs to no call
ROSE, FELL, UNCHANGED, UNJUDGED = "rose", "fell", "no change shown", "not judged"
NETWORK, SEGMENTS = "network", "TCP segments"


class Change(NamedTuple):
    """A count of one role in both states."""

    base: Count
    head: Count

    @property
    def verdict(self) -> str:
        """Whether it rose or fell; not judged are switches, which depend on timing, and segments that others sent."""
        base, head = self.base, self.head
        if base.what in (SLEEPS, PREEMPTED) or (base.what == SEGMENTS and not (base.is_exact and head.is_exact)):
            return UNJUDGED
        if abs(head.mean - base.mean) < LEAST_RISE or (head.low <= base.high and base.low <= head.high):
            return UNCHANGED
        return ROSE if head.mean > base.mean else FELL

    def __str__(self) -> str:
        """Return role, what, and both values; of what is not exact with its range over slices."""
        return f"{self.base.role}: {self.base.what} {self.base.words} -> {self.head.words} per call"


def record(change: Change) -> dict[str, Any]:
    """Return a change as JSON: ``a`` is BASE, ``b`` is HEAD, as in the records of comparisons."""
    base, head = (
        {name: value for name, value in state._asdict().items() if name not in ("role", "what")} for state in change
    )
    names = {"role": change.base.role, "what": change.base.what, "a": base, "b": head}
    return names | {"verdict": change.verdict, "exceeds_limit": change.verdict == ROSE, "text": str(change)}


def changes(base: Sequence[Count], head: Sequence[Count]) -> Iterator[Change]:
    """Yield each count that one of both states has at least, by role and name."""
    counts = [{(count.role, count.what): count for count in state} for state in (base, head)]
    slices = [max((count.slices for count in state), default=0) for state in (base, head)]
    for role, what in sorted({*counts[0], *counts[1]}):
        change = Change(
            *(
                state.get((role, what), Count(role, what, 0.0, 0.0, 0.0, made, True))
                for state, made in zip(counts, slices, strict=True)
            )
        )
        if max(change.base.mean, change.head.mean) >= LEAST_SHOWN:
            yield change


def counts(run: Run, *cases: int) -> list[Count]:
    """Return the counts of equal traced cases; DataError for too few slices with enough calls."""
    call_counts = anatomy.counts(run, *cases, least_calls=LEAST_CALLS)
    slices = max((count.slices for count in call_counts), default=0)
    if slices < LEAST_SLICES:
        raise DataError(
            f"{run.labels[cases[0]]}: {slices} slices have {LEAST_CALLS} calls to count; {LEAST_SLICES} are needed: "
            "give longer slices (-p slice_ms 500), or more blocks (-p starts 10)"
        )
    return [*call_counts, *([segments(run, *cases)] if run.case(cases[0]).transport == "tcp" else [])]


def segments(run: Run, *cases: int) -> Count:
    """Return how many TCP segments the network of this machine sends per call; its slices are whole starts.

    It is exact where each start has nearly the same whole number: a slice ends with a late acknowledgement.
    """
    per_call = np.concatenate([run.ledger_of(case).eval("tcp_segments_out / calls") for case in cases])
    usual = round(float(np.median(per_call)))
    is_exact = bool(np.all(abs(per_call - usual) < LEAST_RISE / 2))
    mean = float(usual) if is_exact else float(np.mean(per_call))
    return Count(NETWORK, SEGMENTS, mean, float(min(per_call)), float(max(per_call)), len(per_call), is_exact)
