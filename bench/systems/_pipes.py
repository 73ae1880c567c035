"""Pipes between a client and a server that was started before: their ends are passed over a socket file.

A program that spawns its server shares pipes with it from the beginning. Here the server is started, placed and
measured like any other, so that each client makes the pipes and hands their far ends over (SCM_RIGHTS); from then on
calls go through the pipes alone.
"""

import os
import socket
from typing import Literal, NamedTuple

from bench.contract import Address
from bench.errors import TransportError

Kind = Literal["pipe", "socketpair"]


class Ends(NamedTuple):
    """Two file descriptors, from which one side reads, and to which it writes."""

    read: int
    write: int

    def close(self) -> None:
        for descriptor in set(self):
            os.close(descriptor)


def pair(kind: Kind) -> tuple[Ends, Ends]:
    """Return the ends of a client and of a server: two pipes, or one pair of connected Unix sockets."""
    if kind == "socketpair":
        here, there = (end.detach() for end in socket.socketpair())
        return Ends(here, here), Ends(there, there)
    (from_server, to_client), (from_client, to_server) = os.pipe(), os.pipe()
    return Ends(from_server, to_server), Ends(from_client, to_client)


def connect(address: Address, kind: Kind) -> Ends:
    """Return a client's ends, whose far ends the server at a socket file has; TransportError if none is there."""
    here, there = pair(kind)
    try:
        with socket.socket(socket.AF_UNIX) as handing:
            handing.connect(address.path)
            socket.send_fds(handing, [b"ends"], list(there))
    except OSError as reason:
        here.close()
        raise TransportError(f"cannot connect to {address}: {os.strerror(reason.errno or 0)}", "connect") from reason
    finally:
        there.close()
    return here


def accept(listener: socket.socket) -> Ends | None:
    """Wait for a client, and return the server's ends; None for one that leaves without handing any over."""
    connection, _ = listener.accept()
    with connection:
        _, ends, _, _ = socket.recv_fds(connection, 4, 2)
        return Ends(*ends) if len(ends) == 2 else None
