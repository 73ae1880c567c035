"""What one submitted run says of its cases: ratios to the raw sockets of the same machine, under the same factors."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from bench.analysis.comparison import MARGIN, QUANTITIES, judge
from bench.apps.classroom.reading import Refusal, SubmittedRun
from bench.plan.case import Case
from bench.plan.labels import labels
from bench.stats import Array, intervals
from bench.stats.intervals import CONFIDENCE, Interval
from bench.stats.meta_analysis import standard_error
from bench.text import few

PLAIN = {  # options of raw sockets as they come
    "nodelay": True,
    "client_nodelay": True,
    "server_nodelay": True,
    "writes": 1,
    "tls": False,
    "tls_session": "new",
    "codec": "json",
}
NO_BASELINE = "no raw sockets under the same factors in this run: no baseline, so no ratio"
NOT_FACTORS = ("system", "options", "target", "fresh_router")  # what may differ between a case and its baseline


def times(logarithm: float) -> float:
    """Return exp(log), clipped so that it stays finite."""
    return math.exp(max(-700.0, min(700.0, logarithm)))


def spoken(low: float, high: float) -> str:
    """Return the ratios between two logarithms in words."""
    return f"{times(low):.2f} to {times(high):.3g}"


@dataclass(frozen=True)
class Ratio:
    """One case over raw sockets by one quantity, in one run: ln of the ratio, from the starts of the same blocks.

    ``error`` is the standard error of ``effect.middle``; ``baseline`` the quantity of raw sockets in each start;
    ``verdict`` what every comparison of this laboratory would say of it.
    """

    run: SubmittedRun
    case: Case
    quantity: str
    effect: Interval
    error: float
    baseline: Array
    verdict: str

    def is_certain(self, among: int) -> bool:
        """Return whether it is not 1, judged together with the ratios of as many machines (Bonferroni)."""
        wide = special.stdtrit(max(1, len(self.baseline) - 1), 1 - (1 - CONFIDENCE) / 2 / among)
        return bool(abs(self.effect.middle) > wide * self.error)


def ratios(run: SubmittedRun, columns: Iterable[str]) -> tuple[list[Ratio], list[Refusal]]:
    """Return a run's ratios, and why there are none of some cases; of equal cases the first counts."""
    by_case: dict[tuple[str, str], Ratio] = {}
    refused: dict[str, list[str]] = defaultdict(list)
    starts = dict(iter(run.starts.set_index("block").groupby("case")))
    baselines = {
        str(factors(case)): starts.get(index) for index, case in reversed([*enumerate(run.cases)]) if is_baseline(case)
    }
    for (index, case), label in zip(enumerate(run.cases), labels(run.cases), strict=True):
        for name in () if case.system == "loopback" or is_baseline(case) else columns:
            ratio = _ratio(run, case, name, starts.get(index), baselines.get(str(factors(case))))
            if isinstance(ratio, Ratio):
                by_case.setdefault((key(case), name), ratio)
            else:
                refused[ratio].append(label)
    return list(by_case.values()), [Refusal(run.file, few(names), why, run.id) for why, names in refused.items()]


def _by_block(starts: Any, name: str) -> Any:
    """Return a quantity by block: raw sockets are in each group of cases that take turns, so several times in one."""
    return starts[name].dropna().groupby(level="block").median()


def is_baseline(case: Case) -> bool:
    """Return whether a case is raw sockets as they come."""
    return case.system == "sockets" and all(PLAIN.get(name) == value for name, value in case.options.items())


def _ratio(run: SubmittedRun, case: Case, name: str, starts: Any, baselines: Any) -> Ratio | str:
    """Return the ratio of a case by a quantity from its starts and those of raw sockets, or why there is none."""
    if baselines is None:
        return NO_BASELINE
    theirs = _by_block(baselines, name)
    ours = theirs[:0] if starts is None else _by_block(starts, name)
    blocks = ours.index.intersection(theirs.index)
    if not len(blocks):
        return f"no block has a {QUANTITIES[name][0]} of both this case and raw sockets"
    baseline = theirs[blocks].to_numpy(float)
    effect = intervals.paired_shift(np.log(ours[blocks].to_numpy(float) / baseline))
    if not effect.has_ends:
        return f"{len(blocks)} starts: at least {intervals.LEAST_PAIRS} are needed for an interval"
    if effect.high <= effect.low:
        return "its starts do not vary at all, and no measurement does that"
    verdict = judge(times(effect.low), times(effect.high), MARGIN)
    return Ratio(run, case, name, effect, standard_error(effect, len(blocks)), baseline, verdict)


def factors(case: Case) -> dict[str, object]:
    """Return what has to be equal in a case and its baseline."""
    return {name: value for name, value in vars(case).items() if name not in NOT_FACTORS}


def key(case: Case) -> str:
    """Return a text that is equal for equal cases."""
    return json.dumps(factors(case) | {"system": case.system, "options": case.options}, sort_keys=True)
