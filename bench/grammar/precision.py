"""How precisely a run knows the ratios that its notebook prints, for runs that stop when that is enough."""

import math

from bench.grammar.contrast import Ratio, ratio
from bench.grammar.experiment import of_run
from bench.plan.plan import Plan
from bench.run.folder import Folder
from bench.run.frames import P50, Run
from bench.stats.looks import looks
from bench.text import counted


def printed(run: Run, *quantities: str) -> list[Ratio]:
    """Return the ratios that a notebook prints; of one that lists none, these quantities of every case over the first.

    quantities: columns of ``Run.starts``. The instrument itself is no case of these. None if nothing was answered.
    """
    if not run.ledger["calls"].any():
        return []
    if listed := of_run(run).ratios(run):
        return listed
    cases = [case for case in run.numbers if run.case(case).system != "loopback"]
    return [ratio(run, cases[0], other, name) for other in cases[1:] for name in quantities]


def half_width(folder: Folder) -> float:
    """Return the largest half width of the ratios of median RTTs, as a share of each; infinite without an interval."""
    ratios = [quotient for quotient in printed(Run(folder), P50) if quotient.name == P50]
    return max((quotient.interval.half_width for quotient in ratios), default=math.inf)


def reached(run: Run, plan: Plan) -> str:
    """Return a sentence on what a run reached that was to stop when precise; ``plan``: as it was asked for."""
    width, due = half_width(run.folder), looks(plan.starts)
    known = "not every ratio has an interval" if math.isinf(width) else f"every ratio is known within {width:.2%}"
    ended = "Stopped" if width <= plan.until_width else "Ended"
    return (
        f"{ended} after {run.plan.starts} of at most {plan.starts} blocks: {known} "
        f"(asked for: {plan.until_width:.2%}); each interval is computed at {run.confidence:.1%}, so that it covers "
        f"the true ratio in 95 % of runs although the run could stop at {counted(len(due), 'look')}."
    )
