"""Words that conclusions share."""

import pandas as pd

from bench.analysis.resources import full, resources
from bench.run.frames import Run, column
from bench.text import duration, listed

P50 = column(0.5)


def with_range(row: "pd.Series[float]", name: str) -> str:
    """Return a median with the range of its starts."""
    low, high = duration(row[f"{name}_low"]), duration(row[f"{name}_high"])
    return f"{duration(row[name])} (starts from {low} to {high})"


def clients_of(row: "pd.Series[float]") -> str:
    """Return "1 client" or "4 clients"."""
    return f"{row['clients']:.0f} client{'s' if row['clients'] > 1 else ''}"


def why_not_more(run: Run, case: int) -> str:
    """Return what kept a case from going faster, by how busy the CPUs were that its roles had."""
    found = resources(run, case)
    loads = listed(f"{one.name} {one.busy:.0%} busy" for one in found)
    if run.cases.loc[case, "server_cpu_us_per_call"] != run.cases.loc[case, "server_cpu_us_per_call"]:
        return f"There, {loads}; the server's load is not known, so neither is the limit."
    if busy := full(found):
        names = listed(one.name for one in busy)
        return f"There the limit is {names} ({loads}): more clients cannot help, cheaper calls can."
    return f"There no CPU is full ({loads}): calls wait for each other and for wake-ups, not for computing."
