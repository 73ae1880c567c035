"""What is measured for latency.ipynb: sequential round trips."""

from typing import Any

from bench import systems
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import ENGINES, Case
from bench.plan.plan import Plan
from bench.validation.amount import InTurns
from bench.validation.cases import FLOOR, INSTRUMENT, chosen_systems, instrument, payloads, transports

CLASS_S = 0.4  # thousands of calls in each start
BLOCKS_S = 24  # how long all blocks take: the first figure is there within a minute


def plan(
    given: InTurns,
    system: object = "zeromq",
    transport: object = "all",
    payload_bytes: object = 1000,
    options: object = "",
    target: object = "",
    engine: object = "library",
) -> Plan:
    """Plan sequential round trips of one or more systems, of raw sockets, and of the instrument itself.

    Users' services alone are measured without raw sockets, whose echo does none of their work.
    hosts: see ``bench.plan.hosts``; then all clients and the server are on these machines.
    """
    sizes = payloads(payload_bytes)
    chosen = chosen_systems(system)
    if chosen == [INSTRUMENT]:
        raise UsageError(f"{INSTRUMENT} goes along with every system: name another ({', '.join(systems.names())})")
    chosen = [name for name in chosen if name != INSTRUMENT]
    shared: dict[str, Any] = {"placement": given.where(), "hosts": given.there}
    asked: dict[str, Any] = {
        "options": parameters.mapping(options, "options"),
        "target": target or None,
        "engine": parameters.one_name(engine, "engine", list(ENGINES)),
    }
    ways = [(name, by) for name in chosen for by in transports(name, transport, target, given.there)]
    cases = [Case(name, by, size, **shared, **asked) for name, by in ways for size in sizes]
    if not target and FLOOR not in chosen and not all(map(systems.service_of, chosen)):
        also = [by for by in dict.fromkeys(by for _, by in ways) if by in systems.constant(FLOOR, "TRANSPORTS")]
        cases += [Case(FLOOR, by, size, **shared) for by in also for size in sizes]
    cases.append(instrument(sizes[0], given.where(), given.there))
    return given.plan("latency", cases, class_s=CLASS_S, blocks_s=BLOCKS_S)
