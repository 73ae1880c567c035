"""The source code behind a number: the loop that timed it, and the call that was timed."""

import contextlib
import importlib
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import systems
from bench.child import structured_messages
from bench.child.client import load_class, load_name
from bench.child.outstanding import Pipelined
from bench.child.retry_attempts import Requests
from bench.codecs.message_types import BYTES
from bench.errors import BenchError
from bench.plan import paths
from bench.plan.case import Case
from bench.run.frames import Run
from bench.text import listed

NATIVE = Path(systems.__file__).with_name("_native.hpp")
CALLS = {"stream": ("Sender", "send"), "reply_stream": ("StreamClient", "stream")}  # of other loads: Client.call


@dataclass(frozen=True)
class Piece:
    """A function, method or class as it is written: its file, its first line there, and its text."""

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

    Of the first system, or of the one named; nothing if its file cannot be imported here.
    """
    if absent(run, system):
        return []
    cases, first = run.plan.cases, _first(run, system)
    subjects = [case for case in cases if case.system == first] or [cases[0]]
    kinds = {(case.load, case.message == BYTES, str(case.options.get("client"))): case for case in reversed(subjects)}
    pieces = [of_case(case) for case in reversed(kinds.values())]
    return list(dict.fromkeys(itertools.chain(*(shown[:1] for shown in pieces), *(shown[1:] for shown in pieces))))


def absent(run: Run, system: str = "") -> str:
    """Return the name of a run's first system, or of the one named, if its file cannot be imported here; else ""."""
    name = _first(run, system)
    if sources := {case.source for case in run.plan.cases if case.system == name and case.source}:
        return f"{name} of {listed(sorted(sources))}"  # this installation's file of that name is another one
    try:
        systems.tree_of(name)  # the file can have changed since it was imported
        systems.load(name)
    except BenchError:
        return name
    return ""


def _first(run: Run, system: str) -> str:
    cases = run.plan.cases
    return system or next((case.system for case in cases if case.system != "loopback"), cases[0].system)


def of_case(case: Case) -> list[Piece]:
    """Return the loop that times a case's calls, then the call as the system's own file defines it.

    The engine wire calls no library: behind its loop is the system's ``Wire``. Of an external load generator nothing
    is returned.
    """
    module: Any = systems.load(case.system)
    if case.generator:
        return []
    if case.engine == "library" and case.load in ("closed", "session") and systems.makes_calls(module, case.options):
        program = Path(systems.file_of(case.system)).with_name(f"_{case.system}.cpp")
        return [_native(NATIVE, "void closed("), _native(program, "Reply call(")]
    return [_piece(function) for function in _functions(case, module)]


def _functions(case: Case, module: Any) -> Iterator[Any]:
    """Yield the loop, what encodes a structured message, and the call."""
    load = load_class(load_name(module, case))
    timed = load.TIMED_OPEN if case.load == "open" else load.TIMED
    if case.load == "retry":
        yield from (*timed, Requests.next_attempt, *_wire(module.Wire))
    elif case.engine == "wire":
        is_service = case.load == "reply_stream" and hasattr(module, "StreamWire")
        yield from (*timed, *_wire(module.StreamWire if is_service else module.Wire))
    elif load is Pipelined and hasattr(module, "Multiplexed"):
        yield from (*timed, module.Multiplexed.send, module.Multiplexed.receive)
    else:
        role, verb = CALLS.get(case.load, ("Client", "call"))
        calls = list(_calls(module, role, verb))
        is_async = inspect.iscoroutinefunction(calls[0]) or inspect.isasyncgenfunction(calls[0])
        is_checked = getattr(getattr(module, role), "checks_messages", False)
        yield timed[min(is_async + is_checked, len(timed) - 1)]
        yield from (*_encoding(case, module, is_async), *calls)


def _calls(module: Any, role: str, verb: str) -> Iterator[Any]:
    """Yield the method that makes a call; where it is built when the client connects, its builder and the class."""
    client = getattr(module, role)
    if inspect.isfunction(client):  # which returns one of several
        yield client
        return
    method = inspect.getattr_static(client, verb, None)
    if inspect.isfunction(method):
        yield method
        return
    owner = next(kind for kind in client.__mro__ if verb in vars(kind) or f"self.{verb} = " in inspect.getsource(kind))
    home = importlib.import_module(owner.__module__)
    for function in vars(home).values():
        is_own = inspect.isfunction(function) and function.__module__ == home.__name__
        if is_own and f"    def {verb}(" in inspect.getsource(function):
            yield function
    yield owner


def _wire(made_by: Any) -> list[Any]:
    """Return the class that writes a system's requests and reads its responses, and what it inherits."""
    if inspect.isfunction(made_by):
        return [made_by]
    kinds = [kind for kind in made_by.__mro__ if kind.__module__.startswith("bench.systems.")]
    return [kind for kind in kinds if kind.__module__ != "bench.systems._twin"]


def _encoding(case: Case, module: Any, is_async: bool) -> list[Any]:
    """Return what encodes a structured message: the system's own codec, or a codec and what is put around the call."""
    if case.message == BYTES:
        return []
    with contextlib.suppress(BenchError, ImportError, TypeError, ValueError):  # of another version of the file
        how = structured_messages.carried(module, module.Options(**case.options), case.message)
        if how is not None and how.is_native:
            return [module.coder]
        codec = importlib.import_module(f"bench.codecs.{case.options.get('codec')}")
        carrier = structured_messages.Carrier
        return [carrier.awaited_call if is_async else carrier.blocking_call, codec.coder]
    return []


def _piece(source: Any) -> Piece:
    lines, first = inspect.getsourcelines(source)
    return Piece(Path(inspect.getfile(source)), first, textwrap.dedent("".join(lines)).rstrip())


def _native(file: Path, begin: str) -> Piece:
    """Return a function of a C++ file, from the line with its name to the brace that is indented alike."""
    lines = file.read_text("utf-8").splitlines()
    first = next(index for index, line in enumerate(lines) if begin in line)
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    last = next(index for index in range(first, len(lines)) if lines[index] == f"{indent}}}")
    return Piece(file, first + 1, textwrap.dedent("\n".join(lines[first : last + 1])))
