"""Reply streams beside their schedule: which cases keep it, where replies are late, and whether TCP held them back."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis.resources import crowded, full, resources
from bench.analysis.stalls import DELAY_S
from bench.run import reply_stream_times
from bench.run.frames import Run, number_of, once_per_run
from bench.run.reply_stream_times import column

DELAY_NS = 1e9 * DELAY_S  # a delayed acknowledgement comes this late, or up to a quarter more
MOST_OVERDUE = 0.05  # share of messages that may come more than one gap late where the schedule is kept


@once_per_run
def paced(run: Run) -> pd.DataFrame:
    """Return the rows of ``Run.cases`` with paced streams: of each system its first transport and options."""
    cases = run.cases_with(load=reply_stream_times.LOAD).query("gap_us > 0")
    way = cases["transport"] + cases["options"]
    return cases[way == way.groupby(cases["system"]).transform("first")]


@once_per_run
def unpaced(run: Run) -> pd.DataFrame:
    """Return the rows of ``Run.cases`` with streams that are not paced."""
    return run.cases_with(load=reply_stream_times.LOAD).query("gap_us == 0 and replies > 0")


@once_per_run
def services(run: Run) -> pd.DataFrame:
    """Return the rows of ``Run.cases`` with streams of users' services, whose schedule is not known."""
    return run.cases_with(load=reply_stream_times.LOAD).query("replies == 0")


def with_first(run: Run) -> pd.DataFrame:
    """Return the rows of ``paced`` and of ``services``: those whose time to first message is of interest."""
    return pd.concat([paced(run), services(run)])


def is_behind(row: "pd.Series[float]") -> bool:
    """Return whether too many messages of a case came when the next one was due already."""
    return bool(row["overdue"] > MOST_OVERDUE)


def kept(run: Run) -> pd.DataFrame:
    """Return the rows of ``paced`` whose streams keep their schedule."""
    return paced(run)[paced(run)["overdue"] <= MOST_OVERDUE]


@dataclass(frozen=True)
class DelayedAckStalls:
    """Rounds of messages that TCP held back until a delayed ACK came: the medians over the starts of a case.

    silences: times per start in which no message of any stream arrived for as long as a delayed ACK takes, although
    some were due. silence_us: how long they are. delayed_acks: how many of these the kernel counted per start.
    """

    silences: float
    silence_us: float
    delayed_acks: float


@once_per_run
def delayed_ack_stalls(run: Run, case: int) -> DelayedAckStalls | None:
    """Return the rounds in which Nagle's algorithm and delayed ACKs held messages back; None where it is not shown.

    It is shown over TCP, in at least half of the starts, by silences with a delayed ACK each while no CPU is saturated.
    """
    factors = run.case(case)
    due_every_ns = 1e3 * factors.gap_us / factors.callers
    if factors.transport != "tcp" or due_every_ns > DELAY_NS / 2 or full(resources(run, case)) or crowded(run, case):
        return None
    silent = {start: _silences_ns(run, start) for start in run.ledger_of(case).index}
    acks = run.ledger_of(case)["tcp_delayed_acks"]
    shown = [1 <= len(silences) <= acks[start] for start, silences in silent.items()]
    if 2 * sum(shown) < len(shown):
        return None
    counts, every = [len(silences) for silences in silent.values()], np.concatenate(list(silent.values()))
    return DelayedAckStalls(float(np.median(counts)), float(np.median(every)) / 1e3, float(acks.median()))


def _silences_ns(run: Run, start: object) -> stats.Array:
    """Return how long nothing arrived in a start, in ns, of the times that a delayed ACK can explain."""
    rows = run.replies[run.replies["start"] == start]
    sent = run.streams[run.streams["start"] == start].set_index("stream")["t_send_ns"]
    arrived = rows["stream"].map(sent) + rows.groupby("stream")["gap_ns"].cumsum()
    between = np.diff(np.sort(arrived.to_numpy()))
    return np.asarray(between[(between >= DELAY_NS) & (between <= 1.25 * DELAY_NS)], float)


@once_per_run
def common(run: Run) -> int | None:
    """Return the largest number of streams at which most systems keep their schedule, or None."""
    counts = kept(run)["callers"].value_counts()
    system_count = paced(run)["system"].nunique()
    enough = [int(number) for number in counts.index if 2 * counts[number] > system_count]
    return max(enough, default=None)


def at_common(run: Run) -> pd.DataFrame:
    """Return the rows of ``kept`` with that number of streams."""
    return kept(run)[kept(run)["callers"] == common(run)]


def behind_at_common(run: Run) -> pd.DataFrame:
    """Return the rows of ``paced`` with that number of streams whose systems do not keep their schedule."""
    rows = paced(run)[paced(run)["callers"] == common(run)]
    return rows[~rows["system"].isin(at_common(run)["system"])]


def late_words(run: Run, cases: pd.DataFrame) -> str:
    """Return in words why some cases miss their schedule: by delayed ACKs, or for another reason; "" if none does."""
    missed = [number_of(case) for case, row in cases.iterrows() if is_behind(row)]
    by_tcp = [case for case in missed if delayed_ack_stalls(run, case)]
    words = {"behind schedule": len(by_tcp) < len(missed), "held back by delayed ACKs": bool(by_tcp)}
    return " or ".join(word for word, applies in words.items() if applies)


def has_p90(run: Run, case: int, time: str) -> bool:
    """Return whether any start of a case has enough values of a time, such as "uneven", to carry its p90."""
    return bool(run.starts_of(case)[column(time, 0.9)].notna().any())


def unevenness(run: Run, case: int) -> "np.ndarray[Any, Any]":
    """Return how far each gap of a paced case is from the planned one, in us, shape (gaps,)."""
    rows = reply_stream_times.gaps(run.replies[run.replies["case"] == case])
    return np.asarray(np.abs(rows["gap_ns"].to_numpy() / 1e3 - run.case(case).gap_us))


@dataclass(frozen=True)
class Lateness:
    """Where the replies of a case are late, in us: the median and p90 at the server's timer, and from there on.

    pacing: from when a reply was due until the server handed it to its library. transit: from there until the client
    had it. All stored replies of complete streams, all starts together; a p90 is NaN where no start has enough.
    """

    case: int
    pacing: tuple[float, float]
    transit: tuple[float, float]

    @property
    def pacing_share(self) -> float:
        """The share of the server's timer in the sum of both medians."""
        return self.pacing[0] / (self.pacing[0] + self.transit[0])


@once_per_run
def lateness(run: Run, case: int) -> Lateness:
    """Return where the replies of a case are late."""
    rows = reply_stream_times.gaps(run.replies[run.replies["case"] == case])
    times_us = {name: rows[f"{name}_ns"].to_numpy() / 1e3 for name in ("pacing", "transit")}
    both = {
        name: (stats.quantile(values, 0.5), stats.quantile(values, 0.9) if has_p90(run, case, name) else math.nan)
        for name, values in times_us.items()
    }
    return Lateness(case, both["pacing"], both["transit"])
