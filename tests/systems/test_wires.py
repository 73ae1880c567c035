"""Wires of brokers and of brokerless sockets: greetings, replies in pieces, what must not come; the servers by hand."""

import struct

import hiredis
import msgpack
import pytest
from conftest import answered
from wire_servers import load_of, served

from bench import systems
from bench.errors import SystemFailedError, TransportError, UsageError
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.systems import (
    _amqp_wire,
    _mqtt_wire,
    _wamp_wire,
    _zmtp_wire,
    mqtt,
    nats,
    nng,
    pyro5,
    rabbitmq,
    redis,
    rpyc,
    thrift,
    wamp_crossbar,
    websockets,
    zeromq,
)


def redis_answer(key, payload):
    return hiredis.pack_command((key, payload))


def redis_broker(connection, asked, answer=redis_answer):
    """Do what a Redis server and the system's server behind it do; the latter answers what ``answer`` returns."""
    reader, replies = hiredis.Reader(), {}
    while data := connection.recv(65_536):
        reader.feed(data)
        while (command := reader.gets()) is not False:
            if command[0] == b"HELLO":
                connection.sendall(b"%1\r\n+server\r\n+redis\r\n")
            elif command[0] == b"BLPOP":
                connection.sendall(answer(command[1], replies.pop(command[1])))
            else:
                replies[command[-1][:16]] = command[-1][16:]
                connection.sendall(b":1\r\n" if command[0] == b"RPUSH" else b"$3\r\n1-0\r\n")


def nats_answer(inbox, payload):
    return b"MSG %s 1 %d\r\n%s\r\n" % (inbox, len(payload), payload)


def nats_broker(connection, asked, answer=nats_answer):
    """Do what a NATS server and the system's server behind it do; it sends a PING before each reply."""
    received = connection.makefile("rb")
    connection.sendall(b'INFO {"server_id":"x"}\r\n')
    pinged = 0
    while line := received.readline():
        if line == b"PING\r\n":
            connection.sendall(b"PONG\r\n")
        pinged -= line == b"PONG\r\n"
        if line.startswith(b"PUB "):
            _, _, inbox, size = line.split()
            payload = received.read(int(size) + 2)[:-2]
            connection.sendall(b"PING\r\n" + answer(inbox, payload))
            pinged += 1
            assert pinged <= 2  # the one before was answered


def mqtt_answer(topic, payload):
    return _mqtt_wire.packet(b"\x30", _mqtt_wire.text(topic) + b"\0" + payload)


def mqtt_broker(connection, asked, answer=mqtt_answer):
    """Do what an MQTT broker and the system's server behind it do."""
    received, topic = connection.makefile("rb"), b""
    while kind := received.read(1):
        size = place = 0
        while (byte := received.read(1)[0]) > 127:
            size |= (byte & 127) << place
            place += 7
        content = received.read(size | byte << place)
        if kind == b"\x10":
            connection.sendall(b"\x20\x03\0\0\0")
        elif kind == b"\x82":
            topic = content[5:-1]
            connection.sendall(b"\x90\x04" + content[:2] + b"\0\0")
        else:
            (name,) = struct.unpack_from("!H", content)
            assert content[2 + name + 1 : 2 + name + 2] == b"\x08"
            connection.sendall(answer(topic, content[2 + name + 1 + content[2 + name] :]))


def wamp_answer(number, payload):
    return _wamp_wire.framed(msgpack.packb([50, number, {}, [payload]]))


def wamp_router(connection, asked, answer=wamp_answer):
    """Do what a WAMP router and the system's server behind it do; it sends a PING before each result."""
    received = connection.makefile("rb")
    assert received.read(4) == b"\x7f\xf2\0\0"
    connection.sendall(b"\x7f\xf2\0\0")
    while head := received.read(4):
        content = received.read(int.from_bytes(head[1:]))
        if head[:1] == b"\x02":
            assert content == b"hi"
            continue
        kind, number, *rest = msgpack.unpackb(content)
        if kind == 1:
            connection.sendall(_wamp_wire.framed(msgpack.packb([2, 7, {}])))
        else:
            connection.sendall(_wamp_wire.framed(b"hi", 1) + answer(number, rest[2][0]))


