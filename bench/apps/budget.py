"""A time budget: as many starts as fit into it, and which budget would detect a difference."""

import math
from dataclasses import replace

from bench import stats
from bench.analysis.comparison import MARGIN, Comparison
from bench.errors import UsageError
from bench.measurement.validation.plan_time import expected_s
from bench.plan import parameters
from bench.plan.plan import Plan
from bench.run.frames import Run
from bench.text import counted, listed

MOST_STARTS = 5000
MOST_BUDGET_S = 3600.0  # a longer one is not proposed


def spend(plan: Plan, budget_s: object) -> Plan:
    """Return the plan with as many starts of each case as fit into a budget; UsageError where fewer than six do."""
    total = parameters.positive(budget_s, "budget_s", 86_400, whole=False)
    once_s = expected_s(replace(plan, starts=0))  # routers
    start_s = expected_s(replace(plan, starts=1)) - once_s
    starts = int((total - once_s) / start_s)
    if starts < stats.LEAST_STARTS:
        needed = math.ceil(once_s + stats.LEAST_STARTS * start_s)
        raise UsageError(
            f"budget_s {total:g} is too short: {stats.LEAST_STARTS} starts of each of {len(plan.cases)} cases take "
            f"about {needed} s; give that, fewer cases, or shorter windows (window_s)"
        )
    return replace(plan, starts=min(MOST_STARTS, starts), profile=f"budget {total:g} s")


def resolution(run: Run, compared: list[Comparison], margin: float = MARGIN) -> str:
    """Return which differences some comparisons can detect, and how many starts would detect the margin.

    The detectable effect is that of a t interval with the spread of the ratios (by block where they are paired) and the
    number of starts.
    """
    if not compared:
        return "No quantity is compared."
    coarsest: dict[str, Comparison] = {}
    for comparison in sorted(compared, key=lambda comparison: comparison.detectable):
        coarsest[comparison.quantity] = comparison
    in_order = [coarsest[quantity] for quantity in dict.fromkeys(comparison.quantity for comparison in compared)]
    effects = listed(f"{_share(comparison.detectable)} in {comparison.quantity}" for comparison in in_order)
    fewest = min(comparison.starts for comparison in compared)
    first = f"With {counted(fewest, 'start')} of each case the smallest detectable differences are {effects}"
    wanted = next((comparison.quantity for comparison in in_order if comparison.detectable > margin), None)
    if wanted is None:
        return f"{first}."
    starts = max(comparison.starts_for_margin for comparison in compared if comparison.quantity == wanted)
    smaller = "Smaller ones are found in fewer than four of five tries."
    return f"{first}. {smaller} {_next_step(run, starts, wanted, margin)}"


def _share(effect: float) -> str:
    return f"{effect:.1%}" if math.isfinite(effect) else "none (one start shows no spread)"


def _next_step(run: Run, starts: int, quantity: str, margin: float) -> str:
    """Return how many starts make a difference of the margin detectable, or that they would take too long."""
    aim, seconds = f"To detect {margin:.0%} in {quantity}", math.ceil(run.block_s * starts / 10) * 10
    if not any(case.load == "closed" for case in run.plan.cases) or seconds > MOST_BUDGET_S:
        needed = f"about {starts:,} starts of each case are needed, {seconds / 60:,.0f} minutes"
        return f"{aim}, {needed}: use a quieter machine."
    return f"{aim}, measure with -p starts {starts} (about {seconds} s, as fast as these)."
