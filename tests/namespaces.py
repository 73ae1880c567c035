"""Hosts on one machine, as root: each with its own network, address, processes, name and clock, on one bridge.

The bridge is in a network of its own, and so is the conductor: the machine's own interfaces are not touched. Nothing
has a name outside: all of it is held by processes that end with the tests' process, however that ends.
"""

import contextlib
import ctypes
import functools
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from bench.process.pipes import program

HOLDER = Path(__file__).with_name("namespace_holder.py")
ROOT = HOLDER.parents[1]
NEWNET = 0x40000000
NEEDED = {"ip": "iproute2", "nsenter": "util-linux", "mount": "mount"}  # program: its Debian package


def _own_network(pid: int) -> int:
    return Path(f"/proc/{pid}/ns/net").stat().st_ino


class Network:
    """A network namespace, and the processes in it; ``name`` and ``address`` as the others see it."""

    kind, shared = "network", ("--net",)

    def __init__(self, name: str, address: str = "", offset_s: float = 0, folder: str = "") -> None:
        """Make it; RuntimeError with the kernel's reason."""
        self.name, self.address, self.offset_ns = name, address, round(offset_s * 1e9)
        file = Path(folder or tempfile.gettempdir(), f"{name}.machine-id")
        if folder:
            file.write_text(f"{secrets.token_hex(16)}\n")
        words = [sys.executable, "-I", str(HOLDER), self.kind, name, str(self.offset_ns), str(file)]
        self._holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        answer = self._holder.stdout.readline().decode().strip()
        if answer != "ready":
            self._holder.stdin.close()
            self._holder.wait()
            raise RuntimeError(answer)
        self.pid = self._first()
        self._network = _own_network(self.pid)

    def _first(self) -> int:
        return self._holder.pid

    def words(self, words: Sequence[str], folder: Path | str = ROOT) -> list[str]:
        """Return the command that runs a command here, in a folder."""
        return [
            "nsenter",
            "--target",
            str(self.pid),
            *self.shared,
            "env",
            "-C",
            str(folder),
            program(words[0]) or words[0],
            *words[1:],
        ]

    def run(self, *words: str, folder: Path | str = ROOT, **options) -> subprocess.CompletedProcess:
        """Run a command here and return it when it has ended; by default its output is text, and its failure raises."""
        options = {"check": True, "capture_output": True, "text": True, "timeout": 60} | options
        return subprocess.run(self.words(words, folder), **options)

    def popen(self, *words: str, folder: Path | str = ROOT, **options) -> subprocess.Popen:
        """Start a command here; ``inside`` gives the number of its process: a signal to ``pid`` does not reach it."""
        return subprocess.Popen(self.words(words, folder), **options)

    def ip(self, *commands: str) -> None:
        """Run some commands of ``ip`` here."""
        options = {"input": "\n".join(commands), "check": True, "text": True, "capture_output": True}
        subprocess.run(["nsenter", "--target", str(self.pid), "--net", program("ip"), "-batch", "-"], **options)

    def processes(self) -> list[int]:
        """Return all processes in this network but those that hold it, by their numbers outside."""
        pids = []
        for pid in psutil.pids():
            with contextlib.suppress(OSError):
                if _own_network(pid) == self._network and pid not in (self.pid, self._holder.pid):
                    pids.append(pid)
        return pids

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
        """Let the calling thread, and the threads and processes that it starts, use this network."""
        libc = ctypes.CDLL(None, use_errno=True)

        def enter(file: int) -> None:
            if libc.setns(file, NEWNET):
                raise OSError(ctypes.get_errno(), f"setns: {os.strerror(ctypes.get_errno())}")

        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            there = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY)
            try:
                enter(there)
            finally:
                os.close(there)
            try:
                yield
            finally:
                enter(own)
        finally:
            os.close(own)

    def close(self) -> None:
        """End all processes here, and with them the network."""
        for pid in self.processes():
            if pid != os.getpid():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(BrokenPipeError):
            self._holder.stdin.close()
        self._holder.wait()
        self._holder.stdout.close()


