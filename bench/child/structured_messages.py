"""Structured messages around a system's own call: objects in, objects out; and the codec's work, timed alone.

A system whose ``Options`` have a ``codec`` carries bytes: its requests are encoded and its replies decoded here, as a
user of it would write, inside the timed call. A system whose ``coder`` returns a codec encodes values itself: its
``call`` takes and returns them.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from bench import codecs, message_types
from bench.child import sizes
from bench.codecs import Coder
from bench.errors import BenchError
from bench.process.spec import ClientSpec

SHARE = 0.08  # of a window's length: how long a codec is timed alone, for each start
ROUNDS = (5, 2000)  # the fewest and the most


class Carried(NamedTuple):
    """How a system carries a kind of message. is_native: its own call takes objects, and nothing is put around it."""

    coder: Coder
    is_native: bool


def carried(system: Any, options: Any, message: str) -> Carried | None:
    """Return how a system carries a message; None for opaque bytes, and UsageError where it cannot."""
    if message == message_types.BYTES:
        return None
    if hasattr(system, "coder") and (own := system.coder(options, message if message in message_types.KINDS else "")):
        return Carried(own, True)
    return Carried(codecs.load(options.codec, message), False)


def application(how: Carried | None) -> Callable[[Any], Any] | None:
    """Return what a server does with a request; None for an echo of bytes."""
    if how is None:
        return None
    return how.coder.answer if how.is_native else codecs.around(how.coder)


def exchanges(how: Carried, spec: ClientSpec) -> list[message_types.Exchange]:
    """Return the requests of a client and the replies expected to them."""
    made = message_types.make(spec.case.message, spec.case.payload_bytes, spec.seed, spec.case.content)
    return [how.coder.exchange(one) for one in made]


def client(make: Callable[[], Any], how: Carried, is_async: bool) -> Any:
    """Return a new client of a system that takes exchanges."""
    return (AsyncCarrier if is_async else Carrier)(make(), how)


def _native(call: Callable[[Any], Any]) -> Callable[[message_types.Exchange], Any]:
    """Return a call that hands over the object itself, or what awaits it."""
    return lambda exchange: call(exchange.request)


class _Around:
    """A system's client, and how it carries messages."""

    def __init__(self, client: Any, how: Carried) -> None:
        self._client, self._how = client, how
        self.call: Callable[[message_types.Exchange], Any]


class Carrier(_Around):
    """A client whose ``call`` takes an ``Exchange`` and returns the reply as an object."""

    def open(self) -> None:
        """Connect, and put the codec around the client's own call."""
        self._client.open()
        inner, encode, decode = self._client.call, self._how.coder.encode, self._how.coder.decode

        def call(exchange: message_types.Exchange) -> Any:
            try:
                return decode(inner(encode(exchange.request)))
            except BenchError:
                raise
            except Exception as reason:  # codecs raise what they like
                raise codecs.failed(reason) from reason

        self.call = _native(inner) if self._how.is_native else call

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


class AsyncCarrier(_Around):
    """A ``Carrier`` for a client whose methods are awaited."""

    async def open(self) -> None:
        """Connect, and put the codec around the client's own call."""
        await self._client.open()
        inner, encode, decode = self._client.call, self._how.coder.encode, self._how.coder.decode

        async def call(exchange: message_types.Exchange) -> Any:
            try:
                return decode(await inner(encode(exchange.request)))
            except BenchError:
                raise
            except Exception as reason:  # codecs raise what they like
                raise codecs.failed(reason) from reason

        self.call = _native(inner) if self._how.is_native else call

    async def close(self) -> None:
        """Disconnect."""
        await self._client.close()


class ApartCarrier(_Around):
    """A connection whose calls are sent and received apart, which takes exchanges and returns replies as objects."""

    def open(self) -> None:
        """Connect."""
        self._client.open()

    def send(self, number: int, exchange: message_types.Exchange) -> None:
        """Encode a request, and begin the call."""
        try:
            data = self._how.coder.encode(exchange.request)
        except Exception as reason:  # codecs raise what they like
            raise codecs.failed(reason) from reason
        self._client.send(number, data)

    def receive(self) -> tuple[int, Any]:
        """Return the number and the decoded reply of the next call that is answered, waiting for it."""
        number, data = self._client.receive()
        try:
            return number, self._how.coder.decode(data)
        except Exception as reason:  # codecs raise what they like
            raise codecs.failed(reason) from reason

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


class Alone(NamedTuple):
    """What a codec's work took without a system, medians in ns; sizes of the encoded messages, means in bytes."""

    request_encode_ns: int
    request_decode_ns: int
    reply_encode_ns: int
    reply_decode_ns: int
    verify_ns: int
    encoded_request_bytes: float
    encoded_reply_bytes: float


def alone(coder: Coder, some: list[message_types.Exchange], window_s: float) -> Alone:
    """Time encoding and decoding of the same objects by the same codec, in turn, for a share of a window's length."""
    clock, end = time.perf_counter_ns, time.perf_counter_ns() + int(SHARE * window_s * 1e9)
    times: list[list[int]] = [[], [], [], [], []]
    sizes = []
    for number in range(ROUNDS[1]):
        exchange = some[number % len(some)]
        instants = [clock()]
        request = coder.encode(exchange.request)
        instants.append(clock())
        coder.decode(request)
        instants.append(clock())
        reply = coder.encode(exchange.reply)
        instants.append(clock())
        decoded = coder.decode(reply)
        instants.append(clock())
        exchange != decoded  # noqa: B015 - what a timed loop does between two calls
        instants.append(clock())
        for place, column in enumerate(times):
            column.append(instants[place + 1] - instants[place])
        sizes.append((len(request), len(reply)))
        if number + 1 >= ROUNDS[0] and instants[-1] >= end:
            break
    requests, replies = zip(*sizes, strict=True)
    medians = [sorted(column)[len(column) // 2] for column in times]
    means = [sum(requests) / len(sizes), sum(replies) / len(sizes)]
    return Alone._make([*medians, *means])


def payloads(how: Carried | None, spec: ClientSpec) -> list[Any]:
    """Return what a client's calls take in turn: opaque bytes, or exchanges of structured messages."""
    return sizes.payloads(spec) if how is None else exchanges(how, spec)


def timed_alone(how: Carried | None, some: list[message_types.Exchange], spec: ClientSpec) -> dict[str, float]:
    """Return ``Alone`` by name; one client process times it, after the window; of opaque bytes there is none."""
    if how is None or spec.share[0] > 0:
        return {}
    return alone(how.coder, some, spec.window_s)._asdict()
