"""Published numbers of the origins, the same numbers of a run that repeats them, and ratios of both."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from bench import stats
from bench.analysis import comparison, marginal_costs
from bench.experiments.published import GREETER, SCALE_UP, WAMP, XMLRPC_C, ZEROMQ
from bench.run.frames import Run, once
from bench.stats import Spread

REPRODUCED, SAME_DIRECTION = "reproduced", "same direction, another size"
OPPOSITE, UNDECIDED = "opposite direction", "not distinguishable from 1"
VERDICTS = (REPRODUCED, SAME_DIRECTION, OPPOSITE, UNDECIDED)


class Replica(NamedTuple):
    """One published number and the same from a run: ``us`` or ``1/s``; theirs may be a range.

    source: the case and the column of ``Run.starts`` that the number is from, if it is from one.
    """

    origin: str
    name: str
    unit: str
    theirs: tuple[float, float]
    here: Spread
    source: tuple[int, str] | None = None

    @property
    def ratio(self) -> float:
        """How many times as fast it is here as there: ratio of medians, in time or in rate."""
        there = sum(self.theirs) / 2
        return self.here.middle / there if self.unit == "1/s" else there / self.here.middle


class Relation(NamedTuple):
    """What an origin concluded, as a ratio of two of its numbers, and the same ratio here.

    here: the ratio paired by block with its 95 % interval; where that cannot be had, the ratio that the ranges allow.
    """

    origin: str
    claim: str
    theirs: float
    here: Spread
    is_paired: bool = True

    @property
    def verdict(self) -> str:
        """Whether the ratio here repeats the published one, by its interval or range: one of ``VERDICTS``.

        Compared are numbers as they are printed, with three digits, so that no verdict contradicts its own line.
        """
        theirs, low, high = (float(f"{value:.3g}") for value in (self.theirs, self.here.low, self.here.high))
        if low <= 1 <= high:
            return UNDECIDED
        if low <= theirs <= high:
            return REPRODUCED
        return SAME_DIRECTION if (theirs > 1) == (low > 1) else OPPOSITE


def _column(run: Run, case: int, name: str, factor: float = 1.0) -> tuple[Spread, tuple[int, str]]:
    """Return the median and the range over the starts of a case's number, and where it is from."""
    values = run.starts_of(case)[name] * factor
    return stats.across_starts(values), (case, name)


def _wamp(run: Run) -> Iterator[Replica]:
    for name, theirs in WAMP.items():
        by, framing, serializer = name.split()
        wanted = {"system": "wamp_crossbar", "transport": by, "framing": framing, "serializer": serializer}
        if (case := run.first(**wanted)) is not None:
            low, high = theirs["settled_ms"]
            words = f"WAMP, {by} {framing} {serializer}"
            yield Replica("WAMP, 2016", words, "us", (low * 1e3, high * 1e3), *_column(run, case, "mean_rtt_us"))


def _scaleup(run: Run) -> Iterator[Replica]:
    for size, name in ((16, "16 B"), (65_536, "65,536 B")):
        if (case := run.first(system="http_crossbar", payload_bytes=size)) is not None:
            theirs = SCALE_UP[name]
            rate, middle = theirs["per_s"], theirs["p50_ms"] * 1e3
            yield Replica("Web, 2015", f"HTTP {name}, requests", "1/s", (rate,) * 2, *_column(run, case, "rate_per_s"))
            yield Replica("Web, 2015", f"HTTP {name}, median", "us", (middle,) * 2, *_column(run, case, "p50_rtt_us"))


def _zeromq(run: Run) -> Iterator[Replica]:
    for by, half_us in ZEROMQ["half_rtt_us"].items():
        if (case := run.first(system="zeromq", transport=by, load="closed")) is not None:
            rtt = (2 * half_us,) * 2
            yield Replica("ZeroMQ", f"ZeroMQ, 1 kB there and back, {by}", "us", rtt, *_column(run, case, "mean_rtt_us"))
    for size, rate in ZEROMQ["inproc_per_s"].items():
        if (case := run.first(system="zeromq", payload_bytes=size, load="stream")) is not None:
            words = f"ZeroMQ, messages of {size:,} B"
            yield Replica("ZeroMQ", words, "1/s", (rate,) * 2, *_column(run, case, "rate_per_s"))


