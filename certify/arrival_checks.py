"""Checks of when the requests of an open load arrive: on its schedule, and also while the server is frozen."""

import math
from dataclasses import replace

import numpy as np
from scipy import special

from bench.stats import Array, quantile
from bench.text import duration
from certify import schedules
from certify.check import Check, verdict
from certify.observation import Observation
from certify.record import SECOND, Record

PER_WINDOW = 20.0  # requests expected in each window in which arrivals are counted
CONFIDENCE = 0.99  # of the interval of the index of dispersion: one honest load in 100 is outside
LEAST_IN_FREEZE = 0.9  # share of the requests that are due while the server is frozen
BY_CHANCE = 0.1  # share of the arrivals in the emptiest other part of a second: fewer in freezes are no chance
BURST = 0.5  # of the mean gap: where half of the gaps are shorter, requests come in bursts
NORMAL_99 = 2.576  # standard errors of a two-sided 99 % interval
OF_EACH = ("connections", "workers", "limit")  # promise no schedule of the whole load
WHY_UNDECIDED = {  # by schedule
    "workers": "its workers share connections, so that it is not known which of them sent a request",
    "limit": "it promises that it does not exceed a rate, not that it keeps a schedule",
}


def promised_schedule(seen: Observation, of_load: Array) -> Array:
    """Return when each request was due in the schedule with constant gaps that its generator promises, in ns.

    It is that of the whole load, ``of_load``, or of each connection where the generator promises no more.
    """
    is_each = seen.schedule in OF_EACH
    return schedules.of_connections(seen.record.requests, of_load) if is_each else of_load


def constant_gaps(seen: Observation) -> Check:
    """Requests arrive when the promised schedule has them: p99 of the deviation is below one gap of the load."""
    arrived = seen.record.requests["arrived"]
    whole, gap_us = schedules.fitted(arrived), 1e6 / seen.record.arrivals_per_s
    off_us, whole_us = (quantile(np.abs(arrived - due), 0.99) / 1e3 for due in (promised_schedule(seen, whole), whole))
    text = f"99 % of the requests arrived within {duration(off_us)} of a constant schedule of gap {duration(gap_us)}."
    if seen.schedule in OF_EACH:
        text = f"99 % of the requests arrived within {duration(off_us)} of the constant schedule of their connection, "
        text += f"and within {duration(whole_us)} of one of the whole load, whose gap is {duration(gap_us)}."
    check = Check("schedule", verdict(off_us <= gap_us), text, 0.0, off_us, gap_us, "us")
    if seen.schedule in WHY_UNDECIDED and off_us > gap_us:
        return check.undecided(WHY_UNDECIDED[seen.schedule])
    return check.unless_late(quantile(seen.record.lateness_us, 0.99), off_us - gap_us)


def dispersion(arrived_ns: Array, window_ns: float) -> tuple[float, int]:
    """Return the index of dispersion of counts (variance divided by mean) and the number of windows.

    It is 1 for Poisson arrivals, 0 for constant gaps, above 1 for bursts (Cox & Lewis 1966, 4.3).
    """
    windows = int((arrived_ns[-1] - arrived_ns[0]) // window_ns)
    if windows < 2:
        return math.nan, windows
    counts = np.bincount(((arrived_ns - arrived_ns[0]) // window_ns).astype(int))[:windows]
    return float(counts.var(ddof=1) / counts.mean()), windows


def poisson(seen: Observation) -> Check:
    """Requests arrive as a Poisson process: the index of dispersion is in its interval around 1."""
    dispersion_index, windows = dispersion(
        seen.record.requests["arrived"], PER_WINDOW / seen.record.arrivals_per_s * SECOND
    )
    freedom = max(windows - 1, 1)
    tails = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    low, high = (float(special.chdtri(freedom, 1 - tail)) / freedom for tail in tails)
    text = f"The index of dispersion of arrivals is {dispersion_index:.2f}; of Poisson arrivals it is from {low:.2f} "
    text += f"to {high:.2f}."
    if dispersion_index < low:
        text += " They are more regular."
    if dispersion_index > high:
        text += " They come in bursts."
    return Check(
        "schedule", verdict(low <= dispersion_index <= high), text, 1.0, dispersion_index, max(1 - low, high - 1), ""
    )


def in_freezes(arrived_ns: Array, first_ns: int, freeze_ns: int) -> tuple[int, float]:
    """Return how many requests arrived while the server was frozen, and for how many s, between first and last."""
    begin, end = int(arrived_ns[0]), int(arrived_ns[-1])
    starts = np.arange(first_ns, end, SECOND)
    frozen_ns = np.clip(np.minimum(starts + freeze_ns, end) - np.maximum(starts, begin), 0, None).sum()
    since = arrived_ns - first_ns
    return int(np.count_nonzero((since >= 0) & (since % SECOND < freeze_ns))), float(frozen_ns) / SECOND


def _least_beside(record: Record, freeze_ns: int) -> float:
    """Return the arrivals per second in that part of each second in which the fewest arrive, the freezes left out.

    A part is as long as a freeze. 0 if there is no other part between the first arrival and the last.
    """
    first, arrived = record.first_freeze_ns, record.requests["arrived"]
    parts = (in_freezes(arrived, first + part * freeze_ns, freeze_ns) for part in range(1, SECOND // freeze_ns))
    return min((count / seconds for count, seconds in parts if seconds), default=0.0)


def stays_open(seen: Observation) -> Check:
    """Requests arrive while the server is frozen too, at the rate that was asked for.

    Not decided of bursts: by chance a freeze meets more of them, or fewer. It is no chance if far more arrive in every
    other part of a second, each as long as a freeze.
    """
    record, asked = seen.record, seen.scenario.rate_per_s or math.nan
    freeze_ns = int(seen.scenario.service.freeze_ms * 1e6)
    arrivals, frozen_s = in_freezes(record.requests["arrived"], record.first_freeze_ns, freeze_ns)
    due = asked * frozen_s
    tolerance = (1 - LEAST_IN_FREEZE) * due
    if seen.schedule == "poisson":
        tolerance += NORMAL_99 * math.sqrt(due)
    holds = abs(arrivals - due) <= tolerance
    text = f"{arrivals:,} requests arrived while the server was frozen; {due:,.0f} were due."
    check = Check("open-in-freeze", verdict(holds), text, due, arrivals, tolerance, "requests")
    in_bursts = float(np.median(np.diff(record.requests["arrived"]))) < BURST * SECOND / record.arrivals_per_s
    if not holds and in_bursts and arrivals / frozen_s >= BY_CHANCE * _least_beside(record, freeze_ns):
        return check.undecided("it sends in bursts")
    if arrivals < due - tolerance:
        return replace(check, text=f"{text} The load closed: it waited for replies before it sent what was due.")
    return check


def of_arrivals(seen: Observation) -> list[Check]:
    """Return all checks of the arrivals of a scenario."""
    if not seen.is_open or len(seen.record.requests) < 2 * PER_WINDOW:
        return []
    if seen.scenario.service.freeze_ms:
        return [stays_open(seen)] if seen.scenario.can_stay_open else []
    if not seen.scenario.are_times_judged:
        return []
    return [poisson(seen) if seen.schedule == "poisson" else constant_gaps(seen)]
