"""Offsets between two clocks from exchanges of four timestamps, with bounds that hold however long the network takes.

In an exchange a message is ``sent`` and its reply ``received`` by the first clock; it has ``arrived`` and is
``answered`` by the second. A message arrives after it was sent, so the second clock minus the first is at most
``arrived - sent`` and at least ``answered - received`` (RFC 5905, section 8, takes the mean of the two). The exchange
with the smallest round trip alone leaves half of that round trip as the bound; what other exchanges exclude makes it
smaller. Times are in ns.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bench.stats.quantiles import Array

LARGEST_DRIFT = 1000e-6  # of two clocks, each off by 500e-6 at most: MAXFREQ of RFC 5905, and the limit of adjtimex
LARGEST_SHARE = 0.1  # of a duration that the bound of the clocks may be, where it is the difference of two clocks


@dataclass(frozen=True)
class ClockReading:
    """A host's clock beside the conductor's.

    offset_ns: the host's ``perf_counter_ns`` minus the conductor's, at the instant ``at_ns`` of the conductor's clock.
    bound_ns: how much the true offset can differ from it at most; 0 for the conductor's own clock.
    """

    offset_ns: int = 0
    bound_ns: int = 0
    at_ns: int = 0


class Drift(NamedTuple):
    """How much faster a clock runs than another, in millionths, and how much the true value can differ from it."""

    ppm: float
    bound_ppm: float


class ClockStepError(ValueError):
    """One of the clocks was set while they were compared: no offset agrees with all exchanges."""


def round_trips(sent: Array, arrived: Array, answered: Array, received: Array) -> Array:
    """Return the time that each exchange spent on the network: the round trip without the second clock's side."""
    return (received - sent) - (answered - arrived)


def offset(sent: Array, arrived: Array, answered: Array, received: Array, resolution_ns: int = 1) -> ClockReading:
    """Return the second clock minus the first, and its bound, halfway through the smallest round trip.

    Arguments: int64 arrays of one length, of one exchange or more. resolution_ns: of the coarser clock. Between an
    exchange and the instant of the reading the offset may change at the rate ``LARGEST_DRIFT``. ClockStepError if no
    offset agrees with all exchanges.
    """
    smallest = int(np.argmin(round_trips(sent, arrived, answered, received)))
    at_ns = int(sent[smallest]) + int(received[smallest] - sent[smallest]) // 2
    away = np.maximum(np.abs(sent - at_ns), np.abs(received - at_ns))
    slack = np.ceil(LARGEST_DRIFT * away).astype(np.int64) + resolution_ns
    lowest, highest = int(np.max(answered - received - slack)), int(np.min(arrived - sent + slack))
    if lowest > highest:
        raise ClockStepError(f"the clocks disagree with themselves by {lowest - highest} ns")
    middle = (lowest + highest) // 2
    return ClockReading(middle, highest - middle, at_ns)


def drift(before: ClockReading, after: ClockReading) -> Drift:
    """Return how much faster the second clock ran than the first between two readings; NaN if no time passed."""
    if (elapsed_ns := after.at_ns - before.at_ns) <= 0:
        return Drift(math.nan, math.nan)
    changed_ns, unsure_ns = after.offset_ns - before.offset_ns, before.bound_ns + after.bound_ns
    return Drift(1e6 * changed_ns / elapsed_ns, 1e6 * unsure_ns / elapsed_ns)


def step_ns(before: ClockReading, after: ClockReading) -> int:
    """Return how much the offset changed, if drift and both bounds do not explain it: a clock was set; else 0."""
    changed_ns = after.offset_ns - before.offset_ns
    explained_ns = LARGEST_DRIFT * abs(after.at_ns - before.at_ns) + before.bound_ns + after.bound_ns
    return changed_ns if abs(changed_ns) > explained_ns else 0
