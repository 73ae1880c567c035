"""Plan of capacity.ipynb: one open load, at rates that the search chooses."""

from bench.errors import UsageError
from bench.plan import hosts as machines
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.objective import objective as read
from bench.plan.plan import Plan
from bench.validation.cases import client_count, offered, one_way, payload, placement_of
from bench.validation.profiles import PROFILES, make_plan

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
    hosts: object = "",
    profile: str = "class",
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan the first probe of a search; the number of starts is how many probes to expect.

    hosts: see ``bench.plan.hosts``; the clients that share the schedule are then on the hosts that load.
    """
    name, by = one_way(system, transport)
    if by == "inproc":
        raise UsageError("an open load needs a server that works while its clients wait: use ipc or tcp")
    read(str(objective))
    there = machines.asked(hosts)
    case = Case(
        name,
        by,
        payload(payload_bytes),
        parameters.mapping(options, "options"),
        placement_of(placement, parallel=True, hosts=there),
        "open",
        offered(first, "first"),
        "poisson",
        client_count(clients),
        hosts=there,
    )
    probes = PROBES + PROFILES[parameters.one_name(profile, "profile", list(PROFILES))].starts
    return make_plan("capacity", [case], profile, probes, window_s or PROFILES[profile].window_s, seed)
