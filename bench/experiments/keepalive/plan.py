"""Plan of keepalive.ipynb: systems that can keep their connection or make one for each call, both ways."""

from typing import Any

from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.cases import absent_of, instrument, payload, placement_of, transports
from bench.validation.profiles import make_plan

WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # options that keep the connection, and that do not
    "xmlrpc_stdlib": ({"http": "1.1"}, {"http": "1.0"}),
    "http_aiohttp": ({"keep_alive": True}, {"keep_alive": False}),
}

WINDOW_S = 0.5  # of the profile class: with all starts of all processes, less than a minute


def plan(
    system: object = "all",
    transport: object = "all",
    payload_bytes: object = 100,
    placement: object = "default",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan each system over each of its transports, with a reused connection and with a new one for each call."""
    chosen = parameters.names(system, "system", list(WAYS))
    absent = absent_of(chosen)
    size, where = payload(payload_bytes), placement_of(placement)
    cases = [
        Case(name, by, size, dict(options), where)
        for name in chosen
        if name not in absent
        for by in transports(name, transport, None)
        for options in WAYS[name]
    ]
    cases.append(instrument(size, where))
    window = WINDOW_S if window_s is None and profile == "class" else window_s
    return make_plan("keepalive", cases, profile, starts, window, seed, absent)
