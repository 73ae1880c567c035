"""TCP ports for servers that cannot pick one themselves: free ones, and ones that are held until the server listens."""

import errno
import socket
import sys

_held: dict[int, socket.socket] = {}  # sockets that are bound and do not listen


def free(host: str = "127.0.0.1") -> int:
    """Return a port of a host at which nobody listens now; somebody may when the server starts."""
    first, *others = addresses(host)
    with socket.create_server((first, 0), family=_family(first)) as probe:
        port = int(probe.getsockname()[1])
        try:
            for other in others:
                socket.create_server((other, port), family=_family(other)).close()
        except OSError as reason:
            return free(host) if reason.errno == errno.EADDRINUSE else port  # else this machine does not have it
        return port


def addresses(host: str) -> tuple[str, ...]:
    """Return the addresses of a host; localhost has two, whatever this machine's resolver says (RFC 6761)."""
    return ("127.0.0.1", "::1") if host == "localhost" else (host,)


def held(host: str = "127.0.0.1", port: int = 0) -> int:
    """Return a port, by default a free one, that the kernel gives to no other process while this one runs.

    On Linux a socket that is bound and does not listen keeps it, and the server shares it (SO_REUSEPORT).
    """
    if sys.platform != "linux":
        return port or free(host)
    holder = socket.socket(_family(host), socket.SOCK_STREAM)
    if port:  # connections of the server before may wait for their end (TIME_WAIT)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind((host, port))
    port = int(holder.getsockname()[1])
    _held[port] = holder
    return port


def is_held(port: int) -> bool:
    """Return whether this process holds a port, so that the server must share it."""
    return port in _held


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
