"""What bench adds to a call: its round trips and rates, and those of bare loops, measured in turn."""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from bench import stats
from bench.measurement.start import measure
from bench.plan import placement
from bench.plan.case import Case

NATIVE = Path(__file__).with_name("bare_sockets.c")
BARE = str(Path(__file__).with_name("bare.py"))
BLOCKS = max(2, int(os.environ.get("BLOCKS", "15")))  # one pair has no quartiles
WINDOW_S = 0.3


def bare(kind: str, case: Case) -> float:
    """Run one bare pair of processes with bench's placement; return what the measuring one printed."""
    places = placement.assign(case.placement, 1)
    assert places.server and places.clients[0]
    roles = ("server", "client") if kind == "calls" else ("receiver", "sender")
    with tempfile.TemporaryDirectory() as folder:
        first = _start(roles[0], case, places.server[0], folder)
        assert first.stdout
        second = _start(roles[1], case, places.clients[0][0], first.stdout.readline().strip())
        output, _ = second.communicate(timeout=20)
        if kind == "streams":
            output, _ = first.communicate(timeout=20)
        first.kill()
        first.wait()
        first.stdout.close()
    return float(output)


def _start(role: str, case: Case, cpu: int, location: str) -> "subprocess.Popen[str]":
    words = [role, case.system, case.transport, str(cpu), location, str(case.payload_bytes), str(WINDOW_S)]
    return subprocess.Popen([sys.executable, BARE, *words], stdout=subprocess.PIPE, text=True)


def bare_native(program: str, case: Case) -> float:
    """Return the median RTT in ns of the bare loop in C, under bench's placement."""
    places = placement.assign(case.placement, 1)
    assert places.server and places.clients[0]
    words = [case.transport, places.server[0], places.clients[0][0], case.payload_bytes, WINDOW_S]
    return float(subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=True).stdout)


def bench_rtt(case: Case) -> float:
    """Return bench's median RTT in ns."""
    sent, received = measure(case, WINDOW_S, 1).calls[0]
    return stats.quantile((received - sent)[sent > stats.warm_up_ns(WINDOW_S)], 0.5)


def bench_rate(case: Case) -> float:
    """Return bench's messages per second at the receiver."""
    marks = measure(case, WINDOW_S, seed=1).tables["marks"]
    first = marks["role"].index("server")
    return stats.stream_rate(marks["t_ns"][first:], marks["messages"][first:])


def in_turn(one: Callable[[], float], other: Callable[[], float], blocks: int) -> tuple[list[float], list[float]]:
    """Run both in turn, block by block; return their medians, and the quartiles of the ratios."""
    pairs = [(one(), other()) if block % 2 else (other(), one())[::-1] for block in range(max(2, blocks))]
    medians = [statistics.median(values) for values in zip(*pairs, strict=True)]
    return medians, statistics.quantiles([a / b for a, b in pairs], n=4)


def compare(title: str, ours: Callable[[], float], other: Callable[[], float], unit: str, scale: float) -> None:
    """Run both in turn and print the ratio."""
    medians, (low, middle, high) = in_turn(ours, other, BLOCKS)
    both = [f"{median * scale:10,.1f}" for median in medians]
    ratio = f"ratio {middle:.3f} [{low:.3f}, {high:.3f}]"
    print(f"{title:38} bench {both[0]} {unit}  bare {both[1]} {unit}  {ratio}", flush=True)


def compare_rtt(case: Case) -> None:
    """Compare bench's median round trip with that of a bare loop."""
    title = f"{case.system} {case.transport} {case.placement}, median RTT"
    compare(title, partial(bench_rtt, case), partial(bare, "calls", case), "us", 1e-3)


def loops() -> None:
    """What the timed loop adds to a call, by the loopback system."""
    spans, costs = [], []
    for block in range(BLOCKS):
        sent, received = measure(Case("loopback", "inproc", max_calls=100_000), 1, seed=block).calls[0]
        spans.append(float(np.median(received - sent)))
        costs.append(float(np.median(np.diff(sent))))
    print(f"{'timed loop, per call':38} {statistics.median(costs):.0f} ns (wanted <= 400)")
    print(f"{'  of which in the measured span':38} {statistics.median(spans):.0f} ns (wanted <= 200)")


def round_trips() -> None:
    """The median round trip of bench and of bare loops, where both roles share a CPU and where they do not."""
    for placement_name in ("same", "split"):
        for system in ("zeromq", "sockets"):
            for transport in ("ipc", "tcp"):
                compare_rtt(Case(system, transport, placement=placement_name))
    for transport in ("ipc", "tcp"):
        compare_rtt(Case("grpc_sync", transport, options={"serialization": "bytes"}, placement="same"))


def http() -> None:
    """The median round trip of HTTP by aiohttp: bench's client loop and a bare one (wanted within 3 %)."""
    for placement_name in ("same", "split"):
        compare_rtt(Case("http_aiohttp", "tcp", placement=placement_name))


def native() -> None:
    """The median round trip of the native system sockets_c, and of a bare loop in C (wanted within 3 %)."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/bare_sockets"
        subprocess.run(["gcc", "-O2", "-pthread", "-o", program, str(NATIVE)], check=True)
        for placement_name in ("same", "split"):
            for transport in ("ipc", "tcp"):
                case = Case("sockets_c", transport, options={"client": "c", "server": "c"}, placement=placement_name)
                title = f"sockets_c {transport} {placement_name}, median RTT"
                compare(title, partial(bench_rtt, case), partial(bare_native, program, case), "us", 1e-3)


def streams() -> None:
    """One-way messages of ZeroMQ per second, by bench and by bare loops."""
    for transport in ("ipc", "tcp"):
        case = Case("zeromq", transport, 100, placement="split", load="stream")
        title = f"zeromq {transport} one way, 100 B"
        compare(title, partial(bench_rate, case), partial(bare, "streams", case), "k/s", 1e-3)
