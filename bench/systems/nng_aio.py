"""nng: brokerless message sockets, REQ/REP, pynng's asyncio calls on both sides."""

from dataclasses import dataclass

import pynng

from bench.contract import Binding, Service
from bench.process import event_loops
from bench.systems import _client, _nng

TRANSPORTS = ("ipc", "tcp")
START_S = 0.3
REQUIRES = ("pynng",)
ENCRYPTED = ("tcp",)
FOR_WIRE, Wire = _nng.FOR_WIRE, _nng.Wire


@dataclass(frozen=True)
class Options(_nng.Options):
    """What runs the coroutines; the other options are those of nng.

    event_loop: asyncio or uvloop, on both sides.
    """

    event_loop: event_loops.EventLoop = "asyncio"


async def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer requests with one REP socket: one after another, whoever sent them."""
    socket, address = _nng.bound(pynng.Rep0, binding, options)
    service.announce(address)
    while True:
        await socket.asend(service.answer(await socket.arecv()))


class Client(_nng.Connected, _client.AsyncClient):
    """One REQ socket; each of its waits is ended by a thread of the library that wakes the event loop."""

    kind = pynng.Req0

    async def connect(self) -> None:
        self.dial()

    async def call(self, payload: bytes) -> bytes:
        await self.connection.asend(payload)
        return await self.connection.arecv()


class Multiplexed(Client):
    """One REQ socket on which several calls are awaited at once, each by a context of its own."""

    async def call(self, payload: bytes) -> bytes:
        with self.connection.new_context() as context:
            await context.asend(payload)
            return await context.arecv()
