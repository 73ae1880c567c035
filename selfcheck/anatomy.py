"""Whether the breakdown of a call finds what was added to it: ``python -m selfcheck.anatomy [--write]``.

Raw sockets and the same with one thing more take turns, both traced. What is added is known; it has to appear in its
own row and in no other. ``--write`` keeps what was found in docs/anatomy.json, from which docs/trust.md is written. It
needs the right to trace, and a quiet machine.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.analysis import anatomy
from bench.analysis.anatomy import ROWS, Row, row_words
from bench.analysis.call_path import KERNEL, OTHER, OUTSIDE, USER
from bench.measurement import runner
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run.frames import Run
from bench.text import duration
from selfcheck import keeping, surroundings

FILE = "docs/anatomy.json"
BLOCKS = 12
ADDED_US = 50


class Added(NamedTuple):
    """What is added to each call, and where it has to appear.

    us: how long it is; None where nobody knows. called: which role makes which system call once more. has_neighbour: a
    busy process shares the CPU of the server.
    """

    words: str
    options: dict[str, Any]
    row: Row
    us: float | None = None
    placement: str = "same"
    called: tuple[str, str] | None = None
    has_neighbour: bool = False


ALL = (
    Added("a loop of 50 µs in the server", {"server_us": ADDED_US}, ("server", USER), ADDED_US),
    Added("the same, on two CPUs", {"server_us": ADDED_US}, ("server", USER), ADDED_US, "split"),
    Added("a loop of 50 µs in the client", {"client_us": ADDED_US}, ("client", USER), ADDED_US),
    Added("a pause of 50 µs in the server", {"sleep_us": ADDED_US}, ("", OUTSIDE)),
    Added("a write to /dev/null in the client", {"client_writes": 1}, ("client", KERNEL), called=("client", "write")),
    Added(
        "another thread of the server, on two CPUs",
        {"has_second_thread": True},
        ("server", KERNEL),
        None,
        "split",
        ("server", "futex"),
    ),
    Added("a busy process on the server's CPU", {}, ("", OTHER), None, "split", has_neighbour=True),
)


def measured(options: dict[str, Any], placement: str) -> Run:
    """Return a run of raw sockets, and of the same with some options, in turns, both traced."""
    both = tuple(Case("altered", "tcp", 100, case_options, placement, traced=True) for case_options in ({}, options))
    return Run(runner.run(Plan("anatomy", both, BLOCKS, 0.08, 1, "class", slice_s=0.02)))


def more_us(run: Run, plain: Run) -> dict[Row, float]:
    """Return by how much each row of a run's second case is longer than of the first one of ``plain``, in us."""
    pairs = {row: (anatomy.typical_us(plain, 0, row), anatomy.typical_us(run, 1, row)) for row in ROWS}
    return {row: float(np.median(after.to_numpy() - before.to_numpy())) for row, (before, after) in pairs.items()}


def appearance(added: Added) -> dict[str, Any]:
    """Measure one thing that is added; return in which rows it appeared, in us, and how often ``count`` was called."""
    plain = run = measured(added.options, added.placement)
    if added.has_neighbour:
        cpu = int(str(plain.ledger["server_cpus"].iloc[0]).split(",")[0])
        with surroundings.busy(cpu=cpu):
            run = measured(added.options, added.placement)
    more = more_us(run, plain)
    counts = [
        {(count.role, count.what): count.mean for count in anatomy.counts(of_run, case)}
        for of_run, case in ((plain, 0), (run, 1))
    ]
    return {
        "added": added.words,
        "more": {row_words(row): us for row, us in more.items() if us},
        "row": row_words(added.row),
        "us": added.us,
        "count": added.called and [added.called[1], *(means.get(added.called, 0.0) for means in counts)],
        "explained": min(anatomy.explained_share(of_run, case) for of_run in (plain, run) for case in (0, 1)),
    }


def summary(results: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a row for each thing that was added: how long its row became, what else changed most, what was called."""
    rows = []
    for result in results:
        more = dict(result["more"])
        own = more.pop(result["row"], 0.0)
        other = max(more, key=lambda row: abs(more[row]))
        what, before, after = result["count"] or ("", 0.0, 0.0)
        rows.append(
            {
                "added to each call": result["added"],
                "its row": result["row"],
                "added": duration(result["us"]) if result["us"] else "not known",
                "found in its row": duration(own),
                "largest change of another row": f"{other}: {more[other]:+.1f} µs",
                "system calls per call": f"{what}: {before:.2f} to {after:.2f}" if what else "",
                "calls explained": f"{100 * result['explained']:.1f} %",
            }
        )
    return pd.DataFrame(rows).set_index("added to each call")


def table() -> tuple[pd.DataFrame, str]:
    """Return the table of what was kept last, and the sentence below it."""
    kept = keeping.read(FILE)
    return summary(kept["found"]), keeping.basis(kept)


def main() -> None:
    """Measure all that is added; print the table."""
    with surroundings.own_systems(), surroundings.temporary_runs():
        results = [appearance(added) for added in ALL]
    if "--write" in sys.argv:
        keeping.write(FILE, indent=1, found=results)
    print(summary(results).to_string())


if __name__ == "__main__":
    main()
