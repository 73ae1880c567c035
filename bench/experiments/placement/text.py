"""Sentences of placement.ipynb: how much the placement changes a round trip, and which one repeats best."""

from bench.experiments.case_ratios import Ratio
from bench.experiments.placement.findings import ratios
from bench.experiments.sentences import P50
from bench.plan import placement
from bench.run.frames import Run
from bench.text import duration


def _equal(ratio: Ratio) -> str:
    return "" if ratio.is_certain else ", not distinguishable"


def conclusion(run: Run) -> str:
    """Return the fastest and the slowest placement of each system and transport, and the spread of each placement."""
    cases = run.cases.dropna(subset=P50)
    lines = []
    for ratio in ratios(run):
        fast, slow = cases.loc[ratio.base], cases.loc[ratio.other]
        ends = [run.over_starts(case, P50).words(duration) for case in (ratio.base, ratio.other)]
        lines.append(
            f"- **{fast['system']} over {fast['transport']}**: the median RTT is {ends[0]} with placement "
            f"`{fast['placement']}` and {ends[1]} with `{slow['placement']}`: {ratio}{_equal(ratio)}."
        )
    spread = (cases[f"{P50}_high"] / cases[f"{P50}_low"]).groupby(cases["placement"]).median()
    ranks = "; ".join(f"`{name}` {spread[name]:.2f}" for name in spread.sort_values().index)
    return "\n".join(
        [
            *lines,
            "",
            f"Spread between starts (slowest over fastest start median, median over the cases): {ranks}. Default "
            f"placements: `{placement.default()}` for one caller, `{placement.default(True)}` for parallel clients.",
        ]
    )
