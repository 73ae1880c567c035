"""Plan of capacity.ipynb: one open load, at rates that the search chooses."""

from dataclasses import replace

from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.arrivals import named as arrivals_of
from bench.plan.case import Case
from bench.plan.confirmation import USUAL
from bench.plan.confirmation import rule as by_rule
from bench.plan.objective import objective as read
from bench.plan.plan import Plan
from bench.validation import estimate
from bench.validation.amount import OnHosts
from bench.validation.cases import client_count, offered, one_way, own_engine, payload
from bench.validation.profiles import PROFILES

PROBES = 22  # before the lower end is confirmed: control, doublings and bisections, two or three starts each
NOT_TAKEN = ("starts", "resume", "budget_s", "predictions")  # the search decides


def plan(
    given: OnHosts,
    system: object = "zeromq",
    transport: object = "auto",
    objective: object = "p95<5ms",
    clients: object = 4,
    payload_bytes: object = 100,
    options: object = "",
    first: object = 200,
    rule: object = USUAL,
    engine: object = "library",
    arrivals: object = "poisson",
    callers: object = 1,
) -> Plan:
    """Plan the first probe of a search; the number of starts is how many probes to expect.

    rule: ``usual`` confirms the lower end by most of the profile's starts, ``mlperf`` by five that all meet the
    objective, with as many requests as MLPerf asks for: see ``bench.plan.confirmation``. arrivals: with ``recorded``
    each probe replays a whole recording, faster or slower, once or more; callers: the requests that each client process
    of an asynchronous library, or of the engine wire, has under way at most, a connection each.

    hosts: see ``bench.plan.hosts``; the clients that share the schedule are then on the hosts that load.
    """
    name, by = one_way(system, transport, given.there)
    if by == "inproc":
        raise UsageError("an open load needs a server that works while its clients wait: use ipc or tcp")
    profile = PROFILES[parameters.one_name(given.profile, "profile", list(PROFILES))]
    confirming = by_rule(rule, profile.starts, read(objective).p)
    there = given.there
    case = Case(
        name,
        by,
        payload(payload_bytes),
        parameters.mapping(options, "options"),
        given.where(is_parallel=True),
        "open",
        offered(first, "first"),
        arrivals_of(arrivals),
        client_count(clients),
        client_count(callers, "callers"),
        engine=own_engine(engine),
        hosts=there,
    )
    window_s = given.window_s or profile.window_s
    planned = replace(given, starts=PROBES + confirming.starts, window_s=window_s).plan("capacity", [case])
    return replace(planned, window_s=estimate.whole_replays_s(case, planned.window_s))
