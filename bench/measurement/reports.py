"""The reports of children and hosts at the end of a window, as rows and columns of the tables of a start."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bench.child.session import Session
from bench.contract import PACING
from bench.errors import SystemFailedError
from bench.measurement.hosts.host import Assignment, Host, HostWindow
from bench.process.spec import Arrived, Done
from bench.run.schema import HOSTS
from bench.run.start_record import Requests, Times

MOMENTS = (
    "begin_ns",
    "interpreted_ns",
    "prepared_ns",
    "opened_ns",
    "answered_ns",
    "called_ns",
    "end_ns",
)  # of a session
MOST_KEPT = 1000  # replies of a start that are stored one by one: enough for p99 of a start; the rates count all
WIDTH = 6  # columns that each caller of reply streams reports
OF_SERVER = ("server_cpu_ns", "router_cpu_ns", "controller_cpu_ns")
COUNTERS = tuple(name for name in HOSTS.names if name.endswith("_ns") or name.startswith("tcp_"))

Columns = dict[str, Any]


def _times(message: Done | Arrived) -> list[Times]:
    return [np.frombuffer(blob, "i8") for blob in message.blobs]


def _per_caller(message: Done, width: int) -> Iterator[list[Times]]:
    """Yield the times of each caller, ``width`` of each."""
    times = _times(message)
    for first in range(0, len(times), width):
        yield times[first : first + width]


def calls_of(done: Sequence[Done], go_ns: Sequence[int], width: int) -> list[Times]:
    """Return the times of each caller, since *go*, from what the clients sent; ``width`` times for each call.

    go_ns: *go* by the clock of each client.
    """
    calls = [
        np.stack(columns[:width]) - go
        for message, go in zip(done, go_ns, strict=True)
        for columns in _per_caller(message, width + bool(message.requests))
    ]
    if any((times[1] < times[0]).any() for times in calls):
        raise SystemFailedError("a reply came before its request: the clock of this machine steps back")
    return calls


def requests_of(done: Sequence[Done], width: int) -> Requests | None:
    """Return which of a service's requests each call of each caller made; None if it has only one."""
    if not (names := done[0].requests):
        return None
    places = [columns[width] for message in done for columns in _per_caller(message, width + 1)]
    return Requests(tuple(names), places)


def attempts_of(done: Sequence[Done], go_ns: int) -> Columns:
    """Return the attempts of a load with retries as columns of ``attempts``, with times since *go*."""
    ((request, number, sent, replied, due),) = (_times(message) for message in done)
    return {
        "request": request,
        "number": number.astype("i4"),
        "due_ns": due - go_ns,
        "t_send_ns": sent - go_ns,
        "rtt_ns": pa.array(replied - sent, pa.int64(), mask=replied == 0),
    }


def marks_of(done: Sequence[Done | Arrived], go_ns: Sequence[int]) -> Columns:
    """Return both ends of a stream from what they sent, as columns of ``marks``, with times since *go*.

    go_ns: *go* by the clock of the client, and by that of the server.
    """
    sent_at, sent, received_at, received = (times for message in done for times in _times(message))
    return {
        "role": ["client"] * len(sent) + ["server"] * len(received),
        "t_ns": np.concatenate([sent_at - go_ns[0], received_at - go_ns[-1]]),
        "messages": np.concatenate([sent, received]),
    }


def sessions_of(done: Sequence[Done], go_ns: int) -> list[dict[str, Any]]:
    """Return the client processes that ran, or the connections, as rows of ``sessions``, with times since *go*."""
    rows = [Session._make(values)._asdict() for message in done for values in message.sessions]
    return [
        row | {name: row[name] - go_ns for name in MOMENTS if row[name] is not None} | {"number": number}
        for number, row in enumerate(rows)
    ]


def numbers_of(done: Sequence[Done]) -> list[dict[str, Any]]:
    """Return the numbers that load generators reported as rows of ``reports``."""
    names = ("name", "value", "unit")
    return [dict(zip(names, number, strict=True)) for message in done for number in message.numbers]


def hosts_of(
    hosts: Assignment,
    of_clients: Sequence[Host],
    windows: Sequence[HostWindow],
    done: Sequence[Done],
    has_server: bool,
) -> list[dict[str, Any]]:
    """Return the hosts of a start as rows of ``hosts``, one per host and role; none if all processes ran here.

    of_clients: the host of each client process, in the order of ``done``. has_server: whether a server was started.
    """
    if hosts.is_here:
        return []
    by_host = {id(window.host): window for window in windows}
    made = [_host_row(by_host[id(hosts.server)], "server", [], done)] if has_server else []
    loading = len(of_clients) - (hosts.latency is not None)
    for host in {id(host): host for host in hosts.load}.values():
        numbers = [number for number in range(loading) if of_clients[number] is host]
        made.append(_host_row(by_host[id(host)], "load", numbers, done))
    if hosts.latency is not None:
        made.append(_host_row(by_host[id(hosts.latency)], "latency", [loading], done))
    return made


