"""What the figure of the machine itself says: three sentences of advice, computed."""

import math

import numpy as np

from bench import stats
from bench.experiments.noise.findings import (
    STOLEN,
    TIMERS,
    WORDS,
    baseline,
    hiccup_cases,
    overshoot,
    spread,
    timeline,
    timer_cases,
)
from bench.plan.profiles import PROFILES
from bench.run.frames import Run
from bench.stats import Array, variance
from bench.text import duration


def conclusion(run: Run) -> str:
    """Give three sentences of advice: on tails, on placement and starts, on comparing over time."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate((tails(run), starts(run), time(run)), 1))


def clock(run: Run) -> str:
    """Say what reading the clock costs, and how late timers are."""
    cost = run.manifest["machine"].get("clock_cost_ns")
    read = f"Reading the clock costs {cost:.0f} ns here. " if cost else ""
    late = {name: _late(run, case, 0.5) for name, case in timer_cases(run).items()}
    timers = ", ".join(f"by {duration(late[name])} ({words})" for name, words in TIMERS.items())
    return f"{read}A short wait ends late in the middle {timers}: what paces requests has to spin at the end."


def _late(run: Run, case: int, p: float) -> float:
    return stats.quantile(overshoot(run, case).to_numpy(), p)


def tails(run: Run) -> str:
    """Say which times in a tail are the machine's and not a server's."""
    found = hiccup_cases(run)
    waited = min(run.count(case) for case in found.values())
    p = max((p for p in stats.QUANTILES if waited >= stats.needed_samples(p)), default=0.5)
    late = {name: _late(run, case, p) for name, case in found.items()}
    worst = max(late, key=lambda name: late[name])
    beside = f", {WORDS[worst]} by {duration(late[worst])}" if worst != "nobody" else ""
    return (
        f"**Tails:** one wait in {round(1 / (1 - p)):,} is late by {duration(late['nobody'])} or more with nobody else "
        f"at work{beside}: tails that differ by less are this machine's; keep CPUs free for what is measured."
    )


def starts(run: Run) -> str:
    """Say which placement repeats best, and what six and more starts can then tell apart."""
    spreads = {name: spread(run, case) for name, case in baseline(run).items()}
    best, worst = min(spreads, key=lambda name: spreads[name]), max(spreads, key=lambda name: spreads[name])
    usual, full = PROFILES["class"].starts, PROFILES["full"].starts
    detectable = [variance.detectable(math.sqrt(2) * spreads[best], n) for n in (usual, full)]
    worse = (
        f"; with {worst} the same takes {max(1.0, (spreads[worst] / spreads[best]) ** 2):.0f} times as many starts"
        if worst != best and spreads[best]
        else ""
    )
    return (
        f"**Starts:** use placement {best} where the question allows it: {usual} starts then tell a difference of "
        f"{detectable[0]:.0%}, {full} starts one of {detectable[1]:.0%}{worse}."
    )


def time(run: Run) -> str:
    """Say how far the baseline moved while this run lasted, and what that means for runs at different times."""
    rows = timeline(run)
    moved = _moved(np.log(rows["ratio"].to_numpy()))
    stolen = float((rows["stolen"] > STOLEN).mean())
    steal = f" and in {stolen:.0%} of its starts other guests took more than {STOLEN:.0%} of the CPUs" if stolen else ""
    advice = (
        "compare within one run, block by block" if moved > 0.05 or stolen > 0.1 else "runs of one day can be compared"
    )
    return f"**Time:** from the first third of this run to the last the baseline moved by {moved:.1%}{steal}: {advice}."


def _moved(logs: Array) -> float:
    """Return how far the last third of a series is from the first, as a share."""
    third = max(1, len(logs) // 3)
    return math.expm1(abs(float(np.median(logs[-third:]) - np.median(logs[:third]))))
