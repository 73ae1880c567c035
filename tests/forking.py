"""Processes that are forked from an interpreter which has imported what they need: a start takes 10 ms, not 150.

This module is also that interpreter's program: ``python -P forking.py MODULE ...`` imports the modules and serves the
socket that is its standard input. A forked child does what ``python -P -m MODULE`` does once it has imported its
module; a forked command what ``python -P -m bench WORDS`` does. Each is a child of the process of the tests, as one
that is started is: that process takes it in while the one between them ends.
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
from pathlib import Path
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
MODULES = ("bench.child.client", "bench.child.server", "bench.child.router")
OF_HOSTS = ("bench.apps.cli", "bench.measurement.hosts.commands", "distributed")
LONGEST_REQUEST = 1 << 18


class Forked:
    """A forked process, as far as ``bench.process.pipes.Process`` and tests use a ``subprocess.Popen``."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
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
            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        return status

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class ForkedChild(Forked):
    """A forked process with pipes to its standard input and from its standard output."""

    def __init__(self, pid: int, to_it: int, from_it: int) -> None:
        super().__init__(pid)
        self.stdin, self.stdout = os.fdopen(to_it, "wb"), os.fdopen(from_it, "rb")


class ForkServer:
    """Starts processes by forks of one interpreter, which it starts and which imports some modules."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._lock = threading.Lock()
        self._door, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            words = [sys.executable, "-P", __file__, *modules]
            self._process = subprocess.Popen(words, stdin=its, stdout=subprocess.DEVNULL, process_group=0)
        self._begun_in = surroundings()

    @property
    def is_like_this(self) -> bool:
        """Whether a forked child would inherit what one does that this thread starts now."""
        return surroundings() == self._begun_in

    def child(self, module: str, system: str, env: Mapping[str, str], stderr: Any) -> ForkedChild:
        """Return a child that runs a module's ``main``, after the import of a system's module."""
        for_it, to_it = os.pipe()
        from_it, of_it = os.pipe()
        pid = self._fork({"module": module, "system": system, "env": dict(env)}, for_it, of_it, stderr.fileno())
        os.close(for_it)
        os.close(of_it)
        return ForkedChild(pid, to_it, from_it)

    def command(self, words: Sequence[str], env: Mapping[str, str], cwd: Path, output: Any) -> Forked:
        """Return a process, leader of its session, that does what ``python -m bench WORDS`` does in a folder."""
        with open(os.devnull) as nothing:  # noqa: PTH123 - as a descriptor
            order = {"words": list(words), "env": dict(env), "cwd": str(cwd)}
            return Forked(self._fork(order, nothing.fileno(), output.fileno(), output.fileno()))

    def _fork(self, order: Mapping[str, Any], *descriptors: int) -> int:
        """Return the process id of a fork with these standard streams."""
        whole = {"cwd": os.getcwd()} | dict(order)  # noqa: PTH109
        with self._lock, taken_in():
            socket.send_fds(self._door, [json.dumps(whole).encode()], descriptors)
            return int(self._door.recv(20))

    def close(self) -> None:
        """End the interpreter."""
        self._door.close()
        self._process.wait()


@functools.cache
def of_hosts() -> ForkServer | None:
    """Return what forks hosts and schedulers for all tests of this process; None where the system is not Linux."""
    return ForkServer(OF_HOSTS) if sys.platform == "linux" else None


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


def serve(door: socket.socket, modules: Sequence[str]) -> None:
    """Fork for each request, until nobody can ask any more."""
    for module in modules:
        importlib.import_module(module)
    while True:
        request, descriptors, _, _ = socket.recv_fds(door, LONGEST_REQUEST, 3)
        if not request:
            return
        order = json.loads(request)
        prepare(order.get("system"))
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
def prepare(system: str | None) -> None:
    """Import a system's module, once; what is wrong with it, the child that needs it says."""
    from bench import systems

    if system is not None:
        with contextlib.suppress(Exception):
            systems.load(system)
    gc.collect()
    gc.freeze()


def become(order: Mapping[str, Any], descriptors: Sequence[int], tell: int) -> None:
    """Be what was asked for; tell its number when it can be ended by its group."""
    if "words" in order:
        os.setsid()
    else:
        os.setpgid(0, 0)
    os.write(tell, str(os.getpid()).encode())
    os.close(tell)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    if "words" in order:
        from bench.apps import cli

        sys.argv = ["bench", *order["words"]]
        cli.main()
        sys.exit()
    from bench.process.channel import run_child

    run_child(sys.modules[order["module"]].main)


if __name__ == "__main__":
    serve(socket.socket(fileno=os.dup(0)), sys.argv[1:])
