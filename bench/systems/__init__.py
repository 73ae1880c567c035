"""Systems under test: one file each, found by listing the folder, imported only when used.

More folders can be named in the environment variable ``ROUNDTRIP_SYSTEMS`` (separated as in ``PATH``):
a system of your own needs no change here. ``bench/contract.py`` defines what a file must contain. In such a folder a
file ``NAME.yaml`` describes a service of your own (docs/services.md), which is then the system NAME; the variable may
name such a file too, beside which nothing is a system.
Servers and clients import this, and start sooner without pathlib.
"""

import ast
import contextlib
import functools
import glob
import importlib
import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from bench.contract import GROUPS, GUARANTEES, TRANSPORTS, System
from bench.errors import NotInstalledError, SystemFileError, UsageError, unknown
from bench.plan import documents
from bench.process import sources
from bench.text import listed, quoted

if TYPE_CHECKING:
    from bench.plan import service_file

FOLDERS = "ROUNDTRIP_SYSTEMS"  # the variable that names further folders
OWN_FOLDERS = f"for a system or service of yours give the path of its file, or name the file's folder in {FOLDERS}"
SERVICE = ".yaml"
PATH = re.compile(r"[\w./~+@-]+\.yaml")
WORDS = ("all", "none", "null", "true", "false", "yes", "no", "on", "off")  # mean something else where names stand
HERE = os.path.dirname(__file__)  # noqa: PTH120
OWN = [folder for folder in os.environ.get(FOLDERS, "").split(os.pathsep) if folder]
__path__ += [path for path in OWN if not path.endswith(SERVICE)]
__path__[:0] = [folder for folder in [os.environ.get(sources.SYSTEMS)] if folder]


def _files() -> dict[str, str]:
    """Return each system's file by its name; an earlier folder wins."""
    files: dict[str, str] = {}
    for folder in __path__:
        for file in glob.glob("[a-z]*", root_dir=folder):  # noqa: PTH207
            stem, ending = os.path.splitext(file)  # noqa: PTH122
            if ending == ".py" or is_service(os.path.join(folder, file)):  # noqa: PTH118
                files.setdefault(stem, os.path.join(folder, file))  # noqa: PTH118
    for file in OWN:
        if is_service(file):
            files.setdefault(os.path.basename(file).removesuffix(SERVICE), file)  # noqa: PTH119
    return files


def is_service(file: str) -> bool:
    """Return whether a file is a service's: YAML in a folder of the user's, which may hold other YAML too."""
    if not file.endswith(SERVICE) or os.path.dirname(file) == HERE:  # noqa: PTH120
        return False
    try:
        with open(file, "rb") as content:  # noqa: PTH123
            lines = content.read(documents.MOST_BYTES).splitlines()
            return any(line.startswith((b"requests:", b"recording:")) for line in lines)
    except OSError:
        return False


def adopt(path: str) -> str:
    """Return the name of the system that a service file describes, from now on found here and by children.

    UsageError for a file that is not there, or whose name cannot be a system's, or is another one's.
    """
    file, name = os.path.abspath(path), os.path.basename(path).removesuffix(SERVICE)  # noqa: PTH100, PTH119
    if not os.path.isfile(path):  # noqa: PTH113
        raise UsageError(f"there is no service file {quoted(path)}")
    is_name = name.isidentifier() and "a" <= name[:1] <= "z" and name not in WORDS
    if not is_name or os.path.isfile(os.path.join(HERE, f"{name}.py")):  # noqa: PTH113, PTH118
        why = "a system is called so" if is_name else "its name must be letters, digits and _, a small letter first"
        raise UsageError(f"{quoted(path)}: {why}: rename the file, as in prices.yaml")
    if (known := _files().get(name)) and os.path.realpath(known) != os.path.realpath(file):
        raise UsageError(f"{quoted(path)}: {known} is called so too: rename one of the files")
    if not known:
        from bench.plan import service_file

        service_file.read(file)  # it says what is wrong in it
        OWN.append(file)
        os.environ[FOLDERS] = os.pathsep.join(OWN)
    return name


def names() -> list[str]:
    """Return the names of all systems, in alphabetical order, without importing any."""
    return sorted(_files())


