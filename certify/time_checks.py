"""Checks of the response times that are reported, against those that the front recorded."""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from bench.stats import Array, corrected, quantile
from bench.stats.intervals import order_statistics
from bench.text import duration
from certify import schedules
from certify.check import NOT_HELD, Check, verdict
from certify.load_checks import delivered_rate
from certify.observation import Observation
from certify.record import SECOND
from certify.report import Reported, ReportedTimes

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
    quantiles = {name: getattr(reported, f"{name.replace('.', '_')}_us", None) for name in QUANTILES}
    return {name: value for name, value in quantiles.items() if value is not None}


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
    return schedules.known(record.requests, SECOND / asked)


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


def sent_late_us(seen: Observation) -> float:
    """Return how late the median request of an open load is sent, in us; 0 where it is not known when each was due."""
    due = fitted_ns(seen)
    return 0.0 if due is None else schedules.sent_late_ns(seen.record.requests["arrived"], due) / 1e3


def added_us(p: float, seen: Observation) -> float:
    """Return what a response time may have more: the way to the front, and what the generator itself takes.

    In a closed load that is its own time, in an open one how late it sends: it counts from its own schedule.
    """
    return seen.path.at(p) + own_us(seen) + sent_late_us(seen)


@dataclass(frozen=True)
class Allowed:
    """A true time in us, and the ends of what may be reported of it."""

    true: float
    low: float
    high: float

    def check(self, name: str, reported: float, text: str) -> Check:
        """Return the check of a reported time."""
        tolerance = max(self.true - self.low, self.high - self.true)
        return Check(name, verdict(self.low <= reported <= self.high), text, self.true, reported, tolerance, "us")

    @property
    def words(self) -> str:
        """The sentence's end that says it."""
        ends = (duration(end, like=self.true) for end in (self.low, self.high))
        return f"is {duration(self.true)}, and {' to '.join(ends)} are within the tolerance."

    def decided(self, check: Check, is_known: bool, way_us: float, late_us: float) -> Check:
        """Return its check, as not decided where the way to the front, or its lateness, may be the difference.

        is_known: whether the true times count from when requests were due.
        """
        reported = check.found or 0.0
        if reported > self.high and not is_known:
            return check.undecided(NOT_KNOWN)
        if way_us > self.true and self.high - way_us < reported <= self.high:
            return check.undecided(f"the way to the server takes {duration(way_us)} here, longer than what is measured")
        return check.unless_late(late_us, max(self.low - reported, reported - self.high))


def quantile_allowed(values: Array, p: float, more_us: float) -> Allowed | None:
    """Return what may be reported of a quantile of times in us; None of too few requests.

    The ends are those of the 95 % interval of the quantile of a random part of the requests, in case that not all of
    them are counted; ``BELOW`` and ``ABOVE`` farther, and above also by ``more_us``.
    """
    interval = order_statistics(values, p)
    if interval is None:
        return None
    return Allowed(quantile(values, p), interval[0] * (1 - BELOW), interval[1] * (1 + ABOVE) + more_us)


def mean_allowed(values: Array, more_us: float) -> Allowed:
    """Return what may be reported of the mean of times in us: its 95 % interval, and farther as of a quantile."""
    true, chance = float(values.mean()), NORMAL_95 * float(values.std()) / math.sqrt(len(values))
    return Allowed(true, (true - chance) * (1 - BELOW), (true + chance) * (1 + ABOVE) + more_us)


def quantile_check(name: str, reported: float, seen: Observation) -> Check | None:
    """A reported quantile is the true one; None if too few requests were answered for one."""
    p = QUANTILES[name]
    values, since = true_times_us(seen)
    if (allowed := quantile_allowed(values, p, added_us(p, seen))) is None:
        return None
    text = f"It reports {duration(reported)}; counted from the {since}, the true {name} {allowed.words}"
    late_us = quantile(seen.record.lateness_us, p)
    check = allowed.decided(allowed.check(name, reported, text), is_due_known(seen), seen.path.at(p), late_us)
    if check.verdict != NOT_HELD:
        return check
    return check.saying(_explanation(p, reported, seen) or _off(reported, allowed.true))


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
        return _omission(seen)
    mean_us = seen.reported.mean_us if seen.reported else None
    can_be_true = mean_us is not None and mean_us <= cycle_us(seen) * (1 + CYCLE_OFF)  # nothing was added to the times
    if not seen.is_open and not can_be_true and _fits(p, reported, corrected(sent, cycle_us(seen)), seen):
        return "It fits times corrected for coordinated omission at the mean pace, not those of the requests made."
    return ""


def _omission(seen: Observation) -> str:
    """Return the name of what is left out: only replies that hold requests back are coordinated with them."""
    what = "coordinated omission" if seen.scenario.service.freeze_ms else "how late it sent is left out"
    return f"It counts from the sending, not from the schedule: {what}."


def _fits(p: float, reported: float, values: Array, seen: Observation) -> bool:
    allowed = quantile_allowed(values, p, added_us(p, seen))
    return allowed is not None and allowed.low <= reported <= allowed.high


def mean_check(reported: float, seen: Observation) -> Check:
    """The reported mean is the true one; of a closed load it is not beyond what Little's law allows."""
    values, since = true_times_us(seen)
    allowed = mean_allowed(values, added_us(0.99, seen))
    text = f"It reports a mean of {duration(reported)}; counted from the {since} it is {duration(allowed.true)}."
    if not seen.is_open:
        longest = cycle_us(seen) * (1 + CYCLE_OFF)
        allowed = replace(allowed, high=min(allowed.high, longest))
        if reported > longest:
            text += f" None can be longer than connections divided by rate, {duration(cycle_us(seen))} (Little's law)."
    check = allowed.check("mean", reported, text)
    if seen.is_open and check.verdict == NOT_HELD and abs(reported / seen.record.response_us.mean() - 1) <= BELOW:
        check = check.saying(_omission(seen))
    way_us = seen.path.p99 if seen.is_open else 0.0
    return allowed.decided(check, is_due_known(seen), way_us, float(seen.record.lateness_us.mean()))


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
    check = Check("max", verdict(holds), text, true, reported, BELOW * true, "us")
    return check if holds else check.saying("Slow requests are missing in its report.")


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
    return Check.near("resolution", text, 0.0, step, COARSEST * true, "us")


def _are_multiples(values: list[float], step: float) -> bool:
    return all(math.isclose(value / step, round(value / step), abs_tol=1e-6) for value in values)


def of_times(seen: Observation) -> list[Check]:
    """Return all checks of the reported response times of a scenario."""
    reported = seen.reported
    if reported is None or not seen.scenario.are_times_judged or not len(seen.record.answered):
        return []
    checks = [quantile_check(name, value, seen) for name, value in reported_quantiles(reported).items()]
    checks += [] if reported.mean_us is None else [mean_check(reported.mean_us, seen)]
    checks += [] if reported.max_us is None else [max_check(reported.max_us, seen)]
    return [check for check in (*checks, resolution_check(reported, seen)) if check]
