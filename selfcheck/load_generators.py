"""Bench's load generator ``wire`` beside others: wrk, by bench and by hand, and the systems' usual clients.

Over gRPC, over TLS and over many connections, calls per second of client CPU time are compared.
"""

import contextlib
import dataclasses
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.child.generators import wrk
from bench.child.open_files import allow_many_files
from bench.measurement import certificates
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan import credentials, placement
from bench.plan.case import Case
from selfcheck.overhead import compare, in_turn

WINDOW_S = 1.0
CONNECTIONS = 32
MANY = (1, 32, 128, 1000, 10_000)  # connections
MANY_WINDOW_S = 5.0  # of a thousand connections or more: each makes some calls
FAST = Path(__file__).with_name("fast_http.c")


def _compare(title: str, first: Callable[[], float], other: Callable[[], float], blocks: int, wanted: str) -> None:
    """Run both in turn, and print the ratio of their calls per CPU second."""
    rates, (low, middle, high) = in_turn(first, other, blocks)
    text = f"{1e6 / rates[0]:.1f} and {1e6 / rates[1]:.1f} us of client CPU time per call"
    print(f"{title:38} {text}, ratio {middle:.2f} [{low:.2f}, {high:.2f}] ({wanted})", flush=True)


def _calls_per_cpu_second(case: Case) -> float:
    ledger = measure(checked(case), WINDOW_S, 1).ledger
    return float(1e9 * ledger["calls"] / ledger["client_cpu_ns"])


def grpc(blocks: int) -> None:
    """Compare the wire with grpcio's own client, with one and with eight connections."""
    for system in ("grpc_sync", "grpc_aio"):
        for callers in (1, 8):
            case = Case(system, "tcp", 100, placement="split", callers=callers, engine="wire")
            own = dataclasses.replace(case, engine="library")
            by_wire, by_own = (functools.partial(_calls_per_cpu_second, variant) for variant in (case, own))
            _compare(f"{system} tcp, {callers} callers: wire, grpcio", by_wire, by_own, blocks, "wanted >= 3")


def tls(blocks: int) -> None:
    """Compare the wire with wrk, over TLS and without, upon one server of aiohttp."""
    if shutil.which("wrk") is None:
        print(f"{'wire over TLS':38} skipped: apt-get install {wrk.PACKAGE}")
        return
    for is_encrypted in (True, False):
        with _served(is_encrypted) as case:
            title = f"http{'s' * is_encrypted}, {CONNECTIONS} connections: wire, wrk"
            by_wire, by_wrk = functools.partial(_calls_per_cpu_second, case), functools.partial(_wrk, case)
            _compare(title, by_wire, by_wrk, blocks, "wanted >= 0.8" if is_encrypted else "for comparison")


@contextlib.contextmanager
def _served(is_encrypted: bool) -> Iterator[Case]:
    """Yield a case whose target is a server on the server's CPU, and whose client verifies its certificate."""
    options = {"resource": "bytes", "tls": is_encrypted}
    case = Case("http_aiohttp", "tcp", 100, options, placement="split", callers=CONNECTIONS, engine="wire")
    before = os.environ.get(credentials.FOLDER)
    with tempfile.TemporaryDirectory() as parent:
        os.environ[credentials.FOLDER] = str(Path(parent, "credentials"))
        certificates.make_folder(Path(parent, "credentials"), [])
        options_text = f"{{resource: bytes, tls: {str(is_encrypted).lower()}}}"
        words = [sys.executable, "-P", "-m", "bench", "serve", case.system, "tcp://127.0.0.1:0", "-o", options_text]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as server:
            assert server.stdout
            try:
                line = server.stdout.readline()
                match = re.search(r"tcp://\S+?:\d+", line)
                assert match, line
                yield dataclasses.replace(case, target=match[0])
            finally:
                server.terminate()
                if before is None:
                    del os.environ[credentials.FOLDER]
                else:
                    os.environ[credentials.FOLDER] = before


