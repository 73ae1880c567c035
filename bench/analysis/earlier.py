"""Whether a run says what the last comparable one said: on request, as a figure's caption depends on its run alone."""

import contextlib
import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from bench.analysis.comparison import MARGIN, key, ratios, values
from bench.analysis.trust_card import NOTHING, Check, outcome
from bench.errors import BENCH, DataError
from bench.plan import paths
from bench.run import stored
from bench.run.frames import P50, Run, once_per_run
from bench.stats import intervals
from bench.stats.intervals import Interval

NAME = "replication"
LOOKED_AT = 5  # earlier runs


@once_per_run
def replication(run: Run) -> Check | None:
    """Return whether each ratio of a run agrees with that of the last earlier run; None for a run that is not yours.

    Earlier: of the same notebook on the same machine, with cases in common. A ratio is the median RTT over that of raw
    sockets with the same transport and placement; the median itself where there are none. CAUTION where the quotient of
    both runs' ratios is beyond 5 % with its whole interval, which is wide enough for 5 % false alarms over all cases.
    """
    if run.folder.path.parent != paths.runs():
        return None
    ours = estimates(run)
    for before in _earlier(run):
        theirs = estimates(before)
        if common := [case for case in ours if case in theirs]:
            return _compared(before.id, {name: (theirs[name], ours[name]) for name in common})
    return Check(
        NAME, NOTHING, "no earlier run of this notebook on this machine has a case in common, with an interval"
    )


def _earlier(run: Run) -> Iterator[Run]:
    """Yield the finished runs of this notebook and machine before this one, the last one first."""
    machine = run.manifest["machine"]["machine_id"]
    before = [folder for folder in stored.all_runs() if folder.id < run.id and f"Z-{run.plan.notebook}-" in folder.id]
    for folder in before[: -LOOKED_AT - 1 : -1]:
        with contextlib.suppress(DataError):  # a run that was altered says nothing about this one
            manifest = folder.manifest()
            if manifest["finished"] and manifest["machine"]["machine_id"] == machine:
                yield Run(folder)


def estimates(run: Run) -> dict[tuple[str, str], Interval]:
    """Return ln of each case's ratio to raw sockets with its interval, or ln of its median in us where there are none.

    By what it measures, and what it is divided by; only those with an interval.
    """
    shifts = {}
    for case in run.round_trips().index:
        factors = run.case(case)
        base = run.first(
            system="sockets", transport=factors.transport, placement=factors.placement, clients=factors.clients
        )
        if base == case:
            continue
        logs = np.log(values(run, case, P50)) if base is None else ratios(run, base, case, P50)
        name = key(run, case), "" if base is None else key(run, base)
        shifts[name] = intervals.paired_shift(logs.dropna().to_numpy())
    return {name: interval for name, interval in shifts.items() if interval.has_ends}


def _compared(earlier: str, both: dict[tuple[str, str], tuple[Interval, Interval]]) -> Check:
    """Return the outcome of comparing ratios (ln) of two runs."""
    widen = special.ndtri(1 - (1 - intervals.CONFIDENCE) / 2 / len(both)) / special.ndtri(
        (1 + intervals.CONFIDENCE) / 2
    )
    apart, differing = [], 0
    for theirs, ours in both.values():
        half = widen * math.hypot(ours.high - ours.low, theirs.high - theirs.low) / 2
        apart.append(math.expm1(abs(ours.middle - theirs.middle)))
        differing += abs(ours.middle - theirs.middle) - half > math.log1p(MARGIN)
    what = "ratios" if all(base for _, base in both) else "medians"
    finding = (
        f"{len(both) - differing} of {len(both)} {what} agree with those of {earlier} within {MARGIN:.0%} and both "
    )
    finding += f"intervals; they differ by {np.median(apart):.1%} (median), at most {max(apart):.1%}"
    advice = f"an interval covers its own occasion: measure on several occasions, {BENCH} replicate"
    return outcome(NAME, not differing, finding, advice)
