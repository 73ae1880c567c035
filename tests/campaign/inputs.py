"""Bad input: values of parameters, options and commands that cannot be, and servers that answer wrongly or for ever.

A command runs in this process up to the point where a kernel would be started: parameters are judged before.
"""

import contextlib
import io
import math
import os
import random
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
from trying import fault, within
from wire_servers import served

from bench.apps import cli
from bench.errors import BenchError
from bench.grammar.experiment import exists, experiment
from bench.measurement.start import measure
from bench.measurement.validation import cases
from bench.plan import paths
from bench.plan.case import Case
from bench.text import LONGEST

PATIENCE_S = 120  # on a busy machine: only what would never end takes so long
LONGEST_SENTENCE = 1000  # characters: the names of all systems are some 500
MOST_BYTES = 200_000_000  # of a client's memory
NOTEBOOKS = [file.stem for file in sorted(paths.notebooks().glob("[a-z]*.ipynb")) if exists(file.stem)]
TEXTS = [  # as a command line can hold them
    "", " ", "0", "-1", "1.5", "nan", "-.inf", "1.0e+999", "null", "true", "[]", "[[]]", "{}", "{a: 1}", "[1, null]",
    "9" * 5000, "0x" + "f" * 5000, "1" + ":59" * 400, "[" * 900 + "]" * 900, "{a: " * 900, "x" * 100_001, "1," * 20_000,
    "a b", "../..", "/etc/passwd", "/dev/zero", "\x00", "\x1b[2J", "\n", "'", "é" * 300, "🦊", '"\\ud800"',
    "2026-11-22",
    "!!python/object/apply:os.system [id]", "!!binary x", "!!set {a, b}", "&a [*a]",
    "{b: &a {c: 1}, <<: *a}", "{writes: 1, writes: 2}", "{writes: " + "9" * 401 + "}", f"{{{'a' * 300}: 1}}",
    "{system: zeromq, options: {copy: 7}}", "{system: zeromq, x: 1}", "{system: zeromq, clients: 1e9}",
    "{system: zeromq, options: null}", "{system: zeromq, payload_bytes: [1]}", "[zeromq, zeromq, 7]", "{system: [1]}",
    "tcp://", "tcp://x:99999", "tcp://[::1", "tcp://a..b:1", f"tcp://{'a.' * 150}:8786", "tcp://\u2100:1", "ipc://x/y",
    "inproc://x", "http://127.0.0.1", f"{'a/' * 3000}x.json", "p99<=", "p101<=5ms", "p99<=" + "9" * 401 + "ms",
]  # fmt: skip
ENDLESS: list[Any] = [1]
ENDLESS.append(ENDLESS)
TYPED: list[Any] = [  # as a cell of a notebook can hold them
    10**401, -(10**5000), math.inf, math.nan, None, True, b"x" * 1000, object(), 1j, {1, 2}, range(3), "\ud800",
    ["\ud800"], ["x" * 10**6], ENDLESS, [1] * 10**6, {"a": "x" * 10**6}, {(1, 2): 3}, {1: {2: {3: 10**5000}}},
    {"system": "zeromq", "payload_bytes": 10**401}, {"system": ENDLESS}, "/dev/zero.json", "\x00.yaml",
    {"scheduler": "tcp://a:1", "server": 10**5000},
]  # fmt: skip
COMMANDS = [line.split() for line in (
    "show {}", "compare {} {}", "compare reference/latency reference/nodelay --margin {}", "explain {}", "submit {}",
    "compare reference/latency reference/nodelay --fail-if-slower {}", "keep reference/nodelay /dev/null/{}", "--{}",
    "submit reference/latency --yes -o /dev/null/{}", "run {}", "run latency {}", "{}", "list {}", "prepare {}",
    "calibrate --runs {}", "serve {} tcp://127.0.0.1:0", "serve sockets {}", "serve sockets ipc:///dev/null -o {}",
    "capacity {}", "serve sockets ipc:///dev/null --mode {}", "capacity zeromq ipc --objective {}",
    "capacity zeromq ipc --first {}", "run classroom -p folder {}", "trace {}",
)]  # fmt: skip
MEASURING = (  # where something would be measured, executed, installed or served
    "bench.apps.unattended._execute_one", "bench.measurement.capacity_search.find", "bench.measurement.serve._serve",
    "bench.process.environments.ensure", "certify.instrument.certificate", "bench.systems.prepare",
)  # fmt: skip


class _AcceptedError(BaseException):
    """The input is accepted: a kernel or a measurement would be started now."""


def answered(words: list[str]) -> str:
    """Do a command in this process; return what is wrong with its answer, or nothing."""
    out, complaint, status = io.StringIO(), io.StringIO(), 0
    with contextlib.ExitStack() as around:
        for place in MEASURING:
            around.enter_context(mock.patch(place, side_effect=_AcceptedError))
        try:
            with within(PATIENCE_S), contextlib.redirect_stdout(out), contextlib.redirect_stderr(complaint):
                cli.main(words)
        except SystemExit as ended:
            status = int(ended.code or 0)
        except _AcceptedError:
            return ""
        except BaseException as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
    lines = [line for line in complaint.getvalue().splitlines() if not line.startswith("left out ")]
    return fault(status, out.getvalue(), "\n".join(lines))


