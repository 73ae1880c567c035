"""Checks of the response times that are reported, against those that the front recorded."""

import functools
import math
from dataclasses import replace

import numpy as np

from bench.referees.arrival_checks import known_schedule, sent_late_ns, unless_late
from bench.referees.generator_file import Reported, ReportedTimes
from bench.referees.load_checks import delivered_rate
from bench.referees.observation import Observation
from bench.referees.record import SECOND
from bench.referees.verdict import NOT_HELD, Check, verdict
from bench.stats import Array, corrected, quantile
from bench.stats.intervals import quantile_interval
from bench.text import duration

BELOW, ABOVE = 0.05, 0.10  # shares: of a histogram of two digits; of what a true open loop may be off (make calibrate)
NORMAL_95 = 1.96  # standard errors of a two-sided 95 % interval
MS = 1000.0  # us
COARSEST = 0.10  # a step of the reported times, divided by the true median: they are then off by up to 5 %
STEPS_US = (1e6, 1e5, 1e4, 1e3, 1e2, 10.0, 1.0)
CYCLE_OFF = 0.02  # share: of a mean that is reported in three digits, over a window whose ends cut some requests
NOT_KNOWN = "its requests do not show when they were due, and from then on their times are longer"
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


def reported_quantiles(reported: Reported | ReportedTimes) -> dict[str, float]:
    """Return the quantiles that are reported, in us, by their names."""
    found = {name: getattr(reported, f"{name.replace('.', '_')}_us", None) for name in QUANTILES}
    return {name: value for name, value in found.items() if value is not None}


@functools.lru_cache(maxsize=1)
def fitted_ns(seen: Observation) -> Array | None:
    """Return when each request was due in the schedule that fits the load, in ns.

    None where the instants are not known: closed loads, random schedules, loads whose rate is not the one asked for,
    or neither as a whole nor on each connection with constant gaps.
    """
    record, asked = seen.record, seen.scenario.rate_per_s
    if not asked or seen.schedule == "poisson" or len(record.requests) < 2:
        return None
    if delivered_rate(seen).verdict == NOT_HELD:
        return None
    return known_schedule(record.requests, SECOND / asked)


def due_ns(seen: Observation) -> Array | None:
    """Return when each answered request was due, in ns, and not after its arrival; None as of ``fitted_ns``."""
    due, requests = fitted_ns(seen), seen.record.requests
    return None if due is None else np.minimum(due, requests["arrived"])[requests["departed"] > 0]


def from_schedule_us(seen: Observation) -> Array | None:
    """Return the response times from the instants at which requests were due, in us; None as of ``due_ns``."""
    due = due_ns(seen)
    return None if due is None else (seen.record.answered["departed"] - due) / 1e3


def true_times_us(seen: Observation) -> tuple[Array, str]:
    """Return the true response times in us, in the order of arrival, and from when they count: arrival or schedule."""
    scheduled = from_schedule_us(seen)
    return (seen.record.response_us, "arrival") if scheduled is None else (scheduled, "schedule")


def is_due_known(seen: Observation) -> bool:
    """Return whether true times count from when requests were due; else those of an open load may be longer ones."""
    return not seen.is_open or due_ns(seen) is not None


def cycle_us(seen: Observation) -> float:
    """Return the time from one request to the next of a connection of a closed load: connections divided by rate.

    No mean response time can be longer (Little's law), whatever of it the generator itself took.
    """
    under_way = seen.record.most_at_once if seen.shares_connections else len(seen.record.per_connection)
    return min(seen.scenario.connections, under_way) * 1e6 / seen.record.answers_per_s


def own_us(seen: Observation) -> float:
    """Return what the generator takes in a cycle of a closed load, which its times may include; 0 of an open one."""
    return 0.0 if seen.is_open else max(0.0, cycle_us(seen) - float(seen.record.response_us.mean()))


def allowed(values: Array, p: float, more_us: float) -> tuple[float, float, float] | None:
    """Return the true quantile in us and the ends of what may be reported; None of too few requests.

    The ends are those of the 95 % interval of the quantile of a random part of the requests, in case that not all of
    them are counted; ``BELOW`` and ``ABOVE`` farther, and above also by ``more_us``.
    """
    interval = quantile_interval(np.random.default_rng(0).permutation(values), p)
    if interval is None:
        return None
    true = quantile(values, p)
    return true, interval[0] * (1 - BELOW), interval[1] * (1 + ABOVE) + more_us


def added_us(p: float, seen: Observation) -> float:
    """Return what a response time may have more: the way to the front, and what the generator itself takes.

    In a closed load that is its own time, in an open one how late it sends: it counts from its own schedule.
    """
    return seen.path.at(p) + own_us(seen) + sent_late_us(seen)


def sent_late_us(seen: Observation) -> float:
    """Return how late the median request of an open load is sent, in us; 0 where it is not known when each was due."""
    due = fitted_ns(seen)
    return 0.0 if due is None else sent_late_ns(seen.record.requests["arrived"], due) / 1e3


def quantile_check(name: str, reported: float, seen: Observation) -> Check | None:
    """A reported quantile is the true one; None if too few requests were answered for one."""
    p = QUANTILES[name]
    values, since = true_times_us(seen)
    if (ends := allowed(values, p, added_us(p, seen))) is None:
        return None
    true, low, high = ends
    holds = low <= reported <= high
    text = f"It reports {duration(reported)}; counted from the {since}, the true {name} is {duration(true)}"
    text += f", and {duration(low, like=true)} to {duration(high, like=true)} are within the tolerance."
    check = Check(name, verdict(holds), text, true, reported, max(true - low, high - true), "us")
    if reported > high and not is_due_known(seen):
        return check.undecided(NOT_KNOWN)
    if (way_us := seen.path.at(p)) > true and high - way_us < reported <= high:
        return check.undecided(f"the way to the server takes {duration(way_us)} here, longer than what is measured")
    check = unless_late(check, quantile(seen.record.lateness_us, p), max(low - reported, reported - high))
    if check.verdict != NOT_HELD:
        return check
    why = _explanation(p, reported, seen) or _off(reported, true)
    return replace(check, text=f"{text} {why}")


