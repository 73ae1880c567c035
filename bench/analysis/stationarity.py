"""Whether the level of a case changes over the measurement: inside a window, and from start to start.

An error of 5 % is shared by all cases of a run, by drift and step, and by the parts of a window (Bonferroni).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

from bench.plan.arrivals import steps_of
from bench.plan.case import Case
from bench.run.frames import Run
from bench.stats import Array, steady_state

ALARMS = 0.05  # error of all tests of a run together
TESTS = 2  # of a case, drift and step, which share the error
LEAST_STARTS = 3  # with fewer no change is common to the starts
LEVEL_BINS = 100
PARTS = 5  # a window is divided into so many parts
STEP = 0.05  # a level that differs by less than this share is the same, as in ``steady_state``
DRIFT = 0.02  # a drift of less than this share of the median is accepted


@dataclass(frozen=True)
class Levels:
    """How the level of one case changes inside the window.

    drift: median over the starts of (Theil-Sen slope x window) / median, 0 where the starts do not agree on one.
    step: the largest mean change of a part of the window against the whole, as a ratio minus 1, 0 where the starts do
    not agree on one. unsteady: how many of the ``starts`` have change points and halves that differ by more than
    ``STEP``.
    """

    drift: float
    step: float
    unsteady: int
    starts: int

    @property
    def is_settled(self) -> bool:
        """Whether the starts agree that the level is the same over the whole window."""
        return abs(self.drift) < DRIFT and not self.step


def is_unsteady_by_plan(case: Case) -> bool:
    """Return whether the plan makes the level of a case change: by a freeze, random service times, or a rate in steps.

    Random service times are the same in every start, so that the starts agree on their changes by construction.
    """
    return (
        bool(steps_of(case.arrivals) or case.options.get("freeze_after"))
        or case.options.get("law", "constant") != "constant"
    )


def unsteady_share(levels: Iterable[Levels]) -> float:
    """Return the share of all starts of a run whose level changed; 0 of none."""
    all_levels = list(levels)
    return sum(case_levels.unsteady for case_levels in all_levels) / max(
        1, sum(case_levels.starts for case_levels in all_levels)
    )


def unsteady(levels: Mapping[int, Levels]) -> list[int]:
    """Return the cases most of whose starts are unsteady, and more of them than chance explains.

    A machine that changes its speed at random makes starts of any case unsteady. Compared with the starts of all cases
    together (Fisher's exact test, one-sided, 5 % shared by the cases) a case must have more of them; or it is most
    starts of the run: then the windows are too short for this machine.
    """
    total = sum(case_levels.starts for case_levels in levels.values())
    unsteady_starts = sum(case_levels.unsteady for case_levels in levels.values())
    mostly = [case for case, case_levels in levels.items() if 2 * case_levels.unsteady > case_levels.starts]
    if 2 * unsteady_starts > total:
        return mostly
    limit = ALARMS / max(1, len(levels))
    return [case for case in mostly if _as_many(levels[case], unsteady_starts, total) <= limit]


def are_steady(levels: Mapping[int, Levels]) -> bool:
    """Return whether no case of a run moves in all of its starts, and none has unsteady starts beyond chance."""
    return not unsteady(levels) and all(case_levels.is_settled for case_levels in levels.values())


def _as_many(case_levels: Levels, unsteady_starts: int, total: int) -> float:
    """Return how likely a case has as many unsteady starts as it has, or more, if its starts are like all others."""
    ways = [
        math.comb(case_levels.starts, count) * math.comb(total - case_levels.starts, unsteady_starts - count)
        for count in range(case_levels.unsteady, min(case_levels.starts, unsteady_starts) + 1)
    ]
    return sum(ways) / math.comb(total, unsteady_starts)


def levels(run: Run, case: int, cases: int) -> Levels:
    """Return how the level of a case changes after the warm-up; ``cases``: how many cases share the error.

    A machine that switches between two speeds changes the level of single starts at random. That is a stationary
    process: it widens the interval over starts, and is no missing warm-up. So the starts must agree on a change; fewer
    than three cannot.
    """
    starts = run.ledger_of(case).index
    calls = [(of_start.rtt_ns, of_start.t_send_ns) for _, of_start in run.calls_of(case, warm=True)]
    if len(calls) < LEAST_STARTS:
        return Levels(0.0, 0.0, 0, len(calls))
    drifts = np.array([steady_state.drift(rtt_ns, send_ns) for rtt_ns, send_ns in calls])
    drift = float(np.median(drifts)) if steady_state.agree(drifts, TESTS * cases) else 0.0
    labels = [run.settlings[start].label for start in starts if start in run.settlings]
    unsettled = labels.count(steady_state.UNSETTLED)
    uneven = sum(_halves_differ(rtt_ns) for rtt_ns, _ in calls)
    step = _agreed_step([rtt_ns for rtt_ns, _ in calls], TESTS * cases)
    return Levels(drift, step, min(unsettled, uneven), len(labels))


def _halves_differ(values: Array) -> bool:
    """Return whether the levels of the two halves of a series differ by more than ``STEP``."""
    if len(values) < 2 * steady_state.SHORTEST:
        return False
    first, second = (float(np.mean(half)) for half in np.array_split(_log_bins(values), 2))
    return abs(second - first) > math.log1p(STEP)


def _agreed_step(starts: Iterable[Array], tests: int) -> float:
    """Return the largest change of a part of the window on which the starts agree, as a ratio minus 1; else 0.

    Student's t of level of the part - level of the start over the starts, 5 % shared by all parts and tests.
    """
    parts = [_parts(values) for values in starts if len(values) >= PARTS * steady_state.SHORTEST]
    if len(parts) < LEAST_STARTS:
        return 0.0
    changes = np.array(parts)  # (starts, parts)
    means, errors = changes.mean(axis=0), changes.std(axis=0, ddof=1) / math.sqrt(len(parts))
    critical = special.stdtrit(len(parts) - 1, 1 - ALARMS / 2 / (PARTS * tests))
    agreed = means[(np.abs(means) > critical * errors) & (np.abs(means) > math.log1p(STEP))]
    return float(np.expm1(agreed[np.argmax(np.abs(agreed))])) if len(agreed) else 0.0


def _parts(values: Array) -> Array:
    """Return level of a part - level of the whole for the parts of a series, shape (``PARTS``,)."""
    logs = _log_bins(values)
    return np.array([np.mean(part) for part in np.array_split(logs, PARTS)]) - float(np.mean(logs))


def _log_bins(values: Array) -> Array:
    """Return ln(median) of up to ``LEVEL_BINS`` equal bins; their mean is the level of a series.

    It is steadier than a median where calls switch between two speeds. The bins of a part are those of the whole: the
    mean of ln(median) depends on how many calls a bin holds.
    """
    return np.asarray(np.log(steady_state.bins(values, LEVEL_BINS)[0]))
