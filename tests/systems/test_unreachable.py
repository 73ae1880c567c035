"""Why a connection was not made: what failed first is looked for in whatever the library made of it."""

import errno
import socket
import ssl
from types import SimpleNamespace

import pytest

from bench.systems import _client

REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "no")
ENDED = ConnectionResetError(errno.ECONNRESET, "gone")
UNKNOWN = socket.gaierror(-2, "Name or service not known")
HINT = "if the server expects TLS"


class HoldingError(Exception):
    """An exception that holds another one, from which it is raised, as libraries' do."""


def raised(outer, inner):
    """Return an exception that was raised from another one."""
    try:
        raise outer from inner
    except HoldingError as reason:
        return reason


def around_itself():
    """Return an exception that holds the one it was raised from, which holds it."""
    outer, inner = HoldingError(), HoldingError()
    outer.exception, inner.exception = inner, outer
    return outer


@pytest.mark.parametrize(
    ("reason", "tls", "text", "is_hint"),
    [
        (REFUSED, False, "Connection refused", False),
        (raised(HoldingError("no broker"), REFUSED), False, "Connection refused", False),
        (HoldingError(HoldingError(ENDED)), False, "Connection reset by peer", True),
        (raised(HoldingError("no broker"), UNKNOWN), False, "no broker", False),
        (HoldingError(ssl.SSLEOFError(8, "no")), True, "during the TLS handshake", False),
        (TimeoutError(), False, "no answer came in time", False),
        (around_itself(), False, "HoldingError", False),
    ],
)
def test_what_failed_first_is_told(reason, tls, text, is_hint):
    error = _client.Client("tcp://127.0.0.1:1", SimpleNamespace(tls=tls)).unreachable(reason)
    assert text in str(error) and (HINT in str(error)) == is_hint and error.kind == "connect"
