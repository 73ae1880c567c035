"""Cases that mappings spell: one, or one for each system that a mapping names."""

from typing import Any

from bench import systems
from bench.errors import unknown
from bench.measurement.validation.cases import (
    COMPARED,
    SELF_TEST_SYSTEMS,
    SLOW_S,
    absent_of,
    case_of,
    chosen_systems,
    placement_of,
)
from bench.plan import hosts as machines
from bench.plan import parameters
from bench.plan.case import MOST_BYTES, MOST_CLIENTS, MOST_CONNECTIONS, MOST_PER_S, Case

PARTS = (*COMPARED, "rate", "hosts")  # of a case as typed


def of_each_system(spelled: object, absent: dict[str, str]) -> list[object]:
    """Return the mapping of each system that one mapping names; what cannot be measured here goes into ``absent``."""
    parts = parameters.mapping(spelled, "a case")
    named = parameters.as_list(parts.get("system"))
    if len(named) == 1 and named != ["all"]:
        return [spelled]
    names = _loadable(str(parts.get("engine", "library"))) if named == ["all"] else chosen_systems(named)
    missing = absent_of(names)
    absent |= missing
    return [parts | {"system": name} for name in names if name not in missing]


def _loadable(engine: str) -> list[str]:
    """Return the systems that a load generator can load and whose servers start fast, without the laboratory's own."""
    needed = {"library": "Client", "wire": "Wire"}.get(engine, "url")
    offering = [name for name in systems.offering(needed) if name not in SELF_TEST_SYSTEMS]
    return [name for name in offering if systems.constant(name, "START_S", 0.0) <= SLOW_S]


def case(spelled: object) -> Case:
    """Return the case that a mapping spells; with a ``rate`` its load is open, with ``clients`` connections."""
    parts = parameters.mapping(spelled, "a case")
    for name in parts:
        if name not in PARTS:
            raise unknown("part of a case", name, PARTS)
    clients = parameters.count(parts.get("clients", 1), "clients", MOST_CLIENTS)
    callers = parameters.count(parts.get("callers", 1), "callers", MOST_CONNECTIONS)
    paced: dict[str, Any] = {}
    if (rate := parts.pop("rate", None)) is not None:
        offered = parameters.positive(rate, "rate", MOST_PER_S, whole=False)
        paced = {"load": "open", "offered_per_s": offered, "arrivals": "poisson"}
    there = machines.asked(parts.pop("hosts", None))
    is_parallel = bool(paced) or clients * callers > 1 or parts.get("outstanding", 1) != 1
    parts |= {
        "payload_bytes": parameters.count(parts.get("payload_bytes", 1000), "payload_bytes", MOST_BYTES),
        "placement": placement_of(parts.get("placement"), parallel=is_parallel, hosts=there),
        "clients": clients,
        "callers": callers,
    }
    return case_of(parts, "a case", paced | {"hosts": there})
