"""Clients of blocking libraries and of asyncio's: what they have in common; a system's file adds what is its own.

How a library says that something failed is translated in one place: of connecting here, of calls around the timed loop
and not in it (``bench.child.caller.translating``). So ``call`` can be the library's own method.
"""

import inspect
import os
import socket
from collections.abc import Callable
from typing import Any, ClassVar

from bench.contract import parse_address
from bench.errors import BenchError, TransportError
from bench.systems import _tls


def words(reason: BaseException) -> str:
    """Return the first line of what an exception says, or its name."""
    silent = "no answer came in time" if isinstance(reason, TimeoutError) else type(reason).__name__
    return next(iter(str(reason).splitlines()), "") or silent


def causes(reason: BaseException) -> list[BaseException]:
    """Return an exception, and one after the other those that led to it: it holds them, or was raised from them."""
    reasons: list[BaseException] = []
    cause: BaseException | None = reason
    while cause is not None and cause not in reasons:  # libraries let an exception hold the one that it is raised from
        reasons.append(cause)
        handled = None if cause.__suppress_context__ else cause.__context__
        candidates = (getattr(cause, "exception", None), *cause.args[:1], cause.__cause__, handled)
        cause = next((each for each in candidates if isinstance(each, BaseException)), None)
    return reasons


class Connected:
    """One connection, and the errors for what its library raises.

    server: where it is. connection: what ``connect`` makes and ``close`` closes. ERRORS: what the library raises where
    something failed. ENDED: those that can mean that the server ended the connection, for example because it expects
    TLS. KIND: the name under which failed calls are counted. PEER: what errors say before the address.
    """

    ERRORS: ClassVar[tuple[type[BaseException], ...]] = (OSError,)
    ENDED: ClassVar[tuple[type[BaseException], ...]] = ()
    KIND: ClassVar[str] = "read"
    PEER: ClassVar[str] = ""
    connection: Any

    def __init__(self, address: str, options: Any) -> None:
        self.server, self.options = parse_address(address), options

    def failed(self, reason: BaseException) -> TransportError:
        """Return the error for a call that failed."""
        return TransportError(f"the call failed: {words(reason)}{self.hint(reason)}", self.KIND)

    def unreachable(self, reason: BaseException) -> TransportError:
        """Return the error for a connection that was not made: what failed, whatever the library made of it."""
        reasons = causes(reason)
        if handshake := [each for each in reasons if _tls.is_handshake(each, getattr(self.options, "tls", False))]:
            return _tls.failed(handshake[0])
        numbers = [each.errno or 0 for each in reasons if isinstance(each, OSError) and (each.errno or 0) > 0]
        text = os.strerror(numbers[-1]) if numbers else words(next(filter(str, reasons), reason))
        is_closed = any(isinstance(each, ConnectionRefusedError | socket.gaierror) for each in reasons)
        hint = "" if is_closed else next(filter(None, map(self.hint, reasons)), "")
        return TransportError(f"cannot connect to {self.PEER}{self.server}: {text}{hint}", "connect")

    def hint(self, reason: BaseException) -> str:
        """Return what to add where the server may expect TLS; "" for systems and connections without that doubt."""
        tls = getattr(self.options, "tls", True)
        return _tls.IF if isinstance(reason, self.ENDED) and not tls else _tls.hint(tls, reason)


class Client(Connected):
    """A connection of a blocking library; ``call`` is a method, or set by ``connect``."""

    call: Callable[[Any], Any]

    def open(self) -> None:
        """Connect; TransportError where that is not possible."""
        try:
            self.connect()
        except BenchError:
            raise
        except self.ERRORS as reason:
            raise self.unreachable(reason) from reason

    def connect(self) -> None:
        """Connect, as the library does it."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class SocketClient(Client):
    """A client whose ``connection`` is a socket, which may resume a TLS session (option ``tls_session``)."""

    @property
    def resumed(self) -> bool | None:
        """Whether the connection resumed a TLS session; None without TLS."""
        return _tls.was_resumed(self.connection)

    def close(self) -> None:
        _tls.keep_session(self.connection, self.server)
        super().close()


class AsyncClient(Connected):
    """A connection of an asyncio library, whose ``call`` is ``async def``."""

    async def open(self) -> None:
        """Connect, inside the event loop that will be used; TransportError where that is not possible."""
        try:
            await self.connect()
        except BenchError:
            raise
        except self.ERRORS as reason:
            raise self.unreachable(reason) from reason

    async def connect(self) -> None:
        """Connect, as the library does it."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the connection."""
        closing = self.connection.close()
        if inspect.isawaitable(closing):
            await closing
