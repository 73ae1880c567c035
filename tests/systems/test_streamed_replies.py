"""Streams of replies by every system that has them, in the real pipeline; slow clients, and streams that break."""

import asyncio
import inspect
import itertools
import time

import numpy as np
import pytest
from conftest import answered
from specs import choices

from bench import systems
from bench.child.caller import resolve
from bench.errors import SystemFailedError, UsageError
from bench.measurement.reports import MOST_KEPT
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan import replies
from bench.plan.case import Case
from bench.plan.replies import Ask
from bench.systems import oracle

pytestmark = pytest.mark.slow

WAYS = [
    *((name, way, {}) for name in systems.offering("StreamClient") for way in systems.constant(name, "TRANSPORTS")),
    ("sockets", "tcp", {"writes": 2}),
    *(("zeromq", "ipc", {"token_codec": codec}) for codec in ("pickle", "protobuf")),
    *((name, "ipc", {"connections": "shared"}) for name in ("grpc_sync", "grpc_aio")),
    *((name, "tcp", {"serialization": "bytes"}) for name in ("grpc_sync", "grpc_aio", "grpclib")),
    *(("http_aiohttp", "tcp", {"stream_by": way}) for way in ("sse", "websocket")),
    ("http_asgi", "ipc", {"framework": "fastapi"}),
    *(("http_asgi", "tcp", {"server": server}) for server in ("uvicorn_h11", "hypercorn", "granian")),
    ("websockets", "tcp", {"library": "picows"}),
    ("nats", "tcp", {"jetstream": True}),
    ("redis", "tcp", {"queue": "stream"}),
    ("mqtt", "tcp", {"qos": 1}),
    ("wamp_crossbar", "tcp", {"framing": "websocket", "serializer": "json"}),
]
WAYS = [way for way in WAYS if way[1] != "inproc"]


WITHOUT_GAPS = [*{way[0]: way for way in reversed(WAYS) if way[1] == "tcp"}.values()]  # the first of each system


def case_of(name, transport, options, **more):
    """Return the case of three streams of five replies, 2 ms apart, unless ``more`` says otherwise."""
    usual = {"callers": 3, "replies": 5, "reply_bytes": 50, "gap_us": 2000, "load": "reply_stream"}
    return checked(Case(name, transport, 100, options, "free", **usual | more))


def streamed(case, routing=None):
    """Return a start in which every client has a complete stream, on a busy machine in a longer window."""
    for window_s in (0.1, 1, 10):
        measured = measure(case, window_s, 1, routing)
        if set(measured.tables["streams"]["client"]) == set(range(case.callers)):
            break
    return measured


@pytest.mark.parametrize(("name", "transport", "options"), WAYS)
def test_streams_arrive_whole_and_are_counted(name, transport, options, routing):
    gap_us = 0 if (name, transport, options) in WITHOUT_GAPS else 2000
    measured = streamed(case_of(name, transport, options, gap_us=gap_us), routing)
    ledger, streams, kept = measured.ledger, measured.tables["streams"], measured.tables["replies"]
    assert ledger["calls"] == ledger["server_calls"] == sum(streams["replies"]) > 0
    assert ledger["errors"] == 0 and ledger["streams"] == len(streams["stream"])
    assert set(streams["replies"]) == {5} and all(streams["is_complete"]) and set(streams["client"]) == {0, 1, 2}
    assert all(0 < first <= last for first, last in zip(streams["first_ns"], streams["last_ns"], strict=True))
    assert np.all(kept["transit_ns"] >= 0) and np.all(kept["pacing_ns"] >= 0) and np.all(kept["gap_ns"] >= 0)
    assert len(kept["stream"]) <= MOST_KEPT or len(set(kept["stream"])) == 1
    whole = np.bincount(kept["stream"])
    assert set(whole[whole > 0]) == {5}
    assert ledger["client_cpu_ns"] > 0 and ledger["server_cpu_ns"] > 0


@pytest.mark.parametrize(
    ("transport", "tls", "gap_us"), [("ipc", False, 0), ("tcp", False, 2000), ("tcp", True, 0), ("tcp", True, 2000)]
)
def test_streams_by_bare_connections_are_whole_and_counted(transport, tls, gap_us):
    measured = streamed(case_of("sockets", transport, {"tls": tls}, gap_us=gap_us, engine="wire", callers=20))
    ledger, streams = measured.ledger, measured.tables["streams"]
    assert ledger["calls"] == ledger["server_calls"] == sum(streams["replies"]) > 0 and ledger["errors"] == 0
    assert set(streams["replies"]) == {5} and set(streams["client"]) == set(range(20))
    assert np.all(measured.tables["replies"]["transit_ns"] >= 0) and np.all(measured.tables["replies"]["gap_ns"] >= 0)


SLOW = [
    ("sockets", {}),
    ("zeromq", {"high_water_mark": 10}),
    ("grpc_sync", {}),
    ("grpc_aio", {}),
    *(("http_aiohttp", {"stream_by": way}) for way in ("chunked", "sse", "websocket")),
    ("rpyc", {}),
    ("grpclib", {}),
    ("websockets", {}),
    ("arrow_flight", {}),
    *(("http_asgi", {"server": server}) for server in ("uvicorn_httptools", "hypercorn", "granian")),
    ("pyro5", {}),
    ("redis", {}),
]
MANY = Ask(2000, 100_000, 0)


