"""``make benchmark``: what the laboratory adds, as ratios of interleaved runs. No test depends on it.

A ratio is the laboratory over the bare loop, one pair per block; printed are its median and its quartiles. Keep the
machine quiet: its noise is in every number, and a ratio's quartiles tell how much.
"""

import dataclasses
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq

from bench import paths, stats, systems
from bench.child import generators
from bench.child.generators import wrk
from bench.child.open_files import allow_many_files
from bench.experiments import registry
from bench.measurement import runner
from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.plan import placement
from bench.plan.case import Case
from bench.run import folder as folders
from bench.run import integrity, schema, start_record, stored
from bench.run.frames import Run
from bench.run.start_record import Times
from bench.validation.profiles import make_plan
from benchmarks import growing, long_load, wires
from benchmarks import hosts as conducted
from benchmarks import per_byte as known_per_byte
from benchmarks import reply_streams as thousand

FAST = Path(__file__).parents[1] / "tests" / "fast_http.c"
NATIVE = Path(__file__).with_name("bare_sockets.c")
BARE = str(Path(__file__).with_name("bare.py"))
BLOCKS = max(2, int(os.environ.get("BLOCKS", "15")))  # one pair has no quartiles
WINDOW_S = 0.3


def bare(kind: str, case: Case, place: str | None = None) -> float:
    """Run one bare pair of processes with the laboratory's placement; return what the measuring one printed.

    ``place`` is the router, if there is one.
    """
    places = placement.assign(case.placement, 1)
    assert places.server and places.clients[0]
    roles = ("server", "client") if kind == "calls" else ("receiver", "sender")
    with tempfile.TemporaryDirectory() as folder:
        first = _start(roles[0], case, places.server[0], place or folder)
        assert first.stdout
        second = _start(roles[1], case, places.clients[0][0], first.stdout.readline().strip())
        said, _ = second.communicate(timeout=20)
        if kind == "streams":
            said, _ = first.communicate(timeout=20)
        first.kill()
        first.wait()
        first.stdout.close()
    return float(said)


def _start(role: str, case: Case, cpu: int, place: str) -> "subprocess.Popen[str]":
    words = [role, case.system, case.transport, str(cpu), place, str(case.payload_bytes), str(WINDOW_S)]
    return subprocess.Popen([sys.executable, BARE, *words], stdout=subprocess.PIPE, text=True)


def lab_rtt(case: Case, routers: Routers | None = None) -> float:
    """Return the laboratory's median RTT in ns."""
    sent, received = measure(case, WINDOW_S, 1, routers).calls[0]
    return stats.quantile((received - sent)[sent > stats.warm_up_ns(WINDOW_S)], 0.5)


def lab_rate(case: Case) -> float:
    """Return the laboratory's messages per second at the receiver."""
    marks = measure(case, WINDOW_S, seed=1).tables["marks"]
    first = marks["role"].index("server")
    return stats.stream_rate(marks["t_ns"][first:], marks["messages"][first:])


def compare(title: str, lab: Callable[[], float], other: Callable[[], float], unit: str, scale: float) -> None:
    """Run both in turn, block by block, and print the ratio."""
    pairs = [(lab(), other()) if block % 2 else (other(), lab())[::-1] for block in range(BLOCKS)]
    ratios = [a / b for a, b in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4)
    both = [f"{statistics.median(values) * scale:10,.1f}" for values in zip(*pairs, strict=True)]
    print(
        f"{title:38} lab {both[0]} {unit}  bare {both[1]} {unit}  ratio {middle:.3f} [{low:.3f}, {high:.3f}]",
        flush=True,
    )


def compare_rtt(title: str, case: Case, routers: Routers | None = None, place: str | None = None) -> None:
    """Compare the median round trip of the laboratory with that of a bare loop."""
    compare(f"{title}, p50 RTT", lambda: lab_rtt(case, routers), lambda: bare("calls", case, place), "us", 1e-3)


def loops() -> None:
    """What the timed loop adds to a call, by the loopback system."""
    spans, costs = [], []
    for block in range(BLOCKS):
        sent, received = measure(Case("loopback", "inproc", max_calls=100_000), 1, seed=block).calls[0]
        spans.append(float(np.median(received - sent)))
        costs.append(float(np.median(np.diff(sent))))
    print(f"{'timed loop, per call':38} {statistics.median(costs):.0f} ns (wanted <= 400)")
    print(f"{'  of which in the measured span':38} {statistics.median(spans):.0f} ns (wanted <= 200)")


