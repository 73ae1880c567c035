"""The source code behind a number: the loop that timed it, and the call that was timed."""

import ast
import inspect
import itertools
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import paths, systems
from bench.child.structured_messages import carried
from bench.contract import Binding
from bench.errors import BenchError, SystemFileError, UsageError
from bench.message_types import BYTES
from bench.plan.case import Case
from bench.run.frames import Run

CHILD = Path(__file__).parent.parent / "child"
NATIVE = Path(__file__).parent.parent / "systems" / "_native.hpp"
CODECS = Path(__file__).parent.parent / "codecs"
WIRE = {"closed": "Talks.advance", "open": "pace"}  # what the wire runs, in child/wire.py
WIRE_VERBS = ("request", "begin", "end", "receive", "body")  # of a system's ``Wire``, as a call uses them
PLAIN = {"closed": "closed", "open": "opened", "stream": "send_stream", "session": "closed", "reconnect": "closed"}
AWAITED = {load: f"{loop}_async" for load, loop in PLAIN.items()}


@dataclass(frozen=True)
class Piece:
    """A function or method as it is written: its file, its first line there, and its text."""

    file: Path
    line: int
    text: str

    @property
    def title(self) -> str:
        """Return where it is: the file as users read it best, and the line."""
        return f"{paths.shown(self.file)}, line {self.line}"

    @property
    def language(self) -> str:
        """Return its language, for highlighting."""
        return "python" if self.file.suffix == ".py" else "cpp"


def of_run(run: Run, system: str = "") -> list[Piece]:
    """Return the loops that timed a run's calls (one for each kind of load), then the timed calls, each once.

    With structured messages also what is put around a call.

    Of the first system, or of the one named.
    """
    cases, first = run.plan.cases, _first(run, system)
    if absent(run, system):
        return []
    subjects = [case for case in cases if case.system == first] or [cases[0]]
    kinds = {(case.load, case.message == BYTES, _program(case)): case for case in reversed(subjects)}
    pieces = [of_case(case) for case in kinds.values()]
    loops, calls = [found[:1] for found in reversed(pieces)], [found[1:] for found in reversed(pieces)]
    return list(dict.fromkeys(itertools.chain(*loops, *calls)))


def _first(run: Run, system: str) -> str:
    cases = run.plan.cases
    return system or next((case.system for case in cases if case.system != "loopback"), cases[0].system)


def absent(run: Run, system: str = "") -> str:
    """Return the name of a run's first system, or of the one named, if its file is not here; else ""."""
    name = _first(run, system)
    try:
        systems.tree_of(name)
    except (UsageError, SystemFileError):
        return name
    return ""


def of_case(case: Case) -> list[Piece]:
    """Return the loop that times a case's calls, then the call as the system's own file defines it.

    The engine wire calls no library: behind its loop is what the system's ``Wire`` does. Of an external load generator
    nothing is returned.
    """
    if case.generator:
        return []
    if case.load == "retry":
        policy = piece(CHILD / "retry_attempts.py", "Requests.next_attempt")
        return [piece(CHILD / "retry_load.py", "RetryLoad.load"), policy, *_wire(case)]
    if case.engine == "wire" and case.load == "reply_stream":
        return [piece(CHILD / "reply_streams_wire.py", "Flow.read"), *_wire(case)]
    if case.engine == "wire" and case.outstanding > 1:
        return [piece(CHILD / "wire_outstanding.py", "Connection.advance"), *_wire(case)]
    if case.engine == "wire":
        return [piece(CHILD / "wire.py", WIRE[case.load]), *_wire(case)]
    if case.load == "reply_stream":
        calls = calls_of(case.system, "stream")
        loop = "receive_async" if calls and calls[0].text.lstrip().startswith("async ") else "receive"
        return [piece(CHILD / "reply_streams.py", loop), *calls]
    if program := _program(case):
        return [_native_piece(NATIVE, "void closed("), _native_piece(program, "Reply call(")]
    calls = calls_of(case.system, "send" if case.load == "stream" else "call")
    if case.outstanding > 1 and case.load == "closed" and not (calls and calls[0].text.lstrip().startswith("async ")):
        return [piece(CHILD / "outstanding.py", "Pipeline._run"), *_several(case.system)]
    is_async = bool(calls) and calls[0].text.lstrip().startswith("async ")
    loops = AWAITED if is_async else PLAIN
    return [piece(CHILD / "timed_loops.py", loops[case.load]), *_carrying(case, is_async), *calls]


def _wire(case: Case) -> list[Piece]:
    """Return how a system's ``Wire`` writes a request and reads a response; nothing where it cannot be imported."""
    try:
        module: Any = systems.load(case.system)
        kind = type(module.Wire(Binding(case.transport, "").endpoint(), module.Options(**case.options)))
    except (BenchError, AttributeError, TypeError, ValueError):  # a stored run can be of another version of the file
        return []
    verbs = (getattr(kind, name, None) for name in WIRE_VERBS)
    return [_imported(verb) for verb in verbs if inspect.isfunction(verb)]


