"""Every system whose connections carry several calls at once, in the real pipeline; renewed connections in all."""

import asyncio
import dataclasses
import time

import pytest
from wire_servers import served

from bench import systems
from bench.errors import TransportError, UsageError
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.systems import grpc_aio

pytestmark = pytest.mark.slow

LARGE = 300_000
POOLED = {"http_aiohttp": {"pool": 1}}  # which it needs
OFFERING = systems.offering("Multiplexed")
CASES = [
    *((name, systems.constant(name, "TRANSPORTS")[-1], POOLED.get(name, {})) for name in OFFERING),
    ("sockets", "ipc", {}),
    ("zeromq", "inproc", {"copy": False}),
    ("grpc_sync", "ipc", {"serialization": "bytes"}),
    ("mcp", "tcp", {"protocol": "legacy"}),
    ("nats", "tcp", {"jetstream": True}),
    ("mqtt", "tcp", {"qos": 1}),
    ("rabbitmq", "tcp", {"acknowledge": True, "prefetch": 4}),
]


@pytest.mark.parametrize(("name", "transport", "options"), CASES, ids=lambda one: str(one))
def test_calls_under_way_together_are_all_answered_and_counted(name, transport, options, routing):
    case = checked(Case(name, transport, 100, options, "free", outstanding=8, max_calls=80))
    record = measure(case, 20.0, 1, routing)
    assert record.ledger["calls"] == record.ledger["server_calls"] == 80 and record.ledger["errors"] == 0
    assert [times.shape for times in record.calls] == [(2, 10)] * 8
    assert all((sent < received).all() for sent, received in record.calls)


@pytest.mark.parametrize(
    ("name", "payload_bytes", "options"),
    [
        *(("sockets", 100, {}), ("grpc_aio", 100, {}), ("grpc_cpp", 100, {}), ("grpclib", 100, {})),
        *(("grpc_sync", 200_000, {}), ("grpc_sync", 500, {"codec": "json"})),
    ],
)
def test_the_engine_wire_keeps_several_calls_under_way_on_each_connection(name, payload_bytes, options):
    shape = {"outstanding": 6, "callers": 2, "max_calls": 60, "message": "items" if options else "bytes"}
    case = checked(Case(name, "tcp", payload_bytes, options, "free", engine="wire", **shape))
    record = measure(case, 20.0, 1)
    assert record.ledger["calls"] == record.ledger["server_calls"] == 60 and record.ledger["errors"] == 0
    assert [times.shape for times in record.calls] == [(2, 5)] * 12
    assert all((sent < received).all() for sent, received in record.calls)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (Case("http_aiohttp", "tcp"), "engine wire: .*grpc_aio, grpc_.*sockets"),
        (Case("grpc_sync", "tcp", options={"tls": True}), "several calls .* tls false"),
        (Case("sockets", "tcp", load="open", offered_per_s=9), "engine wire.*load open"),
    ],
)
def test_what_the_engine_wire_does_not_keep_under_way_is_refused(case, words):
    with pytest.raises(UsageError, match=words):
        checked(dataclasses.replace(case, engine="wire", outstanding=4))


@pytest.mark.parametrize("name", ["sockets", "grpc_aio"])  # a blocking client, and one of asyncio
@pytest.mark.parametrize("shape", [{"outstanding": 2}, {"callers": 2}])
def test_a_large_call_beside_small_ones(name, shape):
    case = checked(Case(name, "tcp", 100, placement="free", max_calls=40, large_bytes=LARGE, **shape))
    record = measure(case, 20.0, 1)
    assert record.ledger["calls"] == record.ledger["server_calls"] == 40 and record.ledger["errors"] == 0
    assert [times.shape for times in record.calls] == [(2, 20)] * 2


def test_many_large_calls_under_way_do_not_stop_each_other():
    """Neither side waits for ever for the other one to read."""
    case = checked(Case("sockets", "tcp", 2_000_000, placement="free", outstanding=16, max_calls=48))
    assert measure(case, 30.0, 1).ledger["calls"] == 48


RENEWED = [
    ("zeromq", "ipc"), ("grpc_sync", "tcp"), ("grpc_aio", "tcp"), ("http_stdlib", "tcp"), ("http_aiohttp", "ipc"),
    ("xmlrpc_stdlib", "tcp"), ("xmlrpc_pstream", "ipc"), ("wamp_crossbar", "tcp"),
    ("redis", "ipc"), ("nats", "tcp"), ("mqtt", "tcp"), ("rabbitmq", "tcp"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "transport"), RENEWED)
def test_renewed_connections(name, transport, routing):
    case = checked(Case(name, transport, 100, placement="free", calls_per_connection=4, max_calls=20))
    record = measure(case, 20.0, 1, routing)
    ((sent, received, began),) = record.calls
    assert record.ledger["calls"] == record.ledger["server_calls"] == 20 and record.ledger["errors"] == 0
    assert (began[::4] < sent[::4]).all() and (began < sent).sum() == 5 and (sent < received).all()


def test_awaited_calls_fail_with_their_channel_and_are_not_waited_for():
    async def work(address):
        client = grpc_aio.Multiplexed(address, grpc_aio.Options())
        await client.open()
        calls = [asyncio.ensure_future(client.call(b"x")) for _ in range(3)]
        await asyncio.sleep(0.05)
        await client.close()
        return await asyncio.gather(*calls, return_exceptions=True)

    with served(lambda connection, asked: connection.recv(1) and time.sleep(9)) as address:
        ended = asyncio.run(work(address))
    assert [type(one) for one in ended] == [TransportError] * 3 and {one.kind for one in ended} == {"read"}