class NamespaceHost(Network):
    """A host: a network, processes that see only each other, a name, a machine id, and a clock with an offset.

    ``perf_counter_ns`` of its processes is that of this machine plus ``offset_ns``. Files are shared with the machine;
    a mount that is made here is seen here alone. ``link``: the bridge's end of its cable, in the bridge's network.
    """

    kind, shared = "host", ("--net", "--pid", "--mount", "--uts", "--time")

    def _first(self) -> int:
        (first,) = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text().split()
        return int(first)

    def connect(self, bridge: Network, link: str) -> None:
        """Remember where its cable ends."""
        self._bridge, self.link = bridge, link

    def plug(self, is_in: bool) -> None:
        """Pull the cable at the bridge's end, or put it in again."""
        self._bridge.ip(f"link set {self.link} {'up' if is_in else 'down'}")


def inside(process: subprocess.Popen) -> int:
    """Return the number, outside, of the process that a host's ``popen`` has started."""
    (first,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(first)


class Bed:
    """A conductor's network and some hosts, on a bridge.

    conductor: no host, but a network: its processes and its clock are the machine's.
    """

    def __init__(self, offsets_s: Sequence[float], folder: str) -> None:
        """Make as many hosts as there are offsets of clocks; what has been made is removed if something fails."""
        self.made: list[Network] = []
        self.hosts: list[NamespaceHost] = []
        try:
            self.bridge = self._add(Network("bridge"))
            self.bridge.ip("link set lo up", "link add name bridge type bridge", "link set bridge up")
            self.conductor = self._add(Network("conductor", "10.77.0.1"))
            self._wire(self.conductor, "port0")
            for number, offset_s in enumerate(offsets_s, 1):
                address = f"10.77.{(number + 1) // 250}.{(number + 1) % 250}"
                host = NamespaceHost(f"host{number}", address, offset_s, folder)
                self.hosts.append(self._add(host))
                self._wire(host, f"port{number}")
                host.connect(self.bridge, f"port{number}")
        except BaseException:
            self.close()
            raise

    def _add(self, network):
        self.made.append(network)
        return network

    def _wire(self, network: Network, link: str) -> None:
        self.bridge.ip(
            f"link add {link} type veth peer name eth0 netns {network.pid}",
            f"link set {link} master bridge",
            f"link set {link} up",
        )
        network.ip("link set lo up", f"address add {network.address}/16 dev eth0", "link set eth0 up")

    def close(self) -> None:
        """Remove all of it."""
        for network in reversed(self.made):
            network.close()


@functools.cache
def missing() -> str:
    """Return why there can be no such hosts here, or nothing."""
    if sys.platform != "linux":
        return "namespaces are Linux's"
    if os.geteuid():
        return "namespaces need root"
    if absent := [name for name in NEEDED if program(name) is None]:
        return f"the program {absent[0]} is not installed: apt-get install {NEEDED[absent[0]]}"
    if not Path("/proc/self/timens_offsets").exists():
        return "the kernel has no time namespaces"
    try:
        with tempfile.TemporaryDirectory() as folder:
            Bed([0.05], folder).close()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return f"this machine allows no namespaces: {getattr(error, 'stderr', None) or error}"
    return ""


@contextlib.contextmanager
def bed(*offsets_s: float) -> Iterator[Bed]:
    """Make a conductor's network and a host for each offset of a clock; the test is skipped where that cannot be.

    The calling thread uses the conductor's network meanwhile. Threads that ran before do not.
    """
    if reason := missing():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory() as folder:
        made = Bed(offsets_s, folder)
        try:
            with made.conductor.joined():
                yield made
        finally:
            made.close()


@contextlib.contextmanager
def registered(made: Bed) -> Iterator[str]:
    """Run a scheduler in the conductor's network and ``bench host`` on each host; return the scheduler's address."""
    address, bench = f"tls://{made.conductor.address}:8786", (sys.executable, "-P", "-m", "bench")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with contextlib.ExitStack() as started:

        def start(network: Network, *words: str) -> subprocess.Popen:
            process = started.enter_context(network.popen(*bench, *words, **pipes))
            started.callback(_kill, process, network is not made.conductor)
            return process

        _until("scheduler at", start(made.conductor, "scheduler", "--listen", address))
        for process in [start(host, "host", address, "--name", host.name) for host in made.hosts]:
            _until("registered", process)
        yield address


def _kill(process: subprocess.Popen, is_inside: bool) -> None:
    with contextlib.suppress(OSError, ValueError):  # it has ended
        os.kill(inside(process) if is_inside else process.pid, signal.SIGKILL)


def _until(word: str, process: subprocess.Popen) -> None:
    """Read what a process says until the word comes; what it says later is not read, and is short."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if word in line:
            return
    raise RuntimeError("".join(lines))