def _host_row(window: HostWindow, role: str, clients: Sequence[int], done: Sequence[Done]) -> dict[str, Any]:
    go_ns = window.go_ns - window.before.offset_ns  # by the conductor's clock
    used, reports = window.metered.used, [done[number] for number in clients]
    cpu_times = [used[name] for name in OF_SERVER if name in used]
    if role == "server":
        cpu_ns = sum(cpu_times) if cpu_times else None
    else:
        cpu_ns = sum(report.client_cpu_ns for report in reports)
    return {name: value for name, value in used.items() if name in COUNTERS} | {
        "host": window.host.name,
        "role": role,
        "first_client": clients[0] if clients else None,
        "clients": len(clients),
        "offset_ns": window.before.offset_ns,
        "bound_ns": window.before.bound_ns,
        "at_ns": window.before.at_ns - go_ns,
        "after_offset_ns": window.after.offset_ns,
        "after_bound_ns": window.after.bound_ns,
        "after_at_ns": window.after.at_ns - go_ns,
        "cpu_ns": cpu_ns,
        "pacing_cpu_ns": _pacing_ns(reports),
        "gc_collections": sum(report.gc_collections for report in reports) if reports else None,
    }


def _pacing_ns(reports: Sequence[Done]) -> int | None:
    """Return the CPU time that clients spent spinning until requests were due; None where none of them counted it."""
    spun_us = [value for report in reports for name, value, _ in report.numbers if name == PACING]
    return round(1e3 * sum(spun_us)) if spun_us else None


def window_ns(done: Sequence[Done], calls: list[Times], planned_s: float) -> int:
    """Return the length of the window: as a generator reported, until the last reply, or as planned without any."""
    reported = [int(message.window_s * 1e9) for message in done if message.window_s is not None]
    return max([*reported, *(int(times[1][-1]) for times in calls if times.size)], default=int(planned_s * 1e9))


def reply_streams_of(done: Sequence[Done], go_ns: int) -> tuple[Columns, Columns, int]:
    """Return the columns of ``streams`` and of ``replies``, and when the last reply came, in ns since *go*.

    Of more than ``MOST_KEPT`` replies those of every k-th stream are returned, so that whole streams are kept, and at
    least one.
    """
    callers = [times for message in done for times in _per_caller(message, WIDTH)]
    streams = [_streams(number, caller, go_ns) for number, caller in enumerate(callers)]
    joined: Columns = {name: np.concatenate([columns[name] for columns in streams]) for name in streams[0]}
    joined["stream"] = np.arange(len(joined["client"]), dtype="i4")
    none = joined["replies"] == 0
    last_ns = int((joined["t_send_ns"] + joined["last_ns"])[~none].max(initial=0))
    table = joined | {name: np.ma.masked_array(joined[name], none).tolist() for name in ("first_ns", "last_ns")}
    return table, _replies(callers, joined["replies"]), last_ns


def _streams(number: int, caller: list[Times], go_ns: int) -> Columns:
    sent, complete, sizes, received, _, handed = caller
    if len(handed) and (received < handed).any():
        raise SystemFailedError("a reply came before it was sent: the clock of this machine steps back")
    ends = np.cumsum(sizes)
    padded = np.append(received, 0)
    first, last = padded[np.where(sizes > 0, ends - sizes, -1)], padded[np.where(sizes > 0, ends - 1, -1)]
    return {
        "client": np.full(len(sent), number, "i4"),
        "t_send_ns": sent - go_ns,
        "first_ns": np.where(sizes > 0, first - sent, 0),
        "last_ns": np.where(sizes > 0, last - sent, 0),
        "replies": sizes,
        "is_complete": complete.astype(bool),
    }


def _replies(callers: list[list[Times]], sizes: Times) -> Columns:
    """Return the columns of ``replies`` of every k-th stream, in the order in which they began.

    In the order of the callers it could be the first stream of each that is kept, and none from behind the warm-up.
    """
    sent, received, due, handed = (np.concatenate([columns[index] for columns in callers]) for index in (0, 3, 4, 5))
    stream = np.repeat(np.arange(len(sizes), dtype="i4"), sizes)
    is_first = np.append(True, np.diff(stream) > 0)[: len(stream)]
    before = np.where(is_first, sent[stream], np.append(0, received[:-1])[: len(stream)])
    began = np.argsort(np.argsort(sent, kind="stable"), kind="stable")  # the place of each stream in that order
    kept = began[stream] % max(1, -(-len(stream) // MOST_KEPT)) == 0
    columns = {"stream": stream, "gap_ns": received - before}
    if len(handed):  # a user's service says neither when a message was due nor when it was handed over
        columns |= {"pacing_ns": handed - due, "transit_ns": received - handed}
    stored: Columns = {name: values[kept] for name, values in columns.items()}
    return {name: [None] * int(kept.sum()) for name in ("pacing_ns", "transit_ns")} | stored
