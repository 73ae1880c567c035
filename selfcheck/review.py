"""How long the review of a stored run takes: ``python -m selfcheck.review RUN``; with a number it stores such a run.

A review is what ``bench show`` prints and what the notebook draws and computes by hand, of ``ROUNDTRIP_RUNS``. Prints
seconds and the process's peak memory in MB, imports included. The samples are made up: noisy, with a slow call in a
thousand, in six starts of four cases.
"""

import io
import resource
import sys
import time

import numpy as np

from bench.apps import listing
from bench.grammar import figure as panels
from bench.grammar.experiment import of_run
from bench.measurement import runner
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run import start_record, stored
from bench.run.frames import Run
from bench.run.start_record import StartRecord

STARTS, CASES = 6, 4


def store(samples: int) -> str:
    """Store a run of so many calls in all, and return its name."""
    cases = [Case("sockets", "ipc", size) for size in range(1, CASES + 1)]
    plan = make_plan("latency", cases, starts=STARTS, window_s=1)
    folder, each = stored.create(plan, runner.facts(plan)), samples // (STARTS * CASES)
    for start, block, index in plan.order():
        chance = np.random.default_rng(start)
        rtt = (20_000 * np.exp(0.05 * chance.standard_normal(each))).astype("i8")
        rtt[chance.random(each) < 0.001] *= 20
        received = np.cumsum(rtt + 200)
        ledger = {"window_s": received[-1] / 1e9, "calls": each, "server_calls": each, "first_rtt_ns": 1, "errors": 0}
        ledger |= {"client_cpu_ns": each * 10_000, "server_cpu_ns": each * 10_000, "gc_collections": 0}
        ledger |= {"voluntary_switches": each, "involuntary_switches": 0}
        record = StartRecord(ledger, [np.stack([received - rtt, received])])
        folder.append(start, start_record.tables(start, block, index, plan.cases[index], record))
    folder.update(finished=True)
    return folder.id


def review(name: str) -> None:
    """Make of a stored run what the command line and its notebook show."""
    listing.run_text(name)
    run = Run(stored.find(name))
    panels.whole(run).savefig(io.BytesIO(), format="png")
    of_run(run).conclusion(run)
    for case in run.numbers:
        run.samples_of(case, warm=True).groupby("start")["rtt_ns"].quantile(0.5, interpolation="lower")


def main() -> None:
    """Store a run and print its name, or review one and print what that took."""
    asked = sys.argv[1]
    if asked.isdecimal():
        print(store(int(asked)))
        return
    began = time.perf_counter()
    review(asked)
    took = time.perf_counter() - began
    print(f"{took:.2f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")


if __name__ == "__main__":
    main()