def amqp_answer(name, payload):
    method = _amqp_wire.method(_amqp_wire.DELIVER, _amqp_wire.short("tag"), bytes(9), _amqp_wire.short(""), name)
    most = _amqp_wire.MOST_BODY
    bodies = [_amqp_wire.frame(_amqp_wire.BODY, payload[at : at + most]) for at in range(0, len(payload), most)]
    head = struct.pack("!HHQH", 60, 0, len(payload), 0)
    return b"".join((_amqp_wire.frame(_amqp_wire.HEARTBEAT, b"", 0), method, _amqp_wire.frame(2, head), *bodies))


GREETINGS = {(10, 11): (10, 30), (10, 40): (10, 41), (20, 10): (20, 11), (60, 20): (60, 21)}  # AMQP: asked, answered


def amqp_broker(connection, asked, answer=amqp_answer):
    """Do what a RabbitMQ broker and the system's server behind it do; it sends a heartbeat before each reply."""
    received, size, payload = connection.makefile("rb"), 0, b""
    assert received.read(8) == b"AMQP\0\0\x09\x01"
    connection.sendall(_amqp_wire.method((10, 10), b"about", channel=0))
    while head := received.read(7):
        kind, channel, length = struct.unpack("!BHI", head)
        content = received.read(length + 1)[:-1]
        if kind == 1 and (name := struct.unpack_from("!HH", content)) in GREETINGS:
            connection.sendall(_amqp_wire.method(GREETINGS[name], bytes(8), channel=channel))
        elif kind == 2:
            size, payload = int.from_bytes(content[4:12]), b""
        elif kind == 3:
            payload += content
            if len(payload) == size:
                connection.sendall(answer(_amqp_wire.short("name"), payload))


BROKERS = [
    (redis, {}, redis_broker),
    (redis, {"pipelining": True}, redis_broker),
    (redis, {"queue": "stream"}, redis_broker),
    (nats, {}, nats_broker),
    (mqtt, {}, mqtt_broker),
    (wamp_crossbar, {}, wamp_router),
    (rabbitmq, {}, amqp_broker),
]
NAMES = [f"{module.__name__.rpartition('.')[2]} {options}" for module, options, _ in BROKERS]


class Bytewise:
    """A connection that sends byte by byte."""

    def __init__(self, connection):
        self._connection = connection

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def sendall(self, data):
        for byte in data:
            self._connection.sendall(bytes((byte,)))


@pytest.mark.parametrize(
    ("size", "is_bytewise"), [(100, True), (1, False), (127, False), (128, False), (16_384, False), (70_000, False)]
)
@pytest.mark.parametrize(("module", "options", "broker"), BROKERS, ids=NAMES)
def test_every_call_is_made_and_verified(module, options, broker, size, is_bytewise):
    behave = (lambda connection, asked: broker(Bytewise(connection), asked)) if is_bytewise else broker
    spec = {"options": module.Options(**options), "payload_bytes": size, "callers": 3}
    with served(behave) as address:
        load, report, blobs = load_of(f"{address}#name", module, **spec)
    assert (report.calls, report.errors) == (60, 0) and [len(blob) for blob in blobs] == [20] * 6
    assert [one.reopened for one in load.connections] == [0] * 3


@pytest.mark.parametrize(("module", "options", "broker"), BROKERS, ids=NAMES)
def test_a_wrong_payload_ends_the_load(module, options, broker):
    usual = broker.__defaults__[0]
    with (
        served(lambda c, asked: broker(c, asked, lambda name, payload: usual(name, payload[:-1] + b"x"))) as address,
        pytest.raises(SystemFailedError, match=r"request 0 .*byte 99"),
    ):
        load_of(f"{address}#name", module, options=module.Options(**options))


