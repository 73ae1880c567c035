"""A time budget: how many starts of each case and how long their windows, chosen by the variance components.

Source: Kalibera & Jones 2013; see ``bench.stats.variance``.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bench import stats
from bench.analysis.checks import windowed_cases
from bench.analysis.comparison import MARGIN, Comparison
from bench.errors import UsageError
from bench.measurement.validation.estimate import described, expected_s
from bench.plan import parameters
from bench.plan.plan import Plan
from bench.run import stored
from bench.run.frames import Run
from bench.stats import Array, power, variance
from bench.stats.variance import Components
from bench.text import listed

PART_S = 0.05  # a window is divided into parts of this length
PILOT_STARTS = 4
PILOT_WINDOW_S = 0.4
LEAST_WINDOW_S = 0.1
MOST_WINDOW_S = 60.0
MOST_BLOCKS = 5000
MOST_BUDGET_S = 3600.0  # a longer one is not proposed


def spend(plan: Plan, budget_s: object, measure: Callable[[Plan], Run], say: Callable[[str], None] = print) -> Plan:
    """Return the plan whose starts and windows use a budget best; report why, and the detectable effect.

    The variance is taken from the latest run of the same cases with at least four starts of each, else from a pilot,
    which is part of the budget.
    UsageError if six starts of each case do not fit.
    """
    left = total = parameters.positive(budget_s, "budget_s", 86_400, whole=False)
    if plan.slice_s:
        return _blocks(plan, total, say)
    pilot = replace(plan, starts=PILOT_STARTS, window_s=PILOT_WINDOW_S, profile="pilot")
    earlier = _latest(plan)
    if earlier is None:
        left -= expected_s(pilot)
    _refuse_what_does_not_fit(plan, left, total)
    if earlier is None:
        say(f"Pilot, to estimate the variance: {described(pilot)}")
        earlier = measure(pilot)
    by_label = {earlier.labels[case]: components(earlier, case) for case in windowed_cases(earlier)}
    window_s, starts = _best(plan, left, list(by_label.values()))
    chosen = replace(plan, starts=starts, window_s=window_s, profile=f"budget {total:g} s")
    say(_why(chosen, by_label, earlier.id))
    return chosen


def _blocks(plan: Plan, total: float, say: Callable[[str], None]) -> Plan:
    """Return the plan in slices with as many blocks as the budget allows: these average out more than longer ones."""
    block_s = expected_s(replace(plan, starts=1))
    if total < stats.LEAST_STARTS * block_s:
        raise UsageError(
            f"budget_s {total:g} is too short: {stats.LEAST_STARTS} blocks of {len(plan.cases)} cases take at least "
            f"{math.ceil(stats.LEAST_STARTS * block_s)} s; give that, or fewer cases"
        )
    chosen = replace(plan, starts=min(MOST_BLOCKS, int(total / block_s)), profile=f"budget {total:g} s")
    say(f"{chosen.starts} blocks of about {block_s:.1f} s: more blocks narrow an interval, longer ones do not")
    return chosen


def begun(plan: Plan, budget_s: object) -> Plan | None:
    """Return the plan of the latest run of these cases with this budget, to be resumed, or None."""
    total = parameters.positive(budget_s, "budget_s", 86_400, whole=False)
    plans = (folder.plan() for folder in reversed(stored.all_runs()))
    profile = f"budget {total:g} s"
    return next((begun for begun in plans if begun.cases == plan.cases and begun.profile == profile), None)


def _latest(plan: Plan) -> Run | None:
    """Return the latest run of the same cases with enough starts for variance components, or None."""
    for folder in reversed(stored.all_runs()):
        if folder.plan().cases == plan.cases and len(folder.done()) >= PILOT_STARTS * len(plan.cases):
            return Run(folder)
    return None


def components(run: Run, case: int) -> Components:
    """Return the variance components of a case's ln(median), from the medians of the parts of its windows."""
    starts = run.calls_of(case, warm=True, headline=True)
    parts = [_parts(calls.t_send_ns, calls.rtt_ns) for _, calls in starts]
    return variance.nested([medians for medians in parts if len(medians) > 1] or [np.zeros(2)] * 2)


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


