"""What is measured for compare.ipynb: case A, again, and case B."""

from typing import Any

from bench.plan import hosts as machines
from bench.plan.plan import Plan
from bench.validation.cases import case_of, payload, placement_of
from bench.validation.profiles import make_plan


def plan(
    a: object = "{system: zeromq, transport: ipc}",
    b: object = "{system: zeromq, transport: tcp}",
    payload_bytes: object = 1000,
    placement: object = "default",
    hosts: object = "",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan case A, the same case A again, and case B: the A/A ratio is the noise that B over A is compared with.

    hosts: see ``bench.plan.hosts``; both cases are measured by the same machines.
    """
    there = machines.asked(hosts)
    shared: dict[str, Any] = {
        "payload_bytes": payload(payload_bytes),
        "placement": placement_of(placement, hosts=there),
        "hosts": there,
    }
    one, other = case_of(a, "a", shared), case_of(b, "b", shared)
    return make_plan("compare", [one, one, other], profile, starts, window_s, seed)
