"""Sockets that listen and sockets that connect, over ipc and tcp, encrypted where the options say so."""

import os
import socket
import threading
from collections.abc import Callable
from typing import NoReturn

from bench.contract import Address, Binding, parse_address
from bench.errors import TransportError
from bench.systems import _tls


def listen(address: Address, backlog: int = 128, shared: bool = False) -> socket.socket:
    """Return a listening socket, whose port other processes may share; TransportError where that is not possible."""
    try:
        if address.transport == "ipc":
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(address.path)
        else:
            family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
            listener = socket.create_server((address.host, address.port), family=family, reuse_port=shared)
        listener.listen(backlog)
        return listener
    except OSError as reason:
        raise cannot_listen(address, reason) from reason


def cannot_listen(address: Address, reason: OSError) -> TransportError:
    """Return the error for an address that cannot be bound."""
    return TransportError(f"cannot listen at {address}: {os.strerror(reason.errno) if reason.errno else reason}")


def announced(listener: socket.socket, endpoint: str) -> str:
    """Return the address that clients connect to, with the port that the system picked."""
    address = parse_address(endpoint)
    return endpoint if address.transport == "ipc" else str(address._replace(port=listener.getsockname()[1]))


def bound(binding: Binding, tls: bool = False, backlog: int = 128, nodelay: bool = False) -> tuple[socket.socket, str]:
    """Return a socket that listens where a server has to, and the address that clients connect to.

    With TLS the first one to read from a connection makes its handshake. nodelay: set TCP_NODELAY on each connection.
    """
    listener = listen(parse_address(binding.endpoint()), backlog)
    address = announced(listener, binding.endpoint())
    if binding.transport == "tcp":
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)  # inherited by connections
    if tls:
        context = _tls.server_context(binding.credentials)
        listener = context.wrap_socket(listener, server_side=True, do_handshake_on_connect=False)
    return listener, address


def serve(listener: socket.socket, answer: Callable[[socket.socket], object]) -> NoReturn:
    """Accept connections, and answer each in a thread of its own."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def refuse_if_taken(endpoint: str) -> None:
    """Raise TransportError if another server listens at a port that the user named.

    The kernel would let a second server that shares its port join the first, and the load would go to both.
    """
    address = parse_address(endpoint)
    if address.transport == "tcp":
        listen(address).close()


def connect(address: Address, nodelay: bool = False, tls: bool = False, tls_session: str = "new") -> socket.socket:
    """Return a connection to a server; TransportError, with a remedy for a handshake that failed.

    nodelay: set TCP_NODELAY. tls_session: resumed continues the last session with that server.
    """
    try:
        if address.transport == "ipc":
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(address.path)
        else:
            connection = socket.create_connection((address.host, address.port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
    except OSError as reason:
        raise TransportError(f"cannot connect to {address}: {reason}", "connect") from reason
    return _tls.secured(connection, address, tls_session) if tls else connection


def handshake_error(address: Address) -> TransportError:
    """Return what is wrong with a TLS handshake, by another one, for libraries that do not say it."""
    try:
        connect(address, tls=True).close()
    except TransportError as reason:
        return reason
    return TransportError(f"the TLS handshake failed; {_tls.SAME}", "connect")
