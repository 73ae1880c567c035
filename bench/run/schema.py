"""The tables of a run on disk: columns, types, units and meanings; version and validation.

A run folder holds ``manifest.json`` and twelve tables of Parquet files, one file for each start:

- ``ledger``: one row per start: what was measured, what it cost, what was counted
- ``samples``: one row per request of a closed or an open load
- ``marks``: progress of one-way streams, at both ends
- ``load``: CPU load and memory of each role over time
- ``reports``: numbers that an external load generator reported; such a start has no samples
- ``sessions``: whole client processes of a start, or connections of one (load ``reconnect``), one after another; such
  a start has no samples either
- ``attempts``: one row per attempt of a request of a load with retries; such a start has no samples either
- ``streams``: one row per request of a load of reply streams; such a start has no samples
- ``replies``: one row per reply of these streams; of every k-th stream where they are too many
- ``hosts``: one row per host and role of a start in which other machines took part; else none
- ``slices``: one row per slice of a start whose case took turns with others; times in its other tables leave out the
  pauses between its slices
- ``events``: scheduler events and system calls of the threads of traced cases, for some calls of each slice

All times in ``samples``, ``marks``, ``load``, ``sessions``, ``attempts`` and ``streams`` count from the
start's *go*, each by the clock of the host that took it; those in ``hosts`` do so by this machine's. A start is
complete when its ledger row is on disk, which is written last. A null means: not known, or does not apply; never zero.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

VERSION = 3  # 1: without digests; 2: with digests of each file too


def _field(name: str, kind: pa.DataType, unit: str, meaning: str) -> pa.Field:
    return pa.field(name, kind, metadata={"unit": unit, "meaning": meaning})


def _ns(name: str, meaning: str) -> pa.Field:
    return _field(name, pa.int64(), "ns", meaning)


def _count(name: str, meaning: str) -> pa.Field:
    return _field(name, pa.int64(), "1", meaning)


def _bytes(name: str, meaning: str) -> pa.Field:
    return _field(name, pa.int64(), "B", meaning)


def _number(name: str, meaning: str) -> pa.Field:
    return _field(name, pa.int32(), "", meaning)


def _text(name: str, meaning: str) -> pa.Field:
    return _field(name, pa.string(), "", meaning)


def _schema(name: str, fields: list[pa.Field]) -> pa.Schema:
    return pa.schema(fields, metadata={"roundtrip.table": name, "roundtrip.version": str(VERSION)})


_START = _number("start", "number of the start, in the order of measuring")
_CLIENT = _number("client", "number of the caller, or of its outstanding call, from 0, over all client processes")

SAMPLES = _schema(
    "samples",
    [
        _START,
        _CLIENT,
        _ns("t_send_ns", "when the request was handed to the library"),
        _ns("lag_ns", "t_send minus the due time; 0 in a closed loop"),
        _ns("rtt_ns", "time from handing the request to the library until the whole reply is received"),
        _ns("open_ns", "time to open the connection before t_send; null: it was open already"),
        _text("request", "name of the request, of a service that has several; else null"),
    ],
)

MARKS = _schema(
    "marks",
    [
        _START,
        _text("role", "client: handed over for sending; server: received"),
        _ns("t_ns", "when"),
        _count("messages", "how many messages had passed by then"),
    ],
)

LOAD = _schema(
    "load",
    [
        _START,
        _text("role", "client, server, router, controller (the router's), or client+server in one process"),
        _ns("t_ns", "when"),
        _field("cpu_percent", pa.float64(), "%", "CPU load since the row before; 100 is one CPU"),
        _bytes("rss_bytes", "resident memory"),
        _text("host", "name of the host, as in the table hosts; null: this machine, the only one"),
        _ns("cpu_ns", "CPU time since go, by exact clocks; null: not known, or not in a window"),
    ],
)

REPORTS = _schema(
    "reports",
    [
        _START,
        _text("name", "name of the number: rate, rtt_p99, ...; error_KIND: failed requests of a kind"),
        _field("value", pa.float64(), "see unit", "as reported"),
        _text("unit", "us, s, 1, 1/s, B, B/s or %"),
    ],
)

SESSIONS = _schema(
    "sessions",
    [
        _START,
        _number("number", "number of the client process or connection, in the order of running"),
        _count("calls", "calls that it made, one after another"),
        _bytes("payload_bytes", "application bytes of each of its requests"),
        _ns("begin_ns", "when it was asked for"),
        _ns("interpreted_ns", "when its first line ran; null for a native program"),
        _ns("prepared_ns", "when it had imported its system; null for a native program"),
        _ns("answered_ns", "when it was connected and had its first reply"),
        _ns("called_ns", "when it had its last reply"),
        _ns("end_ns", "when it had ended"),
        _ns("client_cpu_ns", "CPU time of the process, from its beginning to its end"),
        _ns("server_cpu_ns", "CPU time of the server meanwhile; null: not known"),
        _ns("opened_ns", "when the client's open() had returned; null for a process"),
        _ns("median_ns", "median RTT of its calls behind the first; null for a process"),
        _ns("router_cpu_ns", "CPU time of the router meanwhile; null: none, or not known"),
        _count("resumed", "1 if it resumed a TLS session, 0 if not; null: no TLS, or not known"),
    ],
)

ATTEMPTS = _schema(
    "attempts",
    [
        _START,
        _field("request", pa.int64(), "", "number of the request, from 0, in the order of the schedule"),
        _number("number", "which attempt of its request, from 0: the first; above 0: a retry"),
        _ns("due_ns", "when the request was due, the same for all its attempts"),
        _ns("t_send_ns", "when the attempt was handed over for sending"),
        _ns("rtt_ns", "from then until its reply was received, in time or late; null: no reply"),
    ],
)

STREAMS = _schema(
    "streams",
    [
        _START,
        _CLIENT,
        _number("stream", "number of the stream in the start, by caller and then in the order of sending"),
        _ns("t_send_ns", "when the request was handed to the library"),
        _ns("first_ns", "time to first message: from sending to the first reply; null: none came"),
        _ns("last_ns", "from sending to the last reply that came; null: none came"),
        _count("replies", "how many replies came"),
        _field("is_complete", pa.bool_(), "", "whether all replies came; false: the stream broke"),
    ],
)

REPLIES = _schema(
    "replies",
    [
        _START,
        _number("stream", "number of the stream, as in the table streams"),
        _ns("gap_ns", "time since the reply before, or of the first one since its request was sent"),
        _ns("pacing_ns", "from when the reply was due until the server handed it to its library"),
        _ns("transit_ns", "from there until the client had it"),
    ],
)

_CLOCK = "the host's clock minus this machine's"

HOSTS = _schema(
    "hosts",
    [
        _START,
        _text("host", "name of the host; the manifest's hosts holds its machine record"),
        _text("role", "server, load, or latency: one client alone, whose quantiles are the headline"),
        _number(
            "first_client",
            "its first client process, from 0; its others follow in steps of the number of hosts that load; null: none",
        ),
        _field("clients", pa.int32(), "1", "number of its client processes"),
        _ns("offset_ns", f"{_CLOCK}, before the window"),
        _ns("bound_ns", "how much the true offset can differ from that at most"),
        _ns("at_ns", "when that was read, by this machine's clock"),
        _ns("after_offset_ns", f"{_CLOCK}, after the window"),
        _ns("after_bound_ns", "how much the true offset can differ from that at most"),
        _ns("after_at_ns", "when that was read, by this machine's clock"),
        _ns("machine_busy_ns", "CPU time of all processes of the host in the window but the agent's"),
        _ns("steal_ns", "steal: CPU time that its hypervisor gave to other guests"),
        _ns("pressure_ns", "time in which some task of the host waited for a CPU"),
        _ns("throttled_ns", "time in which its control group's CPU limit throttled tasks"),
        _count("tcp_delayed_acks", "delayed ACKs in the window, its whole network namespace"),
        _count("tcp_segments_out", "TCP segments sent in the window, likewise"),
        _count("tcp_connections", "TCP connections opened in the window, likewise"),
        _count("tcp_time_waits", "connections that entered TIME_WAIT in the window, likewise"),
        _count("tcp_time_wait", "TCP sockets in TIME_WAIT: change in the window, likewise"),
        _ns("cpu_ns", "CPU time of the role's processes there in the window; null: not known"),
        _ns("pacing_cpu_ns", "of it, its clients' spinning until requests were due; null: not counted"),
        _count("gc_collections", "garbage collections in its clients during the window; null: none"),
    ],
)

SLICES = _schema(
    "slices",
    [
        _START,
        _number("number", "number of the slice in its start, in the order of measuring"),
        _number("round", "round of the block, 0: warm-up; null: one of several slices in a row"),
        _ns("at_ns", "when it began, counted from the first slice of the block, pauses included"),
        _ns("begin_ns", "when its first request was sent, pauses left out, as in samples"),
        _ns("length_ns", "from its first request until its last reply"),
        _count("calls", "requests completed"),
        *(
            _ns(f"{role}_cpu_ns", f"CPU time of the {role} in the slice")
            for role in ("client", "server", "router", "controller")
        ),
    ],
)

_PROBE = "speed of the roles' CPUs, mean of before and after the window or block of slices"

LEDGER = _schema(
    "ledger",
    [
        _START,
        _number("block", "number of the block; every case is measured once per block, in random order"),
        _number("case", "number of the case in the plan"),
        _text("system", "RPC or messaging stack"),
        _text("transport", "inproc, ipc or tcp"),
        _field("options", pa.string(), "JSON", "the system's options"),
        _bytes("payload_bytes", "application bytes of one request"),
        _text("placement", "split, same or free"),
        _text("client_cpus", "CPUs that the clients might use; null: any"),
        _text("server_cpus", "CPUs that the server might use; null: any"),
        _text(
            "load",
            "closed, open, stream, reply_stream, retry: open with retries, session: processes, reconnect: connections",
        ),
        _field("retry", pa.string(), "JSON", "the client's retry policy; null: no load with retries"),
        _field("offered_per_s", pa.float64(), "1/s", "offered rate of an open load; else null"),
        _text("arrivals", "of an open load: uniform, poisson, recorded, or Poisson at a rate in steps; else null"),
        _count("scheduled", "requests scheduled by an open load; else null"),
        _number("clients", "number of parallel client processes"),
        _number("callers", "number of parallel callers in each of them; null: 1"),
        _text("engine", "load generator: library, wire, wrk or h2load; null: library"),
        _text("router_cpus", "CPUs that the router might use; null: any, or no router"),
        _text("target", "address of a server not started here"),
        _text("utc", "when the window began"),
        _field("ready_s", pa.float64(), "s", "from asking for the server until it listened"),
        _field("window_s", pa.float64(), "s", "from go until the last client was done"),
        _ns("first_rtt_ns", "the first call of the first client, cold, before the window"),
        _count("calls", "requests completed, or messages sent, or replies received"),
        _count("server_calls", "requests that the server counted, or messages received, or replies sent"),
        _field(
            "server_worker_calls",
            pa.string(),
            "JSON",
            "requests that each of the server's workers counted in the window, a list; null: no workers, or not known",
        ),
        _count("errors", "requests that failed, or reply streams that broke"),
        _ns("client_cpu_ns", "CPU time of all clients in the window"),
        _ns("server_cpu_ns", "CPU time of the server in the window"),
        _ns("router_cpu_ns", "CPU time of the router's workers in the window"),
        _ns("controller_cpu_ns", "CPU time of what starts and watches them, in the window"),
        _bytes("client_rss_bytes", "largest resident memory seen, all clients together"),
        _bytes("server_rss_bytes", "largest resident memory seen"),
        _bytes("router_rss_bytes", "largest resident memory seen"),
        _bytes("controller_rss_bytes", "largest resident memory seen"),
        _count("voluntary_switches", "voluntary context switches of the clients' processes"),
        _count("involuntary_switches", "involuntary context switches of the clients' processes"),
        _count("server_voluntary_switches", "voluntary context switches of the server"),
        _count("server_involuntary_switches", "involuntary context switches of the server"),
        _ns("machine_busy_ns", "CPU time of all processes of the machine in the window but the conductor's"),
        _ns("metered_ns", "how long the machine was metered: the window, with its edges"),
        _ns("steal_ns", "steal: CPU time that the hypervisor gave to other guests"),
        _ns("pressure_ns", "time in which some task of the machine waited for a CPU"),
        _ns("throttled_ns", "time in which the control group's CPU limit throttled tasks"),
        _count("tcp_delayed_acks", "delayed ACKs in the window, whole network namespace"),
        _count("tcp_segments_out", "TCP segments sent in the window, whole network namespace"),
        _count("tcp_connections", "TCP connections opened in the window, whole network namespace"),
        _count("tcp_time_waits", "connections that entered TIME_WAIT in the window, likewise"),
        _count("gc_collections", "garbage collections in the clients during the window"),
        _text("message", "what requests carry: bytes, a kind of message, or a file; null: bytes"),
        _ns("request_encode_ns", "encoding a request by the codec alone, median; null: no codec"),
        _ns("request_decode_ns", "decoding a request by the codec alone, median"),
        _ns("reply_encode_ns", "encoding a reply by the codec alone, median"),
        _ns("reply_decode_ns", "decoding a reply by the codec alone, median"),
        _ns("verify_ns", "comparing a reply with the expected one, after the clock, median"),
        _field("encoded_request_bytes", pa.float64(), "B", "encoded size of a request, mean"),
        _field("encoded_reply_bytes", pa.float64(), "B", "encoded size of a reply, mean"),
        _count("replies", "replies that each request of a reply stream asks for; else null"),
        _bytes("reply_bytes", "application bytes of one such reply; else null"),
        _field("gap_us", pa.int64(), "us", "time between two such replies as planned, 0: no pauses; else null"),
        _count("streams", "reply streams that were complete; else null"),
        _count("calls_per_connection", "calls until a caller opens a new connection; 0: kept; null: 0"),
        _number("outstanding", "calls under way on each connection; null: 1"),
        _bytes("large_bytes", "payload of the last call under way beside the others; 0, null: none"),
        _bytes("p99_bytes", "p99 of log-normal sizes with the median payload_bytes; 0, null: one size"),
        _count("tcp_time_wait", "TCP sockets in TIME_WAIT: change in the window, whole namespace"),
        _number("turns_with", "first start of the group in which the case took turns; null: it took none"),
        _field(
            "asleep_s", pa.float64(), "s", "how long its processes slept while other cases had their slices; else null"
        ),
        _ns("asleep_cpu_ns", "CPU time that they used meanwhile, a shared router's left out"),
        _field("spin_ns", pa.float64(), "ns", f"{_PROBE}: a fixed loop; null: not probed"),
        _field("syscall_ns", pa.float64(), "ns", f"{_PROBE}: a system call; null: not probed"),
        _field("switch_ns", pa.float64(), "ns", f"{_PROBE}: a switch between two threads; null: not probed"),
    ],
)


SAMPLED = "sampled"  # an event: what user code a thread runs

EVENTS = _schema(
    "events",
    [
        _START,
        _number("slice", "number of the slice, as in the table slices"),
        _ns("t_ns", "when, pauses between slices left out, as in samples"),
        _number("cpu", "CPU on which it happened"),
        _text("role", "role of the thread that it is about: client, server, router, controller"),
        _number("thread", "number of that thread in its role; 0: the main thread of the first process"),
        _text(
            "event",
            "runs: begins to run; sleeps, preempted: stops to run; woken: may run; calls, returns: of a system call; "
            "sampled: runs user code, looked at once in a millisecond, in the whole slice",
        ),
        _text(
            "by_role",
            "who ran there before (runs), runs there next (sleeps, preempted), or woke it: a role, another process, "
            "idle or interrupt; else null",
        ),
        _number("by_thread", "number of that thread, of a role; else null"),
        _text("name", "name of the system call, or of the file whose code was sampled; else null"),
        _field("result", pa.int64(), "", "what the system call returned, such as a number of bytes; else null"),
    ],
)

TABLES = {
    "ledger": LEDGER,
    "samples": SAMPLES,
    "marks": MARKS,
    "load": LOAD,
    "reports": REPORTS,
    "sessions": SESSIONS,
    "attempts": ATTEMPTS,
    "streams": STREAMS,
    "replies": REPLIES,
    "hosts": HOSTS,
    "slices": SLICES,
    "events": EVENTS,
}

PLAUSIBLE = {  # columns of a table whose every value is known and not negative
    "ledger": ("start", "case", "window_s", "calls"),
    "samples": ("start", "client", "t_send_ns", "rtt_ns"),
    "marks": ("start", "messages"),
    "load": ("start", "rss_bytes"),
    "reports": ("start", "value"),
    "sessions": ("start", "calls", "payload_bytes", "answered_ns", "called_ns", "end_ns", "client_cpu_ns"),
    "attempts": ("start", "request", "number", "due_ns", "t_send_ns"),
    "streams": ("start", "client", "stream", "t_send_ns", "replies"),
    "replies": ("start", "stream", "gap_ns"),
    "hosts": ("start", "clients", "bound_ns", "after_bound_ns"),
    "slices": ("start", "number", "at_ns", "begin_ns", "length_ns", "calls"),
    "events": ("start", "slice", "t_ns", "cpu", "thread"),
}


def misfit(table: pa.Table, name: str) -> str | None:
    """Return why a table read from disk is not of this schema, or None if it is; its values are not looked at."""
    schema = table.schema
    if schema.equals(TABLES[name], check_metadata=True):
        return None
    stored = (schema.metadata or {}).get(b"roundtrip.table")
    if stored != name.encode():
        return f"it is not a {name} table of this project"
    version = int(schema.metadata.get(b"roundtrip.version", b"0"))
    if version > VERSION:
        return f"its schema version {version} is newer than this program's ({VERSION}); update Roundtrip"
    names = schema.names
    if lacking := [column for column in PLAUSIBLE[name] if column not in names]:
        return f"its column {lacking[0]} is missing"
    if len(set(names)) < len(names):
        return "two of its columns have the same name"
    for wanted in TABLES[name]:
        if wanted.name in names and schema.field(wanted.name).type != wanted.type:
            return f"its column {wanted.name} is {schema.field(wanted.name).type}, not {wanted.type}"
    return None


# what counts from *go*, is a number of others, is a difference of ticks, or lost the count of what ended
MAY_BE_NEGATIVE = (
    *("lag_ns", "t_ns", "server_calls", "voluntary_switches", "involuntary_switches"),
    *("server_voluntary_switches", "server_involuntary_switches", "tcp_time_wait", "machine_busy_ns"),
    *("offset_ns", "after_offset_ns", "at_ns", "after_at_ns", "result"),
)


def implausible(table: pa.Table, name: str) -> str | None:
    """Return which values of a table with today's columns cannot be, or None."""
    for field in TABLES[name]:
        values, is_float = table[field.name], pa.types.is_floating(field.type)
        is_nan = is_float and pc.any(pc.is_nan(values)).as_py()
        if field.name in PLAUSIBLE[name] and (values.null_count or is_nan):
            return f"its column {field.name} has gaps, where every row needs a number"
        if not (is_float or pa.types.is_integer(field.type)):
            continue
        least = pc.min(values).as_py()
        if least is not None and least < 0 and field.name not in MAY_BE_NEGATIVE:
            return f"its column {field.name} is negative: a clock that stepped back, or not written by this program"
        if is_float and pc.any(pc.is_inf(values)).as_py():
            return f"its column {field.name} has an infinite number"
    return None


def conform(table: pa.Table, name: str) -> pa.Table:
    """Return a table of this or an older version with today's columns; missing ones are null."""
    schema = TABLES[name]
    if table.schema.equals(schema, check_metadata=True):
        return table
    columns = [
        table[field.name] if field.name in table.schema.names else pa.nulls(len(table), field.type) for field in schema
    ]
    return pa.table(columns, schema=schema)


def make(name: str, rows: Any) -> pa.Table:
    """Return a validated table from a list of rows or a mapping of columns."""
    build = pa.Table.from_pylist if isinstance(rows, list) else pa.Table.from_pydict
    return build(rows, schema=TABLES[name])
