"""Every system that can carries structured messages, over each of its transports, in the real pipeline."""

import dataclasses
import json
import random
import socket

import numpy as np
import pytest
from test_contract import installed

from bench import codecs, systems
from bench.codecs import message_types
from bench.errors import SystemFailedError, UsageError
from bench.measurement.start import measure
from bench.measurement.validation.message_support import carriers
from bench.measurement.validation.support import checked
from bench.plan.case import Case

pytestmark = pytest.mark.slow

CARRIERS = [name for name in carriers() if name != "oracle"]
CODEC_NS = ["request_encode_ns", "request_decode_ns", "reply_encode_ns", "reply_decode_ns"]


CARRIED = [
    *((name, systems.constant(name, "TRANSPORTS")[0], "items") for name in CARRIERS),
    *((name, "tcp", "tree") for name in CARRIERS if systems.defines(name, "coder")),  # which encode it themselves
]


@pytest.mark.parametrize(("name", "transport", "kind"), installed(CARRIED))
def test_messages_are_answered_verified_and_counted(name, transport, kind, routing):
    options = {"codec": "json"} if (name, kind) == ("arrow_flight", "tree") else {}  # a tree is no table
    measured = measure(checked(Case(name, transport, 500, options, message=kind, max_calls=5)), 2.0, 1, routing)
    ledger = measured.ledger
    assert ledger["calls"] == ledger["server_calls"] == 5 and ledger["errors"] == 0
    assert all(ledger[column] > 0 for column in CODEC_NS)
    assert ledger["encoded_request_bytes"] > 100
    assert (ledger["encoded_reply_bytes"] > ledger["encoded_request_bytes"]) == (kind == "items")
    (times,) = measured.calls
    assert np.all(times[1] > times[0])


def test_wamp_carries_native_values_by_another_serializer(routers):
    case = checked(Case("wamp_crossbar", "tcp", 800, {"serializer": "json"}, message="numbers", max_calls=3))
    assert measure(case, 2.0, 1, routers).ledger["calls"] == 3


def test_workers_decode_too():
    case = Case("http_aiohttp", "tcp", 500, {"workers": 2, "codec": "protobuf"}, message="items", max_calls=5)
    ledger = measure(checked(case), 2.0, 1).ledger
    assert ledger["calls"] == ledger["server_calls"] == 5


@pytest.mark.parametrize("name", ["sockets", "grpc_sync", "grpc_aio", "zeromq", "http_aiohttp"])
def test_messages_are_carried_by_calls_under_way_side_by_side(name):
    options = {"codec": "msgpack"} | ({"pool": 2} if name == "http_aiohttp" else {})
    case = checked(Case(name, "tcp", 500, options, message="items", outstanding=4, callers=2, max_calls=40))
    ledger = measure(case, 5.0, 1).ledger
    assert ledger["calls"] == ledger["server_calls"] == 40 and ledger["errors"] == 0
    assert ledger["request_decode_ns"] > 0 and ledger["encoded_reply_bytes"] > ledger["encoded_request_bytes"]


def test_a_server_without_the_application_is_found_out(child_server):
    """The request that comes back as it was sent has no totals: that server did not decode it."""
    case = checked(Case("sockets", "ipc", 500, message="items"))
    echo = dataclasses.replace(case, message="bytes", options={})
    _, address = child_server("sockets", "ipc")
    assert measure(dataclasses.replace(echo, target=address, max_calls=2), 1.0, 1).ledger["calls"] == 2
    with pytest.raises(SystemFailedError, match=r"request 0 "):
        measure(dataclasses.replace(case, target=address), 1.0, 1)


@pytest.fixture
def own(tmp_path):
    def write(value):
        file = tmp_path / "mine.json"
        file.write_text(json.dumps(value), "utf-8")
        return str(file)

    return write