def _imported(function: Any) -> Piece:
    lines, first = inspect.getsourcelines(function)
    return Piece(Path(inspect.getfile(function)), first, textwrap.dedent("".join(lines)).rstrip())


def _program(case: Case) -> Path | None:
    """Return the source of the system's own program if it makes a case's calls; see ``systems.makes_calls``."""
    file = Path(systems.file_of(case.system)).with_name(f"_{case.system}.cpp")
    makes_calls = any(getattr(node, "name", "") == "Load" for node in systems.tree_of(case.system).body)
    is_made = case.load in ("closed", "session") and case.engine == "library" and case.options.get("client") != "python"
    return file if makes_calls and is_made and file.exists() else None


def _native_piece(file: Path, begin: str) -> Piece:
    """Return a function of a C++ file, from the line with its name to the brace that is indented alike."""
    lines = file.read_text("utf-8").splitlines()
    first = next(place for place, line in enumerate(lines) if begin in line)
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    last = next(place for place in range(first, len(lines)) if lines[place] == f"{indent}}}")
    return Piece(file, first + 1, textwrap.dedent("\n".join(lines[first : last + 1])))


def _carrying(case: Case, is_async: bool) -> list[Piece]:
    """Return what is put around the call for a structured message: the codec's functions, and what they are.

    Of a system that encodes values itself, its own codec.
    """
    if case.message == BYTES:
        return []
    if _encodes_itself(case):
        return [piece(Path(systems.file_of(case.system)), "coder")]
    file = CODECS / f"{case.options.get('codec')}.py"
    around = "AsyncCarrier.open" if is_async else "Carrier.open"
    return [piece(CHILD / "structured_messages.py", around), piece(file, "coder")] if file.exists() else []


def _encodes_itself(case: Case) -> bool:
    """Return whether a system carries a case's message by a codec of its own; of one that cannot be imported, no."""
    try:
        module: Any = systems.load(case.system)
        how = carried(module, module.Options(**case.options), case.message)
    except (BenchError, AttributeError, TypeError, ValueError):  # a stored run can be of another version of the file
        return False
    return how is not None and how.is_native


def _several(system: str) -> list[Piece]:
    """Return how a system's file sends and receives where several calls are under way on a connection."""
    file, tree = Path(systems.file_of(system)), systems.tree_of(system)
    found = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Multiplexed"), None)
    body = found.body if found else []
    return [_piece(file, node) for node in body if getattr(node, "name", "") in ("send", "receive")]


def calls_of(system: str, verb: str = "call") -> list[Piece]:
    """Return what a system's client does for a call, as its file defines it.

    A method is returned alone. Where the client builds the function when it connects, its class is returned, and the
    function of the file that builds it.
    """
    file, tree = Path(systems.file_of(system)), systems.tree_of(system)
    wanted, classes = (
        {"send": "Sender"}.get(verb, "Client"),
        [node for node in tree.body if isinstance(node, ast.ClassDef)],
    )
    if verb == "stream" and any(node.name == "StreamClient" for node in classes):
        wanted = "StreamClient"
    client = next((node for node in classes if node.name == wanted), None)
    if client is None:
        return [piece for value in _assigned(tree, wanted) for piece in _inherited(value, verb)]
    methods = {node.name: node for node in client.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    if verb in methods and not methods[verb].decorator_list:
        return [_piece(file, methods[verb])]
    if verb in methods:
        builders = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _defines(node, verb)]
        return [_piece(file, node) for node in (*builders, client)]
    return [piece for base in client.bases for piece in _inherited(base, verb)]


def _assigned(tree: ast.Module, name: str) -> list[ast.expr]:
    """Return what a file assigns to a name at top level, alone or in a tuple: ``Client, url = sockets.Client, x``."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs += zip(target.elts, value.elts, strict=False)
            else:
                pairs.append((target, value))
    return [value for target, value in pairs if isinstance(target, ast.Name) and target.id == name]


def _inherited(base: ast.expr, verb: str) -> list[Piece]:
    """Return the call of a class that another system's file defines: ``sockets.Client``."""
    if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name) and base.value.id in systems.names():
        return calls_of(base.value.id, verb)
    return []


def _defines(function: ast.FunctionDef, name: str) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in function.body)


def piece(file: Path, name: str) -> Piece:
    """Return a function of a file, or a method as ``Class.method``."""
    body = ast.parse(file.read_text("utf-8")).body
    for part in name.split("."):
        found = next(node for node in body if getattr(node, "name", "") == part)
        body = getattr(found, "body", [])
    return _piece(file, found)


def _piece(file: Path, node: ast.stmt) -> Piece:
    lines = file.read_text("utf-8").splitlines()[node.lineno - 1 : node.end_lineno]
    return Piece(file, node.lineno, textwrap.dedent("\n".join(lines)))