def routed() -> None:
    """WAMP through one router, and the experiment of twelve combinations."""
    with Routers() as routers:
        for transport in ("ipc", "tcp"):
            case = Case("wamp_crossbar", transport)
            began = time.perf_counter()
            router = routers.of(case)
            assert router
            if transport == "ipc":
                print(f"{'router ready':38} {time.perf_counter() - began:.1f} s (wanted <= 15)")
            place = router.addresses[f"{transport} rawsocket"]
            compare_rtt(f"wamp {transport} same", case, routers, place)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROUNDTRIP_RUNS"] = folder
        began = time.perf_counter()
        plan = registry.plan("wamp")
        runner.run(dataclasses.replace(plan, cases=plan.cases[:12]))
        print(f"{'wamp, twelve cases, profile class':38} {time.perf_counter() - began:.0f} s (wanted <= 180)")


def brokered() -> None:
    """Redis and NATS through a broker of this run, beside a bare loop with the same library."""
    os.environ.setdefault("ROUNDTRIP_BROKER_LOGIN", "benchmark:of-this-machine")  # both sides use it
    with Routers() as routers:
        for system, transport in (("redis", "ipc"), ("redis", "tcp"), ("nats", "tcp")):
            if missing := systems.missing(system):
                print(f"{system:38} skipped: {missing}")
                continue
            case = Case(system, transport)
            router = routers.of(case)
            assert router
            compare_rtt(f"{system} {transport} same", case, routers, router.addresses[transport])


def readiness() -> None:
    """From asking for a server until it listens."""
    for system in ("zeromq", "sockets"):
        times = [measure(Case(system, "ipc"), 0.05, seed=1).ledger["ready_s"] for _ in range(BLOCKS)]
        found = f"{statistics.median(times):.3f} s, at most {max(times):.3f} s (wanted <= 0.3)"
        print(f"{f'{system} server ready':38} {found}")


def storing() -> None:
    """From samples in memory to Parquet on disk."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROUNDTRIP_RUNS"] = folder
        plan = make_plan("benchmark", [Case("loopback", "inproc")])
        place = stored.create(plan, runner.facts(plan))
        for count, wanted in ((10_000, "5 ms"), (1_000_000, "1,000 ms")):
            rtt = np.random.default_rng(1).integers(50_000, 90_000, count)
            columns = {"start": np.zeros(count, "i4"), "client": np.zeros(count, "i4"), "lag_ns": np.zeros(count, "i8")}
            columns |= {"t_send_ns": np.cumsum(rtt), "rtt_ns": rtt, "open_ns": [None] * count}
            table = schema.make("samples", columns)
            times = []
            for start in range(7):
                began = time.perf_counter()
                place.append(start, {"samples": table})
                times.append(1e3 * (time.perf_counter() - began))
            size = place.files("samples")[0].stat().st_size / count
            text = f"{statistics.median(times):.1f} ms, {size:.1f} bytes each (wanted <= {wanted})"
            print(f"{f'storing {count:,} samples':38} {text}")


def loading() -> None:
    """From the files of a hundred starts to one table that is judged, beside pyarrow alone, which only parses them."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROUNDTRIP_RUNS"] = folder
        plan = make_plan("benchmark", [Case("loopback", "inproc", max_calls=1000)], starts=100)
        place = stored.create(plan, runner.facts(plan))
        record = measure(plan.cases[0], WINDOW_S, seed=1)
        for start, block, index in plan.order():
            place.append(start, start_record.tables(start, block, index, plan.cases[index], record))
        for table in ("ledger", "samples"):
            parse = partial(_parse, place.files(table))
            compare(f"loading 100 starts, {table}", _seconds(partial(place.read, table)), _seconds(parse), "ms", 1e3)


def _parse(files: list[Path]) -> None:
    for file in files:
        pq.ParquetFile(file).read(use_threads=False)


def _seconds(work: Callable[[], Any]) -> Callable[[], float]:
    """Return a function that does some work and returns how many seconds of CPU time it took."""

    def timed() -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    return timed