def planned(notebook: str, name: str, value: Any) -> str:
    """Ask for a notebook's plan; return what is wrong with the answer, or nothing: it may be refused in a sentence."""
    try:
        with within(PATIENCE_S), cases.all_present():
            experiment(notebook).plan(**{name: value})
    except BenchError as refused:
        text = str(refused)
        quotes = isinstance(value, str) and value[LONGEST:] and value[: LONGEST + 1] in text
        return f"{len(text)} characters: {text[:300]!r}" if quotes or "\n" in text or text[LONGEST_SENTENCE:] else ""
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    return ""


PIECE = bytes(1 << 16)
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"%x\r\n%s\r\n" % (len(PIECE), PIECE)
LENGTH = b"\x7f" + b"\xff" * 3
ZMTP = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL".ljust(55, b"\0") + b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03REP"
ENDS_NOT = {  # what a server says before it is asked, how its reply begins, and what follows for ever
    "sockets": (b"", LENGTH, PIECE),
    "http_stdlib": (b"", CHUNKED % b"text/plain", CHUNK),
    "http_aiohttp": (b"", CHUNKED % b"text/plain", CHUNK),
    "xmlrpc_stdlib": (b"", CHUNKED % b"text/xml", CHUNK),
    "xmlrpc_pstream": (b"", b"\x1bPKT", PIECE),
    "rpyc": (b"", LENGTH + b"\0", PIECE),
    "thrift": (b"", b"\x80\x01\0\x02\0\0\0\x04call\0\0\0\0\x0b\0\0" + LENGTH, PIECE),
    "pyro5": (b"", b"PYRO\x01\xf6\x02\x00\0\0\0\0\0\0" + LENGTH + bytes(22), PIECE),
    "zeromq": (ZMTP, b"\x02" + bytes(4) + LENGTH, PIECE),
    "nng": (b"\0SP\0\0\x31\0\0", bytes(4) + LENGTH, PIECE),
}


def without_end(system: str) -> Callable[[socket.socket], None]:
    """Return what answers on a connection with a reply that does not end."""
    before, begin, piece = ENDS_NOT[system]

    def answer(peer: socket.socket) -> None:
        peer.sendall(before)
        peer.recv(65536)
        peer.sendall(begin)
        while True:
            peer.sendall(piece)

    return answer


def at_random(peer: socket.socket) -> None:
    """Answer whatever comes with random bytes."""
    while peer.recv(65536):
        peer.sendall(random.Random(1).randbytes(3000))


SERVERS: dict[str, Callable[[socket.socket], object]] = {
    "answers with many lines": lambda peer: (
        peer.recv(65536) and peer.sendall(b"HTTP/1.0 500 a\r\n\r\n" + b"a line\n" * 999)
    ),
    "answers at random": at_random,
    "closes at once": lambda peer: None,
    "returns half of it": lambda peer: peer.sendall((data := peer.recv(65536))[: len(data) // 2]),
    "is silent": lambda peer: threading.Event().wait(20),
}
ASKED = ("sockets", "zeromq", "http_stdlib", "xmlrpc_stdlib", "xmlrpc_pstream", "grpc_sync")


def asked(system: str, answer: Callable[[socket.socket], object]) -> str:
    """Call a bad server by a system's client; return what is wrong with how that ends, or nothing."""
    largest, ended = [0], threading.Event()

    def look() -> None:
        while not ended.wait(0.02):
            for child in psutil.Process(os.getpid()).children(recursive=True):
                with contextlib.suppress(psutil.Error, OSError):
                    largest.append(child.memory_info().rss)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        with served(lambda peer, _: answer(peer)) as address, within(60):
            record = measure(Case(system, "tcp", 64, target=address), 0.05, seed=1)
    except BenchError as refused:
        is_sentence = "\n" not in str(refused) and len(str(refused)) <= 3000
        return "" if is_sentence and max(largest) <= MOST_BYTES else f"{max(largest)} B, {str(refused)[:200]!r}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        ended.set()
        thread.join()
    return "" if record.ledger["server_calls"] is None else "the count of a foreign server is known"


@contextlib.contextmanager
def little_memory(more: int = 1 << 30) -> Iterator[None]:
    """Let this process take at most so many bytes more."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def tries(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Try parameters, commands and bad servers; yield each with what was wrong with the answer, or nothing."""
    chance = random.Random(seed)
    servers = [(system, bad, answer) for system in ASKED for bad, answer in SERVERS.items()]
    servers += [(system, "ends no reply", without_end(system)) for system in ENDS_NOT]
    chosen = chance.sample(servers, min(len(servers), max(1, count // 20)))
    with little_memory():
        for _ in range(count - len(chosen)):
            notebook = chance.choice(NOTEBOOKS)
            name, text = chance.choice(list(experiment(notebook).parameters)), chance.choice(TEXTS)
            if (way := chance.randrange(3)) == 0 and name in experiment(notebook).sweep.parameters:
                number, value = chance.choice(list(enumerate([*TEXTS, *TYPED])))
                yield f"{name} of {notebook}, value {number}", planned(notebook, name, value)
                continue
            words = ["run", notebook, "-p", name, text] if way == 1 else chance.choice(COMMANDS)
            yield f"{words} {text[:60]}", answered([word.replace("{}", text) for word in words])
    for system, bad, answer in chosen:
        yield f"{system} asks a server that {bad}", asked(system, answer)
