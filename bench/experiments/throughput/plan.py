"""What is measured for throughput.ipynb: one-way streams and parallel clients."""

from typing import Any

from bench import systems
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import OnHosts
from bench.validation.cases import client_counts, one_system, payload, payloads, transports


def plan(
    given: OnHosts,
    system: object = "zeromq",
    transport: object = "all",
    payload_bytes: object = (100, 1000, 10_000, 100_000),
    call_bytes: object = 1000,
    clients: object = (1, 2, 4, 8),
    options: object = "",
    target: object = "",
) -> Plan:
    """Plan one-way streams over payload sizes, and calls by parallel client processes.

    A target gets the calls only: what a stream's receiver took in cannot be seen from here. So does a server on another
    host (``bench.plan.hosts``): streams are of one machine.
    """
    name = one_system(system)
    there = given.there
    where = given.where(is_parallel=True)
    system_options = parameters.mapping(options, "options")
    cases: list[Case] = []
    for by in transports(name, transport, target, there):
        if not target and not there and hasattr(systems.load(name), "Receiver"):
            sizes = payloads(payload_bytes)
            cases += [Case(name, by, size, system_options, where, "stream") for size in sizes]
        if by != "inproc":
            size = payload(call_bytes, "call_bytes")
            callers = client_counts(clients)
            to: dict[str, Any] = {"target": target or None, "hosts": there}
            cases += [Case(name, by, size, system_options, where, clients=count, **to) for count in callers]
    if not cases:
        raise UsageError(f"nothing to measure: {name} over {transport} has neither streams nor parallel clients")
    return given.plan("throughput", cases)
