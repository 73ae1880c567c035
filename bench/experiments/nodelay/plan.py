"""Plan of nodelay.ipynb: TCP_NODELAY on either side, and the number of writes per message."""

from typing import Any

from bench import systems
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.cases import instrument, payload, payloads, placement_of
from bench.validation.profiles import make_plan

ABLE = ("sockets", "xmlrpc_pstream", "http_stdlib")  # systems with the three options
SIDES = ((True, True), (False, True), (True, False), (False, False))  # TCP_NODELAY of client and of server
CALLS = 60  # at most, of a case without stalls
HELD = {"client_nodelay": False, "server_nodelay": False, "writes": 2}


def plan(
    system: object = "all",
    payload_bytes: object = 100,
    sizes: object = (100, 40_000, 65_000, 66_000),
    placement: object = "default",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan the factorial of client's and server's TCP_NODELAY and one write or two; then raw sockets by payload.

    Windows are short: a few calls show the stall.
    """
    chosen = [name for name in parameters.names(system, "system", ABLE) if systems.load(name)]
    size = payload(payload_bytes)
    where = placement_of(placement)
    shared: dict[str, Any] = {"placement": where, "max_calls": CALLS}
    cases = [
        Case(name, "tcp", size, {"client_nodelay": client, "server_nodelay": server, "writes": writes}, **shared)
        for name in chosen
        for writes in (1, 2)
        for client, server in SIDES
    ]
    sweep = [one for one in payloads(sizes, "sizes") if one != size]
    cases += [Case("sockets", "tcp", one, HELD, **shared) for one in sweep]
    cases.append(instrument(size, where))
    window = 0.12 if window_s is None and profile == "class" else window_s
    return make_plan("nodelay", cases, profile, starts, window, seed)
