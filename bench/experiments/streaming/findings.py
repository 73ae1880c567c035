"""Reply streams: which keep their schedule, where replies are late, what each factor of the origin's choice costs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis.comparison import values
from bench.analysis.resources import crowded, full, resources
from bench.analysis.stalls import DELAY_S
from bench.grammar.contrast import Ratio, ratio
from bench.run import reply_streams
from bench.run.frames import Run, number_of, numbered, once
from bench.run.reply_streams import FIRST as FIRST
from bench.run.reply_streams import column
from bench.stats.intervals import Interval, paired_shift

UNEVEN = column("uneven", 0.9)
GAP, LARGE_GAP = column("gap", 0.5), column("gap", 0.99)
CPU = "cpu_us_per_call"
DELAY_NS = 1e9 * DELAY_S  # a delayed ACK comes this late, or up to a quarter more
MOST_OVERDUE = 0.05  # share of messages that may come more than one gap late where the schedule is kept


@once
def paced(run: Run) -> pd.DataFrame:
    """Return the rows of ``Run.cases`` with paced streams: of each system its first transport and options."""
    return _of_first(run, run.cases_with(load=reply_streams.LOAD).query("gap_us > 0"))


@once
def unpaced(run: Run) -> pd.DataFrame:
    """Return the rows of ``Run.cases`` with streams that are not paced."""
    return run.cases_with(load=reply_streams.LOAD).query("gap_us == 0 and replies > 0")


@once
def services(run: Run) -> pd.DataFrame:
    """Return the rows of ``Run.cases`` with streams of users' services, whose schedule is not known."""
    return run.cases_with(load=reply_streams.LOAD).query("replies == 0")


def with_first(run: Run) -> pd.DataFrame:
    """Return the rows of ``paced`` and of ``services``: those whose time to first message is of interest."""
    return pd.concat([paced(run), services(run)])


def _of_first(run: Run, cases: pd.DataFrame) -> pd.DataFrame:
    first: dict[str, tuple[str, str]] = {}
    for _, row in cases.iterrows():
        first.setdefault(row["system"], (row["transport"], row["options"]))
    is_first = [first[row["system"]] == (row["transport"], row["options"]) for _, row in cases.iterrows()]
    return cases[np.array(is_first, bool)]


def is_behind(row: "pd.Series[float]") -> bool:
    """Return whether too many messages of a case came when the next one was due already."""
    return bool(row["overdue"] > MOST_OVERDUE)


def kept(run: Run) -> pd.DataFrame:
    """Return the rows of ``paced`` whose streams keep their schedule."""
    return paced(run)[paced(run)["overdue"] <= MOST_OVERDUE]


@dataclass(frozen=True)
class Held:
    """Rounds of messages that TCP held back until a delayed ACK came: the medians over the starts of a case.

    silences: times per start in which no message of any stream arrived for as long as a delayed ACK takes, although
    some were due. silence_us: how long they are. delayed_acks: how many of these the kernel counted per start.
    """

    silences: float
    silence_us: float
    delayed_acks: float


@once
def held(run: Run, case: int) -> Held | None:
    """Return the rounds in which Nagle's algorithm and delayed ACKs held messages back; None where it is not shown.

    It is shown over TCP, in at least half of the starts, by silences with a delayed ACK each while no CPU is saturated.
    """
    of = run.case(case)
    due_every_ns = 1e3 * of.gap_us / of.callers
    if of.transport != "tcp" or due_every_ns > DELAY_NS / 2 or full(resources(run, case)) or crowded(run, case):
        return None
    silent = {start: _silences_ns(run, start) for start in run.ledger_of(case).index}
    acks = run.ledger_of(case)["tcp_delayed_acks"]
    shown = [1 <= len(silences) <= acks[start] for start, silences in silent.items()]
    if 2 * sum(shown) < len(shown):
        return None
    counts, every = [len(silences) for silences in silent.values()], np.concatenate(list(silent.values()))
    return Held(float(np.median(counts)), float(np.median(every)) / 1e3, float(acks.median()))


