"""Shared by the XML-RPC systems: the method's name, documents made and read, and errors."""

import xmlrpc.client
from collections.abc import Callable
from typing import Any

from bench.errors import TransportError

METHOD = "echo"


class Parser(xmlrpc.client.ExpatParser):
    """The library's parser, with document types refused.

    They can define entities that multiply (a few lines become gigabytes), and XML-RPC has no use for them.
    """

    _parser: Any  # missing in the library's types

    def __init__(self, target: Any) -> None:
        super().__init__(target)
        self._parser.StartDoctypeDeclHandler = _refuse


def _refuse(*_: object) -> None:
    raise ValueError("a document type (DOCTYPE) is not accepted")


library: Any = xmlrpc.client
library.FastParser = Parser  # the library uses this attribute, if set, wherever it reads XML


def request(payload: bytes) -> bytes:
    """Return the XML document that calls with this payload, encoded as base64."""
    return xmlrpc.client.dumps((payload,), METHOD).encode()


def response(document: bytes, answer: Callable[[bytes], bytes]) -> bytes:
    """Return the XML that answers a call: a value, or a fault for an unknown method; TransportError for no call."""
    values, method = read(document)
    if method == METHOD and len(values) == 1 and isinstance(values[0], bytes):
        reply: Any = (answer(values[0]),)
    else:
        reply = xmlrpc.client.Fault(1, f"{method}() is not there, or takes other arguments: call {METHOD}(base64)")
    return xmlrpc.client.dumps(reply, methodresponse=True).encode()


def encode(value: Any) -> bytes:
    """Return the XML of a reply that holds one value of any type."""
    return xmlrpc.client.dumps((value,), methodresponse=True).encode()


def decode(document: bytes) -> Any:
    """Return the one value in the XML of a reply."""
    (value,), _ = xmlrpc.client.loads(document, use_builtin_types=True)
    return value


def result(document: bytes) -> bytes:
    """Return the payload in the XML of a reply; TransportError for a fault and for anything that is no reply."""
    values, _ = read(document)
    if len(values) != 1:
        raise TransportError(f"the reply holds {len(values)} values instead of one")
    return values[0]


def read(document: bytes) -> tuple[tuple[Any, ...], str | None]:
    """Return the values in an XML document, and the method if it is a call; TransportError if it is malformed."""
    try:
        return xmlrpc.client.loads(document, use_builtin_types=True)
    except xmlrpc.client.Fault as fault:
        raise failed(fault) from fault
    except Exception as reason:  # the library lets through whatever its steps raise on bad input
        raise TransportError(f"malformed XML-RPC: {_words(reason)}") from reason


def failed(reason: BaseException, hint: str = "") -> TransportError:
    """Return the error for a call that failed; ``hint`` ends its text."""
    kind = "read"
    if isinstance(reason, xmlrpc.client.Fault):
        kind = f"fault {reason.faultCode}"
    elif isinstance(reason, xmlrpc.client.ProtocolError):
        kind = f"status {reason.errcode}"
    return TransportError(f"the call failed: {_words(reason)}{hint}", kind)


def _words(reason: BaseException) -> str:
    if isinstance(reason, xmlrpc.client.Fault):
        return f"the server answered with fault {reason.faultCode}: {reason.faultString}"
    if isinstance(reason, xmlrpc.client.ProtocolError):
        return f"the server answered with HTTP status {reason.errcode} {reason.errmsg}"
    return f"{type(reason).__name__}: {reason}" if str(reason) else type(reason).__name__
