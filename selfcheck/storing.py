"""What it takes to store samples, to load them, and to hold them in a client."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measurement import runner
from bench.measurement.start import measure
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run import schema, start_record, stored
from selfcheck import surroundings
from selfcheck.overhead import WINDOW_S, compare


def storing() -> None:
    """From samples in memory to Parquet on disk."""
    with surroundings.temporary_runs():
        plan = make_plan("selfcheck", [Case("loopback", "inproc")])
        run_folder = stored.create(plan, runner.facts(plan))
        for count, wanted in ((10_000, "5 ms"), (1_000_000, "1,000 ms")):
            rtt = np.random.default_rng(1).integers(50_000, 90_000, count)
            columns = {"start": np.zeros(count, "i4"), "client": np.zeros(count, "i4"), "lag_ns": np.zeros(count, "i8")}
            columns |= {"t_send_ns": np.cumsum(rtt), "rtt_ns": rtt}
            columns |= {"open_ns": pa.nulls(count, pa.int64()), "request": pa.nulls(count, pa.string())}
            table = schema.make("samples", columns)
            times = []
            for start in range(7):
                began = time.perf_counter()
                run_folder.append(start, {"samples": table})
                times.append(1e3 * (time.perf_counter() - began))
            size = run_folder.files("samples")[0].stat().st_size / count
            text = f"{statistics.median(times):.1f} ms, {size:.1f} bytes each (wanted <= {wanted})"
            print(f"{f'storing {count:,} samples':38} {text}")


def loading() -> None:
    """From the files of a hundred starts to one table that is judged, beside pyarrow alone, which only parses them."""
    with surroundings.temporary_runs():
        plan = make_plan("selfcheck", [Case("loopback", "inproc", max_calls=1000)], starts=100)
        run_folder = stored.create(plan, runner.facts(plan))
        record = measure(plan.cases[0], WINDOW_S, seed=1)
        for start, block, index in plan.order():
            run_folder.append(start, start_record.tables(start, block, index, plan.cases[index], record))
        for table in ("ledger", "samples"):
            parse = partial(_parse, run_folder.files(table))
            compare(
                f"loading 100 starts, {table}", _seconds(partial(run_folder.read, table)), _seconds(parse), "ms", 1e3
            )


def _parse(files: list[Path]) -> None:
    for file in files:
        pq.ParquetFile(file).read(use_threads=False)


def _seconds(work: Callable[[], Any]) -> Callable[[], float]:
    """Return a function that does some work and returns how many seconds of CPU time it took."""

    def timed() -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    return timed


def memory() -> None:
    """The memory of a client that holds a million samples."""
    rss = measure(Case("loopback", "inproc", max_calls=1_000_000), 3, seed=1).ledger["client_rss_bytes"]
    print(f"{'client holding a million samples':38} {rss / 1e6:.0f} MB (wanted <= 150)")
