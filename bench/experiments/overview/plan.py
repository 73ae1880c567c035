"""What is measured for overview.ipynb: every installed system."""

from typing import Any

from bench import systems
from bench.plan import parameters
from bench.plan.carrying import carries, usual_options
from bench.plan.case import Case
from bench.plan.cases import FLOOR, MADE_UP, absent_of, chosen_systems, instrument, payload, placement_of
from bench.plan.plan import Plan
from bench.plan.profiles import make_plan
from bench.plan.validation import encrypted_transports, encryption

SLOW_S = 1.0


def plan(
    system: object = "all",
    payload_bytes: object = 1000,
    tls: object = False,
    message: object = "bytes",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan every installed system by its shortest way between two processes: one client, and then two.

    A system whose servers take seconds to start is measured if it is named, and left out of ``all``.
    Two clients are compared with one client under the placement of parallel work: one factor at a time.
    With ``tls`` all are encrypted, and systems that cannot encrypt are left out; likewise with a ``message``.
    """
    size = payload(payload_bytes)
    chosen = chosen_systems(system)
    if parameters.literal(system) == "all":
        chosen = [name for name in chosen if systems.constant(name, "START_S", 0.0) <= SLOW_S]
    absent = absent_of(chosen)
    there = [name for name in dict.fromkeys([*chosen, FLOOR]) if name not in absent and name not in MADE_UP]
    one, two = placement_of("default"), placement_of("default", parallel=True)
    encrypted = parameters.flag(tls, "tls")
    kind = str(message)
    ways = {name: _way(name, encrypted) for name in there if carries(name, kind)}
    cases: list[Case] = []
    for name, (by, options) in ((name, way) for name, way in ways.items() if way is not None):
        options = options | usual_options(name, kind)
        cases += [Case(name, by, size, options, where, message=kind) for where in dict.fromkeys((one, two))]
        cases.append(Case(name, by, size, options, two, clients=2, message=kind))
    if any(case.transport == "tcp" for case in cases):
        same_transport = Case(FLOOR, "tcp", size, {"tls": encrypted}, one, message=kind)  # compared over the same one
        cases.append(same_transport)
    cases.append(instrument(size, one))
    return make_plan("overview", cases, profile, starts, window_s, seed, absent)


def _way(name: str, encrypted: bool) -> tuple[str, dict[str, Any]] | None:
    """Return a system's shortest transport between two processes, and its options; None if it cannot encrypt."""
    option = encryption(name) if encrypted else None
    if encrypted and option is None:
        return None
    offered = encrypted_transports(name) if encrypted else systems.constant(name, "TRANSPORTS")
    return "ipc" if "ipc" in offered else "tcp", {option: True} if option else {}
