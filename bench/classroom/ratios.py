"""What one submitted run says of its cases: ratios to the raw sockets of the same machine, under the same factors."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from bench import intervals
from bench.classroom.pooling import standard_error
from bench.classroom.reading import Refusal, Submitted
from bench.comparing import MARGIN, QUANTITIES, judge
from bench.intervals import Interval
from bench.labels import labels
from bench.params import listed
from bench.plan import Case
from bench.stats import Array

PLAIN = {"nodelay": True, "client_nodelay": True, "server_nodelay": True, "writes": 1}  # raw sockets as they come
NOT_FACTORS = ("system", "options", "target", "fresh_router")  # what may differ between a case and its baseline


@dataclass(frozen=True)
class Ratio:
    """One case over raw sockets by one quantity, in one run: ln of the ratio, from the starts of the same blocks.

    ``error`` is the standard error of ``effect.middle``; ``floor`` the quantity of raw sockets in each start.
    """

    run: Submitted
    case: Case
    quantity: str
    effect: Interval
    error: float
    floor: Array

    @property
    def machine(self) -> str:
        """The salted name of the machine."""
        return self.run.manifest.machine_id

    @property
    def verdict(self) -> str:
        """The verdict here alone, as every comparison of this laboratory gives it."""
        return judge(math.exp(self.effect.low), math.exp(self.effect.high), MARGIN)


def ratios(run: Submitted, columns: Iterable[str]) -> tuple[list[Ratio], list[Refusal]]:
    """Return a run's ratios, and why there are none of some cases; of equal cases the first speaks."""
    found: dict[tuple[str, str], Ratio] = {}
    silent: dict[str, list[str]] = defaultdict(list)
    cases = run.manifest.plan.cases
    for (index, case), label in zip(enumerate(cases), labels(cases), strict=True):
        for name in () if case.system == "loopback" or is_floor(case) else columns:
            one = _ratio(run, index, name)
            if isinstance(one, Ratio):
                found.setdefault((key(case), name), one)
            else:
                silent[one].append(label)
    return list(found.values()), [Refusal(run.file, few(told), why, run.manifest.id) for why, told in silent.items()]


def is_floor(case: Case) -> bool:
    """Return whether a case is raw sockets as they come."""
    return case.system == "sockets" and all(PLAIN.get(name) == value for name, value in case.options.items())


def _ratio(run: Submitted, index: int, name: str) -> Ratio | str:
    """Return the ratio of a case by a quantity, or why there is none."""
    cases = run.manifest.plan.cases
    floors = [i for i, one in enumerate(cases) if is_floor(one) and factors(one) == factors(cases[index])]
    if not floors:
        return "no raw sockets under the same factors in this run: no baseline, so no ratio"
    ours, theirs = (_values(run.starts, i, name) for i in (index, floors[0]))
    both = ours.index.intersection(theirs.index)
    if not len(both):
        return f"{QUANTITIES[name][0]} is not known of it, or not of raw sockets beside it"
    floor = theirs[both].to_numpy(float)
    effect = intervals.paired_shift(np.log(ours[both].to_numpy(float) / floor))
    if effect is None:
        return f"{len(both)} starts: at least {intervals.LEAST_PAIRS} are needed for an interval"
    if effect.high <= effect.low:
        return "its starts do not vary at all, and no measurement does that"
    return Ratio(run, cases[index], name, effect, standard_error(effect, len(both)), floor)


def _values(starts: pd.DataFrame, case: int, name: str) -> "pd.Series[float]":
    """Return a quantity of each start of a case; index: block."""
    return starts[starts["case"] == case].set_index("block")[name].dropna()


def factors(case: Case) -> dict[str, object]:
    """Return what has to be equal in a case and its baseline."""
    return {one.name: getattr(case, one.name) for one in fields(Case) if one.name not in NOT_FACTORS}


def key(case: Case) -> str:
    """Return a text that is equal for equal cases."""
    return json.dumps(factors(case) | {"system": case.system, "options": case.options}, sort_keys=True)


def counted(number: int, what: str) -> str:
    """Return "1 zip" or "3 zips"."""
    return f"{number} {what}{'s' * (number != 1)}"


def few(names: list[str], most: int = 4) -> str:
    """Return some names as prose, each once, and how many more there are."""
    each = list(dict.fromkeys(names))
    return listed(each if len(each) <= most else [*each[: most - 1], f"{len(each) - most + 1} more"])