def _silences_ns(run: Run, start: object) -> stats.Array:
    """Return how long nothing arrived in a start, in ns, of the times that a delayed ACK can explain."""
    rows = run.replies[run.replies["start"] == start]
    sent = run.streams[run.streams["start"] == start].set_index("stream")["t_send_ns"]
    arrived = rows["stream"].map(sent) + rows.groupby("stream")["gap_ns"].cumsum()
    between = np.diff(np.sort(arrived.to_numpy()))
    return np.asarray(between[(between >= DELAY_NS) & (between <= 1.25 * DELAY_NS)], float)


@once
def common(run: Run) -> int | None:
    """Return the largest number of streams at which most systems keep their schedule, or None."""
    counts = kept(run)["callers"].value_counts()
    most = paced(run)["system"].nunique()
    enough = [int(number) for number in counts.index if 2 * counts[number] > most]
    return max(enough, default=None)


def at_common(run: Run) -> pd.DataFrame:
    """Return the rows of ``kept`` with that number of streams."""
    return kept(run)[kept(run)["callers"] == common(run)]


def behind_at_common(run: Run) -> pd.DataFrame:
    """Return the rows of ``paced`` with that number of streams whose systems do not keep their schedule."""
    rows = paced(run)[paced(run)["callers"] == common(run)]
    return rows[~rows["system"].isin(at_common(run)["system"])]


def late(run: Run, cases: pd.DataFrame) -> str:
    """Return in words why some cases miss their schedule: by delayed ACKs, or for another reason; "" if none does."""
    missed = [number_of(case) for case, row in cases.iterrows() if is_behind(row)]
    by_tcp = [case for case in missed if held(run, case)]
    words = {"behind schedule": len(by_tcp) < len(missed), "held back by delayed ACKs": bool(by_tcp)}
    return " or ".join(word for word, applies in words.items() if applies)


def has_p90(run: Run, case: int, time: str) -> bool:
    """Return whether any start of a case has enough values of a time, such as "uneven", to carry its p90."""
    return bool(run.starts_of(case)[column(time, 0.9)].notna().any())


def unevenness(run: Run, case: int) -> "np.ndarray[Any, Any]":
    """Return how far each gap of a paced case is from the planned one, in us, shape (gaps,)."""
    rows = reply_streams.gaps(run.replies[run.replies["case"] == case])
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


@once
def lateness(run: Run, case: int) -> Lateness:
    """Return where the replies of a case are late."""
    rows = reply_streams.gaps(run.replies[run.replies["case"] == case])
    times_us = {name: rows[f"{name}_ns"].to_numpy() / 1e3 for name in ("pacing", "transit")}
    both = {
        name: (stats.quantile(values, 0.5), stats.quantile(values, 0.9) if has_p90(run, case, name) else math.nan)
        for name, values in times_us.items()
    }
    return Lateness(case, both["pacing"], both["transit"])


@dataclass(frozen=True)
class Step:
    """One step of the origin's choice: what changes, and the ratio of a quantity after over before."""

    factor: str
    change: str
    what: str
    ratio: Ratio


QUANTITIES = {FIRST: "time to first message", UNEVEN: "unevenness of the gaps (p90)", CPU: "CPU time per message"}


@once
def steps(run: Run) -> list[Step]:
    """Return the effect of each factor of the origin's choice on each quantity, one factor at a time."""
    effects = []
    for factor, change, base, other in _changes(run):
        for name, words in QUANTITIES.items():
            change_of_quantity = ratio(run, base, other, name)
            if not math.isnan(change_of_quantity.value):
                effects.append(Step(factor, change, words, change_of_quantity))
    return effects


def stack_ratio(run: Run) -> Ratio | None:
    """Return the time to first message with gRPC over that with ZeroMQ; None where both were not measured."""
    return next((step.ratio for step in steps(run) if step.factor == "stack" and step.ratio.name == FIRST), None)


