"""What the figure of machine noise says: three computed pieces of advice."""

import math

import numpy as np

from bench import stats
from bench.experiments.noise.findings import (
    STOLEN,
    TIMERS,
    WORDS,
    baseline,
    beside,
    differ_in_spread,
    hiccup_cases,
    overshoot,
    spread,
    timeline,
    timer_cases,
)
from bench.grammar.contrast import times
from bench.run.frames import Run
from bench.stats import Array, Spread, across_starts, variance
from bench.stats.intervals import Interval
from bench.text import duration
from bench.validation.profiles import PROFILES


def conclusion(run: Run) -> str:
    """Give three pieces of advice: on tails, on placement and starts, on comparing over time."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate((tails(run), starts(run), time(run)), 1))


def clock(run: Run) -> str:
    """Say what reading the clock costs, and how late timers are."""
    cost = run.manifest["machine"].get("clock_cost_ns")
    read = f"Reading the clock costs {cost:.0f} ns here. " if cost else ""
    late = {name: _late_median(run, case) for name, case in timer_cases(run).items()}
    timers = ", ".join(f"{late[name].values(duration)} ({words})" for name, words in TIMERS.items())
    return f"{read}A short wait ends late by a median of {timers}. A load generator that paces requests needs the last."


def _late_median(run: Run, case: int) -> Spread:
    """Return the median over the starts of the median lateness in us, as the figure's line."""
    return across_starts(
        [stats.quantile(late_us.to_numpy(), 0.5) for _, late_us in overshoot(run, case).groupby(level=0)]
    )


def _late(run: Run, case: int, p: float) -> float:
    return stats.quantile(overshoot(run, case).to_numpy(), p)


def tails(run: Run) -> str:
    """Say which tail latencies are caused by the machine and not by a server."""
    cases = hiccup_cases(run)
    waited = min(run.count(case) for case in cases.values())
    p = max((p for p in stats.QUANTILES if waited >= stats.needed_samples(p)), default=0.5)
    late = {name: _late(run, case, p) for name, case in cases.items()}
    worst = max(late, key=lambda name: late[name])
    beside = f" and by {duration(late[worst])} or more {WORDS[worst]}" if worst != "nobody" else ""
    return (
        f"**Tails:** one wait in {round(1 / (1 - p)):,} ends late by {duration(late['nobody'])} or more without other "
        f"load{beside}. Tail latencies that differ by less than that may be caused by this machine: keep CPUs free."
    )


def starts(run: Run) -> str:
    """Say which placement has the smallest spread over starts, and which differences it can detect."""
    spreads = {name: spread(run, case) for name, case in baseline(run).items()}
    best, worst = min(spreads, key=lambda name: spreads[name]), max(spreads, key=lambda name: spreads[name])
    usual, full = PROFILES["class"].starts, PROFILES["full"].starts
    detectable = [variance.detectable(math.sqrt(2) * spreads[best], count) for count in (usual, full)]
    return (
        f"**Starts:** placement {best} has the smallest spread over starts{_worse(run, best, worst)}. "
        f"With the smallest spread, {usual} starts detect a difference of {detectable[0]:.0%} and {full} starts one of "
        f"{detectable[1]:.0%}."
    )


def _worse(run: Run, best: str, worst: str) -> str:
    """Say how many more starts the placement with the largest spread needs, if the spreads are distinguishable."""
    cases = baseline(run)
    spreads = [spread(run, cases[name]) for name in (best, worst)]
    if best == worst or not spreads[0]:
        return ""
    if not differ_in_spread(run, cases[worst], cases[best]):
        return f", but it is not distinguishable from the largest, of placement {worst} (F test)"
    more = (spreads[1] / spreads[0]) ** 2
    return f". Placement {worst} needs {more:.0f} times as many starts for the same resolution"


def time(run: Run) -> str:
    """Say how far the baseline drifted during this run, and whether runs at different times can be compared."""
    rows = timeline(run)
    moved = _moved(np.log(rows["ratio"].to_numpy()))
    stolen = float((rows["stolen"] > STOLEN).mean())
    steal = f" Steal was above {STOLEN:.0%} of the CPUs in {stolen:.0%} of the starts." if stolen else ""
    return (
        f"**Time:** the baseline drifted by {moved:.1%} from the first to the last third of this run.{steal} A smaller "
        "difference between two runs may be drift, and a longer time between them may bring more. Compare cases within "
        "one run, block by block."
    )


def idle(run: Run) -> str:
    """Say whether waits end earlier beside a busy process, as they do where an idle CPU has to leave a sleep state."""
    lines = []
    for name in hiccup_cases(run):
        found = Interval(math.nan) if name == "nobody" else beside(run, name)
        if found.has_ends:
            verdict = "earlier" if found.high < 1 else "later"
            said = (
                f"the median wait ends {verdict}: its lateness"
                if found.excludes(1)
                else ("no distinguishable difference is shown: the lateness of the median wait")
            )
            lines.append(f"- {WORDS[name]} {said} is {times(found)} as large")
    return "\n".join(lines)


def _moved(logs: Array) -> float:
    """Return how far the last third of a series is from the first, as a share."""
    third = max(1, len(logs) // 3)
    return math.expm1(abs(float(np.median(logs[-third:]) - np.median(logs[:third]))))
