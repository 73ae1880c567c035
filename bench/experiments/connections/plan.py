"""What is measured for connections.ipynb: new connections, calls under way on one, a large call beside small ones."""

from dataclasses import replace
from typing import Any

from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import MOST_BYTES, Case
from bench.plan.plan import Plan
from bench.validation.amount import Placed
from bench.validation.cases import absent_of, chosen_systems, client_count, instrument, one_transport, payload
from bench.validation.connection_use import calls_per_connection as renewals
from bench.validation.connection_use import depths

ONE_CONNECTION = {"http_aiohttp": {"pool": 1}}  # options with which calls share a connection, where others do not


def plan(
    given: Placed,
    churn: object = ("sockets", "zeromq", "grpc_sync", "http_aiohttp"),
    calls_per_connection: object = (1, 10, 100, 0),
    depth: object = ("sockets", "zeromq", "grpc_sync", "grpc_aio"),
    outstanding: object = (1, 4, 16, 64),
    connections: object = 1,
    head_of_line: object = ("zeromq", "grpc_aio", "http_aiohttp"),
    large_bytes: object = 1_000_000,
    payload_bytes: object = 100,
    p99_bytes: object = 0,
    transport: object = "tcp",
) -> Plan:
    """Plan three groups of cases, each for the systems named; an empty list leaves a group out.

    churn: connections renewed after so many calls. depth: so many calls under way on each connection. head_of_line: the
    small call alone, beside a large one on the same connection, and beside one on a connection of its own.
    """
    groups = [_some(churn), _some(depth), _some(head_of_line)]
    absent = absent_of(list(dict.fromkeys(name for group in groups for name in group)))
    renewed, deep, blocked = ([name for name in group if name not in absent] for group in groups)
    shared: dict[str, Any] = {
        "payload_bytes": payload(payload_bytes),
        "placement": given.where(is_parallel=True),
    }
    spread = parameters.count(p99_bytes, "p99_bytes", MOST_BYTES, least=0)
    usual = [
        Case(name, one_transport(name, transport), calls_per_connection=calls, p99_bytes=spread, **shared)
        for name in renewed
        for calls in renewals(calls_per_connection)
    ]
    many = client_count(connections, "connections")
    usual += [
        Case(name, one_transport(name, transport), callers=many, outstanding=under_way, p99_bytes=spread, **shared)
        for name in deep
        for under_way in depths(outstanding)
    ]
    usual += [
        case for name in blocked for case in _beside(name, transport, payload(large_bytes, "large_bytes"), shared)
    ]
    cases = [case for place, case in enumerate(usual) if case not in usual[:place]]
    if not cases:
        raise UsageError("nothing to measure: name a system in churn, depth or head_of_line")
    cases.append(instrument(shared["payload_bytes"], shared["placement"]))
    return given.plan("connections", cases, absent)


def _some(systems: object) -> list[str]:
    """Return the systems asked for, each once; an empty list names none."""
    return chosen_systems(systems) if parameters.as_list(systems) else []


def _beside(name: str, transport: object, large: int, shared: dict[str, Any]) -> list[Case]:
    """Return a small call alone, beside a large one on the same connection, and beside one on its own connection."""
    alone = Case(name, one_transport(name, transport), **shared)
    same = replace(alone, options=ONE_CONNECTION.get(name, {}), outstanding=2, large_bytes=large)
    return [alone, same, replace(alone, callers=2, large_bytes=large)]
