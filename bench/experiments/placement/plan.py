"""What is measured for placement.ipynb: the same round trip under each placement."""

from typing import Any

from bench.errors import UsageError
from bench.plan import placement
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import InTurns
from bench.validation.cases import FLOOR, chosen_systems, payload, transports

NOT_TAKEN = ("placement", "hosts")  # all placements of this machine


def plan(
    given: InTurns,
    system: object = "zeromq",
    transport: object = "[ipc, tcp]",
    payload_bytes: object = 1000,
) -> Plan:
    """Plan the same round trips, of a system and of raw sockets, under each placement."""
    if reason := placement.why_not():
        raise UsageError(f"placements cannot be compared: {reason}; draw the reference run: -p source reference")
    size = payload(payload_bytes)
    chosen = list(dict.fromkeys([*chosen_systems(system), FLOOR]))
    cases = [
        Case(name, by, size, placement=where)
        for name in chosen
        for by in transports(name, transport, "")
        for where in placement.PLACEMENTS
    ]
    return given.plan("placement", cases, alike=("system", "transport"))


def why_not(**asked: Any) -> str | None:
    """Return why this machine cannot compare placements, None if it can."""
    return placement.why_not()
