"""The placements of each system and transport, the fastest compared with the slowest."""

from bench.experiments.case_ratios import P50, Ratio, ratio
from bench.run.frames import Run, number_of


def ratios(run: Run) -> list[Ratio]:
    """Return the median RTT with the slowest placement over that with the fastest, by system and transport."""
    cases = run.cases.dropna(subset=P50)
    groups = [rows for _, rows in cases.groupby(["system", "transport"], sort=False) if len(rows) > 1]
    return [ratio(run, number_of(rows[P50].idxmin()), number_of(rows[P50].idxmax()), P50) for rows in groups]
