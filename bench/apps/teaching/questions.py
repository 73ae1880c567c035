"""The questions that are predicted in each notebook: text, unit, and the quantity of a run that answers each."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from bench import stats
from bench.analysis.comparison import effect
from bench.errors import unknown
from bench.experiments.case_ratios import RATE, Ratio
from bench.experiments.clients.findings import best, gain, grown
from bench.experiments.connections import findings as connections
from bench.experiments.fanin import findings as fanin
from bench.experiments.languages import findings as languages
from bench.experiments.messages import findings as carried
from bench.experiments.network import findings as network
from bench.experiments.nodelay.findings import combinations
from bench.experiments.openload.findings import capacity, mean_response_us, sweep
from bench.experiments.overview.findings import over_sockets, ranked
from bench.experiments.retries.findings import Outcome, outcomes
from bench.experiments.scaleup.findings import of_bytes
from bench.experiments.streaming.findings import CPU, FIRST, paced, steps
from bench.experiments.tls import findings as tls
from bench.run.frames import Run, column, number_of
from bench.stats.intervals import Interval
from bench.text import quantity

P50, SERVER_CPU = column(0.5), "server_cpu_us_per_call"
RATIO = "times"  # the unit of a ratio of two cases

Answer = tuple[float, float, float]  # a value, and the low and high end of its interval or range


@dataclass(frozen=True)
class Question:
    """A question that a notebook's run answers: with the ratio of two cases, or with the median over starts.

    ``answer`` raises LookupError where the run did not measure what is asked.
    """

    name: str
    text: str
    unit: str
    answer: Callable[[Run], Answer]

    @property
    def notebook(self) -> str:
        """The notebook whose run answers it."""
        return self.name.split()[0]

    @property
    def spread(self) -> str:
        """What the two ends of an answer are."""
        return "95 % CI" if self.unit == RATIO else "range over starts"

    def shown(self, value: float) -> str:
        """Return a number of an answer as text, without its unit; ratios as the notebook's sentences show them."""
        return quantity(value) if self.unit == RATIO else f"{value:.3g}"


def measured(run: Run, question: Question) -> Answer | None:
    """Return the answer of a run with its interval (of a ratio) or its range over the starts, or None without one.

    The ends of a ratio's interval are NaN where fewer than six blocks hold both cases.
    """
    try:
        found = question.answer(run)
    except LookupError:
        return None
    return found if found[0] == found[0] else None


def _over_starts(each: "pd.Series[float]") -> Answer:
    """Return the median of one number for each start, and their range."""
    return stats.across_starts(each.to_list())


def _times(run: Run, base: object, other: object, name: str) -> Answer:
    """Return how many times a quantity of one case another has, by the estimator of all ratios of two cases."""
    found = effect(run, number_of(base), number_of(other), name)
    return found.middle, found.low, found.high


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


def _case(run: Run, **wanted: object) -> int:
    """Return the first case with these factors; LookupError if there is none."""
    case = run.first(**wanted)
    if case is None:
        raise LookupError(f"no case with {wanted}")
    return case


def _subject(run: Run, transport: str) -> int:
    return _case(run, system=run.case(0).system, transport=transport)


def _of_codec(run: Run, name: str) -> int:
    """Return the carrier's case with a codec at the middle size; LookupError if it was not measured."""
    found = [case for case in carried.by_codec(run) if carried.codec(run, case) == name]
    if not found:
        raise LookupError(f"codec {name} was not measured")
    return found[0]


def _codec_percent(run: Run, name: str) -> Answer:
    middle, low, high = carried.split(run, _of_codec(run, name)).share
    return 100 * middle, 100 * low, 100 * high


def _of_fastest(run: Run, name: str) -> Answer:
    return _times(run, carried.by_codec(run)[0], _of_codec(run, name), P50)


def _held(run: Run, sides: tuple[str, ...]) -> Answer:
    """Return calls per second of the first system in two writes while ``sides`` set TCP_NODELAY."""
    cases = [one.case for one in combinations(run) if one.writes == 2 and one.sides in sides]
    first = run.case(0).system
    mine = run.starts[run.starts["case"].isin([case for case in cases if run.case(case).system == first])]
    return _over_starts(mine["rate_per_s"])


