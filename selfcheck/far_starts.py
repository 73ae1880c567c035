"""What a start costs more between two hosts than on this machine: pairs of starts, one after the other.

The hosts are network and time namespaces of this machine, with clocks 50 ms and 10 s off, joined by a bridge.
"""

import sys
import time
from pathlib import Path

import numpy as np

from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.stats.intervals import paired_shift

TESTS = Path(__file__).parents[1] / "tests"
OFFSETS_S = (0.05, 10)
WINDOW_S = 0.1
WANTED_S = 0.3


def far_starts(blocks: int) -> list[float]:
    """Print the difference of each pair: its Hodges-Lehmann centre and 95 % interval.

    Return what each start on hosts took beside its window, in ms; nothing where such hosts cannot be made.
    """
    sys.path.insert(0, str(TESTS))
    import namespaces

    title = "a start between two hosts"
    if reason := namespaces.missing():
        print(f"{title:38} skipped: {reason}")
        return []
    took: dict[str, list[float]] = {"here": [], "hosts": []}
    with namespaces.bed(*OFFSETS_S) as made, namespaces.registered(made) as scheduler, Routers() as routers:
        here = Case("sockets", "tcp", placement="free")
        cases = {"here": here, "hosts": Case("sockets", "tcp", placement="free", hosts={"scheduler": scheduler})}
        for case in cases.values():
            measure(case, WINDOW_S, 0, routers)
        for block in range(max(blocks, 6)):
            for location in ("here", "hosts") if block % 2 else ("hosts", "here"):
                began = time.perf_counter()
                measure(cases[location], WINDOW_S, block, routers)
                took[location].append(time.perf_counter() - began)
    medians = ", ".join(f"{location} {np.median(each):.3f} s" for location, each in took.items())
    more = paired_shift(np.subtract(took["hosts"], took["here"]))
    text = f"{more.middle:+.3f} s [{more.low:+.3f}, {more.high:+.3f}] (wanted <= {WANTED_S:g}); {medians}"
    print(f"{title:38} {text}", flush=True)
    return [round(1e3 * (seconds - WINDOW_S), 3) for seconds in took["hosts"]]
