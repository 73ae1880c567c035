"""Plan of scaleup.ipynb: an HTTP server with 1 to many worker processes behind one port."""

import math
from typing import Any

from bench import systems
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import ENGINES, Case
from bench.plan.plan import Plan
from bench.validation.amount import OnHosts
from bench.validation.cases import connection_count, instrument, one_system, payloads, placement_of

MOST_WORKERS = 256


def plan(
    given: OnHosts,
    system: object = "http_aiohttp",
    workers: object = (1, 2, 4, 8),
    payload_bytes: object = (16, 256, 4096, 65536),
    connections: object = 32,
    engine: object = "wire",
    pin: object = True,
    placement: object = "free",
) -> Plan:
    """Plan bytes of each size for each number of workers; a JSON value and a file for the fewest and the most.

    The clients are one process with many connections. One worker is always measured, as the baseline of the others.
    hosts: see ``bench.plan.hosts``; hosts that are named to load have a client process each, and share the connections.
    """
    name = one_system(system)
    if "resource" not in systems.load(name).Options.__dataclass_fields__:
        raise UsageError(f"{name} serves no resources by workers: give http_aiohttp")
    counts = sorted({1, *parameters.positives(workers, "workers", MOST_WORKERS)})
    keep, there = parameters.flag(pin, "pin"), given.there
    clients = max(1, len(there.get("load", ())))
    shared: dict[str, Any] = {
        "placement": placement_of(placement),
        "clients": clients,
        "callers": math.ceil(connection_count(connections, "connections") / clients),
        "hosts": there,
        "engine": parameters.one_name(engine, "engine", list(ENGINES)),
    }
    sizes = payloads(payload_bytes)
    asked = [("bytes", size, count) for size in sizes for count in counts]
    ends = dict.fromkeys((1, counts[-1]))
    asked += [(resource, sizes[0], count) for resource in ("json", "static") for count in ends]
    cases = [
        Case(name, "tcp", size, {"resource": resource, "workers": count, "pin": keep}, **shared)
        for resource, size, count in asked
    ]
    cases.append(instrument(sizes[0], shared["placement"], there))
    return given.plan("scaleup", cases)
