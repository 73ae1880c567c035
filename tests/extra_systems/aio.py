"""Echo over asyncio streams: a client whose verbs are all awaited."""

import asyncio
from dataclasses import dataclass

from bench.contract import Binding, Service, parse_address

TRANSPORTS = ("tcp",)
REQUIRES = ()


@dataclass(frozen=True)
class Options:
    """No options."""


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer 100-byte messages."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(service.answer(data))

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        service.announce("tcp://{}:{}".format(*server.sockets[0].getsockname()))
        await server.serve_forever()

    asyncio.run(main())


class Client:
    """One connection."""

    def __init__(self, address: str, options: Options) -> None:
        self._address = parse_address(address)

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._address.host, self._address.port)

    async def call(self, payload: bytes) -> bytes:
        self._writer.write(payload)
        return await self._reader.readexactly(len(payload))

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()
