"""``python -m bench load URL``: a load of GET requests, gRPC calls or streams of events, reported as JSON."""

import json
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from bench import stats, systems
from bench.errors import UsageError
from bench.measurement import start
from bench.measurement.validation.support import checked
from bench.plan.case import MOST_CALLS, MOST_KEPT, Case
from bench.run import requests
from bench.run.start_record import StartRecord
from bench.stats import Array
from bench.text import quoted

NAME = "loaded_url"
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
MOST_PER_S = 250_000  # requests of a closed load whose times are kept


def load(
    url: str,
    connections: int,
    duration_s: float,
    engine: str,
    rate: float | None = None,
    proto: str | None = None,
    clients: int = 1,
    stream: str | None = None,
) -> dict[str, Any]:
    """Load a URL, and return the report.

    rate: of an open load, in requests per second; 0: a closed load. proto: the file with the types of a gRPC method;
    without it the server is asked for them. clients: processes that share the connections and the rate equally. stream:
    sse, for a closed load of requests that are answered by streams of server-sent events with [DONE] at their end.
    """
    if connections % clients:
        raise UsageError(f"{clients} clients cannot share {connections} connections equally: give a multiple")
    if stream and rate:
        raise UsageError("an open load of streams is not made here: leave out rate")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{NAME}.yaml")
        file.write_text(_service(url, proto, stream), "utf-8")
        name = systems.adopt(str(file))
        paced: dict[str, Any] = {"max_calls": most_requests(duration_s)}
        if stream:
            paced = {"load": "reply_stream"}
        elif rate:
            paced = {"load": "open", "offered_per_s": rate}
        shares: dict[str, Any] = {"clients": clients, "callers": connections // clients}
        case = Case(name, "tcp", placement="free", engine=engine, **shares, **paced)
        record = start.measure(checked(case), duration_s, 1)
        return report_of_streams(record, connections) if stream else report(record, connections)


def most_requests(duration_s: float) -> int:
    """Return how many requests a closed load of that length may make: it ends once it has made so many."""
    return min(MOST_KEPT, max(MOST_CALLS, int(MOST_PER_S * duration_s)))


def _service(url: str, proto: str | None, stream: str | None) -> str:
    """Return a service file for a URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https", "grpc") or not parts.hostname:
        raise UsageError(
            f"{quoted(url)} is no address to load: give one such as http://127.0.0.1:8000/, "
            "or grpc://127.0.0.1:50051/package.Service/Method"
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    request: dict[str, Any] = {"name": "get", "http": {"path": path}, "expect": {"status": 200}}
    if stream:
        request["http"]["stream"], request["expect"]["end"] = stream, "[DONE]"
    scheme = parts.scheme
    if scheme == "grpc":
        types = {"proto": str(Path(proto).absolute())} if proto else {}
        asked = {"method": path.strip("/"), "message": {}} | types
        scheme, request = "http", {"name": "call", "grpc": asked, "expect": {"status": "OK"}}
    return f"address: {json.dumps(f'{scheme}://{parts.netloc}')}\nrequests: {json.dumps([request])}\n"


def report(record: StartRecord, connections: int) -> dict[str, Any]:
    """Return what a start measured: counts, rate, and response times, of an open load from when each was due.

    not_sent: requests of an open load that were due and could not be sent within a fifth of the duration after it.
    """
    times_ns = [times[1] - (times[-1] if len(times) == 3 else times[0]) for times in record.calls]
    times_us = np.concatenate([np.empty(0), *times_ns]) / 1e3
    duration_s, counts = float(record.ledger["window_s"]), requests.of_record(record)
    return {
        "requests": counts.answered,
        "errors": counts.errors,
        "not_sent": counts.not_sent,
        "rate_per_s": len(times_us) / duration_s,
        "duration_s": duration_s,
        "connections": connections,
        "response_us": _summary(times_us, counts.not_sent),
    }


def report_of_streams(record: StartRecord, connections: int) -> dict[str, Any]:
    """Return what a start of streams measured: counts, rate, and times from the sending of each request.

    ttft_us: to the first event (time to first token). gap_us: from each event to the next in its stream (inter-token
    latency); of more than 1,000 events, those of every k-th stream. response_us: to the last event. Streams that
    broke are errors, and their times are left out.
    """
    streams, events = (pd.DataFrame(record.tables[name]) for name in ("streams", "replies"))
    complete = streams[streams["is_complete"]]
    is_later = events["stream"].duplicated() & events["stream"].isin(complete["stream"])  # the first has no gap
    duration_s = float(record.ledger["window_s"])
    return {
        "requests": len(complete),
        "errors": record.ledger.get("errors") or 0,
        "rate_per_s": len(complete) / duration_s,
        "duration_s": duration_s,
        "connections": connections,
        "events": int(complete["replies"].sum()),
        "ttft_us": _summary(complete["first_ns"].to_numpy(float) / 1e3),
        "gap_us": _summary(events.loc[is_later, "gap_ns"].to_numpy(float) / 1e3),
        "response_us": _summary(complete["last_ns"].to_numpy(float) / 1e3),
    }


def _summary(times_us: Array, not_sent: int = 0) -> dict[str, float | None]:
    """Return the quantiles, the mean and the maximum of times, in us.

    not_sent: how many requests could not be sent, each later than any other. A quantile is None where it is the time of
    such a request, or where the requests are too few for it.
    """
    later = np.append(times_us, np.full(not_sent, np.inf))
    quantiles = {name: stats.carried(later, p) for name, p in QUANTILES.items()}
    known = {name: value if np.isfinite(value) else None for name, value in quantiles.items()}
    if not len(times_us):
        return known | {"mean": None, "max": None}
    return known | {"mean": float(times_us.mean()), "max": float(times_us.max())}
