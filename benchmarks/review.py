"""How long a review takes: card, quantiles with intervals, warm-up, dependence; ``python -m benchmarks.review N``.

The samples are made up: correlated and noisy, in six starts of four cases. Prints seconds and the process's peak memory
in MB, imports included.
"""

import resource
import sys
import time

import numpy as np

from bench import stats
from bench.analysis import checks, quantiles
from bench.plan.case import Case
from bench.run import start_record
from bench.run.frames import Run
from bench.run.start_record import StartRecord
from bench.simulation.virtual_time import InMemory
from bench.validation.profiles import make_plan

STARTS, CASES = 6, 4


def made_up(samples: int) -> Run:
    """Return a run of so many calls in all."""
    cases = [Case("sockets", "ipc", size) for size in range(1, CASES + 1)]
    plan = make_plan("latency", cases, starts=STARTS, window_s=1)
    each, tables = samples // (STARTS * CASES), []
    for start, block, index in plan.order():
        chance = np.random.default_rng(start)
        rtt = (20_000 * np.exp(0.05 * chance.standard_normal(each))).astype("i8")
        rtt[chance.random(each) < 0.001] *= 20
        received = np.cumsum(rtt + 200)
        ledger = {"window_s": received[-1] / 1e9, "calls": each, "server_calls": each, "first_rtt_ns": 1, "errors": 0}
        ledger |= {"client_cpu_ns": each * 10_000, "server_cpu_ns": each * 10_000, "gc_collections": 0}
        ledger |= {"voluntary_switches": each, "involuntary_switches": 0}
        found = StartRecord(ledger, [np.stack([received - rtt, received])])
        tables.append(start_record.tables(start, block, index, plan.cases[index], found))
    return Run(InMemory("made-up", plan, tables))


def main() -> None:
    """Make a run up, review it once, and print what that took."""
    run = made_up(int(sys.argv[1]))
    began = time.perf_counter()
    checks.check(run)
    for case in run.cases.index:
        for p in stats.QUANTILES:
            quantiles.quantile(run, int(case), p)
    took = time.perf_counter() - began
    print(f"{took:.2f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")


if __name__ == "__main__":
    main()
