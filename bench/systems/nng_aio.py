"""nng: brokerless message sockets, REQ/REP, pynng's asyncio calls on both sides."""

from dataclasses import dataclass
from typing import Any

import pynng

from bench.contract import Binding, Service
from bench.process import event_loops
from bench.systems import _nng

TRANSPORTS = ("ipc", "tcp")
START_S = 0.3
REQUIRES = ("pynng",)
ENCRYPTED = ("tcp",)
Wire = _nng.Wire


@dataclass(frozen=True)
class Options(_nng.Options):
    """What runs the coroutines; the other options are those of nng.

    event_loop: asyncio or uvloop, on both sides.
    """

    event_loop: event_loops.EventLoop = "asyncio"


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer requests in one event loop, with one REP socket: one after another, whoever sent them."""
    event_loops.run(_serve(binding, options, service), options)


async def _serve(binding: Binding, options: Options, service: Service) -> None:
    socket, address = _nng.bound(pynng.Rep0, binding, options)
    service.announce(address)
    while True:
        await socket.asend(service.answer(await socket.arecv()))


class Client:
    """One REQ socket; each of its waits is ended by a thread of the library that wakes the event loop."""

    def __init__(self, address: str, options: Options) -> None:
        self._address, self._options = address, options

    async def open(self) -> None:
        """Connect."""
        self._socket: Any = _nng.connected(pynng.Req0, self._address, self._options)

    async def call(self, payload: bytes) -> bytes:
        """Send one request and return its reply."""
        try:
            await self._socket.asend(payload)
            return await self._socket.arecv()
        except pynng.NNGException as reason:
            raise _nng.failed(reason) from reason

    async def close(self) -> None:
        """Disconnect."""
        self._socket.close()


class Multiplexed(Client):
    """One REQ socket on which several calls are awaited at once, each by a context of its own."""

    async def call(self, payload: bytes) -> bytes:
        """Send one request and return its reply."""
        try:
            with self._socket.new_context() as context:
                await context.asend(payload)
                return await context.arecv()
        except pynng.NNGException as reason:
            raise _nng.failed(reason) from reason
