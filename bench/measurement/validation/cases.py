"""Cases from a notebook's parameters: systems, transports and cases, or an error that lists the choices."""

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from bench import systems
from bench.contract import parse_address
from bench.errors import NotInstalledError, UsageError, unknown
from bench.plan import hosts as far
from bench.plan import parameters, placement
from bench.plan.case import MOST_PER_S, Case
from bench.process import environments

INSTRUMENT = "loopback"  # no server: the rest is the instrument overhead
SELF_TEST_SYSTEMS = (INSTRUMENT, "oracle", "pause", "mystery")  # systems that test the laboratory
SLOW_S = 1.0  # a system that takes longer to start is measured only if it is named
COMPARED = (
    "system",
    "transport",
    "options",
    "payload_bytes",
    "placement",
    "clients",
    "callers",
    "engine",
    *("message", "calls_per_connection", "outstanding", "source"),
)  # parts of a case as typed
_ALL_PRESENT = ContextVar("all systems count as present", default=False)


def offered_rates(value: object, what: str) -> list[float]:
    """Return the offered rates asked for, in requests per second, the lowest first."""
    rates = sorted(parameters.positive(rate, what, MOST_PER_S, whole=False) for rate in parameters.as_list(value))
    if not rates:
        raise UsageError(f"{what} is an empty list: give at least one rate, in requests per second")
    return rates


def one_system(system: object) -> str:
    """Return the one system asked for."""
    with _folders_said():
        return parameters.one_name(_adopted(system), "system", systems.names())


@contextlib.contextmanager
def _folders_said() -> Iterator[None]:
    """Add to an error of a name how systems of the user's own are named, and the folders that do not exist."""
    try:
        yield
    except UsageError as error:
        texts = [str(error), systems.OWN_FOLDERS, systems.absent_folders()]
        raise UsageError("; ".join(filter(None, texts))) from None


def chosen_systems(system: object) -> list[str]:
    """Return the systems asked for, each once."""
    with _folders_said():
        return parameters.names(_adopted(system), "system", systems.names())


def _adopted(system: object) -> object:
    """Return systems as typed, with the names of services in place of their files."""
    typed = parameters.as_list(system)
    are_files = [isinstance(name, str) and name.endswith(systems.SERVICE) for name in typed]
    if not any(are_files):
        return system
    return [systems.adopt(str(name)) if is_file else name for name, is_file in zip(typed, are_files, strict=True)]


def one_transport(system: str, transport: object) -> str:
    """Return the one transport of a system asked for."""
    return parameters.one_name(transport, f"transport of {system}", systems.constant(system, "TRANSPORTS"))


def one_way(system: object, transport: object, hosts: Mapping[str, Any] | None = None) -> tuple[str, str]:
    """Return the one system asked for, and one of its transports; of ``auto`` ipc if it has that, tcp between hosts."""
    name = one_system(system)
    if transport == "auto":
        is_local = not far.is_far(hosts or {}) and "ipc" in systems.constant(name, "TRANSPORTS")
        transport = "ipc" if is_local else "tcp"
    return name, one_transport(name, transport)


def instrument(payload_bytes: int, placement_name: str, hosts: Mapping[str, Any] | None = None) -> Case:
    """Return the case of the instrument alone, under the placement of the others, on a host that loads."""
    return Case(
        INSTRUMENT, "inproc", payload_bytes, placement=placement_name, max_calls=20_000, hosts=dict(hosts or {})
    )


def absent_of(chosen: list[str]) -> dict[str, str]:
    """Return the systems that cannot be measured here, each with its remedy."""
    return {name: reason for name in chosen if (reason := why_absent(name))}


def transports(system: str, transport: object, target: object, hosts: Mapping[str, Any] | None = None) -> list[str]:
    """Return the transports asked for, or the one by which the target is reached; of ``all`` tcp between hosts."""
    if far.is_far(hosts or {}) and not target and parameters.as_list(transport) == ["all"]:
        transport = "tcp"
    provided = systems.constant(system, "TRANSPORTS")
    if not target:
        return parameters.names(transport, f"transport of {system}", provided)
    reached = parse_address(parameters.text(target, "target")).transport
    if reached == "inproc":
        raise UsageError("a target is another process: its address begins with tcp:// or ipc://")
    return parameters.names(reached, f"transport of {system}", provided)


@contextlib.contextmanager
def all_present() -> Iterator[None]:
    """Count every system that is installed as present meanwhile: a plan is made without compiling or preparing."""
    before = _ALL_PRESENT.set(True)
    try:
        yield
    finally:
        _ALL_PRESENT.reset(before)


def why_absent(name: str) -> str | None:
    """Return the remedy for a system that cannot be measured, None if it can; prepare it first."""
    if reason := systems.missing(name):
        return str(reason)
    if _ALL_PRESENT.get():
        return None
    try:
        systems.prepare(name)
        if environment := systems.constant(name, "ENVIRONMENT", None):
            environments.ensure(environment)
    except NotInstalledError as missing:
        return str(missing)
    return None


def case_of(text: object, what: str, shared: dict[str, Any]) -> Case:
    """Return the case of a mapping: system, transport, and the values that replace shared parameters.

    Without a transport it is ipc, or tcp between hosts and of a system without ipc.
    """
    parts = parameters.mapping(text, what)
    for name in parts:
        if name not in COMPARED:
            raise unknown(f"part of {what}", name, COMPARED)
    if "system" not in parts:
        raise UsageError(f"{what} names no system: write {{system: zeromq, transport: ipc}}")
    name = parameters.one_name(_adopted(parts["system"]), f"system of {what}", systems.names())
    _, transport = one_way(name, parts.get("transport", "auto"), shared.get("hosts"))
    rest = {key: value for key, value in parts.items() if key not in ("system", "transport")}
    return Case(name, transport, **shared | rest)


def placement_of(value: object, parallel: bool = False, hosts: Mapping[str, Any] | None = None) -> str:
    """Return the placement asked for; "default" is this machine's default for that kind of work, free on hosts."""
    if value in ("default", None):
        if far.is_far(hosts or {}):
            return "free"
        return placement.default(parallel)
    return parameters.one_name(value, "placement", list(placement.PLACEMENTS))
