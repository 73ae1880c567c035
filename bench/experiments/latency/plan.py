"""What is measured for latency.ipynb: sequential round trips."""

from dataclasses import replace
from typing import Any

from bench import systems
from bench.errors import UsageError
from bench.plan import hosts as machines
from bench.plan import parameters
from bench.plan.case import ENGINES, Case
from bench.plan.plan import Plan
from bench.validation.cases import (
    FLOOR,
    INSTRUMENT,
    chosen_systems,
    instrument,
    payloads,
    placement_of,
    subjects,
    transports_of,
)
from bench.validation.profiles import make_plan

CLASS_S = 0.4  # thousands of calls in each start; the first figure is there within a minute


def plan(
    system: object = "zeromq",
    transport: object = "all",
    payload_bytes: object = 1000,
    options: object = None,
    placement: object = "default",
    target: object = "",
    engine: object = "library",
    hosts: object = "",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan sequential round trips of one or more systems, of raw sockets, and of the instrument itself.

    hosts: see ``bench.plan.hosts``; then all clients and the server are on these machines.
    """
    sizes = payloads(payload_bytes)
    chosen = chosen_systems(system)
    if chosen == [INSTRUMENT]:
        raise UsageError(f"{INSTRUMENT} goes along with every system: name another ({', '.join(systems.names())})")
    chosen = [name for name in chosen if name != INSTRUMENT]
    there = machines.asked(hosts)
    where = placement_of(placement, hosts=there)
    shared: dict[str, Any] = {"placement": where, "hosts": there}
    made_by = {"engine": parameters.one_name(engine, "engine", list(ENGINES))}
    cases = subjects(chosen, transport, target, options, sizes, shared | made_by)
    if not target:
        floors = [(t, size) for t in transports_of(cases, FLOOR) for size in sizes]
        cases += [Case(FLOOR, t, size, **shared) for t, size in floors if FLOOR not in chosen]
    cases.append(instrument(sizes[0], where, there))
    plan = make_plan("latency", cases, profile, starts, window_s, seed)
    if window_s is None and plan.profile == "class":
        plan = replace(plan, window_s=min(plan.window_s, CLASS_S))
    return plan
