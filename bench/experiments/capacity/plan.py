"""What is measured for capacity.ipynb: one open load, at rates that the search chooses."""

from bench import systems
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import MOST_BYTES, MOST_CLIENTS, MOST_PER_S, Case
from bench.plan.cases import placement_of
from bench.plan.objective import objective as read
from bench.plan.plan import Plan
from bench.plan.profiles import PROFILES, make_plan

PROBES = 20  # before the lower end is confirmed: doublings and bisections, two or three starts each


def plan(
    system: object = "zeromq",
    transport: object = "ipc",
    objective: object = "p95<5ms",
    clients: object = 4,
    payload_bytes: object = 100,
    options: object = None,
    first: object = 200,
    placement: object = "default",
    profile: str = "class",
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan the first probe of a search; the number of starts is how many probes to expect."""
    name = parameters.one_name(system, "system", systems.names())
    by = parameters.one_name(transport, f"transport of {name}", systems.constant(name, "TRANSPORTS"))
    if by == "inproc":
        raise UsageError("an open load needs a server that works while its clients wait: use ipc or tcp")
    read(str(objective))
    case = Case(
        name,
        by,
        int(parameters.positive(payload_bytes, "payload_bytes", MOST_BYTES)),
        parameters.mapping(options, "options"),
        placement_of(placement, parallel=True),
        "open",
        parameters.positive(first, "first", MOST_PER_S, whole=False),
        "poisson",
        int(parameters.positive(clients, "clients", MOST_CLIENTS)),
    )
    probes = PROBES + PROFILES[parameters.one_name(profile, "profile", list(PROFILES))].starts
    return make_plan("capacity", [case], profile, probes, window_s or PROFILES[profile].window_s, seed)
