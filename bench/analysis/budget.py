"""A time budget: how many starts of each case and how long their windows, chosen by the variance components.

Source: Kalibera & Jones 2013; see ``bench.stats.variance``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bench import stats
from bench.analysis.checks import whole
from bench.analysis.comparison import MARGIN, Comparison
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.plan import Plan
from bench.run import stored
from bench.run.frames import Run
from bench.stats import Array, variance
from bench.text import listed
from bench.validation.estimate import described, expected_s

PART_S = 0.05  # a window is divided into parts of this length
PILOT_STARTS = 4
PILOT_WINDOW_S = 0.4
LEAST_WINDOW_S = 0.1
MOST_WINDOW_S = 60.0
MOST_BUDGET_S = 3600.0  # a longer one is not proposed


@dataclass(frozen=True)
class Spread:
    """The variance components of a case's ln(median): between parts of a window, and between starts."""

    label: str
    parts: variance.Level
    starts: variance.Level

    def of_starts(self, parts: float) -> float:
        """Return the standard deviation of ln(start median) if a window has that many parts."""
        return math.sqrt(self.starts.variance + self.parts.variance / max(1.0, parts))


def spend(plan: Plan, budget_s: object, measure: Callable[[Plan], Run], say: Callable[[str], None] = print) -> Plan:
    """Return the plan whose starts and windows use a budget best; report why, and the detectable effect.

    The variance is taken from the latest run of the same cases with at least four starts of each, else from a pilot,
    which is part of the budget.
    UsageError if six starts of each case do not fit.
    """
    left = total = parameters.positive(budget_s, "budget_s", 86_400, whole=False)
    pilot = replace(plan, starts=PILOT_STARTS, window_s=PILOT_WINDOW_S, profile="pilot")
    known = _latest(plan)
    if known is None:
        left -= expected_s(pilot)
    _refuse_what_does_not_fit(plan, left, total)
    if known is None:
        say(f"Pilot, to estimate the variance: {described(pilot)}")
        known = measure(pilot)
    found = [spread(known, case) for case in whole(known)]
    window_s, starts = _best(plan, left, found)
    chosen = replace(plan, starts=starts, window_s=window_s, profile=f"budget {total:g} s")
    say(_why(chosen, found, known.id))
    return chosen


def begun(plan: Plan, budget_s: object) -> Plan | None:
    """Return the plan of the latest run of these cases with this budget, to be resumed, or None."""
    total = parameters.positive(budget_s, "budget_s", 86_400, whole=False)
    plans = (folder.plan() for folder in reversed(stored.all_runs()))
    same = (one for one in plans if one.cases == plan.cases and one.profile == f"budget {total:g} s")
    return next(same, None)


def _latest(plan: Plan) -> Run | None:
    """Return the latest run of the same cases with enough starts for variance components, or None."""
    for folder in reversed(stored.all_runs()):
        if folder.plan().cases == plan.cases and len(folder.done()) >= PILOT_STARTS * len(plan.cases):
            return Run(folder)
    return None


def spread(run: Run, case: int) -> Spread:
    """Return the variance components of a case, from the medians of the parts of its windows."""
    rows = run.samples_of(case, warm=True, headline=True)
    parts = [_parts(calls["t_send_ns"].to_numpy(), calls["rtt_ns"].to_numpy()) for _, calls in rows.groupby("start")]
    inner, outer = variance.nested([part for part in parts if len(part) > 1] or [np.zeros(2)] * 2)
    return Spread(run.labels[case], inner, outer)


def _parts(send_ns: Array, rtt_ns: Array) -> Array:
    """Return ln(median) of each whole part of a window."""
    number = ((send_ns - send_ns[0]) / (PART_S * 1e9)).astype(int)
    return np.array([np.log(np.median(rtt_ns[number == part])) for part in range(number[-1]) if (number == part).any()])


def _overhead_s(plan: Plan) -> float:
    """Return the time in s that one start of every case takes in addition to the windows."""
    return expected_s(replace(plan, starts=1, window_s=0.0))


def _windows(plan: Plan) -> int:
    return sum(not case.is_short for case in plan.cases) or 1


