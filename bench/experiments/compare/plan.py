"""What is measured for compare.ipynb: case A, again, and case B."""

from typing import Any

from bench.plan.plan import Plan
from bench.validation.amount import InTurns
from bench.validation.cases import case_of, payload


def plan(
    given: InTurns,
    a: object = "{system: zeromq, transport: ipc}",
    b: object = "{system: zeromq, transport: tcp}",
    payload_bytes: object = 1000,
) -> Plan:
    """Plan case A, the same case A again, and case B: the A/A ratio is the noise that B over A is compared with.

    hosts: see ``bench.plan.hosts``; both cases are measured by the same machines.
    """
    there = given.there
    shared: dict[str, Any] = {
        "payload_bytes": payload(payload_bytes),
        "placement": given.where(),
        "hosts": there,
    }
    case_a, case_b = case_of(a, "a", shared), case_of(b, "b", shared)
    return given.plan("compare", [case_a, case_a, case_b])
