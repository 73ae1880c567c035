"""What each host costs the conductor in a start: connecting, spawning, comparing clocks, collecting, ending.

Measured with light hosts (``selfcheck.light_hosts``) on this machine, and fitted as a + b n, which predicts what more
hosts cost.
"""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from bench.measurement import machine
from bench.measurement.held_samples import fetch
from bench.measurement.hosts.host import clocks_of
from bench.measurement.hosts.remote import RemoteHost, client, hosts_of
from bench.plan import paths
from bench.plan.case import Case
from bench.process.channel import Listening
from bench.process.child_process import collect, stop_all
from bench.process.spec import ClientSpec, Close, Closed, Connect, Done, Go, Ready
from selfcheck import far_starts, hosts_cost
from selfcheck.light_hosts import CALLS

NUMBERS = (2, 8, 32, 64)
LARGE_HOSTS, LARGE = 8, 200_000  # for what samples cost: hosts, and calls that each reports
WANTED_MS = 20.0
SPEC = ClientSpec(
    case=Case("sockets", "tcp", 1), window_s=1.0, cpus=None, server_cpus=None, share=(0, 1), schedule_seed=1
)


@contextmanager
def started(awaited: str, *words: str, **variables: str) -> Iterator[str]:
    """Run a module of Python until the end of the context; yield the line that it prints when it is ready."""
    environment = os.environ | variables
    process = subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout
    try:
        yield next(line for line in process.stdout if awaited in line)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@contextmanager
def scheduler() -> Iterator[dict[str, Any]]:
    """Yield the hosts of a new scheduler, as a case names them."""
    words = ("bench", "scheduler", "--listen", "tcp://127.0.0.1:0", "--plain")
    with started("scheduler at", *words) as line:
        yield {"scheduler": line.split()[2].rstrip(";"), "plain": True}


@contextmanager
def light(number: int, calls: int = CALLS) -> Iterator[list[RemoteHost]]:
    """Yield that many light hosts, connected to, whose clients report so many calls each."""
    with scheduler() as asked:
        address = asked["scheduler"]
        workers = started("registered", "selfcheck.light_hosts", address, str(number), CALLS=str(calls))
        with workers, client(asked) as connection, hosts_of(connection, address) as hosts:
            for host in hosts:
                host.start_clock()
            yield hosts


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

    def begun() -> None:
        for meter in meters:
            meter.begun()

    phase("meters begin", begun)
    for child in children:
        child.send(Go(at_ns=0, until_ns=0))
    done = phase("collect", lambda: collect(Done, children, 60))

    def ended() -> None:
        for meter in meters:
            meter.end()
        for meter in meters:
            meter.stop()

    phase("meters end", ended)
    phase("clock after", lambda: clocks_of(hosts))
    phase("samples", lambda: fetch(children, done))
    for child in children:
        child.send(Close())
    phase("close", lambda: collect(Closed, children, 60))
    phase("stop", lambda: stop_all(children))
    return spent | {hosts_cost.WHOLE: sum(spent.values()), hosts_cost.CPU: time.process_time() - cpu_s}


def hosts(blocks: int, is_written: bool = False) -> None:
    """Print the fit of each part of a start, and what it predicts for more hosts; perhaps store what was measured."""
    starts: list[dict[str, float]] = []
    for number in NUMBERS:
        began = time.perf_counter()
        with light(number) as connected:
            print(f"  {number:3} light hosts, connected after {time.perf_counter() - began:.1f} s", flush=True)
            start(connected)
            starts += [{"hosts": number, **in_ms(start(connected))} for _ in range(blocks)]
    with light(LARGE_HOSTS, LARGE) as connected:
        start(connected)
        large = [round(1e3 * start(connected)["samples"], 3) for _ in range(blocks)]
    spent = far_starts.far_starts(blocks)
    cpus = len(os.sched_getaffinity(0))
    document = {
        "measured": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": {
            "cpu": machine.cpu_model(),
            "cpus": cpus,
            "python": platform.python_version(),
        },
        "calls": CALLS,
        "starts": starts,
        "large": {"hosts": LARGE_HOSTS, "calls": LARGE, "ms": large},
        "real": {"hosts": len(far_starts.OFFSETS_S), "ms": spent},
    }
    for name, line in hosts_cost.lines_of(starts).items():
        wanted = f" (wanted <= {WANTED_MS:g} a host)" if name == hosts_cost.WHOLE else ""
        each = f"{line.each.middle:.2f} n ms (95 % CI {line.each.low:.2f} to {line.each.high:.2f})"
        print(f"{f'a start on n hosts, {name}':38} {line.base:.1f} + {each}{wanted}")
    if is_written and spent:
        (paths.home() / hosts_cost.FILE).write_text(f"{json.dumps(document, indent=1)}\n", "utf-8")
        print(f"Saved {hosts_cost.FILE}; make expected writes it into docs/hosts.md")


def in_ms(spent: dict[str, float]) -> dict[str, float]:
    """Return times in ms, to the microsecond."""
    return {name: round(1e3 * seconds, 3) for name, seconds in spent.items()}
