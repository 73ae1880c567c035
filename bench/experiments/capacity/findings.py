"""A stored search: the objective, every probe, and the final bracket."""

from typing import Any

import pandas as pd

from bench.run.frames import Run, once


def searched(run: Run) -> dict[str, Any]:
    """Return what the search found, as the manifest keeps it."""
    search: dict[str, Any] = run.manifest["capacity"]
    return search


@once
def probes(run: Run) -> pd.DataFrame:
    """Return one row for each probe, in order: rate, quantile_us (NaN if not known), achieved, server_cpu_us, met."""
    frame = pd.DataFrame(searched(run)["probes"]).rename(columns={"kept": "met"})
    return frame.astype({"rate": float, "quantile_us": float, "achieved": float, "server_cpu_us": float, "met": bool})


def bracket(run: Run) -> tuple[float, float]:
    """Return the highest rate that met the objective and the lowest that violated it, per second; 0 if none met it."""
    return float(searched(run)["low_per_s"]), float(searched(run)["high_per_s"])


def case_at(run: Run, rate: float) -> int | None:
    """Return the case of a rate, or None if it was not measured."""
    return run.first(offered_per_s=rate)
