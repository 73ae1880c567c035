"""The handshake before a window whose loop is driven by blocking calls: what goes wrong is one sentence."""

import socket
import threading

import pytest

from bench.child import handshake
from bench.contract import parse_address
from bench.errors import TransportError
from bench.measurement import certificates
from bench.plan import credentials
from bench.systems import _tls


@pytest.fixture
def layer():
    """Return the layer of a client, which trusts an authority."""
    credentials.use(certificates.make())
    yield _tls.Layer(parse_address("tcp://127.0.0.1:1"))
    credentials.use({})


def test_without_encryption_nothing_is_sent():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        handshake.secure(ours, None)
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.recv(1)


def test_a_peer_that_closes_the_connection_is_named_with_the_likely_reason(layer):
    ours, theirs = socket.socketpair()
    threading.Thread(target=lambda: (theirs.recv(1 << 16), theirs.close()), daemon=True).start()
    with ours, pytest.raises(TransportError, match="TLS"):
        handshake.secure(ours, layer)


def test_a_peer_that_says_nothing_is_not_waited_for_for_ever(layer, monkeypatch):
    monkeypatch.setattr(handshake, "HANDSHAKE_S", 0.05)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(TransportError, match="TLS"):
        handshake.secure(ours, layer)


def test_a_peer_without_encryption_is_named(layer):
    ours, theirs = socket.socketpair()
    theirs.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with ours, theirs, pytest.raises(TransportError, match="TLS"):
        handshake.secure(ours, layer)
