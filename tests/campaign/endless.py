"""Replies without end: each system's client asks a server whose reply does not end, and its memory is looked at."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator

import psutil

MOST_BYTES = 200_000_000  # of a client's memory
PIECE = bytes(1 << 16)
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"%x\r\n%s\r\n" % (len(PIECE), PIECE)
LENGTH = b"\x7f" + b"\xff" * 3
ZMTP = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL".ljust(55, b"\0") + b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03REP"

# What the server says before it is asked, how its reply begins, and what follows for ever.
REPLIES: dict[str, tuple[bytes, bytes, bytes]] = {
    "sockets": (b"", LENGTH, PIECE),
    "http_stdlib": (b"", CHUNKED % b"text/plain", CHUNK),
    "http_aiohttp": (b"", CHUNKED % b"text/plain", CHUNK),
    "http_asgi": (b"", CHUNKED % b"text/plain", CHUNK),
    "http_crossbar": (b"", CHUNKED % b"text/plain", CHUNK),
    "xmlrpc_stdlib": (b"", CHUNKED % b"text/xml", CHUNK),
    "xmlrpc_pstream": (b"", b"\x1bPKT", PIECE),
    "xmlrpc_c": (b"", CHUNKED % b"text/xml", CHUNK),
    "connect": (b"", CHUNKED % b"application/proto", CHUNK),
    "rpyc": (b"", LENGTH + b"\0", PIECE),
    "thrift": (b"", b"\x80\x01\0\x02\0\0\0\x04call\0\0\0\0\x0b\0\0" + LENGTH, PIECE),
    "pyro5": (b"", b"PYRO\x01\xf6\x02\x00\0\0\0\0\0\0" + LENGTH + bytes(22), PIECE),
    "zeromq": (ZMTP, b"\x02" + bytes(4) + LENGTH, PIECE),
    "zeromq_c": (ZMTP, b"\x02" + bytes(4) + LENGTH, PIECE),
    "nng": (b"\0SP\0\0\x31\0\0", bytes(4) + LENGTH, PIECE),
    "nng_aio": (b"\0SP\0\0\x31\0\0", bytes(4) + LENGTH, PIECE),
    "redis": (b"", b"+OK\r\n+OK\r\n+PONG\r\n:1\r\n*2\r\n$1\r\na\r\n$2000000000\r\n", PIECE),
    "nats": (b'INFO {"server_id":"a","max_payload":9}\r\n', b"PONG\r\nMSG a 1 2000000000\r\n", PIECE),
    "mqtt": (b"", b"\x20\x03\0\0\0\x30\xff\xff\xff\x7f", PIECE),
    "wamp_crossbar": (b"", b"\x7f\xf2\0\0\0\xff\xff\xff", PIECE),
}


def answering(system: str) -> Callable[[socket.socket], None]:
    """Return what answers so on a connection."""
    before, begin, piece = REPLIES[system]

    def answer(peer: socket.socket) -> None:
        peer.sendall(before)
        peer.recv(65536)
        peer.sendall(begin)
        while True:
            peer.sendall(piece)

    return answer


class Peak:
    """The largest memory of a process that this one has started, in bytes."""

    bytes = 0


@contextlib.contextmanager
def peak_of_clients() -> Iterator[Peak]:
    """Look at the memory of all clients that are started meanwhile."""
    found, ended = Peak(), threading.Event()

    def look() -> None:
        while not ended.wait(0.02):
            for child in psutil.Process(os.getpid()).children(recursive=True):
                with contextlib.suppress(psutil.Error, OSError):
                    found.bytes = max(found.bytes, child.memory_info().rss)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