BROKEN = [  # module, its broker, what it sends instead of a reply, what is said
    (redis, redis_broker, b"-OOM used memory > 'maxmemory'.\r\n", "call failed: OOM"),
    (redis, redis_broker, b"_\r\n", "10 s: no server takes requests under 'name'"),
    (redis, redis_broker, b"*2\r\n$3\r\nfoo\r\n$1\r\na\r\n", "not of this connection"),
    (nats, nats_broker, b"-ERR 'Slow Consumer'\r\n", "Slow Consumer"),
    (nats, nats_broker, b"MSG other 1 3\r\nabc\r\n", "protocol of NATS: b'MSG other"),
    (nats, nats_broker, b"HMSG %s 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", "no server takes requests under 'name'"),
    (mqtt, mqtt_broker, b"\x30\xff\xff\xff\xff\xff", "four bytes"),
    (mqtt, mqtt_broker, b"\x30\x06\0\x01a\0xy", "no reply"),
    (wamp_crossbar, wamp_router, _wamp_wire.framed(msgpack.packb([8, 48, 1, {}, "wamp.error"])), r"wamp\.error"),
    (wamp_crossbar, wamp_router, _wamp_wire.framed(msgpack.packb([50, 9, {}, [b"x"]])), "failed"),
    (rabbitmq, amqp_broker, _amqp_wire.method((60, 50), bytes(2), _amqp_wire.short("x")), "no server takes requests"),
    (rabbitmq, amqp_broker, _amqp_wire.method((20, 40), b"\1\x9c", _amqp_wire.short("FULL")), "FULL"),
]


@pytest.mark.parametrize(("module", "broker", "instead", "text"), BROKEN, ids=[text for *_, text in BROKEN])
def test_what_is_no_reply_is_named(module, broker, instead, text):
    def answer(name, payload):
        return instead % name if b"%s" in instead else instead

    with (
        served(lambda connection, asked: broker(connection, asked, answer)) as address,
        pytest.raises(TransportError, match=text),
    ):
        load_of(f"{address}#name", module)


@pytest.mark.parametrize(
    ("module", "refusal"),
    [
        (redis, b"-WRONGPASS invalid username-password pair\r\n"),
        (nats, b"INFO {}\r\n-ERR 'Authorization Violation'\r\n"),
        (mqtt, b"\x20\x03\0\x87\0"),
    ],
)
def test_a_login_that_is_refused_says_where_to_name_it(module, refusal):
    def behave(connection, asked):
        connection.sendall(refusal)
        connection.recv(65_536)

    with served(behave) as address, pytest.raises(TransportError, match="ROUNDTRIP_BROKER_LOGIN"):
        load_of(f"{address}#name", module)


@pytest.mark.parametrize(
    "module",
    [redis, nats, mqtt, zeromq, nng, wamp_crossbar, rabbitmq, websockets, pyro5, rpyc],
    ids=lambda one: one.__name__,
)
def test_a_server_of_another_protocol_is_noticed_in_the_greeting(module):
    def behave(connection, asked):
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n".ljust(64))
        connection.recv(65_536)

    with served(behave) as address, pytest.raises(TransportError, match=r"speak|greet|REP socket"):
        load_of(address, module)


def replies(wire, payload):
    """Return the whole reply that carries a payload, and what else begins as one and is none."""
    if isinstance(wire, thrift.Wire):
        head = b"\x80\x01\0\x02\0\0\0\x04call\0\0\0\0\x0b\0\0"
        return head + struct.pack("!I", len(payload)) + payload + b"\0", head[:3] + b"\x03" + head[4:]
    if isinstance(wire, _zmtp_wire.Wire):
        return wire.request(payload), b"\x04\x26\x05ERROR"
    return wire.request(payload), wire.request(payload)[:8] + bytes(8)


