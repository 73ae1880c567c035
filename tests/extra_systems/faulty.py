"""A server with a fault: what it does wrong is an option."""

import os
import sys
import time
from dataclasses import dataclass
from types import SimpleNamespace

from bench.contract import Binding, Service
from bench.systems import sockets

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()


@dataclass(frozen=True)
class Options:
    """fault: dies_at_once, dies_later, never_listens, returns, stale,
    hangs_later, lies_at_once, lies_later, cuts_later.

    after: how many right answers come first.
    """

    fault: str = "dies_later"
    after: int = 5  # few: a crowded machine may make no more in a short window


class Client(sockets.Client):
    """The sockets client, whose options it ignores."""

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, sockets.Options())


class Faulty:
    """A service that goes wrong after some answers."""

    is_streaming = False

    def __init__(self, service: Service, options: Options) -> None:
        self.announce = service.announce
        self._answer, self._options, self._count = service.answer, options, 0

    def answer(self, payload: bytes) -> bytes:
        self._count += 1
        fault = self._options.fault
        if fault == "lies_at_once" or (fault.startswith("lies") and self._count > self._options.after):
            return bytes(len(payload))
        if self._count > self._options.after:
            if fault == "dies_later":
                print("the last words of the server", file=sys.stderr, flush=True)
                os._exit(3)
            if fault == "hangs_later":
                time.sleep(60)
            if fault == "cuts_later":
                return payload[:-1]
        return self._answer(payload)


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Serve sockets with a fault."""
    if options.fault == "dies_at_once":
        print("cannot start: no luck today", file=sys.stderr, flush=True)
        os._exit(7)
    if options.fault == "never_listens":
        time.sleep(60)
    if options.fault == "returns":
        return
    if options.fault == "stale":  # what answers is another server, left over from before: nobody counts there
        uncounted = SimpleNamespace(announce=service.announce, answer=lambda payload: payload, is_streaming=False)
        sockets.serve(binding, sockets.Options(), uncounted)
    sockets.serve(binding, sockets.Options(), Faulty(service, options))
