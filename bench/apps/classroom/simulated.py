"""Five simulated machines: submissions made by a seeded generator from a reference run, to practise with.

Each machine has its own speed, and for each case its own ratio to raw sockets; starts vary by block and by start. The
numbers are not measurements, and every text and figure made of them says so.
"""

import json
import string
from typing import Any

import numpy as np
import pyarrow as pa

from bench.apps.classroom import manifests, reading, starts, zips
from bench.apps.classroom.reading import Submitted
from bench.run import stored
from bench.run.frames import Run, shared

MACHINES, SEED = 5, 1
OF_MACHINE, OF_RATIO, OF_BLOCK, OF_START = 0.4, 0.15, 0.05, 0.02  # sd of the logs: speed, ratio, block, start
FIRST_ID = 0x51000001


def machines() -> list[Submitted]:
    """Return the runs of the simulated machines, read from zips by the same checks as any others."""
    run = shared(stored.find("reference/latency").path)
    report, found = manifests.report(run), list[Submitted]()
    for number in range(MACHINES):
        zipped = packed(run, dict(report), number)
        found += reading.read(zipped, f"simulated-{string.ascii_lowercase[number]}.zip")
    return found


def packed(run: Run, report: dict[str, Any], number: int) -> bytes:
    """Return the zip of one simulated machine, the same bytes whenever it is made; ``report`` gets its machine."""
    name = f"simulated {string.ascii_uppercase[number]}"
    report["machine"] = {
        "machine_id": f"{FIRST_ID + number:08x}", "cpu_model": name, "cpus_allowed": 2, "virtual": True,
        "system": "simulated", "kernel": "simulated",
    }  # fmt: skip
    members = {
        f"{run.id}/manifest.json": json.dumps(report, indent=1, sort_keys=True).encode(),
        f"{run.id}/starts.parquet": starts.written(scaled(run, np.random.default_rng([SEED, number]))),
    }
    return zips.packed(members)


def scaled(run: Run, chance: np.random.Generator) -> pa.Table:
    """Return the run's table of starts with all times multiplied by random factors, and all rates divided by them."""
    table = starts.of(run)
    cases, blocks = (np.array(table[name].to_pylist()) for name in ("case", "block"))
    of_block = OF_BLOCK * chance.standard_normal(int(blocks.max()) + 1)
    of_case = np.array(
        [0.0 if case.system == "sockets" else OF_RATIO * chance.standard_normal() for case in run.plan.cases]
    )
    logs = OF_MACHINE * chance.standard_normal() + of_case[cases] + of_block[blocks]
    times = np.exp(logs + OF_START * chance.standard_normal(len(cases)))
    for column in starts.REPORTED:
        values = table[column].to_numpy() * (1 / times if column == "rate_per_s" else times)
        place = table.schema.names.index(column)
        table = table.set_column(place, table.schema.field(column), pa.array(values, from_pandas=True))
    return table
