"""What is measured for openload.ipynb: offered rates, and a freeze."""

from typing import Any

from bench.plan import parameters
from bench.plan.case import ARRIVALS, Case
from bench.plan.cases import client_count, offered, offered_rates, one_way, payload, placement_of
from bench.plan.plan import Plan
from bench.plan.profiles import make_plan


def plan(
    system: object = "oracle",
    transport: object = "ipc",
    payload_bytes: object = 100,
    rates: object = (100, 300, 500, 700, 850, 950, 1100),
    arrivals: object = "poisson",
    clients: object = 8,
    options: object = "{law: exponential, mean_us: 1000}",
    freeze_rate: object = 500,
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan one closed loop, the same system under offered rates, and a server that freezes once under both loads."""
    name, by = one_way(system, transport)
    shared: dict[str, Any] = {
        "payload_bytes": payload(payload_bytes),
        "placement": placement_of("default", parallel=True),
    }
    given = parameters.mapping(options, "options")
    paced: dict[str, Any] = {
        "load": "open",
        "clients": client_count(clients),
        "arrivals": parameters.one_name(arrivals, "arrivals", ARRIVALS),
    }
    paces = offered_rates(rates)
    cases = [Case(name, by, options=given, **shared)]
    cases += [Case(name, by, options=given, offered_per_s=rate, **paced, **shared) for rate in paces]
    freeze = {"law": "constant", "mean_us": 1000, "freeze_after": 150, "freeze_ms": 200}
    rate = offered(freeze_rate, "freeze_rate")
    cases.append(Case("oracle", "ipc", options=freeze, **shared))
    cases.append(
        Case("oracle", "ipc", options=freeze, offered_per_s=rate, **(paced | {"arrivals": "uniform"}), **shared)
    )
    return make_plan("openload", cases, profile, starts, window_s, seed)
