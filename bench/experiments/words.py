"""Sentences computed from a run: what its figure says, and what it does not carry; and the words that they share."""

import pandas as pd

from bench import stats
from bench.analysis import card, checks
from bench.analysis.resources import full, resources
from bench.experiments.registry import text_of
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


def conclusion(run: Run) -> str:
    """Return the notebook's conclusion as Markdown; none from an invalid or too small run."""
    return text(run, "conclusion")


def text(run: Run, what: str) -> str:
    """Return one of the notebook's texts; what is concluded needs a run that can carry it."""
    invalid = [one for one in checks.check(run) if one.verdict == card.INVALID]
    if invalid:
        return f"**No conclusion.** {invalid[0].found}: {invalid[0].advice}."
    written = text_of(run.plan.notebook)
    fewest = getattr(written, "evidence", _fewest)(run)
    if fewest < stats.LEAST_STARTS:
        return f"**No conclusion** from {fewest} starts; {stats.LEAST_STARTS} are needed (profile `class`)."
    return str(getattr(written, what)(run))


def _fewest(run: Run) -> int:
    """Return how many starts each case has at least; a notebook that rests on others defines ``evidence``."""
    return int(run.cases["starts"].min())
