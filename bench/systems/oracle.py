"""Oracle: raw sockets whose server takes known service times, one request at a time; for testing the instrument itself.

The server is a small program in C, compiled on first use, or the same in Python where there is no compiler. Python
adds time of its own to each request, which varies, so measurements of the instrument's error use the C program.
"""

import itertools
import math
import random
import selectors
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

from bench.contract import Binding, Service
from bench.systems import _connections, _twin, sockets

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()
GROUP = "instrument"
SEED = 1  # of the service times: the same in every start
MOST_WORKERS = 64


@dataclass(frozen=True)
class Options:
    """The distribution of the server's service times, and which program serves.

    law: of the service times, or of the gaps of a stream: constant; exponential; bimodal (nine of ten requests take
    half the mean, the tenth five and a half times it).
    mean_us: the mean of the distribution.
    freeze_after: the number of the request during which the server freezes; 0 for never.
    freeze_ms: the duration of the freeze.
    server: c, a program that is compiled on first use, or python.
    ns_per_byte: what each byte of a request adds to its service time.
    wait: spin, a service time is CPU time; or sleep, the server waits, as for a disk, and leaves the CPU to others.
    workers: threads that answer, one request at a time each; they get connections in turn, and one of them freezes.
    """

    law: Literal["constant", "exponential", "bimodal"] = "constant"
    mean_us: int = 1000
    freeze_after: int = 0
    freeze_ms: int = 200
    server: Literal["python", "c"] = "python"
    wait: Literal["spin", "sleep"] = "spin"
    ns_per_byte: float = 0.0
    workers: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.mean_us <= 10_000_000:
            raise ValueError("mean_us must be from 1 to 10 000 000")
        if self.freeze_after < 0 or not 0 <= self.freeze_ms <= 60_000:
            raise ValueError("freeze_after must not be negative, freeze_ms must be from 0 to 60 000")
        if not 0 <= self.ns_per_byte <= 100_000:
            raise ValueError("ns_per_byte must be from 0 to 100 000")
        if not 1 <= self.workers <= MOST_WORKERS:
            raise ValueError(f"workers must be from 1 to {MOST_WORKERS}")


def best_server() -> str:
    """Return the server with the smaller timing error: "c" where there is a compiler, else "python"."""
    from bench.process import programs

    return "c" if shutil.which(programs.COMPILER) else "python"


def prepare() -> None:
    """Compile the server in C, if there is a compiler and the program is missing."""
    if best_server() == "c":
        program()


def program() -> Path:
    """Return the compiled server; NotInstalledError quotes the compiler if it fails."""
    from bench.process import programs

    programs.need((), "g++")
    return _source().program()


def _source() -> Any:
    from bench.systems import _native  # clients start sooner without it

    # no fused operations: service times equal Python's on any CPU
    return _native.Source("_oracle.c", "oracle", ("-ffp-contract=off", "-lm", "-pthread"), header="_oracle_law.h")


def service_times(options: Options, seed: int = SEED) -> Iterator[float]:
    """Yield the time in us that each request takes, the freeze included, without what its bytes add."""
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


def _work(us: float, wait: str) -> None:
    """Work for a given time: spin, as a busy server does (sleep first if it is more than 10 ms); or sleep all of it.

    A CPU that went idle needs time to wake up, which is added to a service time that is slept to its end.
    """
    end = time.perf_counter_ns() + int(1000 * us)
    if wait == "sleep":
        time.sleep(us / 1e6)
    elif us > 10_000:
        time.sleep((us - 5000) / 1e6)
    while time.perf_counter_ns() < end:
        pass


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer one request at a time, in the order in which the kernel reports them."""
    if service.is_streaming:
        _serve_streams(binding, options, service)
    elif options.server == "c":
        _serve_by_program(binding, options, service)
    else:
        _serve_here(binding, options, service)


def gaps_ns(options: Options) -> Iterator[int]:
    """Yield the time in ns before each reply of a stream is due, the same in every stream."""
    return (int(1000 * us) for us in service_times(options))


def _serve_streams(binding: Binding, options: Options, service: Service) -> None:
    """Answer with streams of replies whose gaps follow the distribution, by threads of Python."""

    def replies(payload: bytes) -> Iterator[bytes]:
        return service.replies(payload, gaps_ns(options))

    stand_in = SimpleNamespace(announce=service.announce, answer=service.answer, is_streaming=True, replies=replies)
    sockets.serve(binding, sockets.Options(), cast(Service, stand_in))


def _serve_by_program(binding: Binding, options: Options, service: Service) -> None:
    """Let the program in C answer at a socket that is bound here, until it ends."""
    from bench.systems import _native

    listener, address = _connections.bound(binding)
    law = [options.law, options.mean_us, options.freeze_after, options.freeze_ms, SEED, options.wait]
    program = _source().start(["serve", listener.fileno(), *law, options.ns_per_byte, options.workers], [listener])
    _native.serve(program, service, lambda words: address)


def _serve_here(binding: Binding, options: Options, service: Service) -> None:
    """Answer in this process, in Python: the first worker also accepts connections, and gives them out in turn."""
    listener, address = _connections.bound(binding)
    times = _shared(service_times(options))
    workers = [selectors.DefaultSelector() for _ in range(options.workers)]
    turn = itertools.cycle(workers)

    def admit() -> None:
        connection, _ = listener.accept()
        send, _ = sockets.stream(connection)
        next(turn).register(connection, selectors.EVENT_READ, (connection, send))

    def work(selector: selectors.BaseSelector) -> None:
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    admit()
                    continue
                client, reply = key.data
                if not _answer(client, reply, service.answer, times, options):
                    selector.unregister(key.fileobj)  # and it is closed with the last reference

    workers[0].register(listener, selectors.EVENT_READ)
    for selector in workers[1:]:
        threading.Thread(target=work, args=(selector,), daemon=True).start()
    service.announce(address)
    work(workers[0])


def _shared(values: Iterator[float]) -> Iterator[float]:
    """Return values that several threads may take."""
    lock = threading.Lock()

    def take() -> float:
        with lock:
            return next(values)

    return iter(take, None)


def _answer(
    connection: socket.socket,
    send: sockets.Send,
    answer: Callable[[bytes], bytes],
    times: Iterator[float],
    options: Options,
) -> bool:
    """Answer one request after its service time; return whether the client is still connected.

    Nothing of the next request is read: requests of one connection wait in it, and are answered in order.
    """
    try:
        prefix = connection.recv(sockets.PREFIX, socket.MSG_WAITALL)
        if len(prefix) < sockets.PREFIX:
            return False
        size = sockets.unpack(prefix)[0]
        payload = connection.recv(size, socket.MSG_WAITALL) if size else b""
        if len(payload) < size:
            return False
        _work(next(times) + options.ns_per_byte * size / 1000, options.wait)
        send(answer(payload))
    except OSError:
        return False
    return True


Client = StreamClient = _twin.with_options(sockets.Client, lambda _: sockets.Options())
Wire = _twin.with_options(sockets.Wire, lambda _: sockets.Options())
