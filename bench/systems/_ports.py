"""TCP ports for servers that cannot pick one themselves."""

import contextlib
import errno
import random
import socket
import sys
from pathlib import Path

FIRST = 10_000  # below are those of well-known services
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

_claims: list[socket.socket] = []  # names of this network namespace that no other process can have while this one runs


def free(host: str = "127.0.0.1") -> int:
    """Return a port of a host at which nobody listens, and which nobody gets by chance before the server listens.

    The kernel gives connections, and servers that ask for any port, one of its own range: this one is below. Other
    processes that ask here get another one for as long as this process runs. Where few ports are below that range, or
    without Linux, the kernel gives one, which somebody may get first.
    """
    end = int(RANGE.read_text().split()[0]) if sys.platform == "linux" else FIRST
    for port in random.sample(range(FIRST, max(FIRST, end)), max(0, end - FIRST)):
        if _is_free(host, port) and _claimed(port):
            return port
    while True:
        with _listening(addresses(host)[0], 0) as probe:
            port = int(probe.getsockname()[1])
        if _is_free(host, port):
            return port


def addresses(host: str) -> tuple[str, ...]:
    """Return the addresses of a host; localhost has two, whatever this machine's resolver says (RFC 6761)."""
    return ("127.0.0.1", "::1") if host == "localhost" else (host,)


def _is_free(host: str, port: int) -> bool:
    """Return whether nobody listens at a port of a host's addresses; OSError if this machine lacks the first."""
    first, *others = addresses(host)
    for address in (first, *others):
        try:
            _listening(address, port).close()
        except OSError as reason:
            if reason.errno == errno.EADDRINUSE:
                return False
            if address == first:
                raise
    return True


def _listening(address: str, port: int) -> socket.socket:
    return socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)


def _claimed(port: int) -> bool:
    """Return whether this process has a port's name now, which goes with the process."""
    claim = socket.socket(socket.AF_UNIX)
    with contextlib.suppress(OSError):
        claim.bind(f"\0roundtrip port {port}")
        _claims.append(claim)
        return True
    claim.close()
    return False
