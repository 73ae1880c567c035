"""Light hosts for the conductor's cost: ``python -m selfcheck.light_hosts SCHEDULER NUMBER``.

All are workers in this one process, and their children are threads instead of processes: what is left is what each host
costs the conductor. One real clock answers for all. Real hosts work side by side; these share one interpreter, so
the time that a conductor waits for them is an upper bound.
"""

import asyncio
import os
import random
import socket
import sys
import tempfile
import threading
from array import array
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any

from bench.measurement import revision
from bench.measurement.hosts import agent, agent_actor, dask_engine
from bench.measurement.hosts.remote import KEY
from bench.process.channel import ControlMessage, Count, Counted, Failed, Listening, Reader, encode
from bench.process.child_process import Child, ChildHandle, collect
from bench.process.spec import ClockSpec, Close, Closed, Connect, Done, Go, Ready

CALLS = int(os.environ.get("CALLS", "5000"))  # that each client reports: 16 bytes each
CHANCE = random.Random(1)
TIMES = array("q", accumulate(CHANCE.randrange(50_000, 150_000) for _ in range(CALLS)))  # equal ones would be no bytes


class Light(ChildHandle):
    """A child that is a thread: it reports what a clock, a server or a client would report."""

    clock = ""

    def __init__(self, name: str, module: str, spec: ControlMessage) -> None:
        super().__init__(name)
        self.pid = os.getpid()
        self._mine, self._theirs = socket.socketpair()
        self._orders = Reader()
        self._report(Listening(address=self.clock if module.endswith("clock_server") else "tcp://127.0.0.1:9"))

    def fileno(self) -> int:
        """Return the descriptor on which its reports arrive."""
        return self._mine.fileno()

    def _report(self, message: ControlMessage) -> None:
        self._theirs.sendall(b"".join(bytes(part) for part in encode(message)))

    def write(self, data: bytes) -> None:
        """Answer an order, in a thread where the answer is long."""
        for order in self._orders.feed(data):
            threading.Thread(target=self._report, args=(answer(order),)).start()

    def ask_to_leave(self) -> None:
        """End its reports."""
        self._theirs.close()

    def stop(self) -> None:
        """End it."""
        self._theirs.close()
        self._mine.close()


def answer(order: ControlMessage) -> ControlMessage:
    """Return the report that follows an order."""
    if isinstance(order, Connect):
        return Ready(first_ns=1, pids=[])
    if isinstance(order, Go):
        used: dict[str, Any] = {"client_cpu_ns": 1, "server_cpu_ns": None}
        used |= {"voluntary_switches": 0, "involuntary_switches": 0}
        return Done(calls=CALLS, blobs=(TIMES, TIMES), gc_collections=0, **used)
    if isinstance(order, Count):
        return Counted(count=1)
    return Closed() if isinstance(order, Close) else Failed(text=f"a light child knows no {type(order).__name__}")


class LightAgent(agent.Agent):
    """An agent with light children; several of them share this process, so none claims it."""

    def claim(self, conductor: str) -> None:
        """Do nothing."""


async def main(address: str, number: int) -> None:
    """Register as many hosts, and stay until the scheduler ends."""
    distributed = dask_engine.load()
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2 * number))  # a poll keeps one for its time
    sys.setswitchinterval(5e-4)  # threads wait less for each other: real hosts do not wait at all
    process = Child("clock", "bench.child.clock_server", ClockSpec(bind="tcp://127.0.0.1:0"))
    (listening,) = collect(Listening, [process], 20)
    Light.clock = listening.address
    vars(agent)["Child"], vars(agent_actor)["Agent"] = Light, LightAgent
    facts = {"revision": revision.content(), "python": revision.python()}
    with tempfile.TemporaryDirectory() as folder:
        settings = {"nthreads": 1, "memory_limit": 0, "dashboard": False, "dashboard_address": "127.0.0.1:0"}
        settings |= {"host": "127.0.0.1", "local_directory": folder, "startup_information": {KEY: lambda _: facts}}
        workers = [distributed.Worker(address, name=f"light{each:04}", **settings) for each in range(number)]
        await asyncio.gather(*workers)
        print("registered", flush=True)
        await workers[0].finished()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
