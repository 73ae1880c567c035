"""Why a connection was not made: what failed first is looked for in whatever the library made of it."""

import errno
import socket
import ssl
from types import SimpleNamespace

import pytest

from bench.systems import _broker, _client

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


@pytest.mark.parametrize("text", ["NOAUTH Authentication required.", "[code:135] Not authorized", "ACCESS_REFUSED"])
def test_a_broker_that_refuses_a_login_is_told_from_one_that_is_not_there(text):
    client = _broker.Client("tcp://127.0.0.1:1", SimpleNamespace(tls=False))
    assert "refuses the login" in str(client.unreachable(HoldingError(text)))
    far = raised(HoldingError("Error 111 connecting to authorize.example.com:6379"), REFUSED)
    assert str(client.unreachable(far)) == str(client.unreachable(REFUSED))
    assert str(client.unreachable(REFUSED)) == "cannot connect to the broker at tcp://127.0.0.1:1: Connection refused"
