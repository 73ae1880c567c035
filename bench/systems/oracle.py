"""Oracle: raw sockets whose server takes known service times, one request at a time; for testing the instrument itself.

The server is a small program in C, compiled on first use, or the same in Python where there is no compiler. Python
adds time of its own to each request, which varies, so measurements of the instrument's error use the C program.
"""

import math
import random
import selectors
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.contract import Binding, Service, parse_address
from bench.errors import TransportError
from bench.systems import sockets

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()
LAWS = ("constant", "exponential", "bimodal")
SERVERS = ("python", "c")
SEED = 1  # of the service times: the same in every start

SOURCE = Path(__file__).with_name("_oracle.c")
FLAGS = ("-ffp-contract=off", "-lm", "-pthread")  # no fused operations: service times equal Python's on any CPU


@dataclass(frozen=True)
class Options:
    """The distribution of the server's service times, and which program serves.

    law: constant; exponential; bimodal (nine of ten requests take half the mean, the tenth five and a half times it).
    mean_us: the mean of the distribution.
    freeze_after: the number of the request during which the server freezes; 0 for never.
    freeze_ms: the duration of the freeze.
    server: c, a program that is compiled on first use, or python.
    """

    law: Literal["constant", "exponential", "bimodal"] = "constant"
    mean_us: int = 1000
    freeze_after: int = 0
    freeze_ms: int = 200
    server: Literal["python", "c"] = "python"

    def __post_init__(self) -> None:
        """Raise ValueError for unknown names and times out of range."""
        if self.law not in LAWS:
            raise ValueError(f"law must be {', '.join(LAWS)}, not {self.law!r}")
        if not 1 <= self.mean_us <= 10_000_000:
            raise ValueError("mean_us must be from 1 to 10 000 000")
        if self.freeze_after < 0 or not 0 <= self.freeze_ms <= 60_000:
            raise ValueError("freeze_after must not be negative, freeze_ms must be from 0 to 60 000")
        if self.server not in SERVERS:
            raise ValueError(f"server must be {' or '.join(SERVERS)}, not {self.server!r}")


def best_server() -> str:
    """Return the server with the smaller timing error: "c" where there is a compiler, else "python"."""
    from bench import programs

    return "c" if shutil.which(programs.COMPILER) else "python"


def prepare() -> None:
    """Compile the server in C, if there is a compiler and the program is missing."""
    if best_server() == "c":
        program()


def program() -> Path:
    """Return the compiled server; NotInstalledError quotes the compiler if it fails."""
    from bench import programs

    programs.need((), "g++")
    return programs.ensure(SOURCE, FLAGS)


def service_times(options: Options, seed: int = SEED) -> Iterator[float]:
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
    """Work for a given time: spin, as a busy server does; sleep first if it is more than 10 ms.

    A CPU that went idle needs time to wake up, which would be added to the service time.
    """
    end = time.perf_counter_ns() + int(1000 * us)
    if us > 10_000:
        time.sleep((us - 5000) / 1e6)
    while time.perf_counter_ns() < end:
        pass


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer one request at a time, in the order in which the kernel reports them."""
    if options.server == "c":
        _serve_by_program(binding, options, service)
    else:
        _serve_here(binding, options, service)


def _serve_by_program(binding: Binding, options: Options, service: Service) -> None:
    """Let the program in C answer at a socket that is bound here, until it ends."""
    from bench.process import Process

    law = [options.law, options.mean_us, options.freeze_after, options.freeze_ms, SEED]
    with sockets.listen(parse_address(binding.endpoint())) as listener:
        words = [program(), "serve", listener.fileno(), *law]
        server = Process([str(word) for word in words], pass_fds=[listener.fileno()])
        address = sockets.announced(listener, binding.endpoint())

    def said() -> str:
        line = server.output.readline().decode().strip()
        if not line or line.startswith("error "):
            raise TransportError(f"the oracle's program failed: {line or f'it ended with status {server.wait()}'}")
        return line

    def count() -> list[int]:
        server.write(b"count\n")
        return [int(said())]

    said()  # it is ready
    service.announce(address, counts=count)
    raise TransportError(f"the oracle's program ended with status {server.wait()}")


def _serve_here(binding: Binding, options: Options, service: Service) -> None:
    """Answer in this process, in Python."""
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
    """Answer one request after its service time; return whether the client is still connected."""
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
        """Keep the address; the options are the server's."""
        super().__init__(address, sockets.Options())
