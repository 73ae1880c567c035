"""Processes that share one TCP port: started, counted and ended together with the server's process.

The kernel spreads connections over them (SO_REUSEPORT, Linux 3.9 or newer). Each is a fresh interpreter that runs the
system's own file; it ends when its standard input ends, that is at the latest when the server's process ends. Systems
that use this call ``work`` where their file is run as a program; its argument is the worker's name.
"""

import functools
import os
import queue
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn

from bench.contract import parse_address
from bench.errors import BenchError, TransportError
from bench.process.channel import (
    Channel,
    ControlMessage,
    Count,
    Counted,
    Failed,
    Kind,
    Listening,
    decode,
    pin,
    read_line,
    run_child,
)
from bench.process.pipes import Process, python
from bench.systems import _connections

BACKLOG = 2048  # connections that may wait to be accepted, for each process

Announce = Callable[[Callable[[], int]], None]  # is given a function that returns the requests answered so far
Serve = Callable[[socket.socket, dict[str, Any], Announce], None]


class Work(ControlMessage):
    """Order to a worker: where to listen, the system's options, and its CPUs."""

    endpoint: str
    options: dict[str, Any]
    cpus: list[int] | None


class Workers:
    """Workers that accept at one TCP port; a context manager that ends them."""

    def __init__(self, module: str, endpoint: str, count: int, pin: bool, options: dict[str, Any]) -> None:
        """Start ``count`` processes of ``python -m MODULE``; TransportError quotes the one that fails.

        The first binds ``endpoint``, the others the same port; with ``pin`` each has its own CPU.
        """
        _connections.refuse_if_taken(endpoint)
        self._ended: queue.SimpleQueue[TransportError] = queue.SimpleQueue()
        names = [f"worker {number + 1} of {count}" for number in range(count)]
        self._workers = [_Worker(module, name, self._ended) for name in names]
        self.address = endpoint
        try:
            for number, worker in enumerate(self._workers):  # the first picks the port
                cpus = own_cpu(number) if pin else None
                worker.send(Work(endpoint=self.address, options=options, cpus=cpus))
                self.address = worker.hear(Listening).address
        except TransportError:
            self.__exit__(None, None, None)
            raise

    def counts(self) -> list[int]:
        """Return how many requests each worker has answered so far."""
        for worker in self._workers:
            worker.send(Count())
        return [worker.hear(Counted).count or 0 for worker in self._workers]

    def wait(self) -> NoReturn:
        """Wait until a worker ends unexpectedly; raise TransportError."""
        raise self._ended.get()

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for worker in self._workers:
            worker.end()


class _Worker(Process):
    """One worker's process, and a thread that reads its messages."""

    def __init__(self, module: str, name: str, ended: "queue.SimpleQueue[TransportError]") -> None:
        super().__init__(python(module, name))
        self._name, self._ended = name, ended
        self._heard: queue.SimpleQueue[ControlMessage | TransportError] = queue.SimpleQueue()
        self._ear = threading.Thread(target=self._listen, name=name, daemon=True)
        self._ear.start()

    def _listen(self) -> None:
        """Pass on the worker's messages, and at last its end with the reason."""
        why = ""
        for line in self.output:
            message = decode(read_line(line))
            if isinstance(message, Failed):
                why = message.text
            else:
                self._heard.put(message)
        error = TransportError(f"{self._name} failed: {why or f'it ended with status {self.wait()}'}")
        self._heard.put(error)
        self._ended.put(error)

    def hear(self, kind: type[Kind]) -> Kind:
        """Return its next message, which is of this kind; TransportError if it has ended."""
        heard = self._heard.get()
        if isinstance(heard, TransportError):
            raise heard
        assert isinstance(heard, kind)
        return heard

    def end(self) -> int:
        """Close its input and wait until it has ended."""
        self.ask_to_leave()
        status = self.wait()
        self._ear.join()
        self.output.close()
        return status or 0


def own_cpu(number: int) -> list[int]:
    """Return the one CPU for a worker of this number, out of those that this process may use, in turn."""
    allowed = sorted(os.sched_getaffinity(0))
    return [allowed[number % len(allowed)]]


def work(serve: Serve) -> NoReturn:
    """Run as a worker: listen as ordered, answer with ``serve(listener, options, announce)``, end with the server."""
    run_child(functools.partial(_work, serve))


def _work(serve: Serve, channel: Channel) -> None:
    order = channel.receive(Work)
    pin(order.cpus)
    listener = _connections.listen(parse_address(order.endpoint), BACKLOG, shared=True)

    def announce(counted: Callable[[], int]) -> None:
        channel.on_count = lambda: Counted(count=counted())
        channel.send(Listening(address=_connections.announced(listener, order.endpoint)))

    serve(listener, order.options, announce)
    raise BenchError("it stopped serving")