def _xmlrpc_c(run: Run) -> Iterator[Replica]:
    for protocol, name in (("http", "http_cpp"), ("pstream", "pstream_cpp")):
        if (case := run.first(system="xmlrpc_c", protocol=protocol, load="session")) is not None:
            theirs = XMLRPC_C[name]
            call_us = (theirs["calls_100_ms"] - theirs["call_1_ms"]) / 99 * 1e3
            here = stats.across_starts(marginal_costs.difference_us(run, case))
            words = f"XML-RPC, {'HTTP' if protocol == 'http' else 'packet stream'}, one more call"
            yield Replica("Xmlrpc-c, 1999", words, "us", (call_us,) * 2, here)
    for server, held, sides in ((True, "one side", "one side"), (False, "both sides", "neither side")):
        if (case := run.first(system="xmlrpc_pstream", server_nodelay=server)) is not None:
            rate = XMLRPC_C["calls_per_s_held"][held]
            words = f"XML-RPC, TCP_NODELAY on {sides}"
            yield Replica("Xmlrpc-c, 1999", words, "1/s", (rate,) * 2, *_column(run, case, "rate_per_s"))


def _grpc(run: Run) -> Iterator[Replica]:
    single = run.first(system="grpc_sync", clients=1)
    if single is not None:
        cold = (GREETER["one_call_ms"] * 1e3,) * 2
        measured = _column(run, single, "first_rtt_ns", 1e-3)
        yield Replica("gRPC greeter, 2022", "gRPC, one call, cold", "us", cold, *measured)
    for clients, rates in GREETER["calls_per_s"].items():
        if (case := run.first(system="grpc_sync", clients=clients)) is not None:
            words = f"gRPC, 100 calls by {clients} client{'s' if clients > 1 else ''}"
            yield Replica("gRPC greeter, 2022", words, "1/s", (sum(rates),) * 2, *_column(run, case, "rate_per_s"))


@once
def replicas(run: Run) -> list[Replica]:
    """Return every published number that the run repeats, by origin."""
    makers: tuple[Callable[[Run], Iterator[Replica]], ...] = (_wamp, _scaleup, _zeromq, _xmlrpc_c, _grpc)
    return [replica for make in makers for replica in make(run)]


CLAIMS = (  # what the origins concluded: one number over another, by the beginnings of their names
    ("WAMP time: tcp websocket json / ipc rawsocket msgpack", "WAMP, tcp", "WAMP, ipc"),
    ("HTTP rate: 16 B / 65,536 B", "HTTP 16 B, requests", "HTTP 65,536 B, requests"),
    ("ZeroMQ time: tcp / inproc", "ZeroMQ, 1 kB there and back, tcp", "ZeroMQ, 1 kB there and back, inproc"),
    ("ZeroMQ time: tcp / ipc", "ZeroMQ, 1 kB there and back, tcp", "ZeroMQ, 1 kB there and back, ipc"),
    ("ZeroMQ rate: 100 B / 100,000 B", "ZeroMQ, messages of 100 B", "ZeroMQ, messages of 100,000 B"),
    ("XML-RPC time: HTTP / packet stream", "XML-RPC, HTTP", "XML-RPC, packet stream"),
    (
        "XML-RPC rate: TCP_NODELAY on one side / neither",
        "XML-RPC, TCP_NODELAY on one",
        "XML-RPC, TCP_NODELAY on neither",
    ),
    ("gRPC rate: two clients / one", "gRPC, 100 calls by 2", "gRPC, 100 calls by 1"),
)


@once
def relations(run: Run) -> list[Relation]:
    """Return each origin's conclusion as a ratio, there and here."""
    numbers, compared = replicas(run), []
    for claim, more, less in CLAIMS:
        above = [replica for replica in numbers if replica.name.startswith(more)]
        below = [replica for replica in numbers if replica.name.startswith(less)]
        for upper, lower in zip(above, below, strict=False):  # none of either if it was not measured
            compared.append(
                Relation(upper.origin, claim, sum(upper.theirs) / sum(lower.theirs), *_paired(run, upper, lower))
            )
    return compared


def carried_over(run: Run) -> tuple[float, float]:
    """Return by which factor the numbers, and their ratios, differ from the published ones: medians, at least 1."""
    numbers = [abs(math.log(replica.ratio)) for replica in replicas(run)]
    of_two = [abs(math.log(relation.here.middle / relation.theirs)) for relation in relations(run)]
    return math.exp(float(np.median(numbers))), math.exp(float(np.median(of_two)))


def _paired(run: Run, upper: Replica, lower: Replica) -> tuple[Spread, bool]:
    """Return the ratio of two numbers by the one estimator, and True; without it, what the ranges allow, and False."""
    high, low = upper.here, lower.here
    widest = Spread(high.middle / low.middle, high.low / low.high, high.high / low.low)
    if upper.source is None or lower.source is None:
        return widest, False
    interval = comparison.effect(run, lower.source[0], upper.source[0], upper.source[1])
    if interval.has_ends:
        return Spread(interval.middle, interval.low, interval.high), True
    return widest, False