def hashing() -> None:
    """What digests cost: of the time of a run while it is written, of the time of loading while it is verified."""
    with tempfile.TemporaryDirectory() as folder, _timed() as spent:
        os.environ["ROUNDTRIP_RUNS"] = folder
        plan = make_plan(
            "benchmark", [Case(system, "ipc") for system in ("sockets", "zeromq")], starts=6, window_s=0.25
        )
        began = time.perf_counter()
        runner.run(plan)
        share = spent.pop() / (time.perf_counter() - began)
    print(f"{'writing digests, of a run':38} {share:.2%} of its time (wanted <= 2 %)")
    for name in ("latency", "overview"):
        shares = []
        for _ in range(7):
            with _timed() as spent:
                began = time.perf_counter()
                run = Run(stored.find(f"reference/{name}"))
                run.folder.look_at_all()
                assert len(run.samples)
                shares.append(spent.pop() / (time.perf_counter() - began))
        print(f"{f'verifying digests, of {name}':38} {statistics.median(shares):.2%} of loading (wanted <= 5 %)")


@contextmanager
def _timed() -> Iterator[list[float]]:
    """Yield a list whose last number is how long digests were made, written and read meanwhile, in seconds."""
    spent, inside = [0.0], [False]

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            if inside[0]:  # one of them calls another
                return function(*given, **named)
            began, inside[0] = time.perf_counter(), True
            try:
                return function(*given, **named)
            finally:
                inside[0] = False
                spent[-1] += time.perf_counter() - began

        return run

    names = ("digest", "written", "read", "of_manifest", "of_folder")
    before = {name: getattr(integrity, name) for name in names}
    write = folders.write_bytes

    def write_bytes(target: Path, content: bytes) -> None:
        (timed(write) if target.parent.name == integrity.FOLDER else write)(target, content)

    try:
        for name in names:
            setattr(integrity, name, timed(before[name]))
        folders.write_bytes = write_bytes
        yield spent
    finally:
        for name in names:
            setattr(integrity, name, before[name])
        folders.write_bytes = write


def memory() -> None:
    """The memory of a client that holds a million samples."""
    rss = measure(Case("loopback", "inproc", max_calls=1_000_000), 3, seed=1).ledger["client_rss_bytes"]
    print(f"{'client holding a million samples':38} {rss / 1e6:.0f} MB (wanted <= 150)")


def pacing() -> None:
    """How punctual an open load of 2 000 calls a second leaves, of requests that found their connection idle."""
    for clients in (1, 2, 4):
        case = Case("sockets", "ipc", 100, placement="split", load="open", offered_per_s=2000.0, clients=clients)
        late, sent = [], []
        for block in range(BLOCKS):
            found = measure(case, 1.0, seed=block)
            sent.append(found.ledger["calls"] / found.ledger["scheduled"])
            late.append(stats.quantile(np.concatenate([_lateness(calls) for calls in found.calls]) / 1e3, 0.99))
        low, middle, high = statistics.quantiles(late, n=4)
        text = f"p99 late by {middle:,.0f} us [{low:,.0f}, {high:,.0f}] (wanted <= 150); sent {min(sent):.2%}"
        print(f"{f'pacing 2 000/s, {clients} clients':38} {text}", flush=True)


def engines() -> None:
    """Calls per second on sockets by the engine wire and by the library's, with 1 and with 32 connections."""
    rates: dict[tuple[int, str], list[float]] = {}
    for block in range(BLOCKS):
        for callers in (1, 32):
            for engine in ("library", "wire"):
                case = Case("sockets", "tcp", 100, placement="split", callers=callers, engine=engine)
                ledger = measure(case, WINDOW_S, seed=block).ledger
                rates.setdefault((callers, engine), []).append(ledger["calls"] / ledger["window_s"])
    found = [f"{n} {engine} {statistics.median(each):,.0f}/s" for (n, engine), each in rates.items()]
    print(f"{'sockets tcp split, callers and engine':38} {', '.join(found)}", flush=True)


