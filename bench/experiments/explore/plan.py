"""What is measured for explore.ipynb: any cases side by side, under closed or open loads."""

from dataclasses import replace
from typing import Any

from bench import systems
from bench.errors import UsageError, unknown
from bench.plan import hosts as machines
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import InTurns
from bench.validation.cases import (
    COMPARED,
    MADE_UP,
    SLOW_S,
    absent_of,
    case_of,
    chosen_systems,
    client_count,
    connection_count,
    offered,
    payload,
    placement_of,
)
from bench.validation.profiles import takes_turns

NOT_TAKEN = ("placement", "hosts")  # each case has its own
PARTS = (*COMPARED, "rate", "hosts")  # of a case as typed
DEFAULT = "[{system: sockets}, {system: zeromq}, {system: zeromq, transport: tcp}]"


def plan(
    given: InTurns,
    cases: object = DEFAULT,
) -> Plan:
    """Plan the cases that mappings spell, and nothing else: neither the baseline nor the instrument itself.

    A ``system`` that is a list, or ``all``, stands for a case of each: of all that the case's load generator can load,
    and whose servers start fast. They take turns if all of them can; else each start has a window, which those need
    that cannot.
    """
    absent: dict[str, str] = {}
    chosen = [case(each) for spelled in parameters.as_list(cases) for each in _each(spelled, absent)]
    if not chosen and not absent:
        raise UsageError("cases is an empty list: write [{system: sockets, transport: ipc}]")
    if not all(map(takes_turns, chosen)):
        given = replace(given, slice_ms=0)
    return given.plan("explore", chosen, absent)


def _each(spelled: object, absent: dict[str, str]) -> list[object]:
    """Return the mapping of each system that one mapping names; what cannot be measured here goes into ``absent``."""
    given = parameters.mapping(spelled, "a case")
    named = parameters.as_list(given.get("system"))
    if len(named) == 1 and named != ["all"]:
        return [spelled]
    names = _loadable(str(given.get("engine", "library"))) if named == ["all"] else chosen_systems(named)
    missing = absent_of(names)
    absent |= missing
    return [given | {"system": name} for name in names if name not in missing]


def _loadable(engine: str) -> list[str]:
    """Return the systems that a load generator can load and whose servers start fast, without the laboratory's own."""
    needed = {"library": "Client", "wire": "Wire"}.get(engine, "url")
    offering = [name for name in systems.offering(needed) if name not in MADE_UP]
    return [name for name in offering if systems.constant(name, "START_S", 0.0) <= SLOW_S]


def case(spelled: object) -> Case:
    """Return the case that a mapping spells; with a ``rate`` its load is open, with ``clients`` connections."""
    given = parameters.mapping(spelled, "a case")
    for name in given:
        if name not in PARTS:
            raise unknown("part of a case", name, PARTS)
    clients = client_count(given.get("clients", 1))
    callers = connection_count(given.get("callers", 1))
    paced: dict[str, Any] = {}
    if rate := given.pop("rate", None):
        paced = {"load": "open", "offered_per_s": offered(rate, "rate"), "arrivals": "poisson"}
    there = machines.asked(given.pop("hosts", None))
    is_parallel = bool(paced) or clients * callers > 1 or given.get("outstanding", 1) != 1
    given |= {
        "payload_bytes": payload(given.get("payload_bytes", 1000)),
        "placement": placement_of(given.get("placement"), parallel=is_parallel, hosts=there),
        "clients": clients,
        "callers": callers,
    }
    return case_of(given, "a case", paced | {"hosts": there})
