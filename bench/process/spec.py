"""Messages between parent and children: the specification that a child gets first, orders, and reports.

A child is started, gets its specification, and says when it is ready; *go* begins the window at one instant for all;
the measured times follow the last report as raw int64. All instants are of ``perf_counter_ns``, in ns.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.process.channel import Message


class SystemSpec(Message):
    """The system of a child: its name, the transport, all or some of its options.

    credentials: names and texts of files (``bench.credentials``), without private keys for a client.
    """

    system: str
    transport: str
    options: Mapping[str, Any]
    credentials: Mapping[str, str] = {}


class ServerSpec(SystemSpec):
    """Specification of a server.

    load: ``stream`` for the receiver of one-way messages, which verifies ``payload_bytes`` made from ``seed``. cpus:
    the CPUs to which it is pinned; None: not pinned. bind: the address that the user names. router: the addresses that
    the router announced. directory: its private directory. environment: the folder of its Python environment, or "".
    message: what requests carry, as in ``Case``.
    """

    load: str = "closed"
    payload_bytes: int = 1
    seed: int = 1
    cpus: Sequence[int] | None = None
    bind: str | None = None
    router: Mapping[str, str] = {}
    directory: str = ""
    environment: str = ""
    message: str = "bytes"


class RouterSpec(SystemSpec):
    """Specification of a router; see ``ServerSpec``."""

    bind: str | None
    directory: str
    environment: str


class ClientSpec(SystemSpec):
    """Specification of a client.

    callers: number of callers. max_calls: limit of each caller. share: (index, number) of the clients that share the
    schedule of an open load, fixed by ``schedule_seed``. sessions: calls and payload in bytes of each client process.
    server_cpus: the CPUs of the server's thread, for the transport inproc. message, content: as in ``Case``. retry: the
    fields of ``bench.plan.retry_policy.RetryPolicy``, for the load ``retry``. replies, reply_bytes,
    gap_us: what each request of the load ``reply_stream`` asks for. calls_per_connection:
    0: connections are kept. outstanding: calls under way on each connection. large_bytes: payload of the last of them,
    0: none is larger. p99_bytes: p99 of log-normal sizes with the median ``payload_bytes``, 0: all are equal.
    """

    load: str
    engine: str
    payload_bytes: int
    seed: int
    callers: int
    max_calls: int
    window_s: float
    cpus: Sequence[int] | None
    server_cpus: Sequence[int] | None
    share: Sequence[int]
    offered_per_s: float
    arrivals: str
    schedule_seed: int
    sessions: Sequence[Sequence[int]]
    message: str = "bytes"
    content: str = ""
    retry: Mapping[str, Any] = {}
    replies: int = 0
    reply_bytes: int = 0
    gap_us: int = 0
    calls_per_connection: int = 0
    outstanding: int = 1
    large_bytes: int = 0
    p99_bytes: int = 0


class SessionSpec(SystemSpec):
    """Specification of one whole client process: where to connect, and what to request."""

    address: str
    calls: int
    payload_bytes: int
    seed: int


class ClockSpec(Message):
    """Specification of a host's clock: where it answers, tcp://ADDRESS:0 for a port that the system picks."""

    bind: str


class Connect(Message):
    """Order to a client: the server's address; where the client reads CPU times, its processes and the router's."""

    address: str
    pids: Sequence[int] = ()
    router_pids: Sequence[int] = ()


class Go(Message):
    """Order to a client: the window."""

    at_ns: int
    until_ns: int


class Proceed(Message):
    """Order to a client: all one-way messages have arrived."""


class Close(Message):
    """Order to a client: disconnect."""


class Routing(Message):
    """A router is ready: its addresses for the system's servers, and those of its processes that have a role."""

    addresses: Mapping[str, str]
    pids: Mapping[str, int]


class FirstArrived(Message):
    """A receiver has verified the first message of its stream."""


class Ready(Message):
    """A client has made its first verified call: its duration, and further processes of the client."""

    first_ns: int | None
    pids: Sequence[int]


class Sent(Message):
    """A client has sent its stream."""


class Arrived(Message):
    """A receiver has received its stream. blobs: times of its marks, and the number of messages received at each."""

    blobs: Sequence[Any]


class Usage(Message):
    """Resource use of a client's process in the window; server_cpu_ns: of the server's thread in it, or None."""

    client_cpu_ns: int
    server_cpu_ns: int | None
    voluntary_switches: int
    involuntary_switches: int
    gc_collections: int


class Done(Usage):
    """A client's window is over: its calls, its resource use, and the count of a server thread in it.

    calls: answered, or sent one way. blobs: for each caller its send and receive times, and due times of an open load;
    of a stream the sender's marks. errors: calls that failed. numbers: name, value and unit of what a load generator
    reported. scheduled: how many calls an open load was to make. window_s: as a generator took it. sessions: the client
    processes, each as ``bench.child.session.Session``. counted: requests that the server inside this process answered.
    codec: ``bench.child.structured_messages.Alone``, by name. is_held: whether its host holds ``blobs`` until the
    window is over. late_ns: how long after the instant *go* the order to go arrived; 0 if in time.
    """

    calls: int
    blobs: Sequence[Any]
    errors: int = 0
    numbers: Sequence[Sequence[Any]] = ()
    scheduled: int | None = None
    window_s: float | None = None
    sessions: Sequence[Sequence[int | None]] = ()
    counted: int | None = None
    codec: Mapping[str, float] = {}
    is_held: bool = False
    late_ns: int = 0


class Closed(Message):
    """A client has disconnected."""


class SessionDone(Message):
    """Times of a whole client process: first line, system imported, first reply, last reply."""

    interpreted_ns: int
    prepared_ns: int
    answered_ns: int
    called_ns: int
