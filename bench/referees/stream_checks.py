"""Checks of the times that are reported of streams: to the first token, and between tokens.

They are claims about the server. So the tolerance is that of response times without what the generator itself does in a
closed load: a program that takes 40 ms before it sends, and counts them, reports a server that is 40 ms slower.
"""

import math
from dataclasses import replace

from bench.referees.arrival_checks import unless_late
from bench.referees.generator_file import STREAM_TIMES
from bench.referees.observation import Observation
from bench.referees.time_checks import (
    ABOVE,
    BELOW,
    NORMAL_95,
    NOT_KNOWN,
    QUANTILES,
    allowed,
    due_ns,
    is_due_known,
    reported_quantiles,
    sent_late_us,
)
from bench.referees.verdict import NOT_HELD, Check, verdict
from bench.stats import Array, quantile
from bench.text import duration

MEAN = "mean"
NAMES = {time: [f"{time}-{name}" for name in (*QUANTILES, MEAN)] for time in STREAM_TIMES}
WORDS = {"ttft": "time to first token", "gap": "time between tokens"}


def true_times_us(time: str, seen: Observation) -> Array:
    """Return the true times of each answered request, in us: to its first event, or the mean between two events.

    Of an open load the first ones count from when each request was due, where that is known, else from its arrival.
    """
    answered = seen.record.answered
    if time == "gap":
        return (answered["departed"] - answered["first"]) / 1e3 / (seen.scenario.service.events - 1)
    due = due_ns(seen)
    return seen.record.first_us if due is None else (answered["first"] - due) / 1e3


def quantile_check(time: str, name: str, reported: float, seen: Observation) -> Check | None:
    """A reported quantile is the true one; None if too few requests were answered for one."""
    p = QUANTILES[name]
    if (ends := allowed(true_times_us(time, seen), p, seen.path.at(p) + _sent_late_us(time, seen))) is None:
        return None
    return _compared(time, name, reported, ends, quantile(_lateness_us(time, seen), p), seen.path.at(p), seen)


def mean_check(time: str, reported: float, seen: Observation) -> Check:
    """The reported mean is the true one."""
    values = true_times_us(time, seen)
    true, chance = float(values.mean()), NORMAL_95 * float(values.std()) / math.sqrt(len(values))
    ends = (
        true,
        (true - chance) * (1 - BELOW),
        (true + chance) * (1 + ABOVE) + seen.path.p99 + _sent_late_us(time, seen),
    )
    return _compared(time, MEAN, reported, ends, float(_lateness_us(time, seen).mean()), seen.path.p99, seen)


def _sent_late_us(time: str, seen: Observation) -> float:
    """Return how late the median request is sent, in us, which a time to first token may include."""
    return sent_late_us(seen) if time == "ttft" else 0.0


def _lateness_us(time: str, seen: Observation) -> Array:
    """Return how late the first event of each answered request was, or the latest of its events, in us."""
    answered = seen.record.answered
    return seen.record.lateness_us if time == "gap" else (answered["first"] - answered["due"]) / 1e3


def _compared(
    time: str,
    name: str,
    reported: float,
    ends: tuple[float, float, float],
    late_us: float,
    way_us: float,
    seen: Observation,
) -> Check:
    """Return the check of a time: what is true and the ends of what is allowed, how late the front was, and the way."""
    true, low, high = ends
    text = f"It reports {duration(reported)}; the true {WORDS[time]} ({name}) is {duration(true)}"
    text += f", and {duration(low, like=true)} to {duration(high, like=true)} are within the tolerance."
    tolerance = max(true - low, high - true)
    check = Check(f"{time}-{name}", verdict(low <= reported <= high), text, true, reported, tolerance, "us")
    if time == "ttft" and reported > high and not is_due_known(seen):
        return check.undecided(NOT_KNOWN)
    if way_us > true and high - way_us < reported <= high:
        return check.undecided(f"the way to the server takes {duration(way_us)} here, longer than what is measured")
    beyond_us = max(low - reported, reported - high)
    if time == "ttft" or beyond_us > 0:  # an event that was late leaves the mean of its stream, the true time, as it is
        check = unless_late(check, late_us, beyond_us)
    if check.verdict != NOT_HELD:
        return check
    return replace(check, text=f"{text} It {'adds' if reported > true else 'omits'} {duration(abs(reported - true))}.")


def of_streams(seen: Observation) -> list[Check]:
    """Return all checks of the times of streams in a scenario."""
    reported, are_there = seen.reported, len(seen.record.answered) and seen.scenario.service.events > 1
    if reported is None or not seen.scenario.are_times_judged or not are_there:
        return []
    found: list[Check | None] = []
    for time in STREAM_TIMES:
        if times := getattr(reported, time):
            found += [quantile_check(time, name, value, seen) for name, value in reported_quantiles(times).items()]
            found += [mean_check(time, times.mean_us, seen)] if times.mean_us is not None else []
    return [check for check in found if check]
