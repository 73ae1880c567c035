"""Bad input: values of parameters, options and commands that cannot be, and servers that answer wrongly.

A command runs in this process up to the point where a kernel would be started: parameters are judged before.
"""

import contextlib
import io
import random
import socket
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import endless
import papermill
import trying
from mutations import within
from wire_servers import served

from bench import paths, systems
from bench.apps import cli, unattended
from bench.errors import BenchError
from bench.measurement.start import measure
from bench.plan.case import Case

PATIENCE_S = 30
BAD = [
    "", " ", "0", "-1", "1.5", "1e400", "nan", "inf", "-inf", "null", "true", "[]", "[[]]", "{}", "{a: 1}", "[1, null]",
    "9" * 20, "9" * 5000, "[" * 900 + "]" * 900, "{a: " * 900, "x" * 5000, "a b", "../..", "/etc/passwd", "\x00",
    "\x1b[2J", "\n", "'", '"', "!!python/object/apply:os.system [id]", "&a [*a]", "{system: [1]}",
    "[zeromq, zeromq, 7]", "é", "0x10", "1_000", "2026-11-22", "yes", "~", "- 1",
    "{system: zeromq, options: {copy: 7}}", "{system: zeromq, x: 1}",
    "{system: zeromq, clients: 1e9}", "{system: zeromq, options: [1]}", "{system: zeromq, options: null}",
    "{system: zeromq, payload_bytes: [1]}", "{system: zeromq, transport: udp}", "tcp://", "tcp://x:99999", "ipc://x/y",
    "inproc://x", "http://127.0.0.1", "p99<=", "p101<=5ms", "p99<=0ms", "🦊",
]  # fmt: skip
ALIASES = [  # each level repeats the one before it: 10 or 2 times as much, and as much to quote
    "{a: &a [1,1,1,1,1,1,1,1,1,1], "
    + ", ".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in pairwise("abcdefghi")) + "}",
    "{system: &a [zeromq, ipc], transport: &b [*a, *a], options: &c {x: *b, y: *b}, payload_bytes: [*c, *c]}",
    "&a {b: 1}", "[&a 1, *a]", "{<<: &a {writes: 1}, writes: 2}", "{b: &a {c: 1}, <<: *a}",
]  # fmt: skip
NUMBERS = [
    "9" * 401, "-" + "9" * 401, "0x" + "f" * 5000, "1" + ":59" * 400, "1" + ":59" * 400 + ".5", "1.0e+999", "-.inf",
    ".nan", "[" + "9" * 401 + "]", "{writes: " + "9" * 401 + "}", "{system: zeromq, clients: " + "9" * 401 + "}",
    "p99<=" + "9" * 401 + "ms", "!!bool 7", "!!int", "!!float ''", "!!timestamp 1", "!!binary x", "!!set {a, b}",
    "{2: 1, 2.0: 1}", "{writes: 1, writes: 2}", '{"system": "zeromq", "system": "sockets"}', "1," * 20_000,
    "[" + "1," * 49_000 + "]",
]  # fmt: skip
NAMES = [
    "a" * 300, f"tcp://{'a' * 300}:8786", f"tcp://{'a.' * 150}:8786", f"tls://{'a' * 300}:8786", "é" * 300,
    f"{'a' * 300}.yaml", f"{'a/' * 3000}x.json", f"[{'a' * 300}, {'b' * 300}]", f"{{{'a' * 300}: 1}}", "x" * 100_001,
    f"ipc:///{'a' * 300}", f"{{system: {'a' * 300}}}", f"{{system: zeromq, options: {{{'a' * 300}: 1}}}}",
    '"\\ud800"', "tcp://[::1", "tcp://a..b:1", "/dev/zero", "/dev/stdin", "tcp://\u2100:1",
]  # fmt: skip
BAD += ALIASES + NUMBERS + NAMES
COMMANDS = [
    ["show", "{}"], ["compare", "{}", "{}"], ["compare", "reference/latency", "reference/latency"],
    ["compare", "reference/latency", "reference/nodelay", "--margin", "{}"],
    ["compare", "reference/latency", "reference/nodelay", "--fail-if-slower", "{}"],
    ["explain", "{}"], ["keep", "{}", "/dev/null/x"], ["keep", "reference/nodelay", "/dev/null/{}"], ["submit", "{}"],
    ["submit", "reference/latency", "--yes", "-o", "/dev/null/{}"], ["run", "{}"], ["run", "latency", "{}"], ["{}"],
    ["--{}"], ["list", "{}"], ["runs", "{}"], ["calibrate", "--runs", "{}"], ["prepare", "{}"],
    ["serve", "{}", "tcp://127.0.0.1:0"], ["serve", "sockets", "{}"],
    ["serve", "sockets", "ipc:///dev/null", "-o", "{}"], ["serve", "sockets", "ipc:///dev/null", "--mode", "{}"],
    ["capacity", "{}"], ["capacity", "zeromq", "{}"],
    ["capacity", "zeromq", "ipc", "--objective", "{}"], ["capacity", "zeromq", "ipc", "--first", "{}"],
    ["capacity", "nosuch", "ipc", "--clients", "{}"], ["run", "classroom", "-p", "folder", "{}"],
]  # fmt: skip


