"""What is measured for clients.ipynb: more and more clients."""

from typing import Any

from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import OnHosts
from bench.validation.cases import client_counts, one_way, own_engine, payload

BURST = 100  # calls in the loop of the greeter exercise


def plan(
    given: OnHosts,
    system: object = "grpc_sync",
    transport: object = "tcp",
    payload_bytes: object = 100,
    clients: object = (1, 2, 4, 8, 16),
    options: object = "",
    engine: object = "library",
) -> Plan:
    """Plan the greeter exercise (100 calls by one client, and by two), then calls by more and more client processes.

    One client is always measured: the prediction is made from it. hosts: see ``bench.plan.hosts``; clients are shared
    out among the hosts that load.
    """
    name, by = one_way(system, transport)
    if by == "inproc":
        raise UsageError("inproc lives in one process, so clients cannot be added: use ipc or tcp")
    there = given.there
    shared: dict[str, Any] = {
        "hosts": there,
        "payload_bytes": payload(payload_bytes),
        "options": parameters.mapping(options, "options"),
        "placement": given.where(is_parallel=True),
        "engine": own_engine(engine),
    }
    counts = sorted({1, *client_counts(clients)})
    cases = [
        Case(name, by, clients=count, max_calls=BURST * (count + ("latency" in there)), **shared) for count in (1, 2)
    ]
    cases += [Case(name, by, clients=count, **shared) for count in counts]
    return given.plan("clients", cases)
