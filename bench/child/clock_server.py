"""A host's clock: ``python -m bench.child.clock_server`` answers exchanges of timestamps on a bare TCP socket.

It is started by ``bench.measurement`` with a specification, as all children are, announces its address, and ends when
its input ends. A frame of the asker is ``ASK``: the protocol's name and a number. The answer is ``ANSWER``: both of
them, and when the frame had arrived and when the answer was sent, by ``perf_counter_ns`` of this host.
"""

import contextlib
import socket
import struct
import threading
import time

from bench.contract import Address, parse_address
from bench.errors import SystemFailedError
from bench.process.channel import Channel, Listening, run_child
from bench.process.spec import ClockSpec

NAME = b"RTclock1"
ASK, ANSWER = struct.Struct("!8sQ"), struct.Struct("!8sQqq")
IDLE_S = 10  # without a frame for so long, a connection is closed: its asker has been cut off
RECEIVE_LIMIT = struct.pack("ll", IDLE_S, 0)  # by the kernel: a limit of Python's own costs a further system call


def bound(address: str) -> socket.socket:
    """Return a socket that listens at ``tcp://HOST:PORT``; SystemFailedError if that cannot be."""
    _, host, port, _ = parse_address(address)
    try:
        family, kind, protocol, _, at = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(at)
        listener.listen()
    except OSError as reason:
        raise SystemFailedError(f"the clock cannot listen at {address}: {reason.strerror or reason}") from reason
    return listener


def answer(connection: socket.socket) -> None:
    """Answer the exchanges of one asker until it disconnects, falls silent, or sends what is no frame."""
    clock = time.perf_counter_ns
    receive, send, size, whole = connection.recv, connection.sendall, ASK.size, socket.MSG_WAITALL
    with connection, contextlib.suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, RECEIVE_LIMIT)
        while True:
            frame = receive(size, whole)
            arrived_ns = clock()
            if len(frame) < size:
                return
            name, number = ASK.unpack(frame)
            if name != NAME:
                return
            send(ANSWER.pack(NAME, number, arrived_ns, clock()))


def main(channel: Channel) -> None:
    """Listen, announce the address, and answer whoever connects."""
    listener = bound(channel.receive(ClockSpec).bind)
    host, port = listener.getsockname()[:2]
    channel.send(Listening(address=str(Address("tcp", host, port, ""))))
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    run_child(main)
