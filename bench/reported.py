"""What load generators reported, in the columns of what is measured here, and where there are no samples."""

import pandas as pd

from bench.child import generators
from bench.plan.plan import Plan

COLUMNS = {  # of a start, in us and per second: the name in the report
    "p50_rtt_us": "rtt_p50",
    "p90_rtt_us": "rtt_p90",
    "p99_rtt_us": "rtt_p99",
    "mean_rtt_us": "rtt_mean",
    "rate_per_s": "rate",
}


def fill(starts: pd.DataFrame, reports: pd.DataFrame) -> None:
    """Put what was reported into the starts that have no samples; what was not reported stays NaN."""
    told = reports.pivot(index="start", columns="name", values="value").reindex(starts.index)
    for column, name in COLUMNS.items():
        if name in told:
            starts[column] = starts[column].fillna(told[name])


def by(plan: Plan, case: int) -> str:
    """Return the generator that made a case's calls; empty where samples were taken here."""
    engine = plan.cases[case].engine
    return engine if engine in generators.NAMES else ""


def kinds(reports: pd.DataFrame, starts: "pd.Index[int]") -> str:
    """Return how many requests of some starts failed, by kind, as the reports tell: "status 12, read 3"."""
    mine = reports[reports["start"].isin(starts) & reports["name"].str.startswith("error_")]
    counts = mine.groupby("name", sort=False)["value"].sum()
    return ", ".join(f"{str(name).removeprefix('error_')} {count:,.0f}" for name, count in counts.items() if count)
