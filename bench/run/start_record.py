"""The result of one start, and its rows in the run's tables."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.plan.case import Case
from bench.run import schema

Times = npt.NDArray[np.int64]
MOMENTS = ("begin_ns", "interpreted_ns", "prepared_ns", "answered_ns", "called_ns", "end_ns")  # of a client process


@dataclass
class StartRecord:
    """What one start measured; all times in ns since *go*.

    ledger: the columns of the ledger that a start knows. calls: for each caller send and receive times, shape (2,
    calls); in an open load a third row, when each was due; where connections are renewed, when the opening of its
    connection began, which is the time of sending for a call over an open one. marks: for each end of a stream its
    role, times and message counts. load: rows of ``meters.LoadMeter``, which may end with a host. report: name, value
    and unit of each number that a load generator reported. sessions: the columns of each client process of a load of
    whole processes. attempts: of a load with retries, the request of each attempt, its number, when it was sent, its
    reply came (0: never), and the request was due, shape (5, attempts). streams, replies: the columns of these tables.
    hosts: the columns of each host and role; none where all was on this machine. sketches: the rows of the client
    processes that kept their samples; their ``calls`` are then some of them.
    """

    ledger: dict[str, Any]
    calls: list[Times] = field(default_factory=list)
    marks: list[tuple[str, Times, Times]] = field(default_factory=list)
    load: Sequence[tuple[Any, ...]] = ()
    report: list[tuple[str, float, str]] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    attempts: Times | None = None
    streams: dict[str, Any] = field(default_factory=dict)
    replies: dict[str, Any] = field(default_factory=dict)
    hosts: list[dict[str, Any]] = field(default_factory=list)
    sketches: list[dict[str, Any]] = field(default_factory=list)


def tables(start: int, block: int, index: int, case: Case, record: StartRecord) -> dict[str, pa.Table]:
    """Return one start's rows of each table."""
    ledger = {"start": start, "block": block, "case": index} | _factors(case) | record.ledger
    return {
        "samples": _joined("samples", [_samples(start, case, *client) for client in enumerate(record.calls)]),
        "marks": _joined("marks", [_marks(start, *mark) for mark in record.marks]),
        "load": schema.make("load", [_load(start, *row) for row in record.load]),
        "reports": schema.make("reports", [_number(start, *number) for number in record.report]),
        "sessions": schema.make("sessions", [{"start": start} | row for row in record.sessions]),
        "attempts": _joined("attempts", [] if record.attempts is None else [_attempts(start, record.attempts)]),
        "streams": _columns("streams", start, record.streams),
        "replies": _columns("replies", start, record.replies),
        "hosts": schema.make("hosts", [{"start": start} | row for row in record.hosts]),
        "sketches": schema.make("sketches", [{"start": start} | row for row in record.sketches]),
        "ledger": schema.make("ledger", [ledger]),
    }


def _joined(name: str, parts: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts) if parts else schema.TABLES[name].empty_table()


def _columns(name: str, start: int, columns: dict[str, Any]) -> pa.Table:
    if not columns:
        return schema.TABLES[name].empty_table()
    return schema.make(name, {"start": np.full(len(columns["stream"]), start, "i4")} | columns)


def _factors(case: Case) -> dict[str, Any]:
    streamed = ("replies", "reply_bytes", "gap_us") if case.load == "reply_stream" else ()
    paced = {"offered_per_s": case.offered_per_s, "arrivals": case.arrivals} if case.is_paced else {}
    paced |= {"retry": json.dumps(case.retry, sort_keys=True)} if case.load == "retry" else {}
    same = (
        *("system", "transport", "payload_bytes", "placement", "load", "clients", "callers", "engine", "target"),
        *("message", "calls_per_connection", "outstanding", "large_bytes", "p99_bytes"),
    )
    return (
        paced
        | {name: getattr(case, name) for name in (*same, *streamed)}
        | {"options": json.dumps(case.options, sort_keys=True)}
    )


def misplaced(ledger: pa.Table, cases: Sequence[Case]) -> str:
    """Return which row of a ledger names a case that the plan does not have, or factors that are not its; else ""."""
    for row in ledger.to_pylist():
        if not 0 <= row["case"] < len(cases):
            return f"start {row['start']} is of case {row['case']}, and the plan has {len(cases)} cases"
        for name, value in _factors(cases[row["case"]]).items():
            if row[name] is not None and row[name] != value:
                here, planned = _short(row[name]), _short(value)
                return f"start {row['start']} has the {name} {here}, and its case in the plan {planned}"
    return ""


def _short(value: object) -> str:
    return text if len(text := repr(value)) <= 80 else f"{text[:80]}..."


def _samples(start: int, case: Case, client: int, times: Times) -> pa.Table:
    sent, received = times[:2]
    n, before = len(sent), sent - times[2] if len(times) > 2 else np.zeros(len(sent), "i8")
    lag = before if case.load == "open" else np.zeros(n, "i8")
    opening = before if case.calls_per_connection else np.zeros(n, "i8")
    columns = {
        "start": np.full(n, start, "i4"),
        "client": np.full(n, client, "i4"),
        "lag_ns": lag,
        "open_ns": pa.array(opening, mask=opening == 0),
    }
    return schema.make("samples", columns | {"t_send_ns": sent, "rtt_ns": received - sent})


def _attempts(start: int, times: Times) -> pa.Table:
    request, number, sent, replied, due = times
    columns = {"start": np.full(len(sent), start, "i4"), "request": request, "number": number.astype("i4")}
    rtt = pa.array(replied - sent, pa.int64(), mask=replied == 0)
    return schema.make("attempts", columns | {"due_ns": due, "t_send_ns": sent, "rtt_ns": rtt})


def _marks(start: int, role: str, times: Times, messages: Times) -> pa.Table:
    n = len(times)
    columns = {"start": np.full(n, start, "i4"), "role": [role] * n, "t_ns": times, "messages": messages}
    return schema.make("marks", columns)


def _number(start: int, name: str, value: float, unit: str) -> dict[str, Any]:
    return {"start": start, "name": name, "value": value, "unit": unit}


def _load(start: int, role: str, t_ns: int, percent: float | None, rss: int, host: str | None = None) -> dict[str, Any]:
    return {"start": start, "role": role, "t_ns": t_ns, "cpu_percent": percent, "rss_bytes": rss, "host": host}
