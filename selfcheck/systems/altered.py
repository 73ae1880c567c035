"""Raw sockets of which one side does one thing more: what is added to a call, and where, is known."""

import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.contract import Binding, Service
from bench.systems import sockets

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()


@dataclass(frozen=True)
class Options(sockets.Options):
    """What is added to each call.

    server_us, client_us: a loop that looks at the clock for so long, before the answer and before the request.
    sleep_us: a pause before the answer. client_writes: system calls before the request that write to /dev/null.
    has_second_thread: the server hands each request to another thread and waits for its answer.
    """

    server_us: int = 0
    client_us: int = 0
    sleep_us: int = 0
    client_writes: int = 0
    has_second_thread: bool = False


def spin(us: int) -> None:
    """Look at the clock until so many microseconds have passed."""
    until_ns = time.perf_counter_ns() + 1000 * us
    while time.perf_counter_ns() < until_ns:
        pass


def in_a_second_thread(answer: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return a function that lets another thread answer, and waits for it."""
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def work() -> None:
        while True:
            answers.put(answer(requests.get()))

    threading.Thread(target=work, daemon=True).start()

    def hand_over(payload: bytes) -> bytes:
        requests.put(payload)
        return answers.get()

    return hand_over


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Serve as raw sockets do, with what is added."""
    answer = in_a_second_thread(service.answer) if options.has_second_thread else service.answer

    def altered(payload: bytes) -> bytes:
        if options.server_us:
            spin(options.server_us)
        if options.sleep_us:
            time.sleep(options.sleep_us / 1e6)
        return bytes(answer(payload))

    service.answer = altered
    sockets.serve(binding, options, service)


class Client(sockets.Client):
    """One connection, whose calls do more before the request."""

    def connect(self) -> None:
        """Connect, and make the calls longer."""
        super().connect()
        made, options = self._call, self.options
        if not (options.client_us or options.client_writes):
            return
        null = os.open(os.devnull, os.O_WRONLY)

        def call(payload: bytes) -> bytes:
            if options.client_us:
                spin(options.client_us)
            for _ in range(options.client_writes):
                os.write(null, payload)
            return made(payload)

        self._call = call
