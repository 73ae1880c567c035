"""What is measured for scaleup.ipynb: an HTTP server with more and more worker processes behind one port."""

from typing import Any

from bench import systems
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import ENGINES, MOST_BYTES, MOST_CLIENTS, Case
from bench.plan.cases import INSTRUMENT, placement_of
from bench.plan.plan import Plan
from bench.plan.profiles import make_plan

MOST_WORKERS = 256


def plan(
    system: object = "http_aiohttp",
    workers: object = (1, 2, 4, 8),
    payload_bytes: object = (16, 256, 4096, 65536),
    connections: object = 32,
    engine: object = "wire",
    pin: object = True,
    placement: object = "free",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan bytes of each size for each number of workers; a JSON value and a file for the fewest and the most.

    The clients are one process with many connections. One worker is always measured: what more bring is told by it.
    """
    name = parameters.one_name(system, "system", systems.names())
    if "resource" not in systems.load(name).Options.__dataclass_fields__:
        raise UsageError(f"{name} serves no resources by workers: give http_aiohttp")
    counts = sorted({1, *parameters.positives(workers, "workers", MOST_WORKERS)})
    keep = parameters.flag(pin, "pin")
    shared: dict[str, Any] = {
        "placement": placement_of(placement),
        "callers": int(parameters.positive(connections, "connections", MOST_CLIENTS)),
        "engine": parameters.one_name(engine, "engine", list(ENGINES)),
    }
    sizes = parameters.positives(payload_bytes, "payload_bytes", MOST_BYTES)
    asked = [("bytes", size, count) for size in sizes for count in counts]
    ends = dict.fromkeys((1, counts[-1]))
    asked += [(resource, sizes[0], count) for resource in ("json", "static") for count in ends]
    cases = [
        Case(name, "tcp", size, {"resource": resource, "workers": count, "pin": keep}, **shared)
        for resource, size, count in asked
    ]
    cases.append(Case(INSTRUMENT, "inproc", sizes[0], placement=shared["placement"], max_calls=20_000))
    return make_plan("scaleup", cases, profile, starts, window_s, seed)
