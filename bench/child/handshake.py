"""The handshake of an encrypted connection whose wire is driven by blocking calls before the window."""

from typing import Any

from bench.contract import Layer

READ_BYTES = 1 << 16
HANDSHAKE_S = 3.0  # for an answer before the window; in it, a handshake that is not answered is a call that is not


def secure(connection: Any, layer: Layer | None) -> None:
    """Make the handshake on a connected socket, if its wire has a ``layer``; TransportError where it fails."""
    if layer is None:
        return
    layer.start()
    content = layer.shake(b"")
    before = connection.gettimeout()
    connection.settimeout(HANDSHAKE_S)
    try:
        while True:
            connection.sendall(content)
            if layer.is_ready:
                break
            content = layer.shake(connection.recv(READ_BYTES) or None)
    except OSError as reason:  # TimeoutError too
        raise layer.failed(reason) from reason
    connection.settimeout(before)
