"""Plan of tls.ipynb: the same connections with and without encryption, and with resumed sessions."""

from typing import Any

from bench import systems
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import Placed
from bench.validation.cases import absent_of, chosen_systems, payloads
from bench.validation.support import encrypted_transports, encrypting, encryption

MOST_CONNECTIONS = 1000
MOST_CALLS = 100_000
REPEATS = 2  # connections for each payload

NOT_TAKEN = ("window_s",)  # whole connections are measured


def plan(
    given: Placed,
    system: object = ("sockets", "http_stdlib", "grpc_sync", "zeromq"),
    transport: object = "tcp",
    payload_bytes: object = (100, 16_000, 64_000, 256_000),
    connections: object = 20,
    calls: object = 40,
) -> Plan:
    """Plan connections of one call each, and of many calls of each payload, in an order that the seed fixes.

    Each system does it without encryption, with it, and with resumed sessions where it can.
    """
    sizes = sorted(payloads(payload_bytes))
    if len(sizes) < 2:
        raise UsageError("payload_bytes needs two numbers or more: the cost of a byte is a slope, such as [100, 64000]")
    single = parameters.count(connections, "connections", MOST_CONNECTIONS)
    many = parameters.count(calls, "calls", MOST_CALLS)
    planned = [(1, sizes[0])] * single + [(many + 1, size) for size in sizes] * REPEATS
    given.chance().shuffle(planned)
    chosen = encrypting() if parameters.literal(system) == "all" else chosen_systems(system)
    absent = absent_of(chosen)
    where, options = given.where(), {name: variants(name) for name in chosen if name not in absent}
    shared: dict[str, Any] = {"placement": where, "load": "reconnect", "sessions": tuple(planned)}
    cases = [
        Case(name, by, sizes[0], variant, **shared)
        for name in options
        for by in parameters.names(transport, f"encrypted transport of {name}", encrypted_transports(name))
        for variant in options[name]
    ]
    return given.plan("tls", cases, absent)


def variants(name: str) -> list[dict[str, Any]]:
    """Return the options of a system without encryption, with it, and with resumed sessions where it has them."""
    option = encryption(name)
    if option is None:
        raise UsageError(f"{name} does not encrypt: there are {', '.join(encrypting())}")
    has_sessions = hasattr(systems.load(name).Options, "tls_session")
    resumed = [{option: True, "tls_session": "resumed"}] if has_sessions else []
    return [{option: False}, {option: True}, *resumed]
