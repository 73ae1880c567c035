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


@dataclass
class Requests:
    """Which request of a service each call made. places: for each caller, into ``names``."""

    names: tuple[str, ...]
    places: list[Times]

    def of_client(self, client: int) -> pa.Array:
        """Return the name of each call's request, of one caller."""
        return pa.DictionaryArray.from_arrays(pa.array(self.places[client], "i4"), pa.array(self.names)).cast("string")


@dataclass
class StartRecord:
    """What one start measured; all times in ns since *go*.

    ledger: the columns of the ledger that a start knows. calls: for each caller send and receive times, shape (2,
    calls); in an open load a third row, when each was due; where connections are renewed, when the opening of its
    connection began, which is the time of sending for a call over an open one. tables: the rows or the columns of the
    other tables that have any, by name, without ``start``. requests: None where all calls make the same one.
    """

    ledger: dict[str, Any]
    calls: list[Times] = field(default_factory=list)
    tables: dict[str, Any] = field(default_factory=dict)
    requests: Requests | None = None


def tables(start: int, block: int, index: int, case: Case, record: StartRecord) -> dict[str, pa.Table]:
    """Return one start's rows of each table that has any, and of ``samples``."""
    samples = [
        _table("samples", start, _samples(case, client, times) | _requests(record, client))
        for client, times in enumerate(record.calls)
    ]
    ledger = [{"block": block, "case": index} | _factors(case) | record.ledger]
    made = {name: _table(name, start, rows) for name, rows in (record.tables | {"ledger": ledger}).items()}
    return made | {"samples": pa.concat_tables(samples) if samples else schema.SAMPLES.empty_table()}


def _table(name: str, start: int, rows: Any) -> pa.Table:
    """Return a table of one start from rows or columns."""
    if isinstance(rows, list):
        return schema.make(name, [{"start": start} | row for row in rows])
    return schema.make(name, {"start": np.full(len(next(iter(rows.values()))), start, "i4")} | rows)


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


def _requests(record: StartRecord, client: int) -> dict[str, Any]:
    if record.requests:
        return {"request": record.requests.of_client(client)}
    return {"request": pa.nulls(len(record.calls[client][0]), pa.string())}


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
