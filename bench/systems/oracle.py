"""Oracle: raw sockets whose server takes known times, one request after the other; for trying the instrument itself."""

import math
import random
import selectors
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from bench.contract import Binding, Service, parse_address
from bench.systems import sockets

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()
LAWS = ("constant", "exponential", "bimodal")


@dataclass(frozen=True)
class Options:
    """The law of the time that the server takes for a request.

    law: constant; exponential; bimodal (nine of ten requests take half the mean, the tenth five and a half times it).
    mean_us: the mean of the law.
    freeze_after: the number of the request during which the server stands still; 0 for never.
    freeze_ms: for how long.
    """

    law: Literal["constant", "exponential", "bimodal"] = "constant"
    mean_us: int = 1000
    freeze_after: int = 0
    freeze_ms: int = 200

    def __post_init__(self) -> None:
        """Refuse what is no law."""
        if self.law not in LAWS:
            raise ValueError(f"law must be {', '.join(LAWS)}, not {self.law!r}")
        if not 1 <= self.mean_us <= 10_000_000:
            raise ValueError("mean_us must be from 1 to 10 000 000")
        if self.freeze_after < 0 or not 0 <= self.freeze_ms <= 60_000:
            raise ValueError("freeze_after must not be negative, freeze_ms must be from 0 to 60 000")


def service_times(options: Options, seed: int = 1) -> Iterator[float]:
    """Yield the time in us that each request takes, the freeze included."""
    chance, number = random.Random(seed), 0
    while True:
        number += 1
        frozen = 1000.0 * options.freeze_ms if number == options.freeze_after else 0.0
        if options.law == "exponential":
            yield frozen - options.mean_us * math.log(1 - chance.random())
        elif options.law == "bimodal":
            yield frozen + options.mean_us * (5.5 if chance.random() < 0.1 else 0.5)
        else:
            yield frozen + options.mean_us


def _work(us: float) -> None:
    """Take this long: spin, as a busy server does; of more than 10 ms, sleep the beginning.

    A CPU that went idle takes its own time to come back, and that is in no law.
    """
    end = time.perf_counter_ns() + int(1000 * us)
    if us > 10_000:
        time.sleep((us - 5000) / 1e6)
    while time.perf_counter_ns() < end:
        pass


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer one request at a time, in the order in which the kernel shows them."""
    address = parse_address(binding.endpoint())
    listener = sockets.listen(address)
    times = service_times(options)
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        service.announce(sockets.announced(listener, binding.endpoint()))
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    selector.register(connection, selectors.EVENT_READ, sockets.stream(connection))
                elif not _answer(key.data, service.answer, times):
                    selector.unregister(key.fileobj)  # and it is closed with the last reference


def _answer(
    both: tuple[sockets.Send, sockets.Receive], answer: Callable[[bytes], bytes], times: Iterator[float]
) -> bool:
    """Answer one request after its time; return whether the client is still there."""
    send, receive = both
    try:
        payload = receive()
        if payload is None:
            return False
        _work(next(times))
        send(answer(payload))
    except OSError:
        return False
    return True


class Client(sockets.Client):
    """The client of raw sockets."""

    def __init__(self, address: str, options: Options) -> None:
        """Keep the address; the law is the server's."""
        super().__init__(address, sockets.Options())