def absent_folders() -> str:
    """Return a sentence on the folders named in ``ROUNDTRIP_SYSTEMS`` that do not exist; "" if all do."""
    absent = [path for path in OWN if not os.path.exists(path)]  # noqa: PTH110
    return f"{FOLDERS} names {', '.join(absent)}, where no folder is: give the path of a folder" if absent else ""


def adopted(value: Any) -> Any:
    """Return a parameter's value; in a text, paths of service files that are there are replaced by their names."""
    if not isinstance(value, str):
        return value
    return PATH.sub(lambda match: adopt(match[0]) if is_service(match[0]) else match[0], value)


def file_of(name: str) -> str:
    """Return a system's file; UsageError, with the nearest name, for an unknown one."""
    for folder in __path__ if "a" <= name[:1] <= "z" and os.path.basename(name) == name else ():  # noqa: PTH119
        for ending in (".py", SERVICE):
            file = os.path.join(folder, name + ending)  # noqa: PTH118 - asked for at every turn
            if os.path.isfile(file) and (ending == ".py" or is_service(file)):  # noqa: PTH113
                return file
    named = (path for path in OWN if os.path.basename(path) == name + SERVICE)  # noqa: PTH119
    if own := next(filter(is_service, named), None):  # one that is gone stands in the way of none
        return own
    raise UsageError("; ".join(filter(None, [str(unknown("system", name, names())), OWN_FOLDERS, absent_folders()])))


def tree_of(name: str) -> ast.Module:
    """Return the syntax tree of a system's file; parse it again if it has changed; SystemFileError for no Python."""
    file = file_of(name)
    file = os.path.join(HERE, "_service.py") if file.endswith(SERVICE) else file  # noqa: PTH118
    return _parsed(file, os.stat(file).st_mtime_ns)  # noqa: PTH116


@functools.cache
def _parsed(file: str, changed_ns: int) -> ast.Module:
    try:
        with open(file, "rb") as source:  # noqa: PTH123
            return ast.parse(source.read(), file)
    except (OSError, SyntaxError, ValueError) as reason:
        raise _unusable(file, reason) from reason


def _unusable(file: str, reason: BaseException) -> SystemFileError:
    """Return the error for a file that cannot be read or imported: where and why."""
    if isinstance(reason, SyntaxError):
        return SystemFileError(f"{reason.filename}, line {reason.lineno}: {reason.msg}: correct the file")
    line, trace = 0, reason.__traceback__
    while trace:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == file else line
        trace = trace.tb_next
    text = " ".join(str(reason).split())
    location = f"{file}, line {line}" if line else file
    return SystemFileError(f"{location}: {type(reason).__name__}: {text}: correct the file")


def has_own_requests(name: str) -> bool:
    """Return whether a system is a service of the user's whose file is here: no payload of a case is sent to it."""
    with contextlib.suppress(UsageError, SystemFileError):
        return file_of(name).endswith(SERVICE)
    return False


def service_of(name: str) -> "service_file.Service | None":
    """Return what the file of a service says; None for a system that Python describes."""
    if not (file := file_of(name)).endswith(SERVICE):
        return None
    from bench.plan import service_file

    return service_file.read(file)


def describe(name: str) -> str:
    """Return the first line of the system's docstring, without importing it; of a service what its file says."""
    if service := service_of(name):
        says = service.says
        asked = says.recording or ", ".join(request.name for request in says.requests)
        return says.about or f"{name}: a service of your own; {asked}"
    text = ast.get_docstring(tree_of(name)) or name
    return text.splitlines()[0]


def warm_up(name: str) -> int:
    """Return how many requests warm a service up when it has started; of other systems 0."""
    service = service_of(name)
    return service.says.warm_up if service else 0


def ready_s(name: str) -> float:
    """Return how long a service may take until it is ready; of other systems 0."""
    service = service_of(name)
    return service.says.ready_s if service else 0.0


def timeout_s(name: str) -> float:
    """Return how long a call of a service, or a whole stream, may take; of other systems 0."""
    service = service_of(name)
    return service.says.timeout_s if service else 0.0


_NEEDED = object()