def parameters() -> list[tuple[str, str]]:
    """Return each notebook with each of its parameters."""
    found = []
    for notebook in sorted(paths.notebooks().glob("[a-z]*.ipynb")):
        with contextlib.redirect_stderr(io.StringIO()):
            found += [(notebook.stem, name) for name in papermill.inspect_notebook(str(notebook))]
    return found


def answered(words: list[str]) -> str:
    """Do a command in this process; return what is wrong with its answer, or nothing."""
    out, complaint, status = io.StringIO(), io.StringIO(), 0
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
    return trying.fault(trying.Answer(status, out.getvalue(), "\n".join(lines), 0.0, ""))


class _AcceptedError(BaseException):
    """The input is accepted: a kernel or a measurement would be started now."""


@contextlib.contextmanager
def without_measuring() -> Iterator[None]:
    """Stop where something would be measured, executed, installed or served."""

    def accepted(*given: Any, **named: Any) -> Any:
        raise _AcceptedError

    from bench.installation import environments
    from bench.measurement import capacity_search, serve
    from certify import instrument

    places = [(unattended, "_execute_one"), (capacity_search, "find"), (serve, "_serve"), (environments, "ensure")]
    places += [(instrument, "certificate"), (systems, "prepare")]
    before = [getattr(module, name) for module, name in places]
    try:
        for module, name in places:
            setattr(module, name, accepted)
        yield
    finally:
        for (module, name), function in zip(places, before, strict=True):
            setattr(module, name, function)


def tries(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Try ``count`` inputs, bad servers among them; yield each with what was wrong with the answer, or nothing."""
    chance, known = random.Random(seed), parameters()
    servers = [(system, bad, answer) for system in ASKED for bad, answer in SERVERS.items()]
    servers += [(system, "ends no reply", endless.answering(system)) for system in endless.REPLIES]
    chosen = chance.sample(servers, min(len(servers), max(1, count // 20)))
    with without_measuring():
        for _ in range(count - len(chosen)):
            value = chance.choice(BAD)
            if chance.random() < 0.7:
                notebook, name = chance.choice(known)
                words = ["run", notebook, "-p", name, value]
            else:
                words = [word.replace("{}", value) for word in chance.choice(COMMANDS)]
            yield repr([word[:60] for word in words]), answered(words)
    for system, bad, answer in chosen:
        yield f"{system} asks a server that {bad}", asked(system, answer)


# ---------------------------------------------------------------- servers


def _echo(peer: socket.socket) -> None:
    while data := peer.recv(65536):
        peer.sendall(data)


def _lines(peer: socket.socket) -> None:
    peer.recv(65536)
    peer.sendall(b"HTTP/1.0 500 line\r\nX: y\r\n\r\n" + b"one more line of an error\n" * 500)


def _random(peer: socket.socket) -> None:
    chance = random.Random(1)
    while peer.recv(65536):
        peer.sendall(chance.randbytes(3000))


def _endless(peer: socket.socket) -> None:
    peer.recv(65536)
    for _ in range(500):
        peer.sendall(bytes(65536))


def _half(peer: socket.socket) -> None:
    data = peer.recv(65536)
    peer.sendall(data[: len(data) // 2])


SERVERS: dict[str, Callable[[socket.socket], None]] = {
    "returns what it gets": _echo,
    "answers with many lines": _lines,
    "answers at random": _random,
    "sends without end": _endless,
    "closes at once": lambda peer: None,
    "returns half of it": _half,
    "is silent": lambda peer: time.sleep(20),
}
ASKED = ("sockets", "zeromq", "http_stdlib", "xmlrpc_stdlib", "xmlrpc_pstream", "grpc_sync")


def asked(system: str, answer: Callable[[socket.socket], None]) -> str:
    """Call a bad server by a system's client; return what is wrong with how that ends, or nothing."""
    with served(lambda peer, _: answer(peer)) as address:
        try:
            with within(60), endless.peak_of_clients() as peak:
                found = measure(Case(system, "tcp", 64, target=address), 0.05, seed=1)
        except BenchError as refused:
            text = str(refused)
            if peak.bytes > endless.MOST_BYTES:
                return f"the client took {peak.bytes / 1e6:.0f} MB"
            return "" if "\n" not in text and len(text) <= 3000 else f"more than a sentence: {text[:200]!r}"
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
    counted = found.ledger["server_calls"]
    return "" if counted is None else f"the count of a foreign server is known: {counted}"
