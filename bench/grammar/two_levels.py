"""A value of a case whose starts have two levels: what it is, and what its ratios are, at each."""

from collections.abc import Iterable

import numpy as np

from bench.analysis import checks
from bench.grammar.contrast import Ratio, log_ratios
from bench.run.frames import Run
from bench.stats.intervals import paired_shift
from bench.text import ratio_ends


def sentence(run: Run, case: int, ratios: Iterable[Ratio]) -> str:
    """Return what a case's value and some ratios are at each of its two levels; "" of one without two levels."""
    if case not in checks.divided(run):
        return ""
    two, text = checks.divided(run)[case], checks.level_text(run, case)
    sentences = [
        f"The starts of {run.labels[case]} have two levels, whose medians are {text(two.low)} and {text(two.high)}."
    ]
    for ratio in ratios:
        if case in (ratio.base, ratio.other):
            whole, lower, upper = ratio_ends(ratio.value, *at_both(run, ratio, case))
            divided = f"{run.labels[ratio.other]} divided by {run.labels[ratio.base]}"
            sentences.append(f"{divided}: {lower} at the lower level, {upper} at the upper level, {whole} in all.")
    return " ".join(sentences)


def at_both(run: Run, ratio: Ratio, case: int) -> tuple[float, float]:
    """Return a ratio in the blocks of the lower, and in those of the upper level of one of its cases."""
    logs, between = log_ratios(run, ratio), checks.divided(run)[case].between
    level = run.starts_of(case).set_index("block")[checks.level_of(run, case)].reindex(logs.index)
    lower, upper = (paired_shift(logs[blocks].to_numpy()).middle for blocks in (level < between, level > between))
    return float(np.exp(lower)), float(np.exp(upper))
