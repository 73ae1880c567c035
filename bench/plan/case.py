"""A case: one combination of factors, as plain data. ``bench.measurement.validation`` checks what a system supports."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from bench.plan import credentials

BASELINE = "sockets"  # the system that others are compared with
MOST_BYTES = 128 * 1024 * 1024
MOST_CLIENTS = 256
MOST_CONNECTIONS = 10_000  # callers of closed and open loads that are no threads or tasks of this process
MOST_STREAMS = 2000  # callers of the load reply_stream
MOST_CALLS = 1_000_000  # unless a case says otherwise
MOST_KEPT = 20_000_000  # whose times a case may keep
MOST_OUTSTANDING = 1000  # per connection
MOST_PER_S = 1_000_000
GENERATORS = ("wrk", "h2load")  # external load generators: files of ``bench.child.generators``
ENGINES = ("library", "wire", *GENERATORS)
WHOLE = ("session", "reconnect")  # loads of whole client processes, or of whole connections, one after another
LEAST_ACHIEVED = 0.99  # share of an open load's requests that have to leave, or it was not that load


def number(usual: int, maximum: int, least: int = 1) -> Any:
    """Return a field that holds a whole number between two limits, which all who read a case check it by."""
    return field(default=usual, metadata={"least": least, "most": maximum})


@dataclass(frozen=True)
class Case:
    """One combination of factors: everything needed to run one measurement.

    - system, transport, options: what is measured, over what, and the system's own options.
    - payload_bytes: of a request; of a structured message about its size as JSON.
    - placement: the CPUs of client and server (``bench.plan.placement``).
    - load: closed, open, retry, session, reconnect, stream or reply_stream.
    - offered_per_s, arrivals: of an open load.
    - clients, callers: client processes, and callers in each: threads, or tasks of one event loop, a connection each.
    - engine: what makes the calls: the system's own ``library``; ``wire``, bare connections in one loop; or a program
      of ``bench.child.generators``, whose connections are the callers.
    - target: the address of a server that runs already; None: it is started.
    - fresh_router: whether each start has a router of its own.
    - max_calls: after so many calls a window ends early.
    - sessions: of the load session, the client processes, one after another: calls and payload in bytes of each; of the
      load reconnect, the connections of one client process.
    - message, content: what a request carries: opaque ``bytes``, a kind of ``bench.codecs.message_types``, or the name
      of a user's JSON file, whose text is the content.
    - retry: of the load retry, an open load whose client gives up waiting and tries again: the fields of
      ``bench.plan.retry_policy.RetryPolicy``.
    - replies, reply_bytes, gap_us: of the load reply_stream, in which each caller has one stream at a time: replies to
      each request, one due every gap_us (0: without pauses).
    - calls_per_connection: after so many calls a caller closes its connection and opens another one; 0: it is kept.
    - outstanding: calls under way at once on each connection.
    - large_bytes: payload of the last of the calls that a client process has under way; 0: all are equal.
    - p99_bytes: sizes are log-normal, with the median payload_bytes and this p99; 0: all are equal.
    - hosts: the scheduler of the machines that take part, and the roles asked for (``bench.plan.hosts``); or network
      namespaces of this machine (``bench.plan.namespaces``); {}: this machine.
    - source: whose files the system is imported from, as NAME@HASH (``bench.process.sources``); "": the installed ones.
    - traced: whether the kernel records what the processes do during their calls (``bench.measurement.trace``).
    """

    system: str
    transport: str
    payload_bytes: int = number(1000, MOST_BYTES)
    options: dict[str, Any] = field(default_factory=dict)
    placement: str = "same"
    load: str = "closed"
    offered_per_s: float = 0.0
    arrivals: str = "uniform"
    clients: int = number(1, MOST_CLIENTS)
    callers: int = number(1, MOST_CONNECTIONS)
    engine: str = "library"
    target: str | None = None
    fresh_router: bool = False
    max_calls: int = number(MOST_CALLS, MOST_KEPT)
    sessions: tuple[tuple[int, int], ...] = ()
    message: str = "bytes"
    content: str = ""
    retry: dict[str, Any] = field(default_factory=dict)
    replies: int = 0
    reply_bytes: int = 0
    gap_us: int = 0
    calls_per_connection: int = number(0, MOST_CALLS, least=0)
    outstanding: int = number(1, MOST_OUTSTANDING)
    large_bytes: int = number(0, MOST_BYTES, least=0)
    p99_bytes: int = number(0, MOST_BYTES, least=0)
    hosts: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    traced: bool = False

    @property
    def is_paced(self) -> bool:
        """Whether requests are sent on a schedule."""
        return self.load in ("open", "retry")

    @property
    def is_short(self) -> bool:
        """Whether the window ends early: the number of calls is limited, or nothing is awaited."""
        return self.max_calls < MOST_CALLS or self.system == "loopback" or self.load in WHOLE

    @property
    def stream_s(self) -> float:
        """The time from the first to the last reply to a request as planned, in s; 0 where replies are not paced."""
        return max(0, self.replies - 1) * self.gap_us / 1e6

    @property
    def generator(self) -> str:
        """The external load generator that makes and reports the calls; empty if samples are taken by the client."""
        return self.engine if self.engine in GENERATORS else ""

    @property
    def tls(self) -> bool | None:
        """Whether connections are encrypted, by whatever option of the system; None if the system has none."""
        return next((self.options[name] for name in credentials.OPTIONS if name in self.options), None)

    @property
    def under_way(self) -> int:
        """How many calls are under way at once, at most, in all client processes together."""
        return self.processes * self.callers * self.outstanding

    @property
    def calls_per_caller(self) -> int:
        """How many calls each caller, or each call under way, makes at most."""
        return max(1, self.max_calls // self.under_way)

    @property
    def processes(self) -> int:
        """How many client processes there are: one more than ``clients`` where a host measures latency alone."""
        return self.clients + ("latency" in self.hosts)

    def factor(self, name: str) -> Any:
        """Return the field, property or option of that name; None if the system lacks it."""
        return getattr(self, name) if name in _FACTORS else self.options.get(name)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return the case that a manifest, which was checked, holds."""
        return cls(**{**stored, "sessions": tuple(map(tuple, stored.get("sessions", ())))})


_PROPERTIES = {"is_short", "is_paced", "generator", "tls", "stream_s", "under_way", "processes"}
LIMITS = {
    factor.name: (factor.metadata["least"], factor.metadata["most"]) for factor in fields(Case) if factor.metadata
}
_FACTORS = {factor.name for factor in fields(Case)} | _PROPERTIES
