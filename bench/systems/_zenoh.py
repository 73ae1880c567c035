"""Shared by the two zenoh systems: options, sessions without scouting, queries and publications."""

import base64
import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zenoh

from bench import credentials
from bench.contract import Address, parse_address
from bench.errors import TransportError
from bench.systems import _broker, _tls

KEY = _broker.SERVICE
OPEN_MS = 3000  # to connect
MATCH_S = 5.0  # until a declaration of the other side has arrived
AGAIN_S = 0.002
PATIENCE_S = 3600.0  # for a reply: this package has its own deadlines


@dataclass(frozen=True)
class Options:
    """How messages are sent. Without discovery: nothing is sent to multicast addresses.

    querier: declare the client's queries once; else each call is a get of the session, which resolves the key anew.
    express: send each message at once; else one that comes while another is sent may share a batch with it.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: encrypt by rustls, over tcp; the client verifies the server's certificate.
    """

    querier: bool = True
    express: bool = False
    codec: str = "json"
    tls: bool = False


def endpoint(where: Address, tls: bool) -> str:
    """Return an address as the library writes it."""
    if where.transport == "ipc":
        return f"unixsock-stream/{where.path}"
    host = f"[{where.host}]" if ":" in where.host else where.host
    return f"{'tls' if tls else 'tcp'}/{host}:{where.port}"


def _config(mode: str, settings: dict[str, Any]) -> Any:
    """Return a configuration: nothing is looked for, and nothing listens unless the settings say where."""
    config = zenoh.Config()
    usual = {"listen/endpoints": [], "scouting/multicast/enabled": False, "scouting/gossip/enabled": False}
    for name, value in ({"mode": mode} | usual | settings).items():
        config.insert_json5(name, json.dumps(value))
    return config


def listening(mode: str, at: str, tls: bool, folder: str) -> tuple[Any, str]:
    """Return a session that listens at an address, and the address that others connect to."""
    where, before = parse_address(at), _ports()
    session = _open_listening(mode, [endpoint(where, tls)], folder if tls else "")
    if where.transport == "ipc" or where.port:
        return session, at
    (port,) = _ports() - before
    host = f"[{where.host}]" if ":" in where.host else where.host
    return session, f"tcp://{host}:{port}"


def routing(ends: list[str], folder: str) -> Any:
    """Return a session that routes between those that connect to its endpoints."""
    return _open_listening("router", ends, folder)


def _open_listening(mode: str, ends: list[str], folder: str) -> Any:
    settings: dict[str, Any] = {"listen/endpoints": ends}
    if folder:
        for name, file in (("listen_private_key", credentials.KEY), ("listen_certificate", credentials.CERTIFICATE)):
            settings[f"transport/link/tls/{name}"] = str(Path(folder, file))
    try:
        return zenoh.open(_config(mode, settings))
    except zenoh.ZError as reason:
        raise TransportError(f"cannot listen at {' and '.join(ends)}: {_words(reason)}") from reason


def _ports() -> set[int]:
    """Return the TCP ports at which this process listens: the library does not say which one it was given."""
    found = set()
    for name in os.listdir("/dev/fd"):  # noqa: PTH208
        try:
            with socket.socket(fileno=os.dup(int(name))) as one:
                if one.family != socket.AF_UNIX and one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    found.add(one.getsockname()[1])
        except OSError:  # no socket, or closed meanwhile
            continue
    return found


def connected(mode: str, address: str, tls: bool) -> Any:
    """Return a session that has connected to an address."""
    where = parse_address(address)
    settings: dict[str, Any] = {
        "connect/endpoints": [endpoint(where, tls)],
        "connect/timeout_ms": OPEN_MS,
        "connect/exit_on_failure": True,
    }
    if tls:
        authority = credentials.text(credentials.AUTHORITY)
        settings["transport/link/tls/root_ca_certificate_base64"] = base64.b64encode(authority.encode()).decode()
    try:
        return zenoh.open(_config(mode, settings))
    except zenoh.ZError as reason:
        if tls:
            raise _tls.found_wrong(where) from reason
        raise TransportError(f"cannot connect to {address}: {_words(reason)}{_tls.IF}", "connect") from reason


def matched(declared: Any) -> Any:
    """Return what was declared as soon as the other side's declaration is known; TransportError if it does not come."""
    until = time.monotonic() + MATCH_S
    while not declared.matching_status.matching:
        if time.monotonic() > until:
            raise TransportError("nobody answers there: is it a server of this system?", "connect")
        time.sleep(AGAIN_S)
    return declared


def answering(session: Any, key: str, answer: Callable[[bytes], bytes], express: bool) -> Any:
    """Answer queries for a key in threads of the library; return what keeps it so."""

    def handle(query: Any) -> None:
        query.reply(key, answer(query.payload.to_bytes()), express=express)
        query.drop()

    return session.declare_queryable(key, handle, complete=True)


def first(replies: Any) -> bytes:
    """Return the first reply to a query, waiting for it; TransportError for an error, or where none comes."""
    for reply in replies:
        if reply.ok is None:
            raise TransportError(f"the call failed: {reply.err.payload.to_string()}", "read")
        return reply.ok.payload.to_bytes()
    raise TransportError("the call failed: no reply came, the server is gone", "read")


def failed(reason: Exception) -> TransportError:
    """Return the error for a query that could not be sent."""
    return TransportError(f"the call failed: {_words(reason)}", "read")


class Client:
    """One session, whose queries are calls."""

    mode: str

    def __init__(self, address: str, options: Options) -> None:
        """Keep address and options."""
        self._address, self._options = address, options

    def open(self) -> None:
        """Connect, and wait until the server's declaration has come."""
        express = self._options.express
        self._session = connected(self.mode, self._address, self._options.tls)
        self._key = _broker.split(self._address)[1]
        self._querier = matched(self._session.declare_querier(self._key, timeout=PATIENCE_S, express=express))

    def _ask(self, payload: bytes) -> Any:
        if self._options.querier:
            return self._querier.get(payload=payload)
        return self._session.get(self._key, payload=payload, timeout=PATIENCE_S, express=self._options.express)

    def close(self) -> None:
        """Disconnect."""
        self._session.close()


class Sender:
    """The sending end of a one-way stream: a publisher that waits while the connection takes nothing."""

    mode: str

    def __init__(self, address: str, options: Options) -> None:
        """Keep address and options."""
        self._address, self._options = address, options

    def open(self) -> None:
        """Connect, and wait until the receiver's declaration has come."""
        self._session = connected(self.mode, self._address, self._options.tls)
        block = zenoh.CongestionControl.BLOCK  # the default drops what does not fit
        publisher = self._session.declare_publisher(KEY, congestion_control=block, express=self._options.express)
        self._publisher = matched(publisher)

    def send(self, payload: bytes) -> None:
        """Publish one message."""
        self._publisher.put(payload)

    def close(self) -> None:
        """Disconnect when all messages have been sent."""
        self._session.close()


def _words(reason: Exception) -> str:
    return str(reason).split(" at /")[0].splitlines()[0]