def constant(name: str, variable: str, default: Any = _NEEDED) -> Any:
    """Return a literal that the system's file assigns at top level, without importing it.

    SystemFileError if there is none and no default, and for what is no literal. The transport of a service is that of
    the address in its file.
    """
    if variable == "TRANSPORTS" and (service := service_of(name)):
        return (service.transport,)
    for node in tree_of(name).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == variable for target in targets):
            try:
                value = ast.literal_eval(getattr(node, "value", None) or "")
            except (ValueError, TypeError, SyntaxError):
                at = f"{file_of(name)}, line {node.lineno}"
                raise SystemFileError(f"{at}: write {variable} as a literal, which is read without an import") from None
            if variable == "TRANSPORTS" and (
                others := [transport for transport in value if transport not in TRANSPORTS]
            ):
                at, known = f"{file_of(name)}, line {node.lineno}", f"TRANSPORTS are some of {', '.join(TRANSPORTS)}"
                raise SystemFileError(
                    f"{at}: {known}, not {others[0]!r}: a server at a host and a port, also UDP's, has tcp"
                )
            return value
    if default is not _NEEDED:
        return default
    raise SystemFileError(f"{file_of(name)} defines no {variable}: bench/contract.py lists what a file must define")


def group(name: str) -> str:
    """Return the group of systems that a system is in, one of ``bench.contract.GROUPS``."""
    group_name = constant(name, "GROUP", GROUPS[0])
    if group_name not in GROUPS:
        raise SystemFileError(f"{file_of(name)}: GROUP must be one of {', '.join(GROUPS)}, not {group_name!r}")
    return str(group_name)


def guarantees(name: str) -> dict[str, dict[str, str]]:
    """Return what a system guarantees of a message, by the options that change it ("": the defaults).

    It is read from ``guarantees.yaml`` beside the system's file. Each has all fields of ``bench.contract.GUARANTEES``.
    Empty for a system of which nothing is said; SystemFileError for fields that are no such.
    """
    file = os.path.join(os.path.dirname(file_of(name)), "guarantees.yaml")  # noqa: PTH118, PTH120
    stated = _guarantees(file, os.stat(file).st_mtime_ns) if os.path.isfile(file) else {}  # noqa: PTH113, PTH116
    if isinstance(own := stated.get(name, {}), str):
        return guarantees(own)
    whole = {options: own["defaults"] | fields for options, fields in own.items()}
    for options, fields in whole.items():
        if fields.keys() != GUARANTEES.keys():
            wrong = ", ".join(sorted(fields.keys() ^ GUARANTEES.keys()))
            at = f"{file}: {name}, {options}"
            raise SystemFileError(f"{at}: the fields are {', '.join(GUARANTEES)}; missing or unknown: {wrong}")
    return {"" if options == "defaults" else options: fields for options, fields in whole.items()}


@functools.cache
def _guarantees(file: str, changed_ns: int) -> dict[str, Any]:
    from bench.plan import yaml_text

    with open(file) as text:  # noqa: PTH123
        return dict(yaml_text.value_of(text.read()))


def defines(name: str, function: str) -> bool:
    """Return whether the system's file defines a function at top level, without importing it; a broken one does not."""
    try:
        return any(function in _bound(node) for node in tree_of(name).body)
    except SystemFileError:
        return False


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines or assigns."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def unmet(options: Any, needed: Mapping[str, Any]) -> str:
    """Return what to give instead of options, as in "tls false and qos 0", where others are needed; "" if all are met.

    needed: the names and values of the options that a part of a system works with, such as its ``FOR_WIRE``.
    """
    wrong = {name: value for name, value in needed.items() if getattr(options, name, value) != value}
    words = [f"{name} {str(value).lower() if isinstance(value, bool) else value}" for name, value in wrong.items()]
    return listed(words) if words else ""


def is_routed(name: str, options: Mapping[str, Any]) -> bool:
    """Return whether a system's calls go through its router with some options, without importing it."""
    if not defines(name, "route"):
        return False
    option = constant(name, "ROUTER_OPTION", None)
    return option is None or bool(options.get(option))


