"""Whether samples of several hosts may be pooled: a quantile of each host beside that of the others, start by start.

Hosts that do not agree measure different things: the tail of the pooled calls is then that of the host with the
slowest path, weighted by how many calls it made (Treadmill: Zhang et al., ISCA 2016, section 3).
"""

from dataclasses import dataclass

import numpy as np

from bench.stats import intervals
from bench.stats.intervals import Interval
from bench.stats.quantiles import Array

MARGIN = 0.05
AGREE, DIFFER, UNKNOWN = "agree", "differ", "inconclusive"


@dataclass(frozen=True)
class Agreement:
    """What starts say of a quantile of several hosts.

    ratios: each host's over the geometric mean of the others', in the order of the hosts. verdict: ``AGREE`` if the
    intervals of all ratios are within the margin, ``DIFFER`` if one excludes 1 and reaches beyond it.
    """

    ratios: tuple[Interval, ...]
    verdict: str

    @property
    def slowest(self) -> int:
        """The host with the largest ratio."""
        return max(range(len(self.ratios)), key=lambda host: self.ratios[host].middle)


def agreement(values: Array, margin: float = MARGIN) -> Agreement:
    """Return whether hosts agree on a quantile, of the shape (starts, hosts): positive, of two hosts or more.

    Each ratio is the Hodges-Lehmann median of the ratios of each start, with its interval by inverting the signed-rank
    test; below six starts there is none, and the verdict is inconclusive. A disturbance of a start acts on all hosts.
    Hosts differ only if an interval that is wider, for their number (Bonferroni), shows it.
    """
    logs = np.log(np.asarray(values, float))
    hosts = logs.shape[1]
    others = (logs.sum(axis=1, keepdims=True) - logs) / (hosts - 1)
    shifts = [intervals.paired(difference) for difference in (logs - others).T]
    ratios = tuple(shift.interval(intervals.CONFIDENCE).exp() for shift in shifts)
    if any(not ratio.has_ends for ratio in ratios):
        return Agreement(ratios, UNKNOWN)
    outside = [not (1 / (1 + margin) <= ratio.low and ratio.high <= 1 + margin) for ratio in ratios]
    wider = [shift.interval(1 - (1 - intervals.CONFIDENCE) / (hosts - 1)).exp() for shift in shifts]  # of two it is one
    differ = any(ratio.excludes(1) for ratio, is_outside in zip(wider, outside, strict=True) if is_outside)
    return Agreement(ratios, DIFFER if differ else UNKNOWN if any(outside) else AGREE)