@pytest.mark.parametrize(("name", "options"), SLOW)
def test_a_client_that_stops_reading_is_waited_for(name, options, routing, child_server):
    server, address = child_server(name, "ipc", options, routing, load="reply_stream")
    made, came = asyncio.run(_read_three(systems.load(name), options, address, server))
    assert 3 <= made < MANY.replies / 2 and came == [0, 1, 2, 3, 4]


async def _read_three(system, options, address, server):
    """Read three replies of many, then none until the server makes no more, then two.

    Return how many it made meanwhile, and the numbers of those that were read.
    """
    client = system.StreamClient(address, system.Options(**options))
    await resolve(client.open())
    stream, came = client.stream(replies.request(MANY, bytes(100))), []

    async def read(count):
        for _ in range(count):
            reply = await anext(stream) if inspect.isasyncgen(stream) else next(stream)
            assert len(reply) == MANY.reply_bytes
            came.append(replies.mark_of(reply)[0])

    await read(3)
    counts = [0]
    while len(counts) < 50 and (len(counts) < 4 or counts[-1] != counts[-3]):
        time.sleep(0.1)  # not asyncio's: nothing of this process reads meanwhile
        counts.append(answered(server))
    await read(2)
    return counts[-1], came


@pytest.fixture
def faults(with_systems):
    """Let the tests' own systems be found."""
    with_systems()


@pytest.mark.parametrize(
    ("fault", "words"),
    [("too_few", r"\d of 5"), ("too_many", r"\b6 .*\b5\b"), ("lies", r"reply \d")],
)
@pytest.mark.parametrize("engine", ["library", "wire"])
def test_a_server_that_streams_wrongly_is_an_error(fault, words, engine, faults):
    with pytest.raises(SystemFailedError, match=words):
        measure(case_of("faulty_streams", "ipc", {"fault": fault}, gap_us=0, engine=engine), 0.1, 1)


@pytest.mark.parametrize("engine", ["library", "wire"])
def test_streams_that_break_are_counted_and_kept_apart(engine, faults):
    measured = measure(case_of("faulty_streams", "ipc", {"fault": "breaks"}, engine=engine), 0.2, 1)
    complete = np.array(measured.tables["streams"]["is_complete"])
    assert measured.ledger["errors"] == (~complete).sum() > 0
    assert measured.ledger["streams"] == complete.sum() > 0
    reported = {row["name"]: row["value"] for row in measured.tables["reports"]}
    assert reported == {"error_read": measured.ledger["errors"]}


def test_a_server_that_dies_in_the_middle_of_a_stream_is_an_error(faults):
    with pytest.raises(SystemFailedError, match="status 3"):
        measure(case_of("faulty_streams", "ipc", {"fault": "dies"}), 0.5, 1)


@pytest.mark.parametrize("engine", ["library", "wire"])
def test_a_stream_that_stalls_is_an_error_after_a_limit(engine, faults, monkeypatch):
    monkeypatch.setattr("bench.measurement.start.PATIENCE_S", 1.0)
    with pytest.raises(SystemFailedError, match="faulty_streams client"):
        measure(case_of("faulty_streams", "ipc", {"fault": "stalls"}, engine=engine), 0.3, 1)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"replies": 0}, "replies"),
        ({"reply_bytes": 19}, "reply_bytes|20"),
        ({"replies": 1_000_000, "reply_bytes": 10_000}, "replies"),
        ({"gap_us": 60_000_000}, "gap_us|60 s"),
        ({"engine": "wrk"}, "engine wrk"),
        ({"target": "tcp://127.0.0.1:9"}, "target|here"),
    ],
)
def test_what_cannot_be_measured_is_refused(changed, words):
    with pytest.raises(UsageError, match=words):
        case_of("sockets", "tcp", {}, **changed)


def test_a_system_without_streams_is_refused_with_those_that_have_them():
    with pytest.raises(UsageError, match=r"http_stdlib .*zeromq"):
        case_of("http_stdlib", "tcp", {})


@pytest.mark.parametrize("law", choices(oracle, "law"))
def test_the_oracle_s_known_gaps_are_measured(law):
    options = {"law": law, "mean_us": 8000, "freeze_after": 4, "freeze_ms": 60}
    case = case_of("oracle", "ipc", options, replies=6, gap_us=8000, callers=2)
    measured = measure(case, 0.4, 1)
    planned = np.array(list(itertools.islice(oracle.gaps_ns(oracle.Options(**options)), 6)))
    kept = measured.tables["replies"]
    gaps = kept["gap_ns"].reshape(-1, 6)
    assert len(gaps) >= 4 and planned[3] > 60e6
    late = (kept["pacing_ns"] + kept["transit_ns"]).reshape(-1, 6)
    assert np.all(gaps[:, 1:] - planned[1:] == np.diff(late, axis=1))  # nothing but lateness is added, to the ns
    assert np.all(late >= 0) and np.all(np.cumsum(gaps, axis=1)[:, -1] >= planned.sum())
    assert np.max(gaps[:, 3]) > 60e6 - np.min(late)  # the freeze is found where it is
