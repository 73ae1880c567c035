"""``bench export``: a run's numbers and calls in files that other programs read."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import csv

from bench.analysis import checks
from bench.apps import hdr, junit, numbers, openmetrics, perfetto
from bench.errors import DataError, reason_of
from bench.run.frames import Run
from bench.text import quoted

TIMES = {"rtt": "round trips", "response": "response times, from when a request was due"}

Files = Iterator[tuple[str, bytes]]  # name and content


def export(run: Run, kind: str, folder: Path) -> list[Path]:
    """Write a run into files of a folder, and return their paths; kind: one of ``FORMATS``.

    DataError for a run that has nothing of that kind, or a folder that cannot be written.
    """
    files = dict(FORMATS[kind](run))
    if not files:
        what = "traced no calls" if kind == "perfetto" else "stored no single calls, so it has no histograms"
        raise DataError(f"run {run.id} {what}: export csv or json")
    write({folder / name: content for name, content in files.items()}, "--out")
    return [folder / name for name in files]


def write(files: Mapping[Path, bytes], option: str) -> None:
    """Write files, and make their folders; DataError that names the option where one cannot be written."""
    for file, content in files.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        except (OSError, ValueError) as reason:  # a name with a zero byte is no name
            what = f"cannot write {quoted(str(file))}: {reason_of(reason)}; name another place with {option}"
            raise DataError(what) from reason


def _csv(run: Run) -> Files:
    """Yield the cases, the starts and the single calls, one row for each."""
    labels = dict(enumerate(run.labels))
    yield "cases.csv", _table(run.cases.reset_index())
    starts = run.starts.reset_index()
    starts.insert(1, "label", starts["case"].map(labels))
    yield "starts.csv", _table(starts)
    if len(run.samples):
        calls = run.samples.drop(columns=["opens", "large"])
        calls.insert(0, "label", calls["case"].map(labels))
        calls.insert(0, "case", calls.pop("case"))
        yield "samples.csv", _table(calls)


def _table(frame: pd.DataFrame) -> bytes:
    buffer = pa.BufferOutputStream()
    csv.write_csv(pa.Table.from_pandas(frame, preserve_index=False), buffer)
    return bytes(buffer.getvalue())


def _json(run: Run) -> Files:
    yield "run.json", _document(numbers.document(run))


def _document(content: Any) -> bytes:
    return (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()


def _hdr(run: Run) -> Files:
    """Yield a log for each case with single calls, one interval for each start; of open loads also response times."""
    for case in run.numbers:
        for time in TIMES if run.case(case).is_paced else ("rtt",):
            intervals = [
                hdr.Interval(
                    datetime.fromisoformat(str(run.ledger.at[start, "utc"])),
                    len(calls.rtt_ns) / float(run.starts.at[start, "rate_per_s"]),
                    calls.response_ns if time == "response" else calls.rtt_ns,
                )
                for start, calls in run.described_calls(case)
            ]
            if intervals:
                about = f"{run.labels[case]}: {TIMES[time]} in ns, after the warm-up; Roundtrip run {run.id}"
                yield f"{_name(run, case)}.{time}.hlog", hdr.log(intervals, about).encode()


def _perfetto(run: Run) -> Files:
    """Yield the traced calls of each case that has any, for ui.perfetto.dev."""
    for case in run.numbers:
        if content := perfetto.document(run, case):
            yield f"{_name(run, case)}.trace.json", _document(content)


def _name(run: Run, case: int) -> str:
    return f"{case:02d}-" + re.sub(r"[^\w.-]+", "-", run.labels[case], flags=re.ASCII)[:80].strip("-")


def _junit(run: Run) -> Files:
    yield "junit.xml", junit.xml(f"run {run.id}", junit.of_checks(run.plan.notebook, checks.check(run))).encode()


def _openmetrics(run: Run) -> Files:
    yield "metrics.txt", openmetrics.text(run).encode()


FORMATS: dict[str, Callable[[Run], Files]] = {
    "csv": _csv,
    "json": _json,
    "hdr": _hdr,
    "perfetto": _perfetto,
    "junit": _junit,
    "openmetrics": _openmetrics,
}