def _off(reported: float, true: float) -> str:
    """Return how far a reported time is from the true one: below 1 ms the difference, else the ratio."""
    off = abs(reported - true)
    if off < MS:
        return f"It is {duration(off)} {'longer' if reported > true else 'shorter'} than the true one."
    return f"It is {reported / true:.2f} times the true one."


def _explanation(p: float, reported: float, seen: Observation) -> str:
    """Return what a wrong quantile counts, if other times than the true ones fit it."""
    sent = seen.record.response_us
    if seen.is_open and _fits(p, reported, sent, seen):
        return f"It counts from the sending, not from the schedule: {_omission(seen)}."
    mean_us = seen.reported.mean_us if seen.reported else None
    can_be_true = mean_us is not None and mean_us <= cycle_us(seen) * (1 + CYCLE_OFF)  # nothing was added to the times
    if not seen.is_open and not can_be_true and _fits(p, reported, corrected(sent, cycle_us(seen)), seen):
        return "It fits times corrected for coordinated omission at the mean pace, not those of the requests made."
    return ""


def _omission(seen: Observation) -> str:
    """Return the name of what is left out: only replies that hold requests back are coordinated with them."""
    return "coordinated omission" if seen.scenario.service.freeze_ms else "how late it sent is left out"


def _fits(p: float, reported: float, values: Array, seen: Observation) -> bool:
    ends = allowed(values, p, added_us(p, seen))
    return ends is not None and ends[1] <= reported <= ends[2]


def mean_check(reported: float, seen: Observation) -> Check:
    """The reported mean is the true one; of a closed load it is not beyond what Little's law allows."""
    values, since = true_times_us(seen)
    true, chance = float(values.mean()), NORMAL_95 * float(values.std()) / math.sqrt(len(values))
    low, high = (true - chance) * (1 - BELOW), (true + chance) * (1 + ABOVE) + added_us(0.99, seen)
    text = f"It reports a mean of {duration(reported)}; counted from the {since} it is {duration(true)}."
    if not seen.is_open:
        longest = cycle_us(seen) * (1 + CYCLE_OFF)
        high = min(high, longest)
        if reported > longest:
            text += f" None can be longer than connections divided by rate, {duration(cycle_us(seen))} (Little's law)."
    if seen.is_open and not low <= reported <= high and abs(reported / seen.record.response_us.mean() - 1) <= BELOW:
        text += f" It counts from the sending, not from the schedule: {_omission(seen)}."
    check = Check("mean", verdict(low <= reported <= high), text, true, reported, max(true - low, high - true), "us")
    if reported > high and not is_due_known(seen):
        return check.undecided(NOT_KNOWN)
    if seen.is_open and seen.path.p99 > true and high - seen.path.p99 < reported <= high:
        return check.undecided(f"the way to the server takes {duration(seen.path.p99)} here, longer than the mean")
    return unless_late(check, float(seen.record.lateness_us.mean()), max(low - reported, reported - high))


def max_check(reported: float, seen: Observation) -> Check | None:
    """The reported maximum is not below the true one; what delays the generator itself may make it larger.

    Replies that departed after the last request was sent are left out: a window may end before they come. None if all
    did.
    """
    record = seen.record
    in_window = record.answered["departed"] <= record.requests["arrived"][-1]
    if not in_window.any():
        return None
    true = float(record.response_us[in_window].max())
    holds = reported >= true * (1 - BELOW)
    text = f"It reports a maximum of {duration(reported)}; the slowest request took {duration(true)}."
    if not holds:
        text += " Slow requests are missing in its report."
    return Check("max", verdict(holds), text, true, reported, BELOW * true, "us")


def resolution_check(reported: Reported, seen: Observation) -> Check | None:
    """Reported times are not rounded so much that the median is off by more than 5 %; None of fewer than three."""
    values = [value for value in reported_quantiles(reported).values() if value > 0]
    if len(values) < 3:
        return None
    true = quantile(true_times_us(seen)[0], 0.5)
    step = next((step for step in STEPS_US if _are_multiples(values, step)), 0.0)
    text = f"All its quantiles are multiples of {duration(step)}; the true median is {duration(true)}."
    if not step:
        text = "Its quantiles are not rounded to a microsecond or more."
    return Check("resolution", verdict(step <= COARSEST * true), text, 0.0, step, COARSEST * true, "us")


def _are_multiples(values: list[float], step: float) -> bool:
    return all(math.isclose(value / step, round(value / step), abs_tol=1e-6) for value in values)


def of_times(seen: Observation) -> list[Check]:
    """Return all checks of the reported response times of a scenario."""
    reported = seen.reported
    if reported is None or not seen.scenario.are_times_judged or not len(seen.record.answered):
        return []
    found = [quantile_check(name, value, seen) for name, value in reported_quantiles(reported).items()]
    if reported.mean_us is not None:
        found.append(mean_check(reported.mean_us, seen))
    if reported.max_us is not None:
        found.append(max_check(reported.max_us, seen))
    found.append(resolution_check(reported, seen))
    return [check for check in found if check]
