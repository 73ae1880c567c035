"""Sessions of zenoh without scouting: as a peer, as a client of a router, and as the router."""

import base64
import json
import os
import socket
import time
from typing import Any

import zenoh

from bench.contract import Address, parse_address
from bench.errors import TransportError
from bench.plan import credentials
from bench.systems import _connections, _tls

OPEN_MS = 3000  # to connect
MATCH_S = 5.0  # until a declaration of the other side has arrived
AGAIN_S = 0.002


def endpoint(address: Address, tls: bool) -> str:
    """Return an address as the library writes it."""
    if address.transport == "ipc":
        return f"unixsock-stream/{address.path}"
    return f"{'tls' if tls else 'tcp'}/{address.place}"


def _config(mode: str, settings: dict[str, Any]) -> Any:
    """Return a configuration: nothing is looked for, and nothing listens unless the settings say where."""
    config = zenoh.Config()
    usual = {"listen/endpoints": [], "scouting/multicast/enabled": False, "scouting/gossip/enabled": False}
    for name, value in ({"mode": mode} | usual | settings).items():
        config.insert_json5(name, json.dumps(value))
    return config


def listening(mode: str, at: str, tls: bool, folder: str) -> tuple[Any, str]:
    """Return a session that listens at an address, and the address that others connect to."""
    parsed, before = parse_address(at), _ports()
    session = _open_listening(mode, [endpoint(parsed, tls)], folder if tls else "")
    if parsed.transport == "ipc" or parsed.port:
        return session, at
    (port,) = _ports() - before
    return session, str(parsed._replace(port=port))


def routing(ends: list[str], folder: str) -> Any:
    """Return a session that routes between those that connect to its endpoints."""
    return _open_listening("router", ends, folder)


def _open_listening(mode: str, ends: list[str], folder: str) -> Any:
    settings: dict[str, Any] = {"listen/endpoints": ends}
    if folder:
        certificate, key = _tls.files(folder)
        settings |= {"transport/link/tls/listen_certificate": certificate, "transport/link/tls/listen_private_key": key}
    try:
        return zenoh.open(_config(mode, settings))
    except zenoh.ZError as reason:
        raise TransportError(f"cannot listen at {' and '.join(ends)}: {words(reason)}") from reason


def _ports() -> set[int]:
    """Return the TCP ports at which this process listens: the library does not say which one it was given."""
    ports = set()
    for name in os.listdir("/dev/fd"):  # noqa: PTH208
        try:
            with socket.socket(fileno=os.dup(int(name))) as descriptor:
                if descriptor.family != socket.AF_UNIX and descriptor.getsockopt(
                    socket.SOL_SOCKET, socket.SO_ACCEPTCONN
                ):
                    ports.add(descriptor.getsockname()[1])
        except OSError:  # no socket, or closed meanwhile
            continue
    return ports


def connected(mode: str, address: str, tls: bool) -> Any:
    """Return a session that has connected to an address."""
    parsed = parse_address(address)
    settings: dict[str, Any] = {
        "connect/endpoints": [endpoint(parsed, tls)],
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
            raise _connections.handshake_error(parsed) from reason
        raise TransportError(f"cannot connect to {address}: {words(reason)}{_tls.IF}", "connect") from reason


def matched(declared: Any) -> Any:
    """Return what was declared as soon as the other side's declaration is known; TransportError if it does not come."""
    until = time.monotonic() + MATCH_S
    while not declared.matching_status.matching:
        if time.monotonic() > until:
            raise TransportError("nobody answers there: is it a server of this system?", "connect")
        time.sleep(AGAIN_S)
    return declared


def words(reason: BaseException) -> str:
    """Return what the library says of a failure, in one line."""
    return str(reason).split(" at /")[0].splitlines()[0]
