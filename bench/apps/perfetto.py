"""Traces of a run in the Trace Event Format, which ui.perfetto.dev and chrome://tracing open.

Source: the Trace Event Format, as Chromium's developers document it; times in us.
"""

from collections.abc import Iterator
from typing import Any

from bench.analysis import anatomy
from bench.analysis.call_path import Thread, Trace
from bench.run.frames import Run
from bench.run.start_values import ROLES

CALLS = "calls"  # the name of the track with the calls themselves


def document(run: Run, case: int) -> dict[str, Any] | None:
    """Return the traced calls of a case as JSON holds them; None if there are none.

    A process for each role, a thread for each thread; what it did, and arrows from who woke to who was woken.
    """
    calls = anatomy.calls(run, case)
    if not calls:
        return None
    return {"displayTimeUnit": "ns", "traceEvents": [*_names(), *_calls(run, case), *_events(run, case)]}


def _names() -> Iterator[dict[str, Any]]:
    for number, role in enumerate((CALLS, *ROLES)):
        yield {"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": {"name": role}}


def _calls(run: Run, case: int) -> Iterator[dict[str, Any]]:
    for call in anatomy.calls(run, case):
        yield _span("call", ("", 0), call.sent_ns, call.received_ns)


def _events(run: Run, case: int) -> Iterator[dict[str, Any]]:
    number = 0
    for start in run.ledger_of(case).index:
        for _, events in anatomy.scheduled(run, int(start)).groupby("slice"):
            trace, (begin_ns, end_ns) = Trace(events), (events["t_ns"].iloc[0], events["t_ns"].iloc[-1])
            for thread, times in trace.running.items():
                for ran in times:
                    for part in trace.ran(thread, max(ran.begin_ns, begin_ns), min(ran.end_ns, end_ns)):
                        yield _span(part.name or part.what, thread, part.begin_ns, part.end_ns)
            for t_ns, waker, woken in trace.wakes:
                if waker[1] >= 0:
                    number += 1
                    yield {"ph": "s", "name": "wakes", "cat": "wake", "id": number, "ts": t_ns / 1e3, **_ids(waker)}
                    yield {"ph": "f", "bp": "e", "name": "wakes", "cat": "wake", "id": number, "ts": t_ns / 1e3 + 1e-3,
                           **_ids(woken)}  # fmt: skip


def _span(name: str, thread: Thread, begin_ns: int, end_ns: int) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": begin_ns / 1e3, "dur": (end_ns - begin_ns) / 1e3, **_ids(thread)}


def _ids(thread: Thread) -> dict[str, int]:
    role, number = thread
    return {"pid": ROLES.index(role) + 1 if role else 0, "tid": number}