def stack_difference_us(run: Run) -> Interval | None:
    """Return the time to first message with gRPC minus that with ZeroMQ, by block as their ratio; None without both."""
    if (of := stack_ratio(run)) is None:
        return None
    later = values(run, of.other, FIRST) - values(run, of.base, FIRST)
    return paired_shift(later.dropna().to_numpy(), run.confidence)


def longer_with_fewest(run: Run) -> list[Ratio]:
    """Return the time to first message with the fewest streams over that with the most, of systems where it is longer.

    Only where the two are distinguishable.
    """
    ends = [rows["callers"].agg(["idxmax", "idxmin"]) for _, rows in paced(run).groupby("system", sort=False)]
    compared = [ratio(run, number_of(most), number_of(least), FIRST) for most, least in ends if most != least]
    return [of for of in compared if of.is_certain and of.value > 1]


def _changes(run: Run) -> Iterator[tuple[str, str, int, int]]:
    """Yield factor, change in words, and the two cases, where both were measured."""
    zeromq = {"system": "zeromq", "token_codec": "protobuf", "transport": "tcp"}
    grpc = {"system": "grpc_aio", "serialization": "protobuf", "transport": "tcp"}
    wanted = (
        ("stack", "gRPC instead of ZeroMQ", zeromq, grpc),
        ("serializer", "protobuf instead of pickle", zeromq | {"token_codec": "pickle"}, zeromq),
        (
            "serializer",
            "pickle instead of bytes",
            zeromq | {"token_codec": "bytes"},
            zeromq | {"token_codec": "pickle"},
        ),
        ("transport", "ZeroMQ: ipc instead of tcp", zeromq, zeromq | {"transport": "ipc"}),
        ("transport", "gRPC: ipc instead of tcp", grpc, grpc | {"transport": "ipc"}),
    )
    count = origin_streams(run)
    for factor, change, before, after in wanted:
        cases = [_case(run, of, count) for of in (before, after)]
        if cases[0] is not None and cases[1] is not None:
            yield factor, change, cases[0], cases[1]


def _case(run: Run, of: dict[str, str], count: int | None) -> int | None:
    cases = [case for case in run.find(load=reply_streams.LOAD, callers=count, **of) if run.case(case).gap_us > 0]
    return cases[0] if cases else None


@once
def origin_streams(run: Run) -> int | None:
    """Return how many streams at once the origin's stacks have: as many as the case of ZeroMQ with pickle."""
    counts = [run.case(case).callers for case in run.find(system="zeromq", token_codec="pickle")]
    return max(counts, default=None)


@once
def stacks(run: Run) -> list[int]:
    """Return the cases of the origin's stacks, in the order of the steps."""
    return list(dict.fromkeys(case for _, _, base, other in _changes(run) for case in (base, other)))


def stack_name(run: Run, case: int) -> str:
    """Return a stack as the origin writes it, and its transport: ZeroMQ + pickle over tcp."""
    of = run.case(case)
    name = "ZeroMQ" if of.system == "zeromq" else "gRPC"
    return f"{name} + {of.options.get('token_codec') or of.options.get('serialization')} over {of.transport}"


def ratios(run: Run) -> list[Ratio]:
    """Return the ratios that the notebook reports.

    The time to first message of each system over that of raw sockets, at the number of ``common`` and with the fewest
    paced streams; the steps of the origin's choice; then ``longer_with_fewest``.
    """
    rows = paced(run)
    fewest = rows[rows["callers"] == rows["callers"].min()]
    compared = [*_over_sockets(run, at_common(run)), *_over_sockets(run, fewest)]
    compared += [*(step.ratio for step in steps(run)), *longer_with_fewest(run)]
    return list(dict.fromkeys(compared))


def _over_sockets(run: Run, rows: pd.DataFrame) -> list[Ratio]:
    base = next((number_of(case) for case, row in numbered(rows) if row["system"] == "sockets"), None)
    return [] if base is None else [ratio(run, base, case, FIRST) for case, _ in numbered(rows) if case != base]