def _clients(run: Run, clients: int) -> Answer:
    """Return how many times one client's calls per second some clients make in a whole window."""
    found = gain(run, grown(run), clients)
    if found is None:
        raise LookupError(f"no whole window with one client and with {clients}")
    return found.value, found.interval.low, found.interval.high


def _response_ms(run: Run, share: float) -> Answer:
    """Return the mean response time in ms at the offered rate that is nearest to a share of the capacity."""
    cases = sweep(run)
    below = cases[cases["offered_per_s"] < capacity(run)]["offered_per_s"]
    if below.empty:
        raise LookupError("no rate below the capacity")
    nearest = (below - share * capacity(run)).abs().idxmin()
    return _over_starts(mean_response_us(run, number_of(nearest)) / 1e3)


def _layer(run: Run, system: str) -> Answer:
    """Return how many times the median RTT of raw sockets over the same transport a system's is, with one client."""
    cases = ranked(run).reset_index().set_index("system")["case"]
    found = over_sockets(run, number_of(cases[system]))
    if found is None:
        raise LookupError("no raw sockets over the same transport")
    return found.value, found.interval.low, found.interval.high


def _cross(run: Run, system: str) -> languages.Cross:
    """Return the cases of a system with one caller, client and server in either language."""
    found = [one for one in languages.single(run) if one.system == system]
    if not found:
        raise LookupError(f"no {system} with client and server in either language in this run")
    return found[0]


def _at_once(run: Run) -> Outcome:
    """Return the outcome of the policy that retries at once."""
    found = [one for one in outcomes(run) if one.name == "retries at once"]
    if not found:
        raise LookupError("no retries at once in this run")
    return found[0]


def _workers(run: Run) -> Answer:
    """Return how many times one worker's requests two workers answer, for the smallest reply."""
    rows = of_bytes(run)
    rows = rows[rows["payload_bytes"] == rows["payload_bytes"].min()].reset_index().set_index("workers")["case"]
    return _times(run, rows[1], rows[2], RATE)


def _first_message(run: Run) -> Answer:
    """Return how many times the time to first message of raw sockets gRPC's is, with the fewest paced streams."""
    rows = paced(run)
    few = rows[rows["callers"] == rows["callers"].min()].reset_index().set_index("system")["case"]
    return _times(run, few["sockets"], few["grpc_aio"], FIRST)


def _message_cpu(run: Run) -> Answer:
    """Return how many times the CPU time per message of ZeroMQ gRPC needs, both with protobuf, over tcp."""
    for one in steps(run):
        if one.factor == "stack" and one.ratio.name == CPU:
            return _times(run, one.ratio.other, one.ratio.base, CPU)
    raise LookupError("the stacks of the origin were not measured")


def _encrypted(run: Run, ratio: Callable[[Run, tls.Pair], Interval]) -> Answer:
    """Return a ratio of raw sockets, encrypted over not."""
    found = [pair for pair in tls.pairs(run) if run.case(pair.plain).system == "sockets"]
    if not found:
        raise LookupError("no raw sockets with and without TLS")
    one = ratio(run, found[0])
    return one.middle, one.low, one.high


def _ratio(found: Ratio | None) -> Answer:
    """Return a ratio that a notebook reports, with its interval; LookupError where it was not measured."""
    if found is None:
        raise LookupError("no two cases to compare")
    return found.value, found.interval.low, found.interval.high