def _wrk(case: Case) -> float:
    """Return requests per second of CPU time that wrk uses, on the client's CPU."""
    assert case.target
    cpu = (placement.assign("split", 1).clients[0] or (0,))[0]
    scheme = "https" if case.options["tls"] else "http"
    url = f"{case.target.replace('tcp', scheme, 1)}/resource?count={case.payload_bytes}"
    process = subprocess.Popen(
        ["taskset", "-c", str(cpu), *wrk.command(case.callers, WINDOW_S, url)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    report = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    process.stdout.close()
    requests = re.search(r"(\d+) requests in", report)
    assert requests and "Non-2xx" not in report and "Socket errors" not in report, report
    return int(requests[1]) / (usage.ru_utime + usage.ru_stime)


@contextlib.contextmanager
def _fast_server() -> Iterator[Case | None]:
    """Yield a case whose target is a tiny server in C, on the server's CPU, for wire and wrk; None without."""
    if any(shutil.which(name) is None for name in ("gcc", "wrk")):
        print(f"{'wrk':38} skipped: apt-get install gcc {wrk.PACKAGE}")
        yield None
        return
    case = Case("http_aiohttp", "tcp", 16, options={"resource": "bytes"}, placement="split", callers=CONNECTIONS)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "fast")
        subprocess.run(["gcc", "-O2", FAST, "-o", program], check=True)
        allow_many_files()  # of the server
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdin and server.stdout
            os.sched_setaffinity(server.pid, placement.assign("split", 1).server or ())
            yield dataclasses.replace(case, target=server.stdout.readline().strip())
            server.stdin.close()  # it ends with its input


def _by_hand(case: Case) -> float:
    """Return requests per second as wrk prints them, started here on the client's CPU with bench's words."""
    assert case.target
    cpu = (placement.assign("split", 1).clients[0] or (0,))[0]
    words = wrk.command(case.callers, WINDOW_S, f"{case.target.replace('tcp', 'http', 1)}/resource?count=16")
    finished = subprocess.run(["taskset", "-c", str(cpu), *words], capture_output=True, text=True, check=True)
    return wrk.read(finished.stdout, finished.stderr, case.callers).numbers["rate"]


def _rate(case: Case, engine: str) -> float:
    """Return requests per second by an engine of bench."""
    ledger = measure(dataclasses.replace(case, engine=engine), WINDOW_S, 1).ledger
    return float(ledger["calls"] / ledger["window_s"])


def beside_wrk() -> None:
    """Engine wrk against wrk by hand (wanted within 2 %), and engine wire against engine wrk, upon a fast server."""
    with _fast_server() as case:
        if case is not None:
            by_wrk = functools.partial(_rate, case, "wrk")
            compare("32 connections: wrk by bench, by hand", by_wrk, functools.partial(_by_hand, case), "k/s", 1e-3)
            compare("32 connections: wire, wrk (bare)", functools.partial(_rate, case, "wire"), by_wrk, "k/s", 1e-3)


def connections(blocks: int) -> None:
    """Compare the wire with wrk upon a server in C, from one connection to 10,000; print the memory of a connection."""
    memory: dict[int, int] = {}
    with _fast_server() as case:
        if case is None:
            return
        for count in MANY:
            by_wire, by_wrk = (
                functools.partial(_per_cpu_second, case, name, count, memory) for name in ("wire", "wrk")
            )
            _compare(f"http, {count:,} connections: wire, wrk", by_wire, by_wrk, blocks, "wanted >= 0.9")
    each = (memory[MANY[-1]] - memory[MANY[0]]) / (MANY[-1] - MANY[0])
    print(f"{'memory of a connection by the wire':38} {each / 1e3:.1f} kB (wanted <= 20 kB)")


def _per_cpu_second(case: Case, engine: str, callers: int, memory: dict[int, int]) -> float:
    """Return calls per second of client CPU time; keep the memory of the wire's client."""
    window_s = MANY_WINDOW_S if callers >= 1000 else WINDOW_S
    ledger = measure(checked(dataclasses.replace(case, callers=callers, engine=engine)), window_s, 1).ledger
    if engine == "wire":
        memory[callers] = ledger["client_rss_bytes"]
    return float(1e9 * ledger["calls"] / ledger["client_cpu_ns"])
