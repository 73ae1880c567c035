"""Checks of the times that are reported of streams: to the first token, and between tokens.

They are claims about the server. So the tolerance is that of response times without what the generator itself does in a
closed load: a program that takes 40 ms before it sends, and counts them, reports a server that is 40 ms slower.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.stats import Array, quantile
from bench.text import duration
from certify.check import NOT_HELD, Check
from certify.observation import Observation
from certify.report import STREAM_TIMES
from certify.time_checks import (
    QUANTILES,
    Allowed,
    due_ns,
    is_due_known,
    mean_allowed,
    quantile_allowed,
    reported_quantiles,
    sent_late_us,
)

MEAN = "mean"
NAMES = {time: [f"{time}-{name}" for name in (*QUANTILES, MEAN)] for time in STREAM_TIMES}
WORDS = {"ttft": "time to first token", "gap": "time between tokens"}


@dataclass(frozen=True)
class StreamTime:
    """One of the times of streams in a scenario, in us of each answered request.

    values: to the first event, of an open load from when each request was due, where that is known, else from its
    arrival; or the mean between two events. late: how late the first event was, or the latest of its events. more: how
    late the median request is sent, which a time to first token may include.
    """

    name: str
    values: Array
    late: Array
    more: float
    is_known: bool

    @classmethod
    def seen(cls, name: str, seen: Observation) -> "StreamTime":
        """Return the one of a name."""
        record, answered = seen.record, seen.record.answered
        if name == "gap":
            gaps = (answered["departed"] - answered["first"]) / 1e3 / (seen.scenario.service.events - 1)
            return cls(name, gaps, record.lateness_us, 0.0, True)
        due, late = due_ns(seen), (answered["first"] - answered["due"]) / 1e3
        times = record.first_us if due is None else (answered["first"] - due) / 1e3
        return cls(name, times, late, sent_late_us(seen), is_due_known(seen))

    def check(self, name: str, reported: float, allowed: Allowed, way_us: float, late_us: float) -> Check:
        """Return the check of a quantile or the mean."""
        text = f"It reports {duration(reported)}; the true {WORDS[self.name]} ({name}) {allowed.words}"
        check = allowed.check(f"{self.name}-{name}", reported, text)
        if self.name == "gap" and check.verdict != NOT_HELD:
            late_us = 0.0  # an event that was late leaves the mean of its stream, the true time, as it is
        check = allowed.decided(check, self.is_known, way_us, late_us)
        off = f"It {'adds' if reported > allowed.true else 'omits'} {duration(abs(reported - allowed.true))}."
        return check.saying(off) if check.verdict == NOT_HELD else check


def of_streams(seen: Observation) -> list[Check]:
    """Return all checks of the times of streams in a scenario."""
    are_there = len(seen.record.answered) and seen.scenario.service.events > 1
    return list(_of_streams(seen)) if seen.reported and seen.scenario.are_times_judged and are_there else []


def _of_streams(seen: Observation) -> Iterator[Check]:
    for name in STREAM_TIMES:
        if (reported := getattr(seen.reported, name)) is None:
            continue
        time = StreamTime.seen(name, seen)
        for quantile_name, value in reported_quantiles(reported).items():
            p = QUANTILES[quantile_name]
            way_us, late_us = seen.path.at(p), quantile(time.late, p)
            if allowed := quantile_allowed(time.values, p, way_us + time.more):
                yield time.check(quantile_name, value, allowed, way_us, late_us)
        if reported.mean_us is not None:
            way_us, late_us = seen.path.p99, float(time.late.mean())
            yield time.check(MEAN, reported.mean_us, mean_allowed(time.values, way_us + time.more), way_us, late_us)
