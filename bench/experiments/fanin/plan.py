"""What is measured for fanin.ipynb: more and more clients of one server, directly and through each broker."""

from typing import Any

from bench import systems
from bench.errors import unknown
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import Placed
from bench.validation.cases import (
    absent_of,
    chosen_systems,
    client_count,
    client_counts,
    instrument,
    one_transport,
    payload,
)


def plan(
    given: Placed,
    system: object = ("sockets", "wamp_crossbar", "zenoh", "redis", "nats", "rabbitmq", "mqtt"),
    clients: object = (1, 8, 64),
    processes: object = 2,
    payload_bytes: object = 100,
    transport: object = "tcp",
    options: object = "",
) -> Plan:
    """Plan closed loops of each number of clients to one server of each system.

    A client is a caller with a connection of its own; they are spread evenly over client processes, of which there are
    ``processes`` at most. options: for each system a mapping of its options; one whose router is optional has it,
    unless its options say otherwise.
    """
    chosen, counts, most = chosen_systems(system), client_counts(clients), client_count(processes, "processes")
    options_by_system = parameters.mapping(options, "options")
    if foreign := [name for name in options_by_system if name not in chosen]:
        raise unknown("system of options", foreign[0], chosen)
    absent = absent_of(chosen)
    shared: dict[str, Any] = {
        "payload_bytes": payload(payload_bytes),
        "placement": given.where(is_parallel=True),
    }
    cases = [
        Case(
            name,
            one_transport(name, transport),
            options=_through_router(name) | parameters.mapping(options_by_system.get(name), f"options of {name}"),
            clients=parts(count, most),
            callers=count // parts(count, most),
            **shared,
        )
        for name in chosen
        if name not in absent
        for count in sorted(counts)
    ]
    cases.append(instrument(shared["payload_bytes"], shared["placement"]))
    return given.plan("fanin", cases, absent)


def _through_router(system: str) -> dict[str, Any]:
    """Return the option that sends a system's calls through its router, where that is a choice."""
    option = systems.constant(system, "ROUTER_OPTION", None)
    return {option: True} if option else {}


def parts(count: int, most: int) -> int:
    """Return the largest number of processes, up to ``most``, over which clients can be spread evenly."""
    return next(number for number in range(min(count, most), 0, -1) if count % number == 0)
