"""Children that are forked from an interpreter which has imported what they need: a start takes 10 ms, not 150.

This module is also that interpreter's program: ``python -P forking.py`` serves the socket that is its standard input.
A forked child does what ``python -P -m MODULE`` does once it has imported its module. It is a child of the process of
the tests, as one that is started is: that process takes it in while the one between them ends.
"""

import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
MODULES = ("bench.child.client", "bench.child.server", "bench.child.router")
LONGEST_REQUEST = 1 << 18


class Forked:
    """A forked child, as far as ``bench.process.Process`` uses a ``subprocess.Popen``."""

    def __init__(self, pid: int, to_it: int, from_it: int) -> None:
        self.pid = pid
        self.stdin, self.stdout = os.fdopen(to_it, "wb"), os.fdopen(from_it, "rb")
        self._ended = os.pidfd_open(pid)
        self._status: int | None = None

    def poll(self) -> int | None:
        if self._status is None and select.select([self._ended], [], [], 0)[0]:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self._ended)
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        if self._status is None:
            select.select([self._ended], [], [], timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired("a forked child", timeout or 0)
        return status

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class ForkServer:
    """Starts children by forks of one interpreter, which it starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._door, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            words = [sys.executable, "-P", __file__]
            self._process = subprocess.Popen(words, stdin=its, stdout=subprocess.DEVNULL, process_group=0)
        self._begun_in = surroundings()

    @property
    def is_like_this(self) -> bool:
        """Whether a forked child would inherit what one does that this thread starts now."""
        return surroundings() == self._begun_in

    def popen(self, module: str, system: str, env: Mapping[str, str], stderr: Any) -> Forked:
        """Return a child that runs a module's ``main``, after the import of a system's module."""
        for_it, to_it = os.pipe()
        from_it, of_it = os.pipe()
        order = {"module": module, "system": system, "env": dict(env), "cwd": os.getcwd()}  # noqa: PTH109
        with self._lock, taken_in():
            socket.send_fds(self._door, [json.dumps(order).encode()], [for_it, of_it, stderr.fileno()])
            pid = int(self._door.recv(20))
        os.close(for_it)
        os.close(of_it)
        return Forked(pid, to_it, from_it)

    def close(self) -> None:
        """End the interpreter."""
        self._door.close()
        self._process.wait()


def surroundings() -> tuple[Any, ...]:
    """Return what a child inherits from the thread that starts it: network, CPUs, limits."""
    limits = [resource.getrlimit(each) for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_AS)]
    return os.readlink("/proc/thread-self/ns/net"), os.sched_getaffinity(0), limits  # noqa: PTH115


@contextlib.contextmanager
def taken_in() -> Iterator[None]:
    """Let this process become the parent of those whose parent ends in here."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def serve(door: socket.socket) -> None:
    """Fork a child for each request, until nobody can ask any more."""
    for module in MODULES:
        importlib.import_module(module)
    while True:
        request, descriptors, _, _ = socket.recv_fds(door, LONGEST_REQUEST, 3)
        if not request:
            return
        order = json.loads(request)
        prepare(order["system"])
        told, tell = os.pipe()
        between = os.fork()
        if not between:
            if not os.fork():
                door.close()
                os.close(told)
                become(order, descriptors, tell)
            os._exit(0)
        os.close(tell)
        pid = os.read(told, 20)
        os.waitpid(between, 0)
        for each in (told, *descriptors):
            os.close(each)
        door.send(pid)


@functools.cache
def prepare(system: str) -> None:
    """Import a system's module, once; what is wrong with it, the child that needs it says."""
    from bench import systems

    with contextlib.suppress(Exception):
        systems.load(system)
    gc.collect()
    gc.freeze()


def become(order: Mapping[str, Any], descriptors: Sequence[int], tell: int) -> None:
    """Be the child that was asked for; tell its number when it can be ended by its group."""
    from bench.channel import run_child

    os.setpgid(0, 0)
    os.write(tell, str(os.getpid()).encode())
    os.close(tell)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    run_child(sys.modules[order["module"]].main)


if __name__ == "__main__":
    serve(socket.socket(fileno=os.dup(0)))
