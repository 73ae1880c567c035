"""Sketches of a start: exact counts and sums, and times as sketches, by client process and slice of the window.

A host that took too many samples to send keeps them, and sends these rows and some of the samples instead. The slices
make the warm-up known later: it is left out in whole slices. All times are in ns since *go*.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bench.stats import Array, sketches
from bench.stats.sketches import Sketch

SLICES = 50  # of a window: 20 ms of one second
MOST = 2 * SLICES  # those after the window, until the last reply, among them; what comes later still is one slice more
PARTS = 20  # of a slice: what a rate leaves out at both ends of the window is less than one
TIMES = ("rtt", "response", "idle_lag")  # the last two only of an open load
LARGEST = math.log(2**63)  # of a time in ns


def rows(calls: Sequence[Array], window_ns: int, chosen: Array) -> list[dict[str, Any]]:
    """Return the rows of one client process without start, process, host and path: of all slices of the window.

    calls: of each caller send and reply times, of an open load also due times, shape (2 or 3, n), in the order of
    sending. chosen: the places of the samples that are sent, in all callers' calls one after the other.
    """
    sent, replied, *due = (np.concatenate([one[i] for one in calls]) for i in range(len(calls[0])))
    number = min(MOST, max(SLICES, int(replied.max()) * SLICES // window_ns + 1))
    edges = window_ns * np.arange(number + 1) // SLICES
    of_sent, of_replied = _slices(edges, sent), _slices(edges, replied)
    order = np.argsort(of_sent, kind="stable")
    cuts = np.searchsorted(of_sent[order], np.arange(number + 2))
    replies = np.bincount(of_replied, minlength=number + 1)
    sampled = np.bincount(of_sent[chosen], minlength=number + 1)
    times, waited = {"rtt": replied - sent}, None
    if due:
        times["response"], times["idle_lag"] = replied - due[0], sent - due[0]
        waited = np.concatenate([_waited(one) for one in calls])
    process, found = _of_process(calls), []
    for at in range(number + 1):
        mine = order[cuts[at] : cuts[at + 1]]
        if at == number and not (mine.size or replies[at]):
            continue
        row = process | {
            "slice": at,
            "from_ns": int(edges[at]),
            "to_ns": int(edges[at + 1]) if at < number else None,
            "calls": int(mine.size),
            "replies": int(replies[at]),
            "replies_by_part": _in_parts(replied[of_replied == at], edges[at : at + 2]),
            "sampled": int(sampled[at]),
            "waited": None if waited is None else int(waited[mine].sum()),
            "accuracy": sketches.ACCURACY,
        }
        for name, values in times.items():
            those = mine[~waited[mine]] if name == "idle_lag" and waited is not None else mine
            row |= _of_time(name, values[those])
        found.append(row)
    return found


def _slices(edges: Array, times: Array) -> Array:
    """Return the slice of each time; before *go* is the first, after the last edge one more than there are."""
    return np.clip(np.searchsorted(edges, times, side="right") - 1, 0, len(edges) - 1)


def parts(from_ns: int, to_ns: int) -> Array:
    """Return when the parts of a slice begin, and when the last one ends."""
    return from_ns + (to_ns - from_ns) * np.arange(PARTS + 1) // PARTS


def _in_parts(replied: Array, ends: Array) -> list[int]:
    """Return how many replies were received in each part of a slice; none for one without an end."""
    if len(ends) < 2:
        return []
    places = np.clip(np.searchsorted(parts(*ends), replied, side="right") - 1, 0, PARTS - 1)
    return [int(count) for count in np.bincount(places, minlength=PARTS)]


def _waited(times: Array) -> Array:
    """Return for each call of a caller of an open load whether it still waited for a reply when the call was due."""
    _, replied, due = times
    return np.concatenate([[0], replied[:-1]])[: len(due)] > due


def _of_process(calls: Sequence[Array]) -> dict[str, int]:
    """Return what rates and Little's law need of the whole process."""
    active = [one for one in calls if one.shape[1]]
    return {
        "begin_ns": max(int(one[0, 0]) for one in active),
        "end_ns": min(int(one[1, -1]) for one in active),
        "last_ns": max(int(one[1].max()) for one in active),
        "span_ns": sum(int(one[0, -1] - one[0, 0]) for one in active),
        "last_rtt_ns": sum(int(one[1, -1] - one[0, -1]) for one in active),
        "cycles": sum(max(1, one.shape[1] - 1) for one in active),
    }


def _of_time(name: str, values: Array) -> dict[str, Any]:
    sketch = Sketch.of(values)
    return {
        f"{name}_min_ns": int(values.min()) if values.size else None,
        f"{name}_max_ns": int(values.max()) if values.size else None,
        f"{name}_sum_ns": int(values.sum()),
        f"{name}_first": sketch.first,
        f"{name}_zeros": sketch.zeros,
        f"{name}_counts": sketch.counts.tolist(),
    }


def sketch_of(found: Iterable[Mapping[str, Any]], time: str) -> Sketch:
    """Return the sketch in ns of all calls of some rows; of none, an empty one."""
    each = [
        Sketch(row["accuracy"], int(row[f"{time}_first"]), np.asarray(row[f"{time}_counts"], "i8"),
               int(row[f"{time}_zeros"]))
        for row in found
        if row[f"{time}_counts"] is not None
    ]  # fmt: skip
    return sketches.merged(each) if each else Sketch.of(np.zeros(0, "i8"))


def misfit(row: Mapping[str, Any]) -> str:
    """Return what cannot be in a row, in words; "" if all can."""
    if not 0 < row["accuracy"] < 1:
        return f"the accuracy {row['accuracy']:g} of a sketch cannot be"
    if row["sampled"] > row["calls"]:
        return f"{row['sampled']:,} samples of {row['calls']:,} calls cannot be"
    by_part = row["replies_by_part"]
    if by_part is None or len(by_part) != PARTS * (row["to_ns"] is not None) or None in by_part:
        return "the replies of a slice are not in its parts"
    if by_part and (min(by_part) < 0 or sum(by_part) != row["replies"]):
        return f"{sum(by_part):,} of {row['replies']:,} replies in the parts of a slice cannot be"
    for time in TIMES:
        counts = row[f"{time}_counts"]
        if counts is None:
            continue
        first, zeros = row[f"{time}_first"], row[f"{time}_zeros"]
        last = LARGEST / math.atanh(row["accuracy"]) / 2
        if None in (first, zeros, *counts) or min(counts, default=0) < 0 or first + len(counts) > last + 1:
            return f"a sketch of its column {time}_counts has buckets or counts that cannot be"
        expected = row["calls"] - (row["waited"] or 0) * (time == "idle_lag")
        if (held := sum(counts) + zeros) != expected:
            return f"a sketch of its column {time}_counts holds {held:,} of {expected:,} calls"
    return "" if row["rtt_counts"] is not None else "a row has no sketch of round trips"
