"""Cases by workers and size, the CPUs that all share, and who made the calls."""

import pandas as pd

from bench.run.frames import Run, once


@once
def served(run: Run) -> pd.DataFrame:
    """Return the cases with a server: with ``resource`` and ``workers``."""
    rows = run.cases[run.cases["system"] != "loopback"].copy()
    options = [run.case(case).options for case in rows.index]
    rows["resource"], rows["workers"] = [o["resource"] for o in options], [o["workers"] for o in options]
    return rows


@once
def of_bytes(run: Run) -> pd.DataFrame:
    """Return the cases that ask for bytes, by size and workers."""
    rows = served(run)
    return rows[rows["resource"] == "bytes"].sort_values(["payload_bytes", "workers"])


def cpus(run: Run) -> int:
    """Return how many CPUs there were."""
    return int(run.manifest["machine"]["cpus_allowed"])


def engine(run: Run) -> str:
    """Return who made the requests, and over how many connections."""
    of = run.case(of_bytes(run).index[0])
    return f"{of.engine}, {of.callers * of.clients} connections"
