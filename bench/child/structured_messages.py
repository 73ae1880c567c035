"""Structured messages around a system's own call: objects in, objects out; and the codec's work, timed alone.

A system whose ``Options`` have a ``codec`` carries bytes: its requests are encoded and its replies decoded here, as a
user of it would write, inside the timed call. A system whose ``coder`` returns a codec encodes values itself: its
``call`` takes and returns them.
"""

import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from bench import codecs
from bench.child import payload_sizes, request_names
from bench.codecs import Coder, message_types
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
    return _natively(how.coder) if how.is_native else codecs.around(how.coder)


def _natively(coder: Coder) -> Callable[[Any], Any]:
    """Return what a server does with what its library received."""
    answer, build, read = coder.answer, coder.build, coder.read
    return answer if build is message_types.same else lambda request: build(answer(read(request)))


def exchanges(how: Carried, spec: ClientSpec) -> list[message_types.Exchange]:
    """Return the requests of a client and the replies expected to them."""
    made = message_types.make(spec.case.message, spec.case.payload_bytes, spec.seed, spec.case.content)
    return [how.coder.exchange(exchange) for exchange in made]


def _native(call: Callable[[Any], Any], coder: Coder) -> Callable[[message_types.Exchange], Any]:
    """Return a call that hands over the object itself, or what awaits it; or what the library makes of the object."""
    build, read = coder.build, coder.read
    if build is message_types.same:
        return lambda exchange: call(exchange.request)
    return lambda exchange: read(call(build(exchange.request)))


class Carrier:
    """A client whose ``call`` takes an ``Exchange`` and returns the reply as an object."""

    def __init__(self, client: Any, how: Carried) -> None:
        self.inner_client, self._how = client, how
        self.close = client.close
        self.call: Callable[[message_types.Exchange], Any]

    def open(self) -> Any:
        """Connect, and put the codec around the client's own call; to be awaited where the client's ``open`` is."""
        opening = self.inner_client.open()
        if inspect.isawaitable(opening):
            return self._open_async(opening)
        self.call = self.blocking_call()
        return None

    async def _open_async(self, opening: Awaitable[None]) -> None:
        await opening
        self.call = self.awaited_call()

    def blocking_call(self) -> Callable[[message_types.Exchange], Any]:
        """Return the call of a blocking client with the codec around it."""
        inner, encode, decode = self.inner_client.call, self._how.coder.encode, self._how.coder.decode

        def call(exchange: message_types.Exchange) -> Any:
            try:
                request = encode(exchange.request)
            except Exception as reason:  # codecs raise what they like
                raise codecs.failed(reason) from reason
            reply = inner(request)
            try:
                return decode(reply)
            except Exception as reason:
                raise codecs.failed(reason) from reason

        return _native(inner, self._how.coder) if self._how.is_native else call

    def awaited_call(self) -> Callable[[message_types.Exchange], Any]:
        """Return the call of an asynchronous client with the codec around it."""
        inner, encode, decode = self.inner_client.call, self._how.coder.encode, self._how.coder.decode

        async def call(exchange: message_types.Exchange) -> Any:
            try:
                request = encode(exchange.request)
            except Exception as reason:  # codecs raise what they like
                raise codecs.failed(reason) from reason
            reply = await inner(request)
            try:
                return decode(reply)
            except Exception as reason:
                raise codecs.failed(reason) from reason

        return _native(inner, self._how.coder) if self._how.is_native else call


class ApartCarrier:
    """A connection whose calls are sent and received apart, which takes exchanges and returns replies as objects."""

    def __init__(self, client: Any, how: Carried) -> None:
        self.inner_client, self._how = client, how
        self.open, self.close = client.open, client.close

    def send(self, number: int, exchange: message_types.Exchange) -> None:
        """Encode a request, and begin the call."""
        try:
            data = self._how.coder.encode(exchange.request)
        except Exception as reason:  # codecs raise what they like
            raise codecs.failed(reason) from reason
        self.inner_client.send(number, data)

    def receive(self) -> tuple[int, Any]:
        """Return the number and the decoded reply of the next call that is answered, waiting for it."""
        number, data = self.inner_client.receive()
        try:
            return number, self._how.coder.decode(data)
        except Exception as reason:  # codecs raise what they like
            raise codecs.failed(reason) from reason


class CodecTimes(NamedTuple):
    """What a codec's work took without a system, medians in ns; sizes of the encoded messages, means in bytes."""

    request_encode_ns: int
    request_decode_ns: int
    reply_encode_ns: int
    reply_decode_ns: int
    verify_ns: int
    encoded_request_bytes: float
    encoded_reply_bytes: float


def codec_times(coder: Coder, exchanges: list[message_types.Exchange], window_s: float) -> CodecTimes:
    """Time encoding and decoding of the same objects by the same codec, in turn, for a share of a window's length."""
    clock, end = time.perf_counter_ns, time.perf_counter_ns() + int(SHARE * window_s * 1e9)
    times: list[list[int]] = [[], [], [], [], []]
    sizes = []
    for number in range(ROUNDS[1]):
        exchange = exchanges[number % len(exchanges)]
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
        for index, column in enumerate(times):
            column.append(instants[index + 1] - instants[index])
        sizes.append((len(request), len(reply)))
        if number + 1 >= ROUNDS[0] and instants[-1] >= end:
            break
    requests, replies = zip(*sizes, strict=True)
    medians = [sorted(column)[len(column) // 2] for column in times]
    means = [sum(requests) / len(sizes), sum(replies) / len(sizes)]
    return CodecTimes._make([*medians, *means])


class Payloads:
    """What the calls of a client's process take in turn, ``items``: opaque bytes, or exchanges of structured messages.

    how: how the system carries the messages; None for opaque bytes. names: of a service's requests, if it has several.
    """

    def __init__(self, system: Any, options: Any, spec: ClientSpec) -> None:
        self._spec = spec
        self.how = carried(system, options, spec.case.message)
        self.names: tuple[str, ...] = getattr(system, "request_names", ())
        self.items: list[Any] = payload_sizes.payloads(spec) if self.how is None else exchanges(self.how, spec)

    def around(self, make: Callable[[], Any], carrier: type[Carrier | ApartCarrier] = Carrier) -> Callable[[], Any]:
        """Return what makes clients that take these payloads."""
        how = self.how
        return make if how is None else lambda: carrier(make(), how)

    def noting(self, items: list[Any]) -> list[Any]:
        """Return the payloads of one caller, which note the request that each call made, if a service has several."""
        return request_names.noting(items, self.names)

    def codec_alone(self) -> dict[str, float]:
        """Return ``CodecTimes`` by name; one process times it, after the window; opaque bytes have none."""
        if self.how is None or self._spec.share[0] > 0:
            return {}
        return codec_times(self.how.coder, self.items, self._spec.window_s)._asdict()
