"""Streams of messages of a service: what a message is, and server-sent events over HTTP."""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from bench.errors import TransportError
from bench.plan.service_file import Prepared, refuse

LINE_END = re.compile(rb"\r\n|\n|\r")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MOST_EVENT = 16_000_000  # bytes


class Events:
    """The data of server-sent events, from bytes that come in parts (WHATWG, HTML, section 9.2.6)."""

    def __init__(self) -> None:
        self._rest, self._data = b"", list[bytes]()
        self._is_first, self._is_half = True, False  # whether no line has come; whether a carriage return came last

    def feed(self, part: bytes) -> list[bytes]:
        """Return the data of each event that is complete by these bytes; TransportError for one without end."""
        if not part:
            return []
        if self._is_half:
            part = part.removeprefix(b"\n")
        self._is_half = part.endswith(b"\r")
        *lines, self._rest = LINE_END.split(self._rest + part)
        if lines and self._is_first:
            lines[0], self._is_first = lines[0].removeprefix(BYTE_ORDER_MARK), False
        complete = []
        for line in lines:
            if not line and self._data:
                complete.append(b"\n".join(self._data))
                self._data = []
            field, _, value = line.partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
        if len(self._rest) + sum(map(len, self._data)) > MOST_EVENT:
            raise TransportError(f"an event has more than {MOST_EVENT:,} bytes", "body")
        return complete


class Message:
    """A message, which is compared with what is expected after the clock has stopped."""

    __slots__ = ("_data", "_fault", "_request")

    def __init__(self, request: Prepared, data: bytes, fault: Callable[[Prepared, bytes], str]) -> None:
        self._request, self._data, self._fault = request, data, fault

    def check(self) -> None:
        """Raise TransportError, with the request's name and what is wrong, for a message that is not as expected."""
        refuse(self._request, self._fault(self._request, self._data))


class EventStream:
    """The messages of a reply that is a stream of events, from parts of its body, whoever receives them.

    An event with the data that is expected at the end is no message, and none may follow it.
    """

    def __init__(self, request: Prepared) -> None:
        self._request, self._events, self._count, self._has_ended = request, Events(), 0, False
        self._last = None if request.expect.end is None else request.expect.end.encode()

    def feed(self, part: bytes) -> Iterator[Message]:
        """Yield the messages that are complete by these bytes; TransportError for one behind the end."""
        for data in self._events.feed(part):
            if self._has_ended:
                refuse(self._request, f"its stream goes on behind {self._request.expect.end!r}")
            if data == self._last:
                self._has_ended = True
                continue
            self._count += 1
            yield Message(self._request, data, Prepared.fault_of_content)

    def end(self) -> None:
        """Raise TransportError for a stream that is over and not the expected one."""
        refuse(self._request, self._request.fault_of_stream(self._count, self._has_ended))


async def of_events(request: Prepared, parts: AsyncIterator[bytes]) -> AsyncIterator[Message]:
    """Yield the messages of a reply that is a stream of events; TransportError if it is not the expected one."""
    stream = EventStream(request)
    async for part in parts:
        for message in stream.feed(part):
            yield message
    stream.end()


def refuse_no_events(request: Prepared, status: int, headers: Any, body: bytes) -> None:
    """Raise TransportError for a reply that is no stream of events, whose body is quoted then.

    headers: their values by names in small letters, or in any.
    """
    kind, encoding = headers.get("content-type", ""), headers.get("content-encoding", "identity")
    fault = request.fault_of_status(status, body)
    if not fault and not kind.lower().startswith("text/event-stream"):
        fault = f"its type is {kind or 'not given'}, not text/event-stream"
    if not fault and encoding != "identity":
        fault = f"its stream has the encoding {encoding}, which is not read here: accept none"
    refuse(request, fault)
