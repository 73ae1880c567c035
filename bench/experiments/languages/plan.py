"""Plan of languages.ipynb: systems with a native twin, client and server in either language; or servers in others."""

from dataclasses import replace
from typing import Any

from bench import paths, systems
from bench.errors import SystemFileError, UsageError
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import InTurns
from bench.validation.cases import (
    absent_of,
    chosen_systems,
    client_count,
    instrument,
    payload,
    transports,
    why_absent,
)

TWINS = {  # and what they are in Python
    "sockets_c": "sockets",
    "zeromq_c": "zeromq",
    "grpc_cpp": "grpc_sync",
    "xmlrpc_c": "xmlrpc_stdlib",
}
NOT_TAKEN = ("hosts",)
SERVICES = "services"  # the folder of the servers in other languages; their messages have BYTES
BYTES = 100
BESIDE: dict[str, dict[str, Any]] = {  # gRPC in Python, with which the others are compared, and in C++
    "grpc_sync": {},
    "grpc_cpp": {"client": "python", "server": "c"},
}
SIDES = (("python", "python"), ("c", "python"), ("python", "c"), ("c", "c"))  # client and server


def why_not(system: object = "all", servers: object = "none", **asked: Any) -> str | None:
    """Return the remedy where no system with a twin is installed and none is named, else None."""
    if parameters.as_list(servers) != ["none"]:
        return None
    absent = absent_of(list(TWINS))
    if parameters.as_list(system) != ["all"] or len(absent) < len(TWINS):
        return None
    return f"no system with a native twin is installed; {next(iter(absent.values()))}"


def plan(
    given: InTurns,
    system: object = "all",
    transport: object = "tcp",
    payload_bytes: object = 100,
    callers: object = 4,
    servers: object = "none",
) -> Plan:
    """Plan each system with either side in either language: one caller, and several callers in one client process.

    Round trips are those of one caller; calls per second those of several, under the placement of parallel work.
    servers: "all" or a list, to measure these servers instead, loaded by the engine wire: of the folder ``services``,
    or any system that has that engine; all are compared with the first one.
    """
    if parameters.as_list(servers) != ["none"]:
        return _of_servers(given, servers, payload_bytes, callers)
    chosen = parameters.names(system, "system", list(TWINS))
    absent = absent_of(chosen)
    if parameters.as_list(system) == ["all"]:
        absent |= _not_reached_by(parameters.as_list(transport))
    size, several = payload(payload_bytes), _several(callers)
    alone, parallel = given.where(), given.where(is_parallel=True)
    cases = [
        Case(name, by, size, {"client": client, "server": server}, where, callers=count)
        for name in chosen
        if name not in absent
        for by in transports(name, transport, None)
        for count, where in ((1, alone), (several, parallel))
        for client, server in SIDES
    ]
    cases.append(instrument(size, alone))
    return given.plan("languages", cases, absent, alike=("system", "transport", "callers"))


def _of_servers(given: InTurns, servers: object, payload_bytes: object, callers: object) -> Plan:
    """Plan each server with one caller and with several, each caller with a connection of its own.

    Not in slices: servers that compile while they run are warmed up for seconds each time they start.
    """
    given = replace(given, slice_ms=0)
    size, several = payload(payload_bytes), _several(callers)
    if size != BYTES:
        raise UsageError(f"the messages of {SERVICES}/ have {BYTES} bytes: leave payload_bytes at {BYTES}")
    folder = paths.home() / SERVICES
    files = {file.stem: str(file) for file in sorted(folder.glob("*/*.yaml")) if file.stem == file.parent.name}
    asked = parameters.as_list(servers)
    if asked == ["all"]:
        asked = [*BESIDE, *files]
    chosen = chosen_systems([files.get(str(name), name) for name in asked])
    absent = {name: why for name in chosen if (why := _why_absent(name))}
    cases = [
        Case(name, "tcp", size, BESIDE.get(name, {}), where, callers=count, engine="wire")
        for name in chosen
        if name not in absent
        for count, where in ((1, given.where()), (several, given.where(is_parallel=True)))
    ]
    cases.append(instrument(size, given.where()))
    return given.plan("languages", cases, absent)


def _why_absent(name: str) -> str | None:
    """Return the remedy for a server that cannot be measured, or be built, here."""
    try:
        return why_absent(name)
    except SystemFileError as reason:
        return str(reason)


def _several(callers: object) -> int:
    count = client_count(callers, "callers")
    if count < 2:
        raise UsageError("callers must be 2 or more: one caller is measured in any case")
    return count


def _not_reached_by(asked: list[Any]) -> dict[str, str]:
    """Return the systems that have none of the transports asked for, each with those that it has."""
    provided = {name: systems.constant(name, "TRANSPORTS") for name in TWINS}
    return {
        name: f"{name} is reached by {' or '.join(has)} only"
        for name, has in provided.items()
        if asked != ["all"] and not any(transport in asked for transport in has)
    }
