"""What a run in slices shows while it is measured: medians and ratios that become more exact with each block."""

import bisect
import math
from collections import defaultdict, deque

import numpy as np
import pyarrow.compute as pc

from bench import stats
from bench.plan import slicing
from bench.plan.plan import Plan
from bench.run.folder import Folder
from bench.run.slices import Levels, levels
from bench.stats import Array, intervals, looks
from bench.stats.intervals import Interval


class Converging:
    """The cases of a plan that take turns, read from disk block by block, each start once.

    blocks: how many are complete. A ratio is that of ``comparison.effect`` in the run so far. Cases that are measured
    in starts of their own have none.
    """

    def __init__(self, plan: Plan, folder: Folder) -> None:
        self.plan, self.folder, self.blocks = plan, folder, 0
        self._awaited = deque(
            (part, number == len(parts)) for _, parts in plan.blocks() for number, part in enumerate(parts, 1)
        )
        self._stored = 0  # starts of the first part that is awaited
        self._medians_us: dict[int, list[float]] = defaultdict(list)
        self._logs: dict[tuple[int, int], list[float]] = defaultdict(list)

    def step(self) -> bool:
        """Take note that one more start is on disk, in the plan's order; return whether its whole group is."""
        part, is_last = self._awaited[0]
        self._stored += 1
        if self._stored < len(part):
            return False
        self._awaited.popleft()
        self._stored = 0
        if len(part) > 1:
            self._read(part)
        self.blocks += is_last
        return True

    def _read(self, part: list[tuple[int, int]]) -> None:
        """Read what a group has measured in its turns: the contrasts with its first case, and each case's median."""
        levels_by_case = {case: self._levels(start) for start, case in part}
        base = part[0][1]
        for case, case_levels in levels_by_case.items():
            self._medians_us[case].append(case_levels.p50_us)
            ours, theirs = case_levels.of_rounds, levels_by_case[base].of_rounds
            logs = [math.log(ours[number] / theirs[number]) for number in ours.keys() & theirs.keys()]
            if case != base and logs:
                self._logs[base, case].append(float(np.median(logs)))

    def _levels(self, start: int) -> Levels:
        samples, slices = (
            self.folder.read_file(self.folder.files_of(name, {start})[0], name) for name in ("samples", "slices")
        )
        rounds = pc.fill_null(slices["round"], slicing.WARM_UP - 1)
        columns = (samples["t_send_ns"], samples["rtt_ns"], slices["begin_ns"], rounds)
        return levels(*(column.to_numpy() for column in columns))

    def medians_us(self, case: int) -> Array:
        """Return the median RTT of each start of a case, in us."""
        return np.array(self._medians_us.get(case, []))

    def ratios(self) -> dict[tuple[int, int], Interval]:
        """Return the ratio of the median RTT of each pair (base, other) that took turns: other over base."""
        return {
            pair: intervals.paired_shift(np.array(logs), self._confidence).exp() for pair, logs in self._logs.items()
        }

    @property
    def _confidence(self) -> float:
        """The confidence of each interval: of a plan that stops when it is precise, that of the look that is next."""
        if not self.plan.until_width:
            return intervals.CONFIDENCE
        next_look = bisect.bisect_left(looks.looks(self.plan.starts)[:-1], self.blocks)
        return looks.confidences(self.plan.starts)[next_look]


def of_medians(medians: Array) -> Interval:
    """Return the median of start medians, with its 95 % interval from order statistics where there are enough."""
    middle = stats.across_starts(medians).middle
    low, high = intervals.order_statistics(medians, 0.5) or (math.nan, math.nan)
    return Interval(middle, low, high)