def _refuse_what_does_not_fit(plan: Plan, left: float, total: float) -> None:
    needed = stats.LEAST_STARTS * (_overhead_s(plan) + LEAST_WINDOW_S * _windows(plan))
    if left < needed:
        raise UsageError(
            f"budget_s {total:g} is too short: {stats.LEAST_STARTS} starts of each of {len(plan.cases)} cases take "
            f"at least {math.ceil(needed + total - left)} s; give that, or fewer cases"
        )


def _best(plan: Plan, left: float, found: list[Spread]) -> tuple[float, int]:
    """Return the window in s and the number of starts that use a budget best."""
    each_s, windows = _overhead_s(plan), _windows(plan)
    repeats = [variance.best_repeats(one.parts, one.starts, PART_S, each_s / windows) for one in found]
    window_s = float(np.median(repeats)) * PART_S + 0.2 if repeats else 1.0
    fits_s = (left / stats.LEAST_STARTS - each_s) / windows  # the longest window of which six starts fit
    window_s = max(LEAST_WINDOW_S, min(window_s, fits_s, MOST_WINDOW_S))
    starts = int(left / (each_s + windows * window_s))
    return round(window_s, 2), max(stats.LEAST_STARTS, min(1000, starts))


def _why(plan: Plan, found: list[Spread], run: str) -> str:
    """Return a sentence: the share of the starts in the variance, the choice, and the detectable effect."""
    if not found:
        return f"{plan.starts} starts x {plan.window_s:g} s"
    parts = 0.8 * plan.window_s / PART_S
    effects = {one.label: variance.detectable(math.sqrt(2) * one.of_starts(parts), plan.starts) for one in found}
    coarse = max(effects, key=lambda label: effects[label])
    share = float(np.median([one.starts.share for one in found]))
    return (
        f"Starts explain {share:.0%} of the variance between parts of a window (run {run}): {plan.starts} starts of "
        f"each case x {plan.window_s:g} s. Detectable differences: from {min(effects.values()):.1%}; if {coarse} is "
        f"one of the two cases, from {effects[coarse]:.1%}"
    )


def resolution(run: Run, found: list[Comparison], margin: float = MARGIN) -> str:
    """Return which differences some comparisons can detect, and the ``budget_s`` that would detect the margin.

    The detectable effect is that of a t interval with the spread of the ratios (by block where they are paired) and the
    number of starts. The budget is the time of the run's plan with as many starts as the margin needs.
    """
    if not found:
        return "No quantity is compared."
    by_quantity: dict[str, list[float]] = {}
    for one in found:
        by_quantity.setdefault(one.quantity, []).append(one.detectable)
    effects = {quantity: max(values) for quantity, values in by_quantity.items()}
    each = listed(f"{_share(effect)} in {quantity}" for quantity, effect in effects.items())
    first = f"With {run.plan.starts} starts of each case the smallest detectable differences are {each}"
    first += "; smaller ones stay inconclusive." if max(effects.values()) > margin else "."
    wanted = next((quantity for quantity, effect in effects.items() if effect > margin), None)
    if wanted is None:
        return first
    needed = max(one.starts_for_margin for one in found if one.quantity == wanted)
    return f"{first} {_next_step(run.plan, needed, wanted, margin)}"


def _share(effect: float) -> str:
    return f"{effect:.1%}" if math.isfinite(effect) else "none (one start shows no spread)"


def _next_step(plan: Plan, starts: int, quantity: str, margin: float) -> str:
    """Return which ``budget_s`` makes a difference of the margin detectable, or that it would take too long."""
    seconds = math.ceil(expected_s(replace(plan, starts=starts)) / 10) * 10
    if not any(case.load == "closed" for case in plan.cases) or seconds > MOST_BUDGET_S:
        return (
            f"To detect {margin:.0%} in {quantity}, about {starts:,} starts of each case are needed, "
            f"{seconds / 60:,.0f} minutes: use a quieter machine or another placement first."
        )
    return f"To detect {margin:.0%} in {quantity}, measure with -p budget_s {seconds} (about {starts} starts of each)."
