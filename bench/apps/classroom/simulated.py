"""Five simulated machines: submissions made by a seeded generator from a reference run, to practise with.

Each machine has its own speed, and for each case its own ratio to raw sockets; starts vary by block and by start. The
numbers are not measurements, and every text and figure made of them says so.
"""

import string
from typing import Any

import numpy as np

from bench.analysis.comparison import QUANTITIES
from bench.apps.classroom import reading, submitting
from bench.apps.classroom.reading import SubmittedRun
from bench.run import stored
from bench.run.frames import shared

MACHINES, SEED = 5, 1
OF_MACHINE, OF_RATIO, OF_BLOCK, OF_START = 0.4, 0.15, 0.05, 0.02  # sd of the logs: speed, ratio, block, start
FIRST_ID = 0x51000001


def machines() -> list[SubmittedRun]:
    """Return the runs of the simulated machines, read from files by the same checks as any others."""
    content = submitting.report([shared(stored.find("reference/latency").path)])
    (run,) = content["runs"]
    runs: list[SubmittedRun] = []
    for number, letter in enumerate(string.ascii_uppercase[:MACHINES]):
        machine = {
            "machine_id": f"{FIRST_ID + number:08x}", "cpu_model": f"simulated {letter}", "cpus_allowed": 2,
            "virtual": True, "system": "simulated", "kernel": "simulated",
        }  # fmt: skip
        scaled = run | {"starts": scaled_starts(run, np.random.default_rng([SEED, number]))}
        data = submitting.encoded(content | {"machine": machine, "runs": [scaled]})
        runs += reading.read(data, f"simulated-{letter.lower()}.json")
    return runs


def scaled_starts(run: dict[str, Any], chance: np.random.Generator) -> list[dict[str, Any]]:
    """Return a run's starts with all times multiplied by random factors, and all rates divided by them."""
    starts = run["starts"]
    cases, blocks = (np.array([start[name] for start in starts]) for name in ("case", "block"))
    of_block = OF_BLOCK * chance.standard_normal(int(blocks.max()) + 1)
    of_case = np.array(
        [0.0 if case["system"] == "sockets" else OF_RATIO * chance.standard_normal() for case in run["cases"]]
    )
    logs = OF_MACHINE * chance.standard_normal() + of_case[cases] + of_block[blocks]
    times = np.exp(logs + OF_START * chance.standard_normal(len(starts)))
    return [
        start
        | {
            name: start[name] * float(1 / time if name == "rate_per_s" else time)
            for name in QUANTITIES
            if start[name] is not None
        }
        for start, time in zip(starts, times, strict=True)
    ]
