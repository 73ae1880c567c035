"""Messages between parent and children: the specification that a child gets first, orders, and reports.

A child is started, gets its specification, and says when it is ready; *go* begins the window at one instant for all;
the measured times follow the last report as raw int64. All instants are of ``perf_counter_ns``, in ns.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.process.channel import ControlMessage, foreign

if TYPE_CHECKING:
    from bench.plan.case import Case


class CaseSpec(ControlMessage):
    """What every specification contains: the case, sent as its dict, and the seed of its payloads.

    credentials: names and texts of files (``bench.plan.credentials``), without private keys for a client.
    """

    case: "Case"
    seed: int = 1
    credentials: Mapping[str, str] = {}

    def __init__(self, **values: Any) -> None:
        if isinstance(values.get("case"), dict):
            from bench.plan.case import Case  # not at the top: see SessionSpec

            try:
                values["case"] = Case.from_dict(values["case"])
            except TypeError as reason:
                raise foreign(f"the message {type(self).__name__} has a strange case: {reason}") from reason
        super().__init__(**values)


class RouterSpec(CaseSpec):
    """Specification of a router.

    bind: the address that the user names. directory: its private directory. environment: the folder of its Python
    environment.
    """

    bind: str | None = None
    directory: str = ""
    environment: str = ""


class ServerSpec(RouterSpec):
    """Specification of a server; of the load ``stream`` the receiver, which verifies a payload made from ``seed``.

    cpus: the CPUs to which it is pinned; None: not pinned. router: the addresses that the router announced.
    """

    cpus: Sequence[int] | None = None
    router: Mapping[str, str] = {}


class ClientSpec(CaseSpec):
    """Specification of a client.

    share: (index, number) of the clients that share the schedule of an open load, fixed by ``schedule_seed``.
    server_cpus: the CPUs of the server's thread, for the transport inproc.
    """

    window_s: float
    cpus: Sequence[int] | None
    server_cpus: Sequence[int] | None
    share: Sequence[int]
    schedule_seed: int


class SessionSpec(ControlMessage):
    """Specification of one whole client process: where to connect, and what to request.

    It contains no case: the process's start-up is measured, and a case would be one more module to import.
    """

    system: str
    options: Mapping[str, Any]
    address: str
    calls: int
    payload_bytes: int
    seed: int
    credentials: Mapping[str, str] = {}


class ClockSpec(ControlMessage):
    """Specification of a host's clock: where it answers, tcp://ADDRESS:0 for a port that the system picks."""

    bind: str


class TracerSpec(ControlMessage):
    """Specification of a tracer. buffer_kb: the memory for events of each CPU."""

    buffer_kb: int


class TracerReady(ControlMessage):
    """A tracer can record. formats: for each kind of event the offset and size of its fields, in bytes."""

    formats: Mapping[str, Mapping[str, Sequence[int]]]


class Trace(ControlMessage):
    """Order to a tracer: record the threads of these processes."""

    pids: Sequence[int]


class Tracing(ControlMessage):
    """A tracer records."""


class Untrace(ControlMessage):
    """Order to a tracer: stop recording, and hand over."""


class Traced(ControlMessage):
    """What a tracer has recorded: the threads of each process; of each CPU events without room, and pages.

    samples: of running threads: when (ns), on which CPU, the thread, and the file whose code ran.
    """

    threads: Mapping[str, Sequence[int]]
    samples: Sequence[tuple[int, int, int, str]]
    lost: Sequence[int]
    blobs: Sequence[Any]


class Connect(ControlMessage):
    """Order to a client: the server's address; where the client reads CPU times, its processes and the router's."""

    address: str
    pids: Sequence[int] = ()
    router_pids: Sequence[int] = ()


class Go(ControlMessage):
    """Order to a client: the window."""

    at_ns: int
    until_ns: int


class GoOn(Go):
    """Order to a client: a slice of its window. more: another one follows, and the client says ``Paused`` behind it."""

    more: bool


class Used(ControlMessage):
    """The resource use of a client's process in a window or slice. server_cpu_ns: of the server's thread, or None."""

    client_cpu_ns: int
    server_cpu_ns: int | None
    voluntary_switches: int
    involuntary_switches: int
    gc_collections: int


class Paused(Used):
    """A client's slice is over."""


class Proceed(ControlMessage):
    """Order to a client: all one-way messages have arrived."""


class Close(ControlMessage):
    """Order to a client: disconnect."""


class Routing(ControlMessage):
    """A router is ready: its addresses for the system's servers, and those of its processes that have a role."""

    addresses: Mapping[str, str]
    pids: Mapping[str, int]


class FirstArrived(ControlMessage):
    """A receiver has verified the first message of its stream."""


class Ready(ControlMessage):
    """A client has made its first verified call: its duration, and further processes of the client."""

    first_ns: int | None
    pids: Sequence[int]


class Sent(ControlMessage):
    """A client has sent its stream."""


class Arrived(ControlMessage):
    """A receiver has received its stream. blobs: times of its marks, and the number of messages received at each."""

    blobs: Sequence[Any]


class Done(Used):
    """A client's window is over: its calls, its resource use, and the count of a server thread in it.

    Fields of the same name are those of ``bench.contract.LoadReport``. blobs: its ``times``; of a server thread's
    stream the receiver's marks too. sessions: each as ``bench.child.session.Session``. cpu_began_ns: its CPU clock as
    the window began, as its host reads it. counted: requests that the server's thread answered. is_held: whether its
    host holds ``blobs`` until the window is over. late_ns: how long after the instant *go* the order to go arrived; 0
    if in time.
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
    requests: Sequence[str] = ()
    is_held: bool = False
    late_ns: int = 0
    cpu_began_ns: int | None = None


class Closed(ControlMessage):
    """A client has disconnected."""


class SessionDone(ControlMessage):
    """Times of a whole client process: first line, system imported, first reply, last reply."""

    interpreted_ns: int
    prepared_ns: int
    answered_ns: int
    called_ns: int
