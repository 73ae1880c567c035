"""What is measured for clients.ipynb: more and more clients."""

from typing import Any

from bench.errors import UsageError
from bench.plan import hosts as machines
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.cases import client_counts, one_way, payload, placement_of
from bench.validation.profiles import make_plan

BURST = 100  # calls in the loop of the class lab


def plan(
    system: object = "grpc_sync",
    transport: object = "tcp",
    payload_bytes: object = 100,
    clients: object = (1, 2, 4, 8, 16),
    options: object = None,
    engine: object = "library",
    placement: object = "default",
    hosts: object = "",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan the class lab (100 calls by one client, and by two), and then calls by more and more client processes.

    One client is always measured: the prediction is made from it. hosts: see ``bench.plan.hosts``; clients are shared
    out among the hosts that load.
    """
    name, by = one_way(system, transport)
    if by == "inproc":
        raise UsageError("inproc lives in one process, so clients cannot be added: use ipc or tcp")
    there = machines.asked(hosts)
    shared: dict[str, Any] = {
        "hosts": there,
        "payload_bytes": payload(payload_bytes),
        "options": parameters.mapping(options, "options"),
        "placement": placement_of(placement, parallel=True, hosts=there),
        "engine": parameters.one_name(engine, "engine", ["library", "wire"]),
    }
    counts = sorted({1, *client_counts(clients)})
    cases = [Case(name, by, clients=n, max_calls=BURST * (n + ("latency" in there)), **shared) for n in (1, 2)]
    cases += [Case(name, by, clients=n, **shared) for n in counts]
    return make_plan("clients", cases, profile, starts, window_s, seed)