@pytest.mark.parametrize("size", [1, 255, 256, 70_000])
@pytest.mark.parametrize(
    ("module", "address"),
    [(thrift, "tcp://h:1"), (zeromq, "tcp://h:1"), (nng, "tcp://h:1"), (nng, "ipc:///h")],
)
def test_a_reply_is_whole_with_its_last_byte_and_not_before(module, address, size):
    wire, payload = module.Wire(address, module.Options()), bytes(range(251)) * (size // 251 + 1)
    reply, other = replies(wire, payload[:size])
    for cut in (*range(min(len(reply), 40)), len(reply) - 1):
        assert wire.end(bytearray(reply[:cut]), cut) == 0
    assert wire.end(bytearray(reply + b"more"), len(reply) + 4) == len(reply)
    assert wire.body(reply, b"") == payload[:size]
    with pytest.raises(TransportError):
        wire.end(bytearray(other), len(other))


@pytest.mark.parametrize(
    ("name", "options", "instead"),
    [
        ("redis", {"tls": True}, "tls false"),
        ("nats", {"tls": True, "jetstream": True}, "tls false and jetstream false"),
        ("mqtt", {"qos": 1}, "qos 0"),
        ("zeromq", {"curve": True}, "curve false"),
        ("nng", {"tls": True}, "tls false"),
        ("wamp_crossbar", {"serializer": "json"}, "serializer msgpack"),
        ("rabbitmq", {"confirms": True}, "confirms false"),
        ("websockets", {"compress": True}, "compress false"),
        ("pyro5", {"tls": True}, "tls false"),
        ("rpyc", {"tls": True}, "tls false"),
        ("connect", {"compress": True}, "compress false"),
        ("arrow_flight", {"rpc": "exchange"}, "rpc action"),
    ],
)
def test_options_that_the_wire_cannot_carry_out_are_refused(name, options, instead):
    with pytest.raises(UsageError, match=f"{name}: .*engine wire give {instead}, or .*library"):
        checked(Case(name, "tcp", options=options, engine="wire"))


TLS = ("sockets", "http_stdlib", "http_aiohttp", "xmlrpc_stdlib", "grpc_sync", "grpc_aio", "thrift", "arrow_flight")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "transport", "options"),
    [
        *((name, "tcp", {}) for name in systems.offering("Wire") if name != "http_crossbar"),
        *((name, "ipc", {}) for name in ("redis", "zeromq", "nng")),
        *((name, "tcp", {"tls": True}) for name in TLS),
        ("xmlrpc_c", "tcp", {"protocol": "pstream"}),
        *(("redis", "tcp", options) for options in ({"pipelining": True}, {"queue": "stream"})),
        ("pyro5", "tcp", {"serializer": "msgpack"}),
        ("connect", "tcp", {"serialization": "bytes", "tls": True}),
    ],
)
def test_real_servers_count_what_the_wire_counts(name, transport, options, routers, child_server, trusting):
    module = systems.load(name)
    trusting(routers.credentials(Case(name, transport, options=options)))
    server, address = child_server(name, transport, options, routers)
    for shape in ({"payload_bytes": 300_000, "max_calls": 5}, {"max_calls": 40, "calls_per_connection": 10}):
        before = answered(server)
        load, report, times = load_of(address, module, options=module.Options(**options), callers=4, **shape)
        assert (report.calls, report.errors) == (4 * shape["max_calls"], 0)
        assert answered(server) - before == report.calls + 4  # the first of each caller is made before the window
        assert {len(one) for one in times} == {shape["max_calls"]}
        assert all(one.reopened for one in load.connections) is ("calls_per_connection" in shape)


@pytest.mark.parametrize(
    ("module", "broker", "more"),
    [(redis, redis_broker, b":1\r\n"), (nats, nats_broker, b"MSG %s 1 0\r\n\r\n"), (mqtt, mqtt_broker, b"\x30")],
)
def test_a_second_reply_to_a_request_is_noticed(module, broker, more):
    usual = broker.__defaults__[0]

    def answer(name, payload):
        return usual(name, payload) + (more % name if b"%" in more else more)

    with (
        served(lambda connection, asked: broker(connection, asked, answer)) as address,
        pytest.raises(TransportError, match="bytes came after a reply"),
    ):
        load_of(f"{address}#name", module)
