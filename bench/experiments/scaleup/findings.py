"""Cases by workers and size, the number of CPUs, and the load generator."""

import pandas as pd

from bench.run.frames import Run, once


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
