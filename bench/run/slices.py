"""Slices of a run whose cases took turns: which slice each call belongs to, and values of each slice."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench import stats
from bench.plan import slicing
from bench.run.calls import AllCalls, Calls
from bench.run.start_values import ROLES, call_rate, cpu_us_per_call

DROPPED = 20  # calls at the beginning of a slice: caches and frequency are another case's until then
P50, RATE = "p50_rtt_us", "rate_per_s"
PLACE = ["block", "turns_with", "round"]  # of the slices that are compared with each other
Array = npt.NDArray[np.int64]


def numbers_of_calls(t_send_ns: Array, begin_ns: Array) -> Array:
    """Return the place of each call's slice among those of a start; -1 before the first. Both are in order."""
    return np.searchsorted(begin_ns, t_send_ns, "right") - 1


def is_warm(numbers: Array, rounds: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return which calls of a start count: those of the rounds that have settled.

    numbers: of the slice of each call, in order, none below 0. rounds: of each slice, NaN: none.
    """
    begins, sizes = _slices(numbers)
    ranks = np.arange(len(numbers)) - np.repeat(begins, sizes)
    return np.asarray((ranks >= np.repeat(_dropped(sizes), sizes)) & (rounds[numbers] > slicing.WARM_UP))


def _slices(numbers: Array) -> tuple[Array, Array]:
    """Return where the calls of each slice that has any begin, and how many they are."""
    begins = np.flatnonzero(np.diff(numbers, prepend=-2))
    return begins, np.diff(begins, append=len(numbers))


def _dropped(sizes: Array) -> Array:
    """Return how many calls are left out at the beginning of slices: ``DROPPED``, of few calls a quarter."""
    return np.minimum(DROPPED, sizes // 4)


def values(slices: pd.DataFrame, calls: AllCalls, ledger: pd.DataFrame) -> pd.DataFrame:
    """Return one row per slice: block, case, round, median RTT [us], calls per second, CPU time per call [us] by role.

    The slices in which a case was measured alone have these values too.
    """
    frame = slices.join(ledger[["block", "case", "turns_with"]], on="start")
    of_calls = {
        (start, number): _p50_and_rate(made, dropped)
        for start, rows in slices.groupby("start")
        for number, made, dropped in _by_slice(calls.of_start(start), rows)
    }
    index = pd.MultiIndex.from_arrays(np.array([*of_calls], int).reshape(-1, 2).T, names=["start", "number"])
    medians = pd.DataFrame([*of_calls.values()], index, [P50, RATE], dtype=float)
    frame = frame.join(medians, on=["start", "number"])
    for role in ROLES:
        frame[f"{role}_cpu_us_per_call"] = frame[f"{role}_cpu_ns"] / frame["calls"] / 1e3
    return frame.assign(cpu_us_per_call=cpu_us_per_call(frame))


def _by_slice(calls: Calls, rows: pd.DataFrame) -> Iterator[tuple[int, Calls, int]]:
    """Yield the number of each slice of a start, its calls, and how many of them are left out at its beginning."""
    numbers = numbers_of_calls(calls.t_send_ns, rows["begin_ns"].to_numpy())
    begins, sizes = _slices(numbers)
    for begin, size, dropped in zip(begins, sizes, _dropped(sizes), strict=True):
        if numbers[begin] >= 0:
            yield int(numbers[begin]), calls.select(slice(begin, begin + size)), int(dropped)


def _p50_and_rate(calls: Calls, dropped: int) -> tuple[float, float]:
    """Return the median RTT in us and the calls per second of a slice, once the first calls are left out."""
    return stats.quantile(calls.rtt_ns[dropped:], 0.5) / 1e3, call_rate(calls, int(calls.t_send_ns[dropped]))


def pooled(slices: pd.DataFrame, name: str, places: list[str]) -> pd.DataFrame:
    """Return the mean of a quantity over the calls of several slices, by case and ``places``, columns of ``slices``."""
    is_rate, known = name == RATE, slices.dropna(subset=name)
    per_call = 1 / known[name] if is_rate else known[name]
    sums = known.assign(sum=per_call * known["calls"]).groupby([*places, "case"])[["sum", "calls"]].sum()
    mean = sums["sum"] / sums["calls"]
    return (1 / mean if is_rate else mean).rename(name).reset_index()


class Levels(NamedTuple):
    """Median RTT of one start in us: of all calls of its rounds that have settled, and of each round by its number."""

    p50_us: float
    of_rounds: dict[int, float]


def levels(t_send_ns: Array, rtt_ns: Array, begin_ns: Array, rounds: Array) -> Levels:
    """Return the levels of one start, the same as in ``Run.starts`` and ``values``: for looks between two blocks.

    t_send_ns, rtt_ns: of each call, in any order. begin_ns, rounds: of each slice, in order; a round below
    ``slicing.WARM_UP`` stands for none. In arrays alone: a frame's work would take a tenth of a block's time.
    """
    order = np.argsort(t_send_ns, kind="stable")
    parts = np.split(rtt_ns[order], np.searchsorted(t_send_ns[order], begin_ns[1:]))
    settled = {
        int(number): part[min(DROPPED, len(part) // 4) :]
        for number, part in zip(rounds, parts, strict=True)
        if number > slicing.WARM_UP and len(part)
    }
    calls = np.concatenate([*settled.values(), np.empty(0)])
    of_rounds = {number: stats.quantile(part, 0.5) / 1e3 for number, part in settled.items()}
    return Levels(stats.quantile(calls, 0.5) / 1e3, of_rounds)


def logarithms(values: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return ln of a quantity of the slices of all rounds that have settled, one column for each case.

    values: as ``values`` returns them. Index: block, turns_with, round. A mean over calls has one value for all rounds
    of a block: a median over rounds would leave rare slow calls out, and be wrong about which case has more of them.
    """
    turns = values[values["round"] > slicing.WARM_UP]
    if name != P50:
        turns = pooled(turns, name, PLACE[:-1]).assign(round=slicing.WARM_UP + 1)
    logs = turns[PLACE].assign(case=turns["case"], ln=np.log(turns[name]))
    return logs.pivot_table(index=PLACE, columns="case", values="ln")


def contrasts(logs: pd.DataFrame, base: int, other: int) -> "pd.Series[float]":
    """Return ln(other / base) of a quantity for each round: of slices that are at most one round apart.

    logs: as ``logarithms`` returns them. Index: block, round. Of cases that took no turns with each other it is the
    difference of their contrasts with a case that did with both. The median over its rounds is what a block says: every
    second round has the reverse order, so that a drift cancels, and a round in which the machine changed its speed is
    left out. On a machine with two speeds it varied by a third less than the mean of both orders.
    """
    direct = _direct(logs, base, other)
    if len(direct):
        return direct
    took_turns = logs.notna().groupby(level="turns_with").any()
    for third in took_turns:
        if not all((took_turns[third] & took_turns[case]).any() for case in (base, other)):
            continue
        parts = [_direct(logs, third, case).groupby(level="block").median() for case in (base, other)]
        if len(between := (parts[1] - parts[0]).dropna()):
            return pd.concat({1: between}, names=["round"]).swaplevel()
    return direct


def _direct(logs: pd.DataFrame, base: int, other: int) -> "pd.Series[float]":
    """Return the contrasts of two cases in the groups that have both."""
    return (logs[other] - logs[base]).dropna().groupby(level=["block", "round"]).mean()
