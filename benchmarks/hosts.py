"""What each host costs the conductor in a start: connecting, spawning, comparing clocks, collecting, ending.

Measured with light hosts (``benchmarks.light_hosts``) on this machine, fitted as a + b n, and extended to more hosts.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import stats as scipy_stats

from bench.channel import Listening
from bench.child.spec import Close, Closed, Connect, Done, Go, Ready, ServerSpec
from bench.measurement.child_process import collect, stop_all
from bench.measurement.hosts import clocks_of
from bench.measurement.remote import RemoteHost, client, hosts_of
from benchmarks.light_hosts import CALLS

NUMBERS = (2, 8, 32, 64)
FURTHER = (100, 1000)
WANTED_MS = 20.0
SPEC = ServerSpec(system="sockets", transport="tcp", options={})


@contextmanager
def light(number: int) -> Iterator[list[RemoteHost]]:
    """Yield that many light hosts, connected to."""
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "bench", "scheduler", "--listen", "tcp://127.0.0.1:0"], stdout=subprocess.PIPE, text=True
    )
    assert scheduler.stdout
    address = scheduler.stdout.readline().split()[2].rstrip(";")
    words = [sys.executable, "-m", "benchmarks.light_hosts", address, str(number)]
    with scheduler, subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as workers:
        try:
            assert workers.stdout and workers.stdout.readline() == "registered\n"
            with client(address) as found, hosts_of(found, address) as hosts:
                for host in hosts:
                    host.start_clock()
                yield hosts
        finally:
            workers.kill()
            scheduler.terminate()


def start(hosts: list[RemoteHost]) -> dict[str, float]:
    """Do with all hosts what one start does with a host that loads; return seconds by phase, and of CPU in all."""
    spent: dict[str, float] = {}
    cpu_s = time.process_time()

    def phase(name: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = work()
        spent[name] = time.perf_counter() - began
        return result

    children = phase("spawn", lambda: [host.spawn("client", "bench.child.client", SPEC) for host in hosts])
    phase("listen", lambda: collect(Listening, children, 60))
    for child in children:
        child.send(Connect(address="tcp://127.0.0.1:9"))
    phase("ready", lambda: ([child.pid for child in children], collect(Ready, children, 60)))
    phase("clock", lambda: clocks_of(hosts))
    meters = [host.meter({}) for host in hosts]
    for child in children:
        child.send(Go(at_ns=0, until_ns=0))
    phase("collect", lambda: collect(Done, children, 60))

    def ended() -> None:
        for meter in meters:
            meter.end()
        for meter in meters:
            meter.stop()

    phase("meters", ended)
    phase("clock after", lambda: clocks_of(hosts))
    for child in children:
        child.send(Close())
    phase("close", lambda: collect(Closed, children, 60))
    phase("stop", lambda: stop_all(children))
    return spent | {"in all": sum(spent.values()), "CPU of the conductor": time.process_time() - cpu_s}


def fitted(numbers: list[int], values: list[float]) -> tuple[str, Callable[[int], str]]:
    """Return a + b n in ms in words with the 95 % confidence interval of b, and what predicts for n in words."""
    n, y = np.array(numbers, float), 1e3 * np.array(values)
    line = scipy_stats.linregress(n, y)
    t = scipy_stats.t.ppf(0.975, len(n) - 2)
    half = t * line.stderr
    rest = float(np.sqrt(np.sum((y - line.intercept - line.slope * n) ** 2) / (len(n) - 2)))

    def predicted(number: int) -> str:
        spread = t * rest * np.sqrt(1 + 1 / len(n) + (number - n.mean()) ** 2 / np.sum((n - n.mean()) ** 2))
        at = line.intercept + line.slope * number
        return f"{number:,} hosts {at / 1e3:.2f} s ({max(0, at - spread) / 1e3:.2f} to {(at + spread) / 1e3:.2f})"

    words = f"{line.intercept:.1f} + {line.slope:.2f} n ms (95 % CI {line.slope - half:.2f} to {line.slope + half:.2f})"
    return words, predicted


def hosts(blocks: int) -> None:
    """Print the fit of each phase, and what it predicts for more hosts than were measured."""
    each: list[tuple[int, dict[str, float]]] = []
    for number in NUMBERS:
        began = time.perf_counter()
        with light(number) as connected:
            print(f"  {number:3} light hosts, connected after {time.perf_counter() - began:.1f} s", flush=True)
            start(connected)
            each += [(number, start(connected)) for _ in range(blocks)]
    numbers = [number for number, _ in each]
    for name in each[0][1]:
        words, predicted = fitted(numbers, [spent[name] for _, spent in each])
        wanted = f" (wanted <= {WANTED_MS:g} a host)" if name == "in all" else ""
        print(f"{f'a start on n hosts, {name}':38} {words}{wanted}; {', '.join(map(predicted, FURTHER))}")
    print(f"{'  samples into one process':38} {16 * CALLS / 1e6:.2f} MB a host and start, as if at one instant")
