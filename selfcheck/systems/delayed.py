"""Raw sockets whose server works longer on each request by an option: builds that differ by a known amount."""

from dataclasses import dataclass

from bench.contract import Binding, Service
from bench.systems import sockets
from bench.systems.sockets import Client as Client

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()


@dataclass(frozen=True)
class Options(sockets.Options):
    """``turns``: empty turns of a loop before each answer, some 15 ns each."""

    turns: int = 0


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Serve as raw sockets do, with the additional work."""
    answer = service.answer

    def longer(payload: bytes) -> bytes:
        for _ in range(options.turns):
            pass
        return bytes(answer(payload))

    service.answer = longer
    sockets.serve(binding, options, service)
