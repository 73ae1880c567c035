"""Plan of nodelay.ipynb: TCP_NODELAY on either side, and the number of writes per message."""

from typing import Any

from bench import systems
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import Placed
from bench.validation.cases import instrument, payload, payloads

ABLE = ("sockets", "xmlrpc_pstream", "http_stdlib")  # systems with the three options
SIDES = ((True, True), (False, True), (True, False), (False, False))  # TCP_NODELAY of client and of server
CALLS = 60  # at most, of a case without stalls
BARE = {"http_stdlib": {"client": "bare"}}  # http.client always makes two writes
HELD = {"client_nodelay": False, "server_nodelay": False, "writes": 2}


def plan(
    given: Placed,
    system: object = "all",
    payload_bytes: object = 100,
    sizes: object = (100, 40_000, 65_000, 66_000),
) -> Plan:
    """Plan the factorial of client's and server's TCP_NODELAY and one write or two; then raw sockets by payload.

    Windows are short: a few calls show the stall.
    """
    chosen = [name for name in parameters.names(system, "system", ABLE) if systems.load(name)]
    size = payload(payload_bytes)
    where = given.where()
    shared: dict[str, Any] = {"placement": where, "max_calls": CALLS}
    cases = [
        Case(
            name,
            "tcp",
            size,
            {"client_nodelay": client, "server_nodelay": server, "writes": writes, **BARE.get(name, {})},
            **shared,
        )
        for name in chosen
        for writes in (1, 2)
        for client, server in SIDES
    ]
    sweep = [other for other in payloads(sizes, "sizes") if other != size]
    cases += [Case("sockets", "tcp", other, HELD, **shared) for other in sweep]
    cases.append(instrument(size, where))
    return given.plan("nodelay", cases, class_s=0.12)
