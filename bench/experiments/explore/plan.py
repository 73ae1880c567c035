"""What is measured for explore.ipynb: any cases side by side, under closed or open loads."""

from dataclasses import replace
from typing import Any

from bench.errors import UsageError, unknown
from bench.plan import hosts as machines
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import InTurns
from bench.validation.cases import COMPARED, case_of, client_count, connection_count, offered, payload, placement_of
from bench.validation.profiles import takes_turns

NOT_TAKEN = ("placement", "hosts")  # each case has its own
PARTS = (*COMPARED, "rate", "hosts")  # of a case as typed
DEFAULT = "[{system: sockets}, {system: zeromq}, {system: zeromq, transport: tcp}]"


def plan(
    given: InTurns,
    cases: object = DEFAULT,
) -> Plan:
    """Plan the cases that mappings spell, and nothing else: neither the baseline nor the instrument itself.

    They take turns if all of them can; else each start has a window, which those need that cannot.
    """
    chosen = [case(spelled) for spelled in parameters.as_list(cases)]
    if not chosen:
        raise UsageError("cases is an empty list: write [{system: sockets, transport: ipc}]")
    if not all(map(takes_turns, chosen)):
        given = replace(given, slice_ms=0)
    return given.plan("explore", chosen)


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
