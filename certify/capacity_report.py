"""The capacity of a load generator as text, and as a JSON document that is read again."""

from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from bench.errors import BENCH, DataError
from bench.plan import documents
from bench.text import all_harmless, counted, duration, quantity
from certify.capacity import FORMAT, Capacity, Point
from certify.certificate import MOST_OF_OTHERS


def text(measurement: Capacity) -> str:
    """Return it for people: the capacity, a row for each load, then the checks that are not held."""
    lines = [
        f"{measurement.name}: {capacity(measurement)}",
        surroundings(measurement),
        "",
        str(table(measurement).to_string(index=False)),
    ]
    refused = [(point, words) for point in measurement.points for words in point.not_held]
    lines += ["", *(f"NOT HELD    {name(point)}: {words}" for point, words in refused)] if refused else []
    return "\n".join([*lines, *(f"NOT MEASURED  {words}" for words in measurement.left_out)])


def capacity(measurement: Capacity) -> str:
    """Return the sentence on its capacity: the rate, at how many connections, on how many CPUs."""
    best = measurement.best()
    used = f", for which it used {best.cpus:.2f} CPUs" if best.cpus is not None else ""
    rate = f"{quantity(best.delivered_per_s)} requests/s with {counted(best.connections, 'connection')}{used}"
    if not best.is_front_saturated:
        return f"its capacity is {rate}; the server used {best.front_cpus:.0%} of its CPU."
    return f"its capacity is at least {rate}: the server's CPU was saturated, at {best.front_cpus:.0%}."


def surroundings(measurement: Capacity) -> str:
    """Return the sentence on what times include, and on what else ran."""
    others = max((point.others_cpu_share for point in measurement.points), default=0.0)
    again = ": measure again when the machine is quiet" if others > MOST_OF_OTHERS else ""
    return (
        f"The server answers at once; the way to it and back adds {duration(measurement.path_us.p50)} (p99 "
        f"{duration(measurement.path_us.p99)}), which true times do not include. {measurement.machine}; other "
        f"processes used up to {others:.0%} of the CPU time{again}."
    )


def name(point: Point) -> str:
    """Return a load in a few words."""
    load = "closed load" if point.load == "closed" else f"{quantity(point.asked_per_s or 0)} requests/s asked for"
    return f"{counted(point.connections, 'connection')}, {load}"


def table(measurement: Capacity) -> pd.DataFrame:
    """Return a row of words for each load."""
    return pd.DataFrame([_row(point) for point in measurement.points])


def _row(point: Point) -> dict[str, str]:
    asked = point.asked_per_s
    share = "capacity" if point.share is None else f"{point.share:.0%}"
    due = round(asked * point.duration_s) if asked else 0
    return {
        "connections": f"{point.connections:,}",
        "load": point.load,
        "of capacity": share,
        "seconds": f"{point.duration_s:g}",
        "asked/s": quantity(asked) if asked else "",
        "delivered/s": quantity(point.answers_per_s),
        "reported/s": "" if point.reported_per_s is None else quantity(point.reported_per_s),
        "omitted": f"{(point.omitted or 0) / due:.1%}" if due else "",
        "late p99": _time(point.late_us.p99) if point.late_us else "",
        "p99": _time(point.true_us.p99),
        "p99 from due": _time(point.due_us.p99) if point.due_us else "",
        "p99 reported": _time(point.reported_us.p99),
        "CPU/request": _time(point.cpu_us_per_request),
        "server's CPU": f"{point.front_cpus:.0%}",
    }


def _time(us: float | None) -> str:
    return "" if us is None else duration(us)


def as_json(measurement: Capacity) -> str:
    """Return the document as text."""
    return msgspec.json.format(msgspec.json.encode(measurement), indent=1).decode() + "\n"


def read(file: Path) -> Capacity:
    """Return a document as it was written; DataError if the file holds none."""
    try:
        content: Any = all_harmless(documents.from_json(documents.read(file).decode()))
        measurement = msgspec.convert(content, Capacity)
    except (OSError, ValueError) as reason:
        raise DataError(
            f"{file} holds no capacity of a load generator: write one with {BENCH} certify NAME --capacity --json FILE"
        ) from reason
    if measurement.format != FORMAT:
        raise DataError(f"{file} was written by another version: measure it again with this one")
    return measurement