ALL = (
    Question(
        "latency q1",
        "How long is the median RTT of the system under test over ipc, in µs?",
        "µs",
        lambda run: _over_starts(run.starts_of(_subject(run, "ipc"))[P50]),
    ),
    Question(
        "latency q2",
        "How many times as long as over ipc is its median RTT over tcp?",
        "times",
        lambda run: _times(run, _subject(run, "ipc"), _subject(run, "tcp"), P50),
    ),
    Question(
        "overview q1",
        "How many times the median RTT of raw sockets is that of gRPC (grpc_sync)?",
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
        "How many times the calls per second of one client do two clients make, in a whole window?",
        "times",
        lambda run: _clients(run, 2),
    ),
    Question(
        "clients q2",
        "And how many times the calls per second of one client does the best number of clients make?",
        "times",
        lambda run: _clients(run, best(run)),
    ),
    Question(
        "nodelay q1",
        "Two writes per message, one side without TCP_NODELAY: how many calls per second (first system)?",
        "calls/s",
        lambda run: _held(run, ("client only", "server only")),
    ),
    Question(
        "nodelay q2",
        "And with neither side setting TCP_NODELAY?",
        "calls/s",
        lambda run: _held(run, ("neither",)),
    ),
    Question(
        "messages q1",
        "What share of the carrier's call is its codec, with json, at the middle size, in percent?",
        "%",
        lambda run: _codec_percent(run, "json"),
    ),
    Question(
        "messages q2",
        "How many times the median RTT of the carrier's fastest codec is that of json?",
        "times",
        lambda run: _of_fastest(run, "json"),
    ),
    Question(
        "languages q1",
        "How many times as long is the median RTT of raw sockets with both sides in Python as with both native?",
        "times",
        lambda run: _times(run, _cross(run, "sockets_c").native, _cross(run, "sockets_c").python, P50),
    ),
    Question(
        "languages q2",
        "How many times the CPU time per call of a native gRPC server does the one in Python need?",
        "times",
        lambda run: _times(
            run, _cross(run, "grpc_cpp").server, _cross(run, "grpc_cpp").python, "server_cpu_us_per_call"
        ),
    ),
    Question(
        "tls q1",
        "How many times as long does a new TCP connection of raw sockets take with TLS, up to its first reply?",
        "times",
        lambda run: _encrypted(run, tls.connect_ratio),
    ),
    Question(
        "tls q2",
        "And how many times as long does a call with the largest payload take on an open connection?",
        "times",
        lambda run: _encrypted(run, lambda run, pair: tls.call_ratio(run, pair, tls.sizes(run)[-1])),
    ),
    Question(
        "openload q1",
        "The offered rate is nearest to half of the capacity: how long is the mean response time, in ms?",
        "ms",
        lambda run: _response_ms(run, 0.5),
    ),
    Question(
        "openload q2",
        "And at the offered rate nearest to nine tenths of the capacity?",
        "ms",
        lambda run: _response_ms(run, 0.9),
    ),
    Question(
        "retries q1",
        "Retries at once: how many attempts does a request need on average, over the whole window?",
        "attempts",
        lambda run: _over_starts(_at_once(run).attempts_per_request),
    ),
    Question(
        "retries q2",
        "And how many per cent of the requests meet the deadline?",
        "%",
        lambda run: _over_starts(100 * _at_once(run).met),
    ),
    Question(
        "streaming q1",
        "One stream: how many times the time to first message of raw sockets is that of gRPC (grpc_aio)?",
        "times",
        _first_message,
    ),
    Question(
        "streaming q2",
        "Many streams: how many times the CPU time per message of ZeroMQ does gRPC need, both with protobuf?",
        "times",
        _message_cpu,
    ),
    Question(
        "scaleup q1",
        "How many times one worker's requests per second do two workers answer, replies of the smallest size?",
        "times",
        _workers,
    ),
    Question(
        "connections q1",
        "How many times the calls per second of a new connection for each call does a persistent one make (sockets)?",
        "times",
        lambda run: _ratio(connections.persistence(run, "sockets")),
    ),
    Question(
        "connections q2",
        "How many times the calls per second of one call under way do the most under way make (zeromq)?",
        "times",
        lambda run: _ratio(connections.deepening(run, "zeromq")),
    ),
    Question(
        "fanin q1",
        "How many times as long as over raw sockets is the median RTT through Redis, with the fewest clients?",
        "times",
        lambda run: _ratio(fanin.detour(run, "redis") if "redis" in fanin.systems(run) else None),
    ),
    Question(
        "fanin q2",
        "How many times the calls per second of the fewest clients do the most clients make through NATS?",
        "times",
        lambda run: _ratio(fanin.growth(run, "nats") if "nats" in fanin.systems(run) else None),
    ),
    Question(
        "network q1",
        "How many times as long as over loopback is the median RTT of raw sockets over the veth pair?",
        "times",
        lambda run: _ratio(network.added_to(run, "sockets")),
    ),
    Question(
        "network q2",
        "How many times the median RTT of raw sockets is gRPC's with the large payload over the limited link?",
        "times",
        lambda run: _ratio(network.limited(run, "grpc_sync")),
    ),
)
