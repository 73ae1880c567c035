"""Reply streams of a run, as frames: time to first message, gaps, pacing and transit, for each start."""

import math

import numpy as np
import pandas as pd

from bench import stats

LOAD = "reply_stream"
TIMES = ("first", "gap", "uneven", "pacing", "transit")  # of a start: quantiles of each in us
QUANTILES = (0.5, 0.9, 0.99)
LEAST_TOGETHER = 0.25  # of a start: the part in which all callers have streams, if their rate is given


def column(time: str, p: float) -> str:
    """Return the column of a quantile of one of ``TIMES``: p50_first_us, p99_gap_us."""
    return f"p{100 * p:g}_{time}_us"


FIRST = column("first", 0.5)  # the median time to first message
COLUMNS = (*(column(time, p) for time in TIMES for p in QUANTILES), "overdue")


def streams(stored: pd.DataFrame, ledger: pd.DataFrame) -> pd.DataFrame:
    """Return one row per request: the table ``streams`` as stored, with ``case``, and ``warm`` after the warm-up.

    Of a start in which no stream began after the warm-up all are warm: a stream that lasts as long as its window.
    """
    frame = stored.sort_values(["start", "stream"], kind="stable", ignore_index=True)
    starts = ledger[["case", "warm_up_ns"]].reindex(frame["start"])
    frame["case"] = starts["case"].to_numpy()
    warm = frame["t_send_ns"] >= starts["warm_up_ns"].to_numpy()
    frame["warm"] = warm | ~warm.groupby(frame["start"]).transform("any")
    return frame


def replies(stored: pd.DataFrame, streams: pd.DataFrame) -> pd.DataFrame:
    """Return one row per stored reply: the table as stored, with ``number`` in its stream, and its stream's columns.

    streams: as the function of that name returns it; its ``case``, ``warm`` and ``is_complete`` are added.
    """
    frame = stored.assign(number=stored.groupby(["start", "stream"]).cumcount())
    columns = ["start", "stream", "case", "warm", "is_complete"]
    return frame.merge(streams[columns], on=["start", "stream"], how="left")


def gaps(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the replies that have one before them in a complete stream, after the warm-up: their gaps are gaps."""
    return rows[(rows["number"] > 0) & rows["warm"] & rows["is_complete"]]


def quantiles(ledger: pd.DataFrame, streams: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """Return the columns ``COLUMNS`` and ``stream_rate_per_s``, one row per start of this load.

    A quantile above the median is NaN where the start has too few values to carry it. ``uneven`` times are the
    distances of the gaps from the planned one, NaN where unpaced. ``overdue``: the share of replies that came when
    the next one was due already, more than one gap late; NaN where unpaced. ``stream_rate_per_s``: replies per second
    while all callers had streams.
    """
    starts = ledger.index[ledger["load"] == LOAD]
    values = pd.DataFrame(index=starts, columns=[*COLUMNS, "stream_rate_per_s"], dtype=float)
    complete, with_gap = streams[streams["warm"] & streams["is_complete"]], gaps(replies).copy()
    planned_ns = ledger["gap_us"].reindex(with_gap["start"]).to_numpy() * 1e3
    with_gap["uneven_ns"] = (with_gap["gap_ns"] - planned_ns).abs().where(planned_ns > 0)
    values["overdue"] = _overdue(replies[replies["warm"]], ledger["gap_us"]).reindex(starts)
    for time, table in (("first", complete), *((name, with_gap) for name in TIMES[1:])):
        for start, of_start in table.groupby("start")[f"{time}_ns"]:
            for p in QUANTILES:
                values.loc[start, column(time, p)] = stats.carried(of_start.to_numpy() / 1e3, p)
    for start, of_start in streams[streams["replies"] > 0].groupby("start"):
        values.loc[start, "stream_rate_per_s"] = _rate_per_s(of_start)
    return values


def _rate_per_s(rows: pd.DataFrame) -> float:
    """Return the replies per second of a start while all callers had streams; NaN where that is a short part of it.

    Streams begin one after another, and those that have begun are received whole. The replies of a stream are counted
    as if they came evenly from its first to its last.
    """
    first, last = (rows["t_send_ns"] + rows[name] for name in ("first_ns", "last_ns"))
    began = rows.groupby("client")["t_send_ns"].min().max()
    ended = last.groupby(rows["client"]).max().min()
    if ended - began < LEAST_TOGETHER * (last.max() - rows["t_send_ns"].min()):
        return math.nan
    inside = (last.clip(upper=ended) - first.clip(lower=began)).clip(lower=0) / (last - first)
    is_inside = ((last > began) & (last <= ended)).astype(float)  # of a stream with one reply
    return float((rows["replies"] * inside.where(last > first, is_inside)).sum() / ((ended - began) / 1e9))


def _overdue(rows: pd.DataFrame, gap_us: "pd.Series[float]") -> "pd.Series[float]":
    """Return the share of overdue replies of each start; a first reply is due when its request is sent."""
    late_ns = np.where(rows["number"] == 0, rows["gap_ns"], rows["pacing_ns"] + rows["transit_ns"])
    allowed_ns = gap_us.reindex(rows["start"]).to_numpy() * 1e3
    over = pd.Series(np.where(allowed_ns > 0, late_ns > allowed_ns, np.nan), index=rows.index)
    return over.groupby(rows["start"]).mean()
