"""Plan of languages.ipynb: systems with a native twin, client and server in either language."""

from typing import Any

from bench import systems
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import InTurns
from bench.validation.cases import absent_of, client_count, instrument, payload, transports

TWINS = {  # and what they are in Python
    "sockets_c": "sockets",
    "zeromq_c": "zeromq",
    "grpc_cpp": "grpc_sync",
    "xmlrpc_c": "xmlrpc_stdlib",
}
NOT_TAKEN = ("hosts",)
SIDES = (("python", "python"), ("c", "python"), ("python", "c"), ("c", "c"))  # client and server


def why_not(system: object = "all", **asked: Any) -> str | None:
    """Return the remedy where no system with a twin is installed and none is named, else None."""
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
) -> Plan:
    """Plan each system with either side in either language: one caller, and several callers in one client process.

    Round trips are those of one caller; calls per second those of several, under the placement of parallel work.
    """
    chosen = parameters.names(system, "system", list(TWINS))
    absent = absent_of(chosen)
    if parameters.as_list(system) == ["all"]:
        absent |= _not_reached_by(parameters.as_list(transport))
    size, several = payload(payload_bytes), client_count(callers, "callers")
    if several < 2:
        raise UsageError("callers must be 2 or more: one caller is measured in any case")
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


def _not_reached_by(asked: list[Any]) -> dict[str, str]:
    """Return the systems that have none of the transports asked for, each with those that it has."""
    provided = {name: systems.constant(name, "TRANSPORTS") for name in TWINS}
    return {
        name: f"{name} is reached by {' or '.join(has)} only"
        for name, has in provided.items()
        if asked != ["all"] and not any(transport in asked for transport in has)
    }
