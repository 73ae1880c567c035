"""Two network namespaces of this machine as hosts, joined by a pair of virtual Ethernet devices (veth); Linux, root.

A namespace is made by a thread of this process, which stays in it: processes that the thread starts, and theirs, are in
it too. It has no name in the file system. The kernel removes it, and the devices in it, once the thread and these
processes have ended: a run that is killed leaves nothing. No device and no address of the machine's own network takes
part: both devices are made inside the namespaces.
"""

import contextlib
import ctypes
import functools
import ipaddress
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

import psutil

from bench.errors import NotInstalledError, UsageError
from bench.measurement.hosts.host import Assignment, Host
from bench.process.channel import ControlMessage
from bench.process.child_process import Child
from bench.process.pipes import program
from bench.text import one_line

CLONE_NEWNET = 0x40000000
CAPABILITIES = {12: "CAP_NET_ADMIN", 21: "CAP_SYS_ADMIN"}  # bits of CapEff
DEVICES = ("veth0", "veth1")  # of the server's namespace, and of the clients'
PACKET_BYTES = 1514  # the largest of the link: 1,500 bytes of IP, and the Ethernet header
LATE_S = 100e-6  # how late the kernel's timer may be before a limited link loses time
QUEUE_BYTES = 64_000_000  # that wait at most before a limited link: TCP has less under way, so that nothing is dropped
END = "else draw the stored run: -p source reference"

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Namespace:
    """A network namespace with nothing but a loopback device, and a thread in it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "namespace")
        try:
            self.task = self.run(_enter)
        except BaseException:
            self.close()
            raise

    def run(self, call: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """Call a function in the namespace, and return its result."""
        return self._thread.submit(call, *args, **kwargs).result()

    @property
    def counters(self) -> Path:
        """The folder of the kernel's counters of this network."""
        return Path(f"/proc/self/task/{self.task}/net")

    def close(self) -> None:
        """Leave it; it is gone with its last process."""
        self._thread.shutdown()


def _enter() -> int:
    """Move this thread into a new network namespace; return its number."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        reason = os.strerror(ctypes.get_errno())
        raise UsageError(f"no network namespace can be made ({reason}): run as root on a kernel that has them, {END}")
    return threading.get_native_id()


class NamespaceHost(Host):
    """This machine's processes in a network of their own; its clock and its CPUs are the machine's."""

    def __init__(self, name: str, address: str, namespace: Namespace) -> None:
        self.name, self.address, self._namespace = name, address, namespace
        self.network = namespace.counters

    def spawn(self, name: str, module: str, spec: ControlMessage) -> Child:
        """Start a child process in the namespace."""
        return self._namespace.run(Child, name, module, spec)

    def close(self) -> None:
        """Leave the namespace."""
        self._namespace.close()


@contextlib.contextmanager
def joined(rate_mbit: int = 0) -> Iterator[Assignment]:
    """Yield the server's host and the clients', each in a namespace of its own, joined by a link of so many Mbit/s.

    Both directions are limited; 0: no limit. NotInstalledError or UsageError where that cannot be.
    """
    _need()
    with contextlib.ExitStack() as made:
        serving, loading = (made.enter_context(contextlib.closing(Namespace())) for _ in DEVICES)
        here, there = addresses(_networks())
        peer = f"link add {DEVICES[0]} type veth peer name {DEVICES[1]} netns {loading.task}"
        serving.run(_configure, "ip", ["link set lo up", peer, *_up(DEVICES[0], here)])
        loading.run(_configure, "ip", ["link set lo up", *_up(DEVICES[1], there)])
        for device, namespace in zip(DEVICES, (serving, loading), strict=True):
            if rate_mbit:
                namespace.run(_configure, "tc", [limit(device, rate_mbit)])
        server = NamespaceHost("server's namespace", str(here.ip), serving)
        yield Assignment(server, (NamespaceHost("clients' namespace", str(there.ip), loading),))


def _up(device: str, address: ipaddress.IPv4Interface) -> list[str]:
    """Return what gives a device its address and nothing else, and turns it on."""
    return [f"link set {device} addrgenmode none", f"address add {address} dev {device}", f"link set {device} up"]


def limit(device: str, rate_mbit: int) -> str:
    """Return what limits a device by a token bucket filter, in words of ``tc``."""
    return f"qdisc add dev {device} root tbf rate {rate_mbit}mbit burst {burst_bytes(rate_mbit)} limit {QUEUE_BYTES}"


def burst_bytes(rate_mbit: int) -> int:
    """Return the size of the bucket: bytes that an idle link lets pass at once.

    Two packets at least; more where the kernel's timer, which is late at times, would else lower the rate.
    """
    return max(2 * PACKET_BYTES, int(rate_mbit * 1e6 / 8 * LATE_S))


def _configure(name: str, lines: Sequence[str]) -> None:
    """Run lines of ``ip`` or ``tc`` in the network of this thread; NotInstalledError if the kernel cannot do it."""
    words = [program(name) or name, "-batch", "-"]
    done = subprocess.run(words, input="\n".join([*lines, ""]), capture_output=True, text=True)
    if done.returncode:
        message = one_line(done.stderr or done.stdout or f"status {done.returncode}", 200)
        raise NotInstalledError(
            f"two namespaces cannot be joined here: {name} says {message}; use a kernel with veth and tbf, {END}"
        )


def addresses(taken: Sequence[ipaddress.IPv4Network]) -> tuple[ipaddress.IPv4Interface, ipaddress.IPv4Interface]:
    """Return two private addresses of one network that overlaps none of those taken; UsageError without any left."""
    for network in ipaddress.IPv4Network("10.0.0.0/8").subnets(new_prefix=16):
        if not any(network.overlaps(other) for other in taken):
            first, second, *_ = network.hosts()
            return ipaddress.IPv4Interface(f"{first}/30"), ipaddress.IPv4Interface(f"{second}/30")
    raise UsageError(f"every private network 10.x.0.0 is in use on this machine: end a VPN that takes them all, {END}")


def _networks() -> list[ipaddress.IPv4Network]:
    """Return the IPv4 networks of this machine's devices."""
    networks = []
    for addresses in psutil.net_if_addrs().values():
        for address in addresses:
            with contextlib.suppress(ValueError):
                networks.append(ipaddress.IPv4Network(f"{address.address}/{address.netmask or 32}", strict=False))
    return networks


def _need() -> None:
    """Raise NotInstalledError or UsageError where namespaces cannot be made and joined, as far as that is known."""
    if sys.platform != "linux":
        raise NotInstalledError(f"network namespaces are a part of Linux: measure there, {END}")
    if lacking := _lacking(Path("/proc/self/status").read_text()):
        raise UsageError(f"making a network namespace needs root ({' and '.join(lacking)}): run as root, {END}")
    if absent := [name for name in ("ip", "tc") if program(name) is None]:
        raise NotInstalledError(
            f"the program {absent[0]}, which joins namespaces, is missing: install iproute2, {END}", ["iproute2"]
        )


def _lacking(status: str) -> list[str]:
    """Return the names of the capabilities that a process lacks, by its file ``status``."""
    held = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0)
    return [name for bit, name in CAPABILITIES.items() if not held >> bit & 1]


@functools.cache
def why_not() -> str | None:
    """Return why this process cannot make two namespaces and join them by a limited link; None if it can: it tried."""
    try:
        with joined(rate_mbit=1000):
            return None
    except (NotInstalledError, UsageError) as reason:
        return str(reason)
