"""Starts in which processes kept their samples on their host: their counts, rates and quantiles, from the sketches.

Processes of such a start that sent all their samples are put into sketches here, so that both are merged.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from bench import stats
from bench.run import sketched
from bench.stats import Array
from bench.stats.sketches import Sketch, merged

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Times:
    """Times of some calls of a start in us, of which a sketch is known, and the sum."""

    sketch: Sketch
    sum_us: float

    def __len__(self) -> int:
        return self.sketch.samples

    def quantile(self, p: float) -> float:
        """Return the quantile within the sketch's accuracy."""
        return self.sketch.quantile(p) / 1e3

    def carried(self, p: float) -> float:
        """Return the quantile; NaN above the median if there are too few calls for its interval."""
        return self.quantile(p) if p <= 0.5 or len(self) >= stats.needed_samples(p) else math.nan

    @property
    def mean(self) -> float:
        """Return the exact mean."""
        return self.sum_us / len(self) if len(self) else math.nan


@dataclass(frozen=True)
class SketchedStarts:
    """All such starts of a run.

    rows: of the table ``sketches``, by start and process. samples: all samples of these starts, with ``host`` and
    ``process``. warm_up_ns: by start.
    """

    rows: Mapping[int, Mapping[int, Rows]]
    samples: Mapping[int, pd.DataFrame]
    warm_up_ns: Mapping[int, int]
    _known: dict[tuple[int, str, str, bool], Times] = field(default_factory=dict)

    @classmethod
    def of(cls, table: pd.DataFrame, samples: pd.DataFrame, warm_up_ns: Mapping[int, int]) -> "SketchedStarts":
        """Return the starts of a table ``sketches``."""
        rows: dict[int, dict[int, Rows]] = defaultdict(lambda: defaultdict(list))
        for row in table.to_dict("records"):
            rows[row["start"]][row["process"]].append({str(name): _known(value) for name, value in row.items()})
        mine = samples[samples["start"].isin(list(rows))] if rows else samples[:0]
        return cls(rows, dict(iter(mine.groupby("start"))), warm_up_ns)

    def __contains__(self, start: object) -> bool:
        return start in self.rows

    def hosts(self, start: int) -> list[str]:
        """Return the hosts of a start on which samples were kept."""
        return list(dict.fromkeys(str(rows[0]["host"]) for rows in self.rows.get(start, {}).values()))

    def has(self, start: int, host: str = "") -> bool:
        """Return whether samples of a start were kept on a host, or on any."""
        return bool(host in self.hosts(start) if host else start in self.rows)

    def times(self, start: int, time: str, host: str = "", warm: bool = True) -> Times:
        """Return the times of a host's calls, or of all: ``rtt``, ``response``, or ``lag`` (of idle connections)."""
        asked = (start, time, host, warm)
        if asked not in self._known:
            self._known[asked] = self._times(*asked)
        return self._known[asked]

    def _times(self, start: int, time: str, host: str, warm: bool) -> Times:
        kept = [row for row in self._rows(start, host) if not warm or row["from_ns"] >= self.warm_up_ns[start]]
        name = {"lag": "idle_lag"}.get(time, time)
        if time == "response" and any(row["response_counts"] is None for row in kept):
            name = "rtt"  # a closed loop: a call is due when it is sent
        whole = [_times(rows, time) for rows in self._whole(start, host, warm)]
        sketches = [sketched.sketch_of(kept, name), *map(Sketch.of, whole)]
        sums = [row[f"{name}_sum_ns"] for row in kept if row[f"{name}_counts"] is not None]
        return Times(merged(sketches), (sum(sums) + float(sum(values.sum() for values in whole))) / 1e3)

    def _rows(self, start: int, host: str = "") -> Rows:
        each = self.rows[start].values()
        return [row for rows in each for row in rows if not host or row["host"] == host]

    def _whole(self, start: int, host: str = "", warm: bool = False) -> Iterator[pd.DataFrame]:
        """Yield the calls of each process that sent all of them."""
        if start not in self.samples:
            return
        calls = self.samples[start]
        calls = calls[~calls["process"].isin(list(self.rows[start])) & (calls["warm"] | (not warm))]
        for _, mine in calls.groupby("process"):
            if not host or mine["host"].iloc[0] == host:
                yield mine

    def calls(self, start: int, host: str = "") -> int:
        """Return how many calls a host made, or all."""
        return sum(row["calls"] for row in self._rows(start, host)) + sum(map(len, self._whole(start, host)))

    def waiting(self, start: int) -> float:
        """Return the share of the requests of an open load whose connection still waited for a reply when due."""
        whole = sum(int(_waited(rows).sum()) for rows in self._whole(start))
        return float(whole + sum(row["waited"] or 0 for row in self._rows(start))) / self.calls(start)

    def rate_per_s(self, start: int) -> float:
        """Return calls per second while all callers ran, in the parts of slices wholly in that time; NaN without any.

        The exact number of replies that were received in these parts, over the time that they take together.
        """
        processes = [rows[0] for rows in self.rows[start].values()]
        began = [row["begin_ns"] for row in processes]
        ended = [row["end_ns"] for row in processes]
        replies = []
        for rows in self._whole(start):
            by_caller = rows.groupby("client")["t_send_ns"]
            replied = rows["t_send_ns"] + rows["rtt_ns"]
            began.append(int(by_caller.min().max()))
            ended.append(int(replied.groupby(rows["client"]).max().min()))
            replies.append(np.sort(replied.to_numpy()))
        begin, end = max(began), min(ended)
        count, inside = 0, set()
        for row in self._rows(start):
            if row["to_ns"] is not None:
                edges = sketched.parts(int(row["from_ns"]), int(row["to_ns"]))
                fits = (edges[:-1] >= begin) & (edges[1:] <= end)
                count += int(np.sum(np.asarray(row["replies_by_part"])[fits]))
                inside |= set(zip(edges[:-1][fits].tolist(), edges[1:][fits].tolist(), strict=True))
        for first, last in inside:
            count += sum(int(np.subtract(*np.searchsorted(each, (last, first)))) for each in replies)
        return float(count / (sum(last - first for first, last in inside) / 1e9)) if inside else math.nan

    def cycle_s(self, start: int) -> float:
        """Return the mean round trip plus the mean gap until the same caller's next call, in s."""
        calls = self.times(start, "rtt", warm=False)
        processes = [rows[0] for rows in self.rows[start].values()]
        parts = [(row["span_ns"], row["last_rtt_ns"], row["cycles"]) for row in processes]
        for rows in self._whole(start):
            for _, mine in rows.groupby("client"):
                sent = mine["t_send_ns"]
                parts.append((int(sent.max() - sent.min()), int(mine["rtt_ns"].iloc[-1]), max(1, len(mine) - 1)))
        span, last, cycles = np.sum(parts, axis=0)
        return float(calls.mean / 1e6 + (span + last - calls.sum_us * 1e3) / cycles / 1e9)


def _known(value: Any) -> Any:
    """Return a value of a frame, None where it is null."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _times(calls: pd.DataFrame, time: str) -> Array:
    if time == "lag":
        return np.asarray(calls.loc[~_waited(calls), "lag_ns"])
    return np.asarray(calls["rtt_ns"] + (calls["lag_ns"] if time == "response" else 0))


def _waited(calls: pd.DataFrame) -> "pd.Series[bool]":
    """Return for each request of one process of an open load whether its connection waited for a reply when due."""
    done = (calls["t_send_ns"] + calls["rtt_ns"]).groupby(calls["client"]).shift(1, fill_value=0)
    return done > calls["t_send_ns"] - calls["lag_ns"]


def evenly(calls: pd.DataFrame, shares: Iterable[float]) -> pd.DataFrame:
    """Return calls of processes that sent all of them and of those that sent a share, as one random sample.

    calls: with ``share``, that of their process. shares: of all processes; each call stays with the same probability.
    """
    least = min(shares, default=1.0)
    chance = np.random.default_rng(1).random(len(calls))
    return calls[chance * calls["share"].to_numpy() < least * (1 + 1e-9)]
