"""What is measured for wamp.ipynb: a router by factor."""

from typing import Any

from bench import systems
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.cases import FLOOR, payload, placement_of
from bench.validation.profiles import make_plan


def plan(
    transport: object = "all",
    framing: object = "all",
    serializer: object = "all",
    payload_bytes: object = 100,
    fresh_router: object = False,
    placement: object = "default",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan the factorial of transport, framing and serializer through a router, and the same echo without one."""
    name = "wamp_crossbar"
    shared: dict[str, Any] = {
        "payload_bytes": payload(payload_bytes),
        "placement": placement_of(placement),
    }
    ways = parameters.names(transport, "transport", systems.constant(name, "TRANSPORTS"))
    framings = parameters.names(framing, "framing", ("rawsocket", "websocket"))
    serializers = parameters.names(serializer, "serializer", ("msgpack", "cbor", "json"))
    fresh = parameters.flag(fresh_router, "fresh_router")
    cases = [
        Case(name, by, options={"framing": frame, "serializer": text}, fresh_router=fresh, **shared)
        for by in ways
        for frame in framings
        for text in serializers
    ]
    cases += [Case(other, by, **shared) for other in (FLOOR, "zeromq") for by in ways]
    return make_plan("wamp", cases, profile, starts, window_s, seed)