@contextmanager
def fast_server(program: Path) -> Iterator[Case]:
    """Yield a case that has a tiny server in C as its target, on the server's CPU; it ends with its input."""
    case = Case("http_aiohttp", "tcp", 16, options={"resource": "bytes"}, placement="split", callers=32)
    allow_many_files()  # of the server
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        os.sched_setaffinity(server.pid, placement.assign("split", 1).server or ())
        yield dataclasses.replace(case, target=server.stdout.readline().strip())
        server.stdin.close()


def by_hand(case: Case) -> float:
    """Return requests per second as wrk prints them, started here on the client's CPU with the laboratory's words."""
    assert case.target
    cpu = (placement.assign("split", 1).clients[0] or (0,))[0]
    words = wrk.command(case.callers, 1.0, f"{case.target.replace('tcp', 'http', 1)}/resource?count=16")
    finished = subprocess.run(["taskset", "-c", str(cpu), *words], capture_output=True, text=True, check=True)
    return wrk.read(finished.stdout, finished.stderr, case.callers).numbers["rate"][0]


def lab_engine_rate(case: Case, engine: str) -> float:
    """Return requests per second by an engine of the laboratory."""
    ledger = measure(dataclasses.replace(case, engine=engine), 1.0, 1).ledger
    return float(ledger["calls"] / ledger["window_s"])


@contextmanager
def beside_wrk() -> Iterator[Case | None]:
    """Yield a case upon a fast server, which the engine wrk can load too; None, and why, without wrk."""
    if any(shutil.which(name) is None for name in ("gcc", "wrk")):
        print(f"{'wrk':38} skipped: apt-get install gcc {generators.module('wrk').PACKAGE}")
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "fast")
        subprocess.run(["gcc", "-O2", FAST, "-o", program], check=True)
        with fast_server(program) as case:
            yield case


def load_generators() -> None:
    """Engine wrk against wrk by hand (wanted within 2 %), and engine wire against engine wrk, upon a fast server."""
    with beside_wrk() as case:
        if case is None:
            return
        by_wrk = partial(lab_engine_rate, case, "wrk")
        compare("32 connections: wrk by lab, by hand", by_wrk, partial(by_hand, case), "k/s", 1e-3)
        compare("32 connections: wire, wrk (bare)", partial(lab_engine_rate, case, "wire"), by_wrk, "k/s", 1e-3)