def load(name: str) -> System:
    """Import one system.

    NotInstalledError names the command that installs missing packages, SystemFileError what is wrong in its file.
    """
    file = file_of(name)
    if file.endswith(SERVICE):
        from bench.systems import _service

        return cast(System, _service.System(file))
    try:
        module = importlib.import_module(f"bench.systems.{name}")
    except NotInstalledError:
        raise
    except ImportError as missing:
        absent = [requirement for requirement in constant(name, "REQUIRES") if not _is_installed(requirement)]
        if not absent:
            raise _unusable(file, missing) from missing
        raise NotInstalledError(
            f"system {name!r} cannot be imported ({missing}); install it: python -m pip install {' '.join(absent)}"
        ) from missing
    except Exception as reason:
        raise _unusable(file, reason) from reason
    if not hasattr(getattr(module, "Options", None), "__dataclass_fields__"):
        raise SystemFileError(f"{file} defines no dataclass Options: bench/contract.py lists what a file must define")
    return cast(System, module)


def has_streams(name: str) -> bool:
    """Return whether the requests of a service are answered by streams: by its file, or the interface that it names.

    False for one that has to be asked for its interface.
    """
    service = service_of(name)
    if not service or not service.has_grpc:
        return bool(service and service.has_events)
    from bench.systems import _service_grpc

    return _service_grpc.has_streams(service)


def grpc_requests(address: str) -> list[dict[str, Any]]:
    """Return a request, as a service file has them, for each unary method that the gRPC service at HOST:PORT describes.

    Where it has none, for each that answers with a stream. NotInstalledError without the packages for that,
    TransportError where nothing answers or describes itself.
    """
    try:
        from bench.systems import _service_grpc
    except ImportError as missing:
        raise NotInstalledError(f"{missing}; install it: python -m pip install grpcio grpcio-reflection") from missing

    return _service_grpc.first_requests(address)


@functools.cache
def _is_installed(requirement: str) -> bool:
    from importlib import metadata

    try:
        metadata.distribution(distribution(requirement))
    except metadata.PackageNotFoundError:
        return False
    return True


def distribution(requirement: str) -> str:
    """Return the distribution's name in a requirement such as ``uvicorn[standard]>=0.30``."""
    return re.split(r"[\s<>=!~\[;]", requirement)[0]


def need(name: str) -> None:
    """Raise NotInstalledError, with the command that installs them, if the system's packages or programs are missing.

    A file may import its packages where it uses them, so that an import does not show all that is missing.
    """
    if isinstance(required := constant(name, "REQUIRES"), str):
        raise SystemFileError(f"{file_of(name)}: REQUIRES must be a tuple of names, like ({required!r},)")
    if absent := [requirement for requirement in required if not _is_installed(requirement)]:
        raise _absent(name, absent, f"python -m pip install {' '.join(absent)}")
    from bench.process import pipes

    wanted = constant(name, "PROGRAMS", {})
    if absent := [program for program in wanted if pipes.program(program) is None]:
        packages = dict.fromkeys(wanted[program] for program in absent)
        raise _absent(name, absent, f"apt-get install {' '.join(packages)}", packages)


def _absent(name: str, absent: list[str], command: str, packages: Iterable[str] = ()) -> NotInstalledError:
    are = "are" if len(absent) > 1 else "is"
    text = f"system {name!r}: {' and '.join(absent)} {are} not installed; install it: {command}"
    return NotInstalledError(text, packages)


def missing(name: str) -> NotInstalledError | None:
    """Import a system; return why it cannot be measured here, with the remedy, or None if it can."""
    try:
        load(name)
        need(name)
    except NotInstalledError as reason:
        return reason
    return None


def offering(what: str) -> list[str]:
    """Import all systems; return the names of those whose file defines ``what``."""
    matching = []
    for name in names():
        with contextlib.suppress(NotInstalledError):
            matching += [name] * hasattr(load(name), what)
    return matching


def makes_calls(module: Any, options: Mapping[str, Any]) -> bool:
    """Return whether a system's own program makes the calls of closed loads, not its client in Python.

    It does so unless the system has an option ``client`` that says ``python``.
    """
    return hasattr(module, "Load") and options.get("client") != "python"


def prepare(name: str) -> None:
    """Run the system's ``prepare``, if it has one; NotInstalledError says why it failed."""
    getattr(load(name), "prepare", lambda: None)()


def environment(name: str) -> str:
    """Return the folder of the Python environment that a system asks for, created if missing; "" if it needs none."""
    wanted = constant(name, "ENVIRONMENT", None)
    if wanted is None:
        return ""
    from bench.process import environments

    return str(environments.ensure(wanted))
