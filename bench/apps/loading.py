"""``python -m bench load URL``: one closed or open load of GET requests or gRPC calls, reported as JSON."""

import json
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from bench import stats, systems
from bench.errors import UsageError
from bench.measurement import start
from bench.plan.case import MOST_CALLS, Case
from bench.referees.time_checks import QUANTILES
from bench.run.start_record import StartRecord
from bench.text import quoted
from bench.validation.support import checked

NAME = "loaded_url"
MOST_PER_S, MOST = 250_000, 20_000_000  # requests of a closed load whose times are kept: per second, and in all


def load(
    url: str,
    rate: float,
    connections: int,
    duration_s: float,
    engine: str,
    proto: str | None = None,
    clients: int = 1,
) -> dict[str, Any]:
    """Load a URL, and return the report.

    rate: of an open load, in requests per second; 0: a closed load. proto: the file with the types of a gRPC method;
    without it the server is asked for them. clients: processes that share the connections and the rate equally.
    """
    if connections % clients:
        raise UsageError(f"{clients} clients cannot share {connections} connections equally: give a multiple")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{NAME}.yaml")
        file.write_text(_service(url, proto), "utf-8")
        name = systems.adopt(str(file))
        paced: dict[str, Any] = {"load": "open", "offered_per_s": rate} if rate else {"max_calls": most(duration_s)}
        shares: dict[str, Any] = {"clients": clients, "callers": connections // clients}
        case = Case(name, "tcp", placement="free", engine=engine, **shares, **paced)
        return report(start.measure(checked(case), duration_s, 1), connections)


def most(duration_s: float) -> int:
    """Return how many requests a closed load of that length may make: it ends once it has made so many."""
    return min(MOST, max(MOST_CALLS, int(MOST_PER_S * duration_s)))


def _service(url: str, proto: str | None) -> str:
    """Return a service file for a URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https", "grpc") or not parts.hostname:
        raise UsageError(
            f"{quoted(url)} is no address to load: give one such as http://127.0.0.1:8000/, "
            "or grpc://127.0.0.1:50051/package.Service/Method"
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    request: dict[str, Any] = {"name": "get", "http": {"path": path}, "expect": {"status": 200}}
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
    begun = np.concatenate([times[-1] if len(times) == 3 else times[0] for times in record.calls])
    ended = np.concatenate([times[1] for times in record.calls])
    times_us = (ended - begun) / 1e3
    duration_s, errors = float(record.ledger["window_s"]), record.ledger.get("errors") or 0
    scheduled = record.ledger.get("scheduled")
    return {
        "requests": len(times_us),
        "errors": errors,
        "not_sent": 0 if scheduled is None else max(0, scheduled - len(times_us) - errors),
        "rate_per_s": len(times_us) / duration_s,
        "duration_s": duration_s,
        "connections": connections,
        "response_us": {name: stats.quantile(times_us, p) for name, p in QUANTILES.items()}
        | {"mean": float(times_us.mean()), "max": float(times_us.max())},
    }