def _best(plan: Plan, left: float, cases: list[Components]) -> tuple[float, int]:
    """Return the window in s and the number of starts that use a budget best."""
    overhead_s, windows = _overhead_s(plan), _windows(plan)
    parts = [variance.best_parts(of, PART_S, overhead_s / windows) for of in cases]
    window_s = float(np.median(parts)) * PART_S + 0.2 if parts else 1.0
    fits_s = (left / stats.LEAST_STARTS - overhead_s) / windows  # the longest window of which six starts fit
    window_s = max(LEAST_WINDOW_S, min(window_s, fits_s, MOST_WINDOW_S))
    starts = int(left / (overhead_s + windows * window_s))
    return round(window_s, 2), max(stats.LEAST_STARTS, min(1000, starts))


def _why(plan: Plan, by_label: dict[str, Components], run: str) -> str:
    """Return a sentence: the share of the starts in the variance, the choice, and the detectable effect."""
    if not by_label:
        return f"{plan.starts} starts x {plan.window_s:g} s"
    parts = max(1.0, 0.8 * plan.window_s / PART_S)
    effects = {
        label: power.detectable(math.sqrt(2 * (of.starts + of.parts / parts)), plan.starts)
        for label, of in by_label.items()
    }
    coarse = max(effects, key=lambda label: effects[label])
    share = float(np.median([of.share for of in by_label.values()]))
    return (
        f"Starts explain {share:.0%} of the variance between parts of a window (run {run}): {plan.starts} starts of "
        f"each case x {plan.window_s:g} s. Detectable differences: from {min(effects.values()):.1%}; if {coarse} is "
        f"one of the two cases, from {effects[coarse]:.1%}"
    )


def resolution(run: Run, compared: list[Comparison], margin: float = MARGIN) -> str:
    """Return which differences some comparisons can detect, and the ``budget_s`` that would detect the margin.

    The detectable effect is that of a t interval with the spread of the ratios (by block where they are paired) and the
    number of starts. The budget is the time of the run's plan with as many starts as the margin needs.
    """
    if not compared:
        return "No quantity is compared."
    coarsest: dict[str, Comparison] = {}
    for comparison in sorted(compared, key=lambda comparison: comparison.detectable):
        coarsest[comparison.quantity] = comparison
    in_order = [coarsest[quantity] for quantity in dict.fromkeys(comparison.quantity for comparison in compared)]
    effects = listed(f"{_share(comparison.detectable)} in {comparison.quantity}" for comparison in in_order)
    first = f"With {run.plan.starts} starts of each case the smallest detectable differences are {effects}"
    wanted = next((comparison.quantity for comparison in in_order if comparison.detectable > margin), None)
    if wanted is None:
        return f"{first}."
    starts = max(comparison.starts_for_margin for comparison in compared if comparison.quantity == wanted)
    smaller = "Smaller ones are found in fewer than four of five tries."
    return f"{first}. {smaller} {_next_step(run.plan, starts, wanted, margin)}"


def _share(effect: float) -> str:
    return f"{effect:.1%}" if math.isfinite(effect) else "none (one start shows no spread)"


def _next_step(plan: Plan, starts: int, quantity: str, margin: float) -> str:
    """Return which ``budget_s`` makes a difference of the margin detectable, or that it would take too long."""
    aim = f"To detect {margin:.0%} in {quantity}"
    seconds = math.ceil(expected_s(replace(plan, starts=starts)) / 10) * 10
    if not any(case.load == "closed" for case in plan.cases) or seconds > MOST_BUDGET_S:
        return (
            f"{aim}, about {starts:,} starts of each case are needed, "
            f"{seconds / 60:,.0f} minutes: use a quieter machine or another placement first."
        )
    return f"{aim}, measure with -p budget_s {seconds} (about {starts} starts of each)."