def test_a_message_of_the_users_own_goes_through_a_system(own):
    case = checked(Case("zeromq", "ipc", message=own({"a": ["ü", 1, None]})))
    assert case.message == "mine.json" and json.loads(case.content) == {"a": ["ü", 1, None]}
    assert case.payload_bytes == len('{"a":["ü",1,null]}'.encode())
    assert checked(case) == case  # the file is not asked for again
    assert measure(dataclasses.replace(case, max_calls=3), 2.0, 1).ledger["calls"] == 3


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (Case("oracle", "ipc", message="items"), "oracle .*grpc_aio"),
        (Case("sockets", "ipc", message="item"), "items"),
        (Case("http_aiohttp", "tcp", message="items", engine="wrk"), "engine wire"),
        (Case("zeromq", "ipc", message="items", load="stream"), "stream|closed and open"),
        (Case("sockets", "ipc", message="/nowhere/mine.json"), "/nowhere/mine.json.*No such file"),
        (Case("sockets", "ipc", options={"codec": "jason"}, message="items"), "json"),
        (Case("sockets", "ipc", options={"codec": "orjson"}), "orjson|codec"),
        (Case("sockets", "ipc", options={"codec": "arrow"}, message="tree"), "'tree'"),
        (Case("http_aiohttp", "tcp", options={"resource": "json"}, message="items"), "resource echo"),
        (Case("arrow_flight", "ipc", message="tree"), "codec arrow .*'tree': .*json"),
    ],
)
def test_what_cannot_be_carried_is_refused_before_measuring(case, words):
    with pytest.raises(UsageError, match=words):
        checked(case)


@pytest.mark.parametrize(
    ("name", "options", "value", "words"),
    [
        ("xmlrpc_stdlib", {}, {"a": None}, "xmlrpc_stdlib .*'mine.json': TypeError"),
        ("zeromq", {"codec": "orjson"}, {"a": 2**70}, "codec orjson .*'mine.json'"),
        ("grpc_sync", {}, {"a": 1}, "codec protobuf"),
    ],
)
def test_a_message_beyond_a_codec_is_refused_with_both_names(name, options, value, words, own):
    with pytest.raises(UsageError, match=words):
        checked(Case(name, "tcp", options=options, message=own(value)))


STRUCTURED = [("thrift", kind) for kind in message_types.KINDS]
TABLES = [("arrow_flight", kind) for kind in ("record", "items", "numbers")]


@pytest.mark.parametrize(("name", "kind"), STRUCTURED + TABLES)
def test_messages_of_a_systems_own_codec_come_back_equal_and_cut_or_random_ones_are_refused(name, kind):
    module = systems.load(name)
    coder, chance = module.coder(module.Options(), kind), random.Random(3)
    first, second = message_types.make(kind, 700, seed=1)[:2]
    exchange = coder.exchange(first)
    data = coder.encode(exchange.request)
    assert exchange == coder.answer(coder.decode(data)) and coder.exchange(second) != exchange.reply
    codecs.refuse_what_cannot_be_carried(coder, name, first, kind)
    for wrong in [*(data[:length] for length in chance.sample(range(len(data) - 8), 20)), chance.randbytes(300)]:
        with pytest.raises(Exception, match=r"."):  # the library's own, which ends the call or its connection
            coder.decode(wrong)


def test_thrifts_server_goes_on_after_requests_that_are_no_structures(child_server):
    case, chance = checked(Case("thrift", "tcp", 500, message="items", max_calls=3)), random.Random(5)
    _, address = child_server("thrift", "tcp", dict(case.options), message="items")
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    for _ in range(10):
        with socket.create_connection((host, int(port)), timeout=10) as hostile:
            hostile.sendall(bytes(chance.randrange(32, 127) for _ in range(chance.randrange(1, 400))))
    ledger = measure(checked(Case(**vars(case) | {"target": address})), 2.0, 1).ledger
    assert ledger["calls"] == 3 and ledger["errors"] == 0
