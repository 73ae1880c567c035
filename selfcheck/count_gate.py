"""How often counts per call find one more system call, and how often they find what is not there.

``python -m selfcheck.count_gate [--write]`` compares equal programs, and raw sockets with one more system call, as
``bench compare BASE HEAD --counts`` does. ``--write`` keeps what was found in docs/count_gate.json, from which
docs/trust.md is written. It needs the right to trace, and no quiet machine: counts must not depend on one.
"""

import sys
from collections.abc import Sequence
from typing import Any

import pandas as pd

from bench.analysis import count_changes
from bench.analysis.count_changes import ROSE
from bench.measurement import runner
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run.frames import Run
from selfcheck import keeping, surroundings

FILE = "docs/count_gate.json"
STARTS, WINDOW_S, SLICE_S = 5, 0.2, 0.05  # as the command has them
ADDED = ("client", "write")
SOCKETS = Case("altered", "tcp", 100, traced=True)
MORE = Case("altered", "tcp", 100, {"client_writes": 1}, traced=True)
TRIES = {"sockets": 100, "zeromq": 25, "grpc_sync": 25}


def heads(name: str) -> dict[str, Case]:
    """Return what is compared with a system: the same program, and of raw sockets one with more to do."""
    if name != "sockets":
        return {f"{name}, the same program": Case(name, "tcp", 100, traced=True)}
    return {"raw sockets, the same program": SOCKETS, "raw sockets, one more system call (`write`)": MORE}


def risen(states: Sequence[Case], seed: int) -> list[list[tuple[str, str]]]:
    """Measure BASE twice and each HEAD, in turns; return role and name of the counts that each HEAD has more of.

    states: BASE, and each HEAD.
    """
    base, *others = states
    run = Run(runner.run(Plan("compare", (base, base, *others), STARTS, WINDOW_S, seed, "class", slice_s=SLICE_S)))
    of_base = count_changes.counts(run, 0, 1)
    changes = [count_changes.changes(of_base, count_changes.counts(run, 2 + number)) for number in range(len(others))]
    return [[(change.base.role, change.base.what) for change in part if change.verdict == ROSE] for part in changes]


def compared(name: str) -> list[dict[str, Any]]:
    """Compare a system with each HEAD many times; return how often what was added, and something else, had risen."""
    others = heads(name)
    base = next(iter(others.values()))
    verdicts = [risen((base, *others.values()), seed) for seed in range(1, TRIES[name] + 1)]
    results = []
    for (words, case), counts in zip(others.items(), zip(*verdicts, strict=True), strict=True):
        added = [ADDED] if case is MORE else []
        results.append(
            {
                "head": words,
                "found": sum(ADDED in part for part in counts) if added else None,
                "false": sum(any(count not in added for count in part) for part in counts),
                "tries": TRIES[name],
            }
        )
    return results


def summary(results: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a row for each state that was compared with BASE."""
    rows = [
        {
            "HEAD": result["head"],
            "comparisons": result["tries"],
            "it was found": "" if result["found"] is None else result["found"],
            "another count was said to have risen": result["false"],
        }
        for result in results
    ]
    return pd.DataFrame(rows).set_index("HEAD")


def table() -> tuple[pd.DataFrame, str]:
    """Return the table of what was kept last, and the sentence below it."""
    kept = keeping.read(FILE)
    return summary(kept["results"]), keeping.basis(kept)


def main() -> None:
    """Compare all states; print the table."""
    with surroundings.own_systems(), surroundings.temporary_runs():
        results = [result for name in TRIES for result in compared(name)]
    if "--write" in sys.argv:
        keeping.write(FILE, indent=1, results=results)
    print(summary(results).to_string())


if __name__ == "__main__":
    main()
