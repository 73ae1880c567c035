"""The oracle's fronts for RESP, HTTP/2 and gRPC: what they answer to real bytes, and what they record."""

from urllib.parse import urlsplit

import grpc
import hpack
import numpy as np
import pytest
import redis
from certifying import connect

from bench.systems import _http2 as http2
from certify import path_times
from certify.protocol_front import Front
from certify.protocols import FIELDS, PROTOCOLS
from certify.service import Service

pytestmark = [
    pytest.mark.slow,  # processes are its subject
    pytest.mark.usefixtures("c_compiler"),
]
QUICK = Service(mean_us=100)
CALL = "/any.Service/Method"


def replies(front, data, size):
    """Return so many bytes of what is answered to some data."""
    with connect(front) as connection:
        connection.sendall(data)
        return connection.makefile("rb").read(size)


# RESP


def test_commands_are_answered_in_their_order_whatever_their_form():
    big = b"v" * 100_000
    data = (
        b"*1\r\n$4\r\nPING\r\n"
        + b"get key\r\n"
        + b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000\r\n"
        + big
        + b"\r\n"
        + b"PING\r\n"
    )
    wanted = b"+PONG\r\n$2\r\nok\r\n+OK\r\n+PONG\r\n"
    with Front(QUICK, protocol="resp") as front:
        with connect(front) as connection:
            for at in range(0, len(data), 9_973):  # commands are cut anywhere
                connection.sendall(data[at : at + 9_973])
            assert connection.makefile("rb").read(len(wanted)) == wanted
        for cut in range(1, 14):
            with connect(front) as connection:
                connection.sendall(data[:cut])
                connection.sendall(data[cut:14])
                assert connection.recv(100) == b"+PONG\r\n"
        record = front.end()
    assert len(record.answered) == 4 + 13 and not record.refused
    assert np.all(record.requests["departed"] >= record.requests["due"])


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [("status", b"+PONG\r\n-ERR fault\r\n+PONG"), ("body", b"+PONG\r\n+NO\r\n+PONG"), ("close", b"+PONG\r\n")],
)
def test_faults_of_resp(fault, wanted):
    with Front(Service(mean_us=100, fault=fault, every=2), protocol="resp") as front:
        assert replies(front, b"PING\r\n" * 3, len(wanted) + (fault == "close")) == wanted  # a byte more: to the end
        assert front.end().faults == 1


def test_a_client_library_for_redis():
    with Front(QUICK, protocol="resp") as front:
        for protocol in (2, 3):
            with redis.Redis(port=urlsplit(front.url).port, protocol=protocol) as client:
                assert client.get("key") == b"ok" and client.set("key", "value") and client.ping()
        assert len(front.end().answered) == 6


# HTTP/2


def opened(front):
    """Return a connection on which the client has said how it begins, and the file of what it reads."""
    connection = connect(front)
    connection.sendall(http2.PREFACE + http2.settings({}))
    return connection, connection.makefile("rb")


def frames(file, until):
    """Return frames as (kind, flags, stream, content), up to the first that is as wanted, that one included."""
    received_frames = []
    while not received_frames or not until(received_frames[-1]):
        head = file.read(http2.HEAD)
        assert len(head) == http2.HEAD, received_frames
        size, stream = int.from_bytes(head[:3]), int.from_bytes(head[5:])
        received_frames.append((head[3], head[4], stream, file.read(size)))
    return received_frames


def is_end_of(stream):
    return lambda frame: frame[2] == stream and (frame[0] == http2.RST_STREAM or frame[1] & http2.END_STREAM)


def get(stream, flags=http2.END_HEADERS | http2.END_STREAM):
    return http2.frame(http2.HEADERS, flags, stream, FIELDS)


def test_streams_are_answered_when_they_are_due_not_in_their_order():
    with Front(Service("exponential", 20_000, workers=0), protocol="http2") as front:
        connection, file = opened(front)
        with connection:
            connection.sendall(b"".join(get(stream) for stream in range(1, 41, 2)))
            answered_streams = []
            for _ in range(20):
                answered_streams += [frame[2] for frame in frames(file, lambda frame: frame[0] == http2.DATA)[-1:]]
        requests = front.end().requests
    assert answered_streams == (2 * np.argsort(requests["due"], kind="stable") + 1).tolist() != sorted(answered_streams)


@pytest.mark.parametrize("fault", ["status", "body", "close"])
def test_faults_of_http2(fault):
    with Front(Service(mean_us=100, fault=fault, every=2), protocol="http2") as front:
        connection, file = opened(front)
        with connection:
            connection.sendall(get(1))
            frames(file, is_end_of(1))
            connection.sendall(get(3))
            second = frames(file, is_end_of(3))
            connection.sendall(get(5))
            third = frames(file, is_end_of(5))  # the connection lives
        assert front.end().faults == 1
    decoder = hpack.Decoder()
    if fault == "close":
        assert [frame[0] for frame in second] == [http2.RST_STREAM]
    else:
        status = dict(decoder.decode(second[0][3]))[":status"]
        assert (status, second[1][3]) == (("500", b"ok") if fault == "status" else ("200", b"no"))
    assert third[-1][3] == b"ok"


# gRPC


def called(front, count):
    """Return the status of so many calls that follow each other, of a client library."""
    statuses = []
    with grpc.insecure_channel(urlsplit(front.url).netloc) as channel:
        call = channel.unary_unary(CALL)
        for _ in range(count):
            try:
                assert call(b"any message", timeout=20) in (b"", b"\xff")
                statuses.append("OK")
            except grpc.RpcError as reason:
                statuses.append(reason.code().name)
    return statuses


@pytest.mark.parametrize(("fault", "status"), [("status", "INTERNAL"), ("close", "INTERNAL"), ("body", "OK")])
def test_faults_of_grpc(fault, status):
    with Front(Service(mean_us=100, fault=fault, every=2), protocol="grpc") as front:
        assert called(front, 3) == ["OK", status, "OK"]
        assert front.end().faults == 1


# All


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_way_to_each_front_takes_time(protocol):
    for times in path_times.measure(20, protocol).values():
        assert 0 < times.p50 <= times.p99 <= times.most
