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
LOAD = ("role", "t_ns", "cpu_percent", "rss_bytes", "host")
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
    hosts: the columns of each host and role; none where all was on this machine.
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


def tables(start: int, block: int, index: int, case: Case, record: StartRecord) -> dict[str, pa.Table]:
    """Return one start's rows of each table."""
    columns = {
        "samples": [_samples(case, client, times) for client, times in enumerate(record.calls)],
        "marks": [
            {"role": [role] * len(t_ns), "t_ns": t_ns, "messages": messages} for role, t_ns, messages in record.marks
        ],
        "attempts": [] if record.attempts is None else [_attempts(record.attempts)],
        "streams": [record.streams] if record.streams else [],
        "replies": [record.replies] if record.replies else [],
    }
    rows: dict[str, list[dict[str, Any]]] = {
        "load": [dict(zip(LOAD, row, strict=False)) for row in record.load],
        "reports": [dict(zip(("name", "value", "unit"), number, strict=True)) for number in record.report],
        "sessions": record.sessions,
        "hosts": record.hosts,
        "ledger": [{"block": block, "case": index} | _factors(case) | record.ledger],
    }
    made = {name: _of_columns(name, start, parts) for name, parts in columns.items()}
    return made | {name: schema.make(name, [{"start": start} | row for row in some]) for name, some in rows.items()}


def _of_columns(name: str, start: int, parts: Sequence[dict[str, Any]]) -> pa.Table:
    """Return the table made of several sets of columns, one below the other, all of one start."""
    lengths = [len(next(iter(columns.values()))) for columns in parts]
    made = [
        schema.make(name, {"start": np.full(length, start, "i4")} | columns)
        for length, columns in zip(lengths, parts, strict=True)
    ]
    return pa.concat_tables(made) if made else schema.TABLES[name].empty_table()


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


def _samples(case: Case, client: int, times: Times) -> dict[str, Any]:
    sent, received = times[:2]
    none = np.zeros(len(sent), "i8")
    before = sent - times[2] if len(times) > 2 else none
    opening = before if case.calls_per_connection else none
    return {
        "client": np.full(len(sent), client, "i4"),
        "lag_ns": before if case.load == "open" else none,
        "open_ns": pa.array(opening, mask=opening == 0),
        "t_send_ns": sent,
        "rtt_ns": received - sent,
    }


def _attempts(times: Times) -> dict[str, Any]:
    request, number, sent, replied, due = times
    rtt = pa.array(replied - sent, pa.int64(), mask=replied == 0)
    return {"request": request, "number": number.astype("i4"), "due_ns": due, "t_send_ns": sent, "rtt_ns": rtt}
