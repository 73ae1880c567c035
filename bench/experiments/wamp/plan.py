"""What is measured for wamp.ipynb: a router by factor."""

from typing import Any

from bench import systems
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import Placed
from bench.validation.cases import FLOOR, payload


def plan(
    given: Placed,
    transport: object = "all",
    framing: object = "all",
    serializer: object = "all",
    payload_bytes: object = 100,
    fresh_router: object = False,
) -> Plan:
    """Plan the factorial of transport, framing and serializer through a router, and the same echo without one."""
    name = "wamp_crossbar"
    shared: dict[str, Any] = {
        "payload_bytes": payload(payload_bytes),
        "placement": given.where(),
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
    return given.plan("wamp", cases)
