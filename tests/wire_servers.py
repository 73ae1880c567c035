"""Servers in threads that behave in every way, and a load of the engine ``wire`` upon them."""

import itertools
import struct
import threading
import time
from contextlib import contextmanager, suppress
from socket import IPPROTO_TCP, MSG_WAITALL, SHUT_RDWR, SHUT_WR, TCP_NODELAY

import hpack
from specs import client_spec, reported

from bench.child.wire import WireLoad
from bench.contract import parse_address
from bench.systems import _connections, _http2, _xmlrpc, sockets

FOREVER_S = 60


def http(body, status=b"200 OK", fields=(), sizes=None, trailers=(), version=b"1.1"):
    """Return a response: with its length, or in chunks of these sizes (the last takes the rest)."""
    lines = [b"HTTP/" + version + b" " + status, *fields]
    if sizes is None:
        return b"\r\n".join([*lines, b"Content-Length: %d" % len(body), b"", body])
    cuts = [0, *itertools.accumulate(sizes), len(body)]
    parts = [body[a:b] for a, b in itertools.pairwise(cuts) if body[a:b]]
    chunks = b"".join(b"%X;kept=no\r\n%s\r\n" % (len(part), part) for part in parts)
    ending = b"".join(line + b"\r\n" for line in (b"0", *trailers, b""))
    return b"\r\n".join([*lines, b"transfer-encoding: Chunked", b"", chunks + ending])


@contextmanager
def served(behave):
    """Serve each connection in a thread by ``behave(connection, requests)``; yield the address."""
    listener = _connections.listen(parse_address("tcp://127.0.0.1:0"))

    def work(connection):
        with connection, suppress(OSError):
            connection.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            behave(connection, requests(connection))

    def accept():
        with suppress(OSError):
            while True:
                threading.Thread(target=work, args=(listener.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield _connections.announced(listener, "tcp://127.0.0.1:0")
    listener.shutdown(SHUT_RDWR)
    listener.close()
    thread.join(5)


def leaving(answers):
    """Serve one connection in a thread, for so many requests, and be gone; return the address."""
    listener = _connections.listen(parse_address("tcp://127.0.0.1:0"))

    def serve():
        connection, _ = listener.accept()
        asked = requests(connection)
        for _ in range(answers):
            connection.sendall(framed(next(asked)))
        listener.close()
        connection.shutdown(SHUT_WR)
        while connection.recv(1 << 16):  # closed with a request unread, it would be reset
            pass
        connection.close()

    threading.Thread(target=serve, daemon=True).start()
    return _connections.announced(listener, "tcp://127.0.0.1:0")


def requests(connection):
    """Yield the payloads of requests: length-prefixed, or XML-RPC over HTTP."""
    while head := connection.recv(4, MSG_WAITALL):  # all four of them (MSG_WAITALL)
        if head != b"POST":
            yield connection.recv(struct.unpack("!I", head)[0], MSG_WAITALL)
            continue
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
        size = int(head.partition(b"Content-Length: ")[2].partition(b"\r")[0])
        yield _xmlrpc.read(connection.recv(size, MSG_WAITALL))[0][0]


def posted(connection):
    """Return the body of the next request over HTTP, "" where it has none; None where the client has left."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        if not (more := connection.recv(1)):
            return None
        head += more
    size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0] or 0)
    return connection.recv(size, MSG_WAITALL) if size else b""


def load_of(address, system=sockets, window_s=FOREVER_S, options=None, **spec):
    """Make the calls of a load in this process; return it, and what it reports."""
    load = WireLoad(system, options or system.Options(), address, client_spec(window_s=window_s, **spec))
    report = reported(load, int(window_s * 1e9))
    return load, report, report.times


def framed(payload):
    return sockets.pack(len(payload)) + payload


def echo(connection, asked):
    for payload in asked:
        connection.sendall(framed(payload))


def byte_by_byte(connection, asked):
    for payload in asked:
        for byte in framed(payload):
            connection.sendall(bytes([byte]))


def late(connection, asked):
    for payload in asked:
        time.sleep(0.001)
        connection.sendall(framed(payload))


# gRPC: frames of HTTP/2, made by hand

SETTLED = _http2.settings({})
HEAD = [(":status", "200"), ("content-type", "application/grpc")]
OK = [("grpc-status", "0"), ("grpc-message", "")]


def grpc_message(payload):
    """Return a payload as the body of a gRPC request or response (serialization bytes)."""
    return struct.pack("!BI", 0, len(payload)) + payload


def grpc_response(encoder, stream, payload, head=HEAD, trailers=OK, most=16_384):
    """Return the frames of a response; a frame of its body has at most so many bytes."""
    body = grpc_message(payload)
    pieces = [body[at : at + most] for at in range(0, len(body), most)]
    return b"".join([
        _http2.frame(_http2.HEADERS, _http2.END_HEADERS, stream, encoder.encode(head)),
        *(_http2.frame(_http2.DATA, 0, stream, piece) for piece in pieces),
        _http2.frame(_http2.HEADERS, _http2.END_HEADERS | _http2.END_STREAM, stream, encoder.encode(trailers)),
    ])  # fmt: skip


def frames_of(connection, settled=SETTLED):
    """Yield (kind, flags, stream, content) of the frames that a client sends, after its preface."""
    received = connection.makefile("rb")
    if received.read(len(_http2.PREFACE)) != _http2.PREFACE:
        return  # the client has left
    connection.sendall(settled)
    while len(head := received.read(9)) == 9:
        size = int.from_bytes(head[:3], "big")
        yield head[3], head[4], int.from_bytes(head[5:], "big"), received.read(size)


def answering(answer, settled=SETTLED, update=True):
    """Return a behaviour: what ``answer(connection, encoder, stream, payload)`` does with each gRPC request.

    ``update``: whether the client's window is opened again when its data have been read.
    """

    def behave(connection, asked):
        encoder, body, sizes = hpack.Encoder(), b"", []
        for kind, flags, stream, content in frames_of(connection, settled):
            if kind != _http2.DATA:
                continue
            body += content
            sizes.append(len(content))
            if update and content:
                increment = struct.pack("!I", len(content))
                frames = [_http2.frame(_http2.WINDOW_UPDATE, 0, which, increment) for which in (0, stream)]
                connection.sendall(b"".join(frames[: 1 if flags & _http2.END_STREAM else 2]))
            if flags & _http2.END_STREAM:
                assert struct.unpack_from("!BI", body) == (0, len(body) - 5)
                payload, body = body[5:], b""
                answer(connection, encoder, stream, payload)

    return behave


def grpc_echo(connection, encoder, stream, payload):
    connection.sendall(grpc_response(encoder, stream, payload))
