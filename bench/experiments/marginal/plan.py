"""Plan of marginal.ipynb: whole client processes that make few calls and many."""

from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import MOST_CALLS, Case
from bench.plan.plan import Plan
from bench.validation.amount import Placed
from bench.validation.cases import absent_of, chosen_systems, payloads, transports

VARIANTS = {"xmlrpc_c": ({"protocol": "http"}, {"protocol": "pstream"})}  # both of the origin

NOT_TAKEN = ("window_s",)  # whole client processes are measured


def plan(
    given: Placed,
    system: object = ("xmlrpc_stdlib", "xmlrpc_pstream", "xmlrpc_c", "sockets"),
    transport: object = "tcp",
    calls: object = (1, 100, 300, 1000),
    payload_bytes: object = (100, 10_000),
) -> Plan:
    """Plan client processes with each number of calls of the smallest payload, in an order that the seed fixes.

    Larger payloads are sent by all numbers of calls but the fewest and the most. The whole set is one start of a case.
    """
    counts = parameters.positives(calls, "calls", MOST_CALLS)
    if len(set(counts)) < 2:
        raise UsageError("calls needs two numbers or more, such as [1, 100]: the cost of one more call is a difference")
    counts, sizes = sorted(set(counts)), sorted(set(payloads(payload_bytes)))
    sessions = [(count, sizes[0]) for count in counts]
    sessions += [(count, size) for size in sizes[1:] for count in counts[1:-1] or counts[-1:]]
    given.chance().shuffle(sessions)
    chosen = chosen_systems(system)
    absent = absent_of(chosen)
    where = given.where()
    cases = [
        Case(name, by, sizes[0], dict(options), where, "session", sessions=tuple(sessions))
        for name in chosen
        if name not in absent
        for by in transports(name, transport, "")
        for options in VARIANTS.get(name, ({},))
    ]
    return given.plan("marginal", cases, absent)
