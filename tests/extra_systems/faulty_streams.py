"""A server of reply streams with a fault: what it does wrong is an option."""

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.systems import sockets

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()


@dataclass(frozen=True)
class Options:
    """fault: too_few, too_many, lies, breaks (every fourth stream), dies or stalls (in the twentieth)."""

    fault: str = "breaks"


class Client(sockets.Client):
    """The sockets client, whose options it ignores."""

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, sockets.Options())


StreamClient = Client


class Wire(sockets.Wire):
    """The sockets wire, whose options it ignores."""

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, sockets.Options())


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Serve sockets with a fault."""
    streams = itertools.count(1)

    def replies(payload: bytes) -> Iterator[bytes]:
        each, number = list(service.replies(payload)), next(streams)
        if len(each) > 1 and options.fault == "too_few":
            each.pop()
        if len(each) > 1 and options.fault == "too_many":
            each.append(each[-1])
        if len(each) > 1 and options.fault == "lies":
            each[1] = each[1][:-1] + b"?"
        if number > 3 and options.fault == "breaks" and number % 4 == 0:
            yield from each[:2]
            raise TransportError("no more")
        if options.fault in ("dies", "stalls") and number == 20:
            yield from each[:2]
            if options.fault == "stalls":
                time.sleep(60)
            os._exit(3)
        yield from each

    faulty = SimpleNamespace(announce=service.announce, answer=service.answer, is_streaming=True, replies=replies)
    sockets.serve(binding, sockets.Options(), faulty)
