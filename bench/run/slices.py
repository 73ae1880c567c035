"""Slices of a run whose cases took turns: which slice each call belongs to, and values of each slice."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench import stats
from bench.plan import slicing
from bench.run.start_values import ROLES, cpu_us_per_call

DROPPED = 20  # calls at the beginning of a slice: caches and frequency are another case's until then
PLACE = ["block", "turns_with", "round"]  # of the slices that are compared with each other
Array = npt.NDArray[np.int64]


def number_of_calls(samples: pd.DataFrame, slices: pd.DataFrame) -> Array:
    """Return the number of the slice of each call; -1 where its start had none. Both in the order of their starts."""
    numbers, sent = np.full(len(samples), -1), samples["t_send_ns"].to_numpy()
    for calls, rows in of_starts(samples["start"].to_numpy(), slices):
        numbers[calls] = np.searchsorted(rows["begin_ns"].to_numpy(), sent[calls], "right") - 1
    return numbers


def of_starts(starts: npt.NDArray[Any], rows: pd.DataFrame) -> Iterator[tuple[slice, pd.DataFrame]]:
    """Yield the places of the calls of each start, and its rows of another table. ``starts``: of each call, sorted."""
    groups = rows.groupby("start")
    numbers = np.array(list(groups.groups), starts.dtype)  # of another type, each search would convert all calls
    ends = np.searchsorted(starts, numbers), np.searchsorted(starts, numbers, "right")
    for first, last, (_, group) in zip(*ends, groups, strict=True):
        yield slice(first, last), group


def has_settled(samples: pd.DataFrame) -> "pd.Series[bool]":
    """Return which calls come after the first ``DROPPED`` of their slice, or after a quarter of a slice of few.

    samples: with ``slice``, in the order of sending in each start.
    """
    by_slice = samples.groupby(["start", "slice"], sort=False)["rtt_ns"]
    return by_slice.cumcount() >= np.minimum(DROPPED, by_slice.transform("size") // 4)


def is_warm(samples: pd.DataFrame, slices: pd.DataFrame) -> "pd.Series[bool]":
    """Return which calls count: those of the rounds that have settled. ``samples``: as for ``has_settled``."""
    rounds = slices.set_index(["start", "number"])["round"]
    of_call = rounds.reindex(pd.MultiIndex.from_frame(samples[["start", "slice"]]))
    return has_settled(samples) & (of_call.to_numpy() > slicing.WARM_UP)


def values(slices: pd.DataFrame, samples: pd.DataFrame, ledger: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each slice: block, case, round, p50 RTT in us, calls per second, CPU per call in us by role.

    samples: with ``slice``. The slices in which a case was measured alone have these values too.
    """
    frame = slices.join(ledger[["block", "case", "turns_with"]], on="start")
    samples = samples[samples["slice"] >= 0]
    kept = samples[has_settled(samples)]
    groups = kept.groupby(["start", "slice"])
    sent, rtt, client = (kept[name].to_numpy() for name in ("t_send_ns", "rtt_ns", "client"))
    received = sent + rtt
    of_calls = pd.DataFrame({
        "p50_rtt_us": groups["rtt_ns"].quantile(0.5, interpolation="lower") / 1e3,
        "rate_per_s": pd.Series({
            key: stats.closed_rate(sent[at], received[at], client[at]) for key, at in groups.indices.items()
        }, dtype=float),
    })  # fmt: skip
    frame = frame.join(of_calls, on=["start", "number"])
    for role in ROLES:
        frame[f"{role}_cpu_us_per_call"] = frame[f"{role}_cpu_ns"] / frame["calls"] / 1e3
    return frame.assign(cpu_us_per_call=cpu_us_per_call(frame))


class Levels(NamedTuple):
    """p50 RTT of one start in us: of all calls of its rounds that have settled, and of each round by its number."""

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

    values: as ``values`` returns them. Index: block, turns_with, round.
    """
    turns = values[values["round"] > slicing.WARM_UP]
    logs = turns[PLACE].assign(case=turns["case"], ln=np.log(turns[name]))
    return logs.pivot_table(index=PLACE, columns="case", values="ln")


def contrasts(logs: pd.DataFrame, bases: Sequence[int], others: Sequence[int]) -> "pd.Series[float]":
    """Return ln(other / base) of a quantity for each round: of slices that are at most one round apart.

    logs: as ``logarithms`` returns them. bases, others: a case and its twins, which are equal to it; their slices of a
    round are averaged, because starts of equal cases differ too. Index: block, round. Of cases that took no turns with
    each other it is the difference of their contrasts with a case that did with both. The median over its rounds is
    what a block says: every second round has the reverse order, so that a drift cancels, and a round in which the
    machine changed its speed is left out. On a machine with two speeds it varied by a third less than the mean of both
    orders.
    """
    direct = _direct(logs, bases, others)
    if len(direct):
        return direct
    took_turns = logs.notna().groupby(level="turns_with").any()
    near, far = (took_turns.reindex(columns=list(cases), fill_value=False).any(axis=1) for cases in (bases, others))
    for third in took_turns:
        if not ((took_turns[third] & near).any() and (took_turns[third] & far).any()):
            continue
        parts = [_direct(logs, [third], ours).groupby(level="block").median() for ours in (bases, others)]
        if len(between := (parts[1] - parts[0]).dropna()):
            return pd.concat({1: between}, names=["round"]).swaplevel()
    return direct


def _direct(logs: pd.DataFrame, bases: Sequence[int], others: Sequence[int]) -> "pd.Series[float]":
    """Return the contrasts of two cases in the groups that have both."""
    base, other = (logs.reindex(columns=list(cases)).mean(axis=1) for cases in (bases, others))
    return (other - base).dropna().groupby(level=["block", "round"]).mean()
