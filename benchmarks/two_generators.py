"""What two hosts that load generate beside one, where their CPU is the limit: ratios of pairs of starts.

Hosts are processes of this machine. Each that loads gets a share of a CPU of its own (cgroup); the server gets none.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.stats.intervals import paired_shift
from benchmarks import cpu_share

SHARE = 0.1  # of a CPU: two of them and the server together use less than half of one
WINDOW_S = 1.0
WANTED = 1.9
LOADS = ("load1", "load2")


def two_generators(blocks: int) -> None:
    """Print calls per second of one host and of two, and the ratio of pairs with its 95 % interval."""
    title = "two hosts that load, beside one"
    try:
        with contextlib.ExitStack() as made:
            groups = [made.enter_context(cpu_share.share(SHARE)) for _ in LOADS]
            rates, server = _rates(made, groups, max(blocks, 6))
    except OSError as reason:
        print(f"{title:38} skipped: this machine allows no groups with a share of a CPU: {reason}")
        return
    ratio = paired_shift(np.log(np.divide(rates[2], rates[1]))).exp()
    each = ", ".join(f"{number}: {np.median(found):,.0f}/s" for number, found in rates.items())
    print(f"{title:38} {ratio.middle:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] (wanted >= {WANTED}); {each}")
    print(f"{'  CPU':38} {SHARE:.0%} of one for each host that loads; the server used {server:.0%} of one at most")


def _rates(made: contextlib.ExitStack, groups: list[Path], blocks: int) -> tuple[dict[int, list[float]], float]:
    """Return calls per second of one and of two hosts that load, by block, and the most CPUs that the server used."""
    scheduler = _started(made, "scheduler", "--listen", "tcp://127.0.0.1:0")
    address = next(_lines(scheduler)).split()[2].rstrip(";")
    hosts = [_started(made, "host", address, "--name", name) for name in ("server", *LOADS)]
    for host in hosts:
        assert any("registered" in line for line in _lines(host))
    for host, group in zip(hosts[1:], groups, strict=True):
        cpu_share.join(group, host.pid)
    found: dict[int, list[float]] = {1: [], 2: []}
    server = 0.0
    with Routers() as routers:
        for block in range(-1, blocks):
            for number in (1, 2) if block % 2 else (2, 1):
                asked = {"scheduler": address, "plain": True, "server": "server", "load": list(LOADS[:number])}
                case = Case("sockets", "tcp", 100, placement="free", clients=number, hosts=asked)
                ledger = measure(case, WINDOW_S, max(block, 0), routers).ledger
                if block >= 0:
                    found[number].append(ledger["calls"] / ledger["window_s"])
                    server = max(server, ledger["server_cpu_ns"] / ledger["window_s"] / 1e9)
    return found, server


def _started(made: contextlib.ExitStack, *words: str) -> "subprocess.Popen[str]":
    """Start ``python -m bench``; it ends with ``made``."""
    command = [sys.executable, "-m", "bench", *words, "--plain"]
    process = made.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    made.callback(process.terminate)
    return process


def _lines(process: "subprocess.Popen[str]") -> Iterator[str]:
    """Return the lines that a process prints."""
    assert process.stdout
    return iter(process.stdout)
