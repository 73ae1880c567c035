"""What the oracle's front recorded of one load: when requests arrived, when answers were due, when they departed."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from bench.errors import SystemFailedError
from bench.stats import Array

SUMMARY = np.dtype(
    [(name, "<i8") for name in ("magic", "requests", "not_recorded", "connections", "not_admitted", "refused")]
    + [("first_freeze", "<i8"), ("most", "<i8")]
)
REQUEST = np.dtype(
    [(name, "<i8") for name in ("arrived", "due", "first", "departed", "late")]
    + [("connection", "<i4"), ("fault", "<i4")]
)
CONNECTION = np.dtype([("opened", "<i8"), ("closed", "<i8")])
MAGIC = b"ORACLE 2"
FAULTS = ("none", "status", "body", "close")
SECOND = 1_000_000_000  # ns
PAUSE_NS, PAUSE_GAPS = 5_000_000, 3  # the shortest pause after a warm-up: so long, and so many gaps between requests


@dataclass(frozen=True, eq=False)
class Record:
    """The requests in the order of their arrival, and the connections in the order in which they were accepted.

    requests: shape (n,), ns of CLOCK_MONOTONIC: ``arrived``, once all of it was read; ``due``, its answer or the first
    event of it; ``first``, as that was sent; ``departed``, as all of its answer was sent, 0 if it was not before the
    end, -1 if its connection had been closed by then; ``late``, how long after it was due its latest event was sent;
    ``connection``, its place in ``connections``; ``fault``, a place in ``FAULTS``. connections: ``opened`` and
    ``closed`` in ns, 0 if not closed before the end. not_recorded: requests that were answered and for which there was
    no more room.
    not_admitted: connections that were closed at once, for want of memory. refused: requests that were not understood.
    first_freeze_ns: when the first freeze begins; one follows in every second.
    """

    requests: Array
    connections: Array
    not_recorded: int = 0
    not_admitted: int = 0
    refused: int = 0
    first_freeze_ns: int = 0

    @classmethod
    def of_bytes(cls, data: bytes) -> Self:
        """Return the record that a front wrote; SystemFailedError if it is not whole."""
        if data[:8] != MAGIC or len(data) < SUMMARY.itemsize:
            raise SystemFailedError("the oracle's front ended without its record: look whether memory was exhausted")
        summary = np.frombuffer(data, SUMMARY, 1)[0]
        at = SUMMARY.itemsize + int(summary["requests"]) * REQUEST.itemsize
        if len(data) != at + int(summary["connections"]) * CONNECTION.itemsize:
            raise SystemFailedError(f"the record of the oracle's front is cut: it has {len(data):,} bytes")
        requests = np.frombuffer(data[SUMMARY.itemsize : at], REQUEST)
        counts = {name: int(summary[name]) for name in ("not_recorded", "not_admitted", "refused")}
        connections, first_ns = np.frombuffer(data[at:], CONNECTION), int(summary["first_freeze"])
        return cls(requests, connections, first_freeze_ns=first_ns, **counts)

    def without_first(self, count: int) -> Self:
        """Return the record without so many requests, which a generator's documentation leaves out of its numbers."""
        return replace(self, requests=self.requests[count:])

    def after_warm_up(self, limit: int, due: float | None = None) -> Self:
        """Return the record without the requests that a generator sent before its load began, at most so many.

        They are followed by a pause, in which all of them have been answered and no other one arrives. Of an open load,
        in which a server is often idle, they are also more than the requests that are ``due``.
        """
        arrived, departed = (self.requests[name][: limit + 1] for name in ("arrived", "departed"))
        if len(arrived) < 2:
            return self
        idle_ns = arrived[1:] - np.maximum.accumulate(departed)[:-1]
        pause_ns = max(PAUSE_NS, PAUSE_GAPS * float(np.median(np.diff(self.requests["arrived"]))))
        pauses = np.flatnonzero(idle_ns >= pause_ns)
        count = int(pauses[-1]) + 1 if len(pauses) else 0
        if not count or (due is not None and len(self.requests) - due < count / 2):
            return self
        return replace(self, requests=self.requests[count:])

    @property
    def is_whole(self) -> bool:
        """Whether all requests and connections are in it."""
        return not (self.not_recorded or self.not_admitted)

    @cached_property
    def answered(self) -> Array:
        """The requests whose answers departed; of a closed connection, the fault is the answer."""
        return self.requests[self.requests["departed"] > 0]

    @property
    def surely_final(self) -> int:
        """How many failed requests, at least, were not sent again: fewer requests arrived after them than they are."""
        failed = np.sort(self.answered["departed"][self.answered["fault"] > 0])
        later = len(self.requests) - np.searchsorted(self.requests["arrived"], failed, side="right")
        return int((np.arange(len(failed), 0, -1) - later).max(initial=0))

    @cached_property
    def faults(self) -> int:
        """How many requests were answered by a fault."""
        return int(np.count_nonzero(self.answered["fault"]))

    @cached_property
    def response_us(self) -> Array:
        """From arrival to departure, of each answered request."""
        return (self.answered["departed"] - self.answered["arrived"]) / 1e3

    @cached_property
    def first_us(self) -> Array:
        """From arrival to the departure of the first event, of each answered request."""
        return (self.answered["first"] - self.answered["arrived"]) / 1e3

    @cached_property
    def lateness_us(self) -> Array:
        """From when an answer, or the latest event of it, was due to its departure: what the front added."""
        return self.answered["late"] / 1e3

    @cached_property
    def per_connection(self) -> Array:
        """How many requests arrived on each connection that had any, sorted."""
        return np.sort(np.unique(self.requests["connection"], return_counts=True)[1])

    @cached_property
    def most_at_once(self) -> int:
        """How many answered requests were under way at once, at most."""
        arrived, departed = self.answered["arrived"], np.sort(self.answered["departed"])
        before = np.searchsorted(departed, arrived, side="right")
        return int((np.arange(1, len(arrived) + 1) - before).max(initial=0))

    @property
    def span_s(self) -> float:
        """From the first arrival to the last."""
        arrived = self.requests["arrived"]
        return float(arrived[-1] - arrived[0]) / SECOND if len(arrived) else 0.0

    @cached_property
    def arrivals_per_s(self) -> float:
        """Arrivals per second: the slope of their number over time, which bursts at its ends leave as it is; else 0."""
        if not self.span_s:
            return 0.0
        seconds = (self.requests["arrived"] - self.requests["arrived"][0]) / SECOND
        return float(np.cov(seconds, np.arange(len(seconds)))[0, 1] / seconds.var(ddof=1))

    @property
    def answers_s(self) -> float:
        """From the first arrival to the last departure; 0 if there is none."""
        return (
            float(self.answered["departed"].max() - self.requests["arrived"][0]) / SECOND if len(self.answered) else 0.0
        )

    @property
    def answers_per_s(self) -> float:
        """Answers per second from the first arrival to the last departure; 0 if there is none."""
        return len(self.answered) / self.answers_s if self.answers_s else 0.0
