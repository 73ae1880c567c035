"""What is predicted in each notebook: a question, its unit, and the quantity of a run that answers it."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from bench.errors import unknown
from bench.experiments.clients.findings import grown
from bench.experiments.nodelay.findings import combinations
from bench.experiments.openload.findings import capacity, sweep
from bench.experiments.overview.findings import FLOOR, ranked
from bench.experiments.scaleup.findings import of_bytes
from bench.run.frames import Run, column

P50 = column(0.5)


@dataclass(frozen=True)
class Question:
    """A question that a notebook's run answers with numbers, one for each start or block; their median is the answer.

    ``each`` raises LookupError where the run did not measure what is asked.
    """

    name: str
    text: str
    unit: str
    each: "Callable[[Run], pd.Series[float]]"

    @property
    def notebook(self) -> str:
        """The notebook whose run answers it."""
        return self.name.split()[0]


def measured(run: Run, question: Question) -> tuple[float, float, float] | None:
    """Return the answer of a run and its range over the starts, or None where it was not measured."""
    try:
        each = question.each(run).dropna()
    except LookupError:
        return None
    return (float(each.median()), float(each.min()), float(each.max())) if len(each) else None


def of(notebook: str) -> list[Question]:
    """Return a notebook's questions; none for a notebook in which nothing is predicted."""
    return [one for one in ALL if one.notebook == notebook]


def find(name: str, notebook: str | None = None) -> Question:
    """Return a question by its name ("latency q1"); inside its notebook "q1" will do."""
    full = f"{notebook} {name}" if notebook and " " not in name else name
    for one in ALL:
        if one.name == full:
            return one
    raise unknown("question", name, [one.name for one in (of(notebook) if notebook else ALL)])


def _starts(run: Run, case: object, name: str) -> "pd.Series[float]":
    """Return one number for each start of a case, by block."""
    return run.starts_of(case).set_index("block")[name]


def _ratio(run: Run, case: object, other: object, name: str) -> "pd.Series[float]":
    """Return one ratio for each block: what was measured close together is divided."""
    return _starts(run, case, name) / _starts(run, other, name)


def _case(run: Run, **wanted: object) -> int:
    """Return the first case with these factors; LookupError if there is none."""
    case = run.first(**wanted)
    if case is None:
        raise LookupError(f"no case with {wanted}")
    return case


def _subject(run: Run, transport: str) -> int:
    return _case(run, system=run.case(0).system, transport=transport)


def _held(run: Run, sides: tuple[str, ...]) -> "pd.Series[float]":
    """Return calls per second of the first system in two writes while ``sides`` set TCP_NODELAY, for each start."""
    cases = [one.case for one in combinations(run) if one.writes == 2 and one.sides in sides]
    first = run.case(0).system
    mine = run.starts[run.starts["case"].isin([case for case in cases if run.case(case).system == first])]
    return mine["rate_per_s"]


def _clients(run: Run, best: bool) -> "pd.Series[float]":
    """Return how many times one client's calls per second two clients make, or the best number of them; by block."""
    rows = grown(run)
    many = rows["rate_per_s"].idxmax() if best else rows.index[rows["clients"] == 2][0]
    return _ratio(run, many, rows.index[rows["clients"] == 1][0], "rate_per_s")


def _response_ms(run: Run, share: float) -> "pd.Series[float]":
    """Return the mean response time in ms at the offered rate that is nearest to a share of the capacity."""
    cases = sweep(run)
    below = cases[cases["offered_per_s"] < capacity(run)]["offered_per_s"]
    if below.empty:
        raise LookupError("no rate below the capacity")
    nearest = (below - share * capacity(run)).abs().idxmin()
    rows = run.samples_of(nearest, warm=True)
    return (rows["lag_ns"] + rows["rtt_ns"]).groupby(rows["start"]).mean() / 1e6


def _layer(run: Run, system: str) -> "pd.Series[float]":
    """Return how many times the round trip of raw sockets a system's is, one client on one CPU with the server."""
    cases = ranked(run).reset_index().set_index("system")["case"]
    return _ratio(run, cases[system], cases[FLOOR], P50)


def _workers(run: Run) -> "pd.Series[float]":
    """Return how many times one worker's requests two workers answer, for the smallest reply."""
    rows = of_bytes(run)
    rows = rows[rows["payload_bytes"] == rows["payload_bytes"].min()].reset_index().set_index("workers")["case"]
    return _ratio(run, rows[2], rows[1], "rate_per_s")


ALL = (
    Question(
        "latency q1",
        "How long is one round trip of the system under test over ipc: the median, in µs?",
        "µs",
        lambda run: _starts(run, _subject(run, "ipc"), P50),
    ),
    Question(
        "latency q2",
        "How many times as long is its round trip over tcp as over ipc?",
        "times",
        lambda run: _ratio(run, _subject(run, "tcp"), _subject(run, "ipc"), P50),
    ),
    Question(
        "overview q1",
        "How many times the round trip of raw sockets is that of gRPC (grpc_sync)?",
        "times",
        lambda run: _layer(run, "grpc_sync"),
    ),
    Question(
        "overview q2",
        "And that of WAMP through a router (wamp_crossbar)?",
        "times",
        lambda run: _layer(run, "wamp_crossbar"),
    ),
    Question(
        "clients q1",
        "How many times the calls per second of one client do two clients make?",
        "times",
        lambda run: _clients(run, best=False),
    ),
    Question(
        "clients q2",
        "And how many times does the best number of clients make, whichever that is?",
        "times",
        lambda run: _clients(run, best=True),
    ),
    Question(
        "nodelay q1",
        "Two writes for each message, and one side without TCP_NODELAY: how many calls a second (first system)?",
        "calls/s",
        lambda run: _held(run, ("client only", "server only")),
    ),
    Question(
        "nodelay q2",
        "And with neither side's TCP_NODELAY?",
        "calls/s",
        lambda run: _held(run, ("neither",)),
    ),
    Question(
        "openload q1",
        "Users offer half of what the server can do: the mean response time, in ms?",
        "ms",
        lambda run: _response_ms(run, 0.5),
    ),
    Question(
        "openload q2",
        "And at the offered rate nearest to nine tenths?",
        "ms",
        lambda run: _response_ms(run, 0.9),
    ),
    Question(
        "scaleup q1",
        "How many times one worker's requests per second do two workers answer, replies of the smallest size?",
        "times",
        _workers,
    ),
)