def connections() -> None:
    """The engine wire beside wrk over 1 to 10,000 connections, and the memory of a connection."""
    with beside_wrk() as case:
        if case is not None:
            wires.connections(case, max(2, BLOCKS // 3))


def _lateness(calls: Times) -> Times:
    """Return how late each request left that its own connection did not hold back, in ns."""
    sent, received, due = calls
    free = np.concatenate([[0], received[:-1]]) <= due
    return (sent - due)[free]


def notebook() -> None:
    """`papermill latency.ipynb out.ipynb -p transport ipc`, in slices and in starts, and what is not measuring."""
    took, _ = _papermill("20")
    print(f"{'papermill latency.ipynb, ipc':38} {took:.1f} s (wanted <= 60)")
    took, windows = _papermill("0")
    found = f"{took:.1f} s (wanted <= 30), of which {took - windows:.1f} s outside windows (wanted <= 8)"
    print(f"{'the same in starts':38} {found}")


def _papermill(slice_ms: str) -> tuple[float, float]:
    """Return how long papermill takes for the notebook latency, and the sum of its windows, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"ROUNDTRIP_RUNS": f"{folder}/runs", "ROUNDTRIP_FIGURES": f"{folder}/figures"}
        words = ["-m", "papermill", "latency.ipynb", f"{folder}/out.ipynb", "--no-progress-bar"]
        words += ["-p", "transport", "ipc", "-p", "slice_ms", slice_ms]
        began = time.perf_counter()
        subprocess.run([sys.executable, *words], cwd=paths.notebooks(), check=True, stderr=subprocess.DEVNULL)
        took = time.perf_counter() - began
        return took, float(stored.all_runs()[-1].read("ledger")["window_s"].to_numpy().sum())


def round_trips() -> None:
    """The median round trip of the laboratory and of bare loops, where both roles share a CPU and where they do not."""
    for where in ("same", "split"):
        for system in ("zeromq", "sockets"):
            for transport in ("ipc", "tcp"):
                compare_rtt(f"{system} {transport} {where}", Case(system, transport, placement=where))
    for transport in ("ipc", "tcp"):
        case = Case("grpc_sync", transport, options={"serialization": "bytes"})
        compare_rtt(f"grpc_sync {transport} same", case)
    http()


def http() -> None:
    """The median round trip of HTTP by aiohttp: the laboratory's client loop and a bare one (wanted within 3 %)."""
    for where in ("same", "split"):
        compare_rtt(f"http_aiohttp tcp {where}", Case("http_aiohttp", "tcp", placement=where))


def frameworks() -> None:
    """The median round trip of three frameworks, by the laboratory and by bare loops (wanted within 3 %)."""
    pairs = [(system, transport) for system in ("thrift", "nng") for transport in ("ipc", "tcp")]
    for system, transport in [*pairs, ("http_asgi", "tcp")]:
        if reason := systems.missing(system):
            print(f"{system:38} skipped: {reason}")
            continue
        compare_rtt(f"{system} {transport} same", Case(system, transport, placement="same"))


def native() -> None:
    """The median round trip of the native system sockets_c, and of a bare loop in C (wanted within 3 %)."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/bare_sockets"
        subprocess.run(["gcc", "-O2", "-pthread", "-o", program, str(NATIVE)], check=True)
        for where in ("same", "split"):
            for transport in ("ipc", "tcp"):
                case = Case("sockets_c", transport, options={"client": "c", "server": "c"}, placement=where)
                title, other = f"sockets_c {transport} {where}, p50 RTT", partial(bare_native, program, case)
                compare(title, partial(lab_rtt, case), other, "us", 1e-3)


def bare_native(program: str, case: Case) -> float:
    """Return the median RTT in ns of the bare loop in C, under the laboratory's placement."""
    places = placement.assign(case.placement, 1)
    assert places.server and places.clients[0]
    words = [case.transport, places.server[0], places.clients[0][0], case.payload_bytes, WINDOW_S]
    return float(subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=True).stdout)


def streams() -> None:
    """One-way messages of ZeroMQ per second, by the laboratory and by bare loops."""
    for transport in ("ipc", "tcp"):
        case = Case("zeromq", transport, 100, placement="split", load="stream")
        title = f"zeromq {transport} one way, 100 B"
        compare(title, partial(lab_rate, case), partial(bare, "streams", case), "k/s", 1e-3)


def reply_streams() -> None:
    """A thousand streams of replies from one client process: how late the receive stamps are."""
    thousand.reply_streams(max(1, BLOCKS // 5))


def grpc_wire() -> None:
    """The engine wire upon gRPC servers: calls per second of client CPU time, beside grpcio's client."""
    wires.grpc(BLOCKS)


def tls_wire() -> None:
    """The engine wire over TLS: calls per second of client CPU time, beside wrk."""
    wires.tls(BLOCKS)


def per_byte() -> None:
    """What the regression of costs per byte finds where the cost is known."""
    known_per_byte.per_byte(BLOCKS)


def growth() -> None:
    """What grows with connections, samples, runs, cases and hosts, as a + b n."""
    for part in (growing.connections, growing.samples, growing.runs, growing.cases, growing.hosts):
        part()


def minutes() -> None:
    """Whether lateness or memory grow in an open load of ten minutes; with --minutes=2 in one of two."""
    asked = [word.removeprefix("--minutes=") for word in sys.argv if word.startswith("--minutes=")]
    long_load.long_load(*map(float, asked))


def hosts() -> None:
    """What hosts cost. With --write, docs/hosts.md tells it."""
    conducted.hosts(max(3, BLOCKS // 3), is_written="--write" in sys.argv)


PARTS = (
    loops, round_trips, native, frameworks, routed, brokered, streams, reply_streams, readiness, engines,
    load_generators, connections, grpc_wire, tls_wire, per_byte, pacing, storing, loading, hashing, memory,
    growth, notebook,
)  # fmt: skip


def main() -> None:
    """Print the whole table, or the parts that are named as functions here."""
    print(f"{BLOCKS} blocks, windows of {WINDOW_S} s; load now {psutil.getloadavg()[0]:.2f}")
    named = [word for word in sys.argv[1:] if not word.startswith("--")]
    for part in map(globals().__getitem__, named) if named else PARTS:
        part()


main()
