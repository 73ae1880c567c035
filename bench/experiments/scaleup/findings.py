"""Cases by workers and size, the gain of more workers, the number of CPUs, and the load generator."""

import pandas as pd

from bench.experiments.claims import above
from bench.grammar.contrast import RATE, Ratio, ratio
from bench.run.frames import Run, numbered, once


@once
def served(run: Run) -> pd.DataFrame:
    """Return the cases with a server: with ``resource`` and ``workers``."""
    rows = run.cases[run.cases["system"] != "loopback"].copy()
    options = [run.case(case).options for case in rows.index]
    rows["resource"], rows["workers"] = (
        [chosen["resource"] for chosen in options],
        [chosen["workers"] for chosen in options],
    )
    return rows


@once
def of_bytes(run: Run) -> pd.DataFrame:
    """Return the cases that ask for bytes, by size and workers."""
    rows = served(run)
    return rows[rows["resource"] == "bytes"].sort_values(["payload_bytes", "workers"])


def sizes(run: Run) -> list[tuple[int, pd.DataFrame]]:
    """Return the cases that ask for bytes by size, the fewest workers first."""
    return [(int(rows["payload_bytes"].iloc[0]), rows) for _, rows in of_bytes(run).groupby("payload_bytes")]


def gain(run: Run, rows: pd.DataFrame, workers: int) -> Ratio | None:
    """Return the requests per second of some workers over those of one; None for one worker or if not measured."""
    cases = {int(row["workers"]): case for case, row in numbered(rows)}
    return ratio(run, cases[1], cases[workers], RATE) if workers > 1 and {1, workers} <= cases.keys() else None


def best(rows: pd.DataFrame) -> int:
    """Return the number of workers with the highest median rate, of the cases of one size."""
    return int(rows.loc[rows[RATE].idxmax(), "workers"])


def is_below_twice(run: Run) -> dict[str, bool | None]:
    """Return by size whether two workers serve fewer than twice the requests of one; None: not distinguishable."""
    found = {f"{size:,} B": gain(run, rows, 2) for size, rows in sizes(run)}
    below = {size: above(of, 2) for size, of in found.items() if of}
    return {size: None if more is None else not more for size, more in below.items()}


def ratios(run: Run) -> list[Ratio]:
    """Return the gain of two workers and of the best number, by size."""
    wanted = [(rows, workers) for _, rows in sizes(run) for workers in dict.fromkeys((2, best(rows)))]
    return [of for rows, workers in wanted if (of := gain(run, rows, workers))]


def cpus(run: Run) -> int:
    """Return how many CPUs the workers could use: of the server's host, and else of this machine."""
    return int(run.machine_of(server_host(run))["cpus_allowed"])


def server_host(run: Run) -> str:
    """Return the host on which the server ran, or "" for a run of one machine."""
    servers = [host for host, role in zip(run.hosts["host"], run.hosts["role"], strict=True) if role == "server"]
    return str(servers[0]) if servers else ""


def engine(run: Run) -> str:
    """Return the load generator and its number of connections, in words."""
    of = run.case(of_bytes(run).index[0])
    return f"{of.engine}, {of.callers * of.clients} connections"
