"""Sentences of placement.ipynb: how much the placement changes a round trip, and which one repeats best."""

from bench.experiments.claims import judged, with_verdict
from bench.experiments.placement.findings import free_in_turns, one_cpu_is_cheapest, one_cpu_is_fastest, ratios
from bench.experiments.sentences import P50
from bench.plan import placement
from bench.run.frames import Run
from bench.text import duration, listed


def conclusion(run: Run) -> str:
    """Return the fastest and the slowest placement of each system and transport, and the spread of each placement."""
    cases = run.cases.dropna(subset=P50)
    lines = []
    for ratio in ratios(run):
        fast, slow = cases.loc[ratio.base], cases.loc[ratio.other]
        ends = [run.over_starts(case, P50).words(duration) for case in (ratio.base, ratio.other)]
        lines.append(
            f"- **{fast['system']} over {fast['transport']}**: the median RTT is {ends[0]} with placement "
            f"`{fast['placement']}` and {ends[1]} with `{slow['placement']}`: {ratio}{ratio.doubt}."
        )
    spread = (cases[f"{P50}_high"] / cases[f"{P50}_low"]).groupby(cases["placement"]).median()
    ranks = ", ".join(f"`{name}` {spread[name]:.2f}" for name in spread.sort_values().index)
    return with_verdict(
        judged("with one caller the median RTT is shortest on one CPU (`same`)", one_cpu_is_fastest(run)),
        "\n".join(lines),
        _free(run),
        f"Slowest start median divided by the fastest, median over the cases: {ranks}. Default placements: "
        f"`{placement.default()}` for one caller, `{placement.default(True)}` for parallel clients.",
    )


def _free(run: Run) -> str:
    """Return how far taking turns changed the placement that the kernel chooses."""
    found = free_in_turns(run)
    if not found:
        return ""
    low, high = (choose(found, key=lambda case: found[case]) for choose in (min, max))
    ends = listed(f"{found[case]:.2f} ({run.labels[case]})" for case in dict.fromkeys((low, high)))
    return (
        f"With `free` the median RTT in slices divided by that of the same case alone is between {ends}. Far from 1, "
        "the `free` of this run is that of processes that take turns, not of one that runs alone."
    )


def cpu(run: Run) -> str:
    """Return whether a call costs more CPU time on other placements than on one CPU."""
    return judged("a call costs more CPU time with `split` and `free` than with `same`", one_cpu_is_cheapest(run))
