"""The placements of each system and transport: the fastest and the slowest, and one CPU compared with the others."""

from collections.abc import Iterator

import pandas as pd

from bench.analysis.turns import interference
from bench.experiments.case_ratios import P50, Ratio, ratio
from bench.experiments.claims import above
from bench.run.frames import Run, number_of

CPU = "cpu_us_per_call"


def ratios(run: Run) -> list[Ratio]:
    """Return the median RTT with the slowest placement over that with the fastest, by system and transport."""
    return [ratio(run, number_of(rows[P50].idxmin()), number_of(rows[P50].idxmax()), P50) for _, rows in _groups(run)]


def _groups(run: Run) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the cases of each system and transport with several placements, by "system over transport"."""
    for (system, transport), rows in run.cases.dropna(subset=P50).groupby(["system", "transport"], sort=False):
        if len(rows) > 1:
            yield f"{system} over {transport}", rows


def one_cpu_is_fastest(run: Run) -> dict[str, bool | None]:
    """Return by system and transport whether every other placement is slower than `same`; None: not distinguishable."""
    return _all_above_same(run, P50)


def one_cpu_is_cheapest(run: Run) -> dict[str, bool | None]:
    """Return by system and transport whether every other placement costs more CPU time per call than `same`."""
    return _all_above_same(run, CPU)


def _all_above_same(run: Run, name: str) -> dict[str, bool | None]:
    found: dict[str, bool | None] = {}
    for label, rows in _groups(run):
        same = [number_of(case) for case in rows.index[rows["placement"] == "same"]]
        others = [number_of(case) for case in rows.index[rows["placement"] != "same"]]
        if same and others:
            more = [above(ratio(run, same[0], case, name)) for case in others]
            found[label] = False if False in more else None if None in more else True
    return found


def free_in_turns(run: Run) -> dict[int, float]:
    """Return for each case of `free` its median RTT in slices over that alone, where blocks enough have both."""
    found = interference(run) if len(run.stored_slices) else {}
    return {case: of.middle for case, of in found.items() if run.case(case).placement == "free" and of.has_ends}
