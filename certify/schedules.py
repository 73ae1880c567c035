"""Schedules with constant gaps, fitted to the arrivals of requests: when each of them was due."""

import numpy as np

from bench.stats import Array, quantile

EARLIEST = 0.01  # share of the requests that are sent when they are due, at least
FITS = 5  # times that a schedule is fitted to the arrivals that were not late by the one before
LATE = 4.0  # standard deviations from the schedule; an arrival beyond them is late, and does not move the schedule
CLEARLY = 0.5  # of the deviation from one schedule, so that those of the connections fit clearly better
SCALE = 1.4826  # a normal distribution's standard deviation divided by its median absolute deviation


def fitted(arrived_ns: Array) -> Array:
    """Return when each request was due in the constant schedule that fits best, in ns, shape (n,).

    Requests are taken in the order of their arrival. The line is fitted by least squares to those that are not late,
    so that what waited while the server was frozen does not move it.
    """
    number = np.arange(len(arrived_ns), dtype=float)
    times = (arrived_ns - arrived_ns[0]).astype(float)
    on_time = np.ones(len(times), bool)
    line = number
    for _ in range(FITS):
        line = np.polynomial.Polynomial.fit(number[on_time], times[on_time], 1)(number)
        off = times - line
        centre = float(np.median(off))
        on_time = np.abs(off - centre) <= max(LATE * SCALE * float(np.median(np.abs(off - centre))), 1.0)
    return arrived_ns[0] + np.rint(line).astype(np.int64)


def of_connections(requests: Array, of_load: Array) -> Array:
    """Return when each request was due in the constant schedule of its connection, in ns, shape (n,).

    of_load: the schedule of the whole load, which those of connections with fewer than three requests keep.
    """
    arrived, due = requests["arrived"], of_load.copy()
    for connection in np.unique(requests["connection"]):
        is_its = requests["connection"] == connection
        if np.count_nonzero(is_its) > 2:
            due[is_its] = fitted(arrived[is_its])
    return due


def known(requests: Array, gap_ns: float) -> Array | None:
    """Return when each request was due, in ns: by a constant schedule of the whole load, or of each connection.

    That of the whole load, unless the others fit clearly better. None if most requests are farther than a gap of the
    load from it: then nobody but the generator knows when they were due.
    """
    arrived = requests["arrived"]
    whole = fitted(arrived)
    each = of_connections(requests, whole)
    whole_off, each_off = (float(np.median(np.abs(arrived - due))) for due in (whole, each))
    due, off = (each, each_off) if each_off < CLEARLY * whole_off else (whole, whole_off)
    return due if off <= gap_ns else None


def sent_late_ns(arrived_ns: Array, due_ns: Array) -> float:
    """Return how long after the earliest requests of its schedule a generator sends the median one, in ns.

    The fitted schedule is later than the generator's own, from which the generator counts.
    """
    return max(0.0, -quantile((arrived_ns - due_ns).astype(float), EARLIEST))
