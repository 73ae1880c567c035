"""Slices of a run whose cases took turns: which slice each call belongs to, and values of each slice."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench import stats
from bench.plan import slicing

DROPPED = 20  # calls at the beginning of a slice: caches and frequency are another case's until then
Array = npt.NDArray[np.int64]


def number_of_calls(samples: pd.DataFrame, slices: pd.DataFrame) -> Array:
    """Return the number of the slice of each call; -1 where its start had none. Both in the order of their starts."""
    numbers = np.full(len(samples), -1)
    sent, starts = samples["t_send_ns"].to_numpy(), samples["start"].to_numpy()
    for start, rows in slices.groupby("start"):
        first, last = np.searchsorted(starts, [start, start + 1])
        numbers[first:last] = np.searchsorted(rows["begin_ns"].to_numpy(), sent[first:last], "right") - 1
    return numbers


def is_warm(samples: pd.DataFrame, slices: pd.DataFrame) -> "npt.NDArray[np.bool_]":
    """Return which calls count: those of the rounds, without the first ``DROPPED`` of each slice, or a quarter of few.

    samples: with ``slice``, in the order of sending in each start.
    """
    key = samples[["start", "slice"]].to_numpy()
    begins = np.append(True, (key[1:] != key[:-1]).any(axis=1))[: len(key)]
    places = np.arange(len(key))
    place = places - np.maximum.accumulate(np.where(begins, places, 0))
    rows = slices.set_index(["start", "number"])[["round", "calls"]]
    of_call = rows.reindex(pd.MultiIndex.from_arrays([samples["start"], samples["slice"]]))
    enough = place >= np.minimum(DROPPED, of_call["calls"].to_numpy() // 4)
    counts = of_call["round"].to_numpy() > slicing.WARM_UP
    return np.asarray(enough & counts)


def values(slices: pd.DataFrame, samples: pd.DataFrame, ledger: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each slice: block, case, round, p50 RTT in us, calls per second, CPU per call in us by role.

    samples: with ``slice`` and ``warm``. Of a slice in which a case was measured alone the calls count as elsewhere.
    """
    frame = slices.join(ledger[["block", "case", "turns_with"]], on="start")
    counted = samples[samples["slice"] >= 0]
    by_slice = counted.groupby(["start", "slice"], sort=False)
    place = by_slice.cumcount()
    kept = counted[place >= np.minimum(DROPPED, by_slice["rtt_ns"].transform("size") // 4)]
    groups = kept.groupby(["start", "slice"])
    of_calls = pd.DataFrame({
        "p50_rtt_us": groups["rtt_ns"].quantile(0.5, interpolation="lower") / 1e3,
        "rate_per_s": pd.Series({
            key: stats.closed_rate(*(rows[name].to_numpy() for name in ("t_send_ns", "t_recv_ns", "client")))
            for key, rows in kept.assign(t_recv_ns=kept["t_send_ns"] + kept["rtt_ns"]).groupby(["start", "slice"])
        }, dtype=float),
    })  # fmt: skip
    frame = frame.join(of_calls, on=["start", "number"])
    for role in ("client", "server", "router", "controller"):
        frame[f"{role}_cpu_us_per_call"] = frame[f"{role}_cpu_ns"] / frame["calls"] / 1e3
    ends = frame[["client_cpu_us_per_call", "server_cpu_us_per_call"]].sum(axis=1, skipna=False)
    frame["cpu_us_per_call"] = ends + frame[["router_cpu_us_per_call", "controller_cpu_us_per_call"]].sum(axis=1)
    return frame


def contrasts(values: pd.DataFrame, base: int, other: int, name: str) -> "pd.Series[float]":
    """Return ln(other / base) of a quantity for each round: of slices that are at most one round apart.

    values: as ``values`` returns them. Index: block, round. Of cases that took no turns with each other it is the
    difference of their contrasts with a case that did with both. The median over its rounds is what a block says: every
    second round has the reverse order, so that a drift cancels, and a round in which the machine changed its speed is
    left out. On a machine with two speeds it varied by a third less than the mean of both orders.
    """
    turns = values[values["round"] > slicing.WARM_UP]
    direct = _direct(turns, base, other, name)
    if len(direct):
        return direct
    for third in turns["case"].unique():
        parts = [_direct(turns, int(third), case, name).groupby(level="block").median() for case in (base, other)]
        if len(logs := (parts[1] - parts[0]).dropna()):
            return pd.concat({1: logs}, names=["round"]).swaplevel()
    return direct


def _direct(turns: pd.DataFrame, base: int, other: int, name: str) -> "pd.Series[float]":
    """Return the contrasts of two cases in the groups that have both."""
    place = ["block", "turns_with", "round"]
    levels = [turns[turns["case"] == case].set_index(place)[name] for case in (base, other)]
    return (np.log(levels[1]) - np.log(levels[0])).dropna().groupby(level=["block", "round"]).mean()
