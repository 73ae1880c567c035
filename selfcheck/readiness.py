"""How soon bench is ready, how punctual its open loads leave, and how long a notebook takes beside its measuring."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from bench import stats
from bench.measurement.start import measure
from bench.plan import paths
from bench.plan.case import Case
from bench.run import stored
from bench.run.start_record import Times
from selfcheck.overhead import BLOCKS


def servers() -> None:
    """From asking for a server until it listens."""
    for system in ("zeromq", "sockets"):
        times = [measure(Case(system, "ipc"), 0.05, seed=1).ledger["ready_s"] for _ in range(BLOCKS)]
        text = f"{statistics.median(times):.3f} s, at most {max(times):.3f} s (wanted <= 0.3)"
        print(f"{f'{system} server ready':38} {text}")


def pacing() -> None:
    """How punctual an open load of 2 000 calls a second leaves, of requests that found their connection idle."""
    for clients in (1, 2, 4):
        case = Case("sockets", "ipc", 100, placement="split", load="open", offered_per_s=2000.0, clients=clients)
        late, sent = [], []
        for block in range(BLOCKS):
            record = measure(case, 1.0, seed=block)
            sent.append(record.ledger["calls"] / record.ledger["scheduled"])
            late.append(stats.quantile(np.concatenate([_lateness(calls) for calls in record.calls]) / 1e3, 0.99))
        low, middle, high = statistics.quantiles(late, n=4)
        text = f"p99 late by {middle:,.0f} us [{low:,.0f}, {high:,.0f}] (wanted <= 150); sent {min(sent):.2%}"
        print(f"{f'pacing 2 000/s, {clients} clients':38} {text}", flush=True)


def _lateness(calls: Times) -> Times:
    """Return how late each request left that its own connection did not hold back, in ns."""
    sent, received, due = calls
    free = np.concatenate([[0], received[:-1]]) <= due
    return (sent - due)[free]


def notebook() -> None:
    """`papermill latency.ipynb out.ipynb -p transport ipc`, in slices and in starts, and what is not measuring."""
    took, _ = _papermill("20")
    print(f"{'papermill latency.ipynb, ipc':38} {took:.1f} s (wanted <= 60)")
    took, windows = _papermill("0")
    text = f"{took:.1f} s (wanted <= 30), of which {took - windows:.1f} s outside windows (wanted <= 8)"
    print(f"{'the same in starts':38} {text}")


def _papermill(slice_ms: str) -> tuple[float, float]:
    """Return how long papermill takes for the notebook latency, and the sum of its windows, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"ROUNDTRIP_RUNS": f"{folder}/runs", "ROUNDTRIP_FIGURES": f"{folder}/figures"}
        words = ["-m", "papermill", "latency.ipynb", f"{folder}/out.ipynb", "--no-progress-bar"]
        words += ["-p", "transport", "ipc", "-p", "slice_ms", slice_ms]
        began = time.perf_counter()
        subprocess.run([sys.executable, *words], cwd=paths.notebooks(), check=True, stderr=subprocess.DEVNULL)
        took = time.perf_counter() - began
        return took, float(stored.all_runs()[-1].read("ledger")["window_s"].to_numpy().sum())
