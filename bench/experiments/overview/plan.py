"""What is measured for overview.ipynb: every installed system."""

from bench import systems
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.cases import FLOOR, MADE_UP, absent_of, chosen_systems, instrument, payload, placement_of
from bench.plan.plan import Plan
from bench.plan.profiles import make_plan

SLOW_S = 1.0


def plan(
    system: object = "all",
    payload_bytes: object = 1000,
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan every installed system by its shortest way between two processes: one client, and then two.

    A system whose servers take seconds to start is measured if it is named, and left out of ``all``.
    Two clients are compared with one client under the placement of parallel work: one factor at a time.
    """
    size = payload(payload_bytes)
    chosen = chosen_systems(system)
    if parameters.literal(system) == "all":
        chosen = [name for name in chosen if systems.constant(name, "START_S", 0.0) <= SLOW_S]
    absent = absent_of(chosen)
    there = [name for name in dict.fromkeys([*chosen, FLOOR]) if name not in absent and name not in MADE_UP]
    one, two = placement_of("default"), placement_of("default", parallel=True)
    cases: list[Case] = []
    for name in there:
        by = "ipc" if "ipc" in systems.constant(name, "TRANSPORTS") else "tcp"
        cases += [Case(name, by, size, placement=where) for where in dict.fromkeys((one, two))]
        cases.append(Case(name, by, size, placement=two, clients=2))
    if any(case.transport == "tcp" for case in cases):
        cases.append(Case(FLOOR, "tcp", size, placement=one))  # systems are compared over the same transport
    cases.append(instrument(size, one))
    return make_plan("overview", cases, profile, starts, window_s, seed, absent)
