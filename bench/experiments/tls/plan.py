"""Plan of tls.ipynb: the same connections and calls with and without encryption, and with resumed sessions."""

from typing import Any

from bench import systems
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import InTurns
from bench.validation.cases import absent_of, chosen_systems, payloads
from bench.validation.support import encrypted_transports, encrypting, encryption

MOST_CONNECTIONS = 1000
ENCRYPTED = 2  # variants: without encryption and with it; sessions are resumed by new connections only
BLOCKS_S = 90.0  # about a dozen blocks

NOT_TAKEN = ("hosts",)


def plan(
    given: InTurns,
    system: object = ("sockets", "http_stdlib", "grpc_sync", "zeromq"),
    transport: object = "tcp",
    payload_bytes: object = (100, 16_000, 64_000, 256_000),
    connections: object = 20,
) -> Plan:
    """Plan connections of one call each, and calls of each payload on a connection that is kept.

    Each system does both without encryption and with it, and connects with resumed sessions where it can. Whole
    connections take no turns: they have starts of their own.
    """
    sizes = sorted(payloads(payload_bytes))
    if len(sizes) < 2:
        raise UsageError("payload_bytes needs two numbers or more: the cost of a byte is a slope, such as [100, 64000]")
    single = parameters.count(connections, "connections", MOST_CONNECTIONS)
    chosen = encrypting() if parameters.literal(system) == "all" else chosen_systems(system)
    absent = absent_of(chosen)
    where, options = given.where(), {name: variants(name) for name in chosen if name not in absent}
    whole: dict[str, Any] = {"load": "reconnect", "sessions": ((1, sizes[0]),) * single}
    ways = [
        (name, by)
        for name in options
        for by in parameters.names(transport, f"encrypted transport of {name}", encrypted_transports(name))
    ]
    cases = [Case(*way, sizes[0], variant, where, **whole) for way in ways for variant in options[way[0]]]
    cases += [
        Case(*way, size, variant, where) for way in ways for size in sizes for variant in options[way[0]][:ENCRYPTED]
    ]
    return given.plan("tls", cases, absent, alike=("system", "transport", "payload_bytes"), blocks_s=BLOCKS_S)


def variants(name: str) -> list[dict[str, Any]]:
    """Return the options of a system without encryption, with it, and with resumed sessions where it has them."""
    option = encryption(name)
    if option is None:
        raise UsageError(f"{name} does not encrypt: there are {', '.join(encrypting())}")
    has_sessions = hasattr(systems.load(name).Options, "tls_session")
    resumed = [{option: True, "tls_session": "resumed"}] if has_sessions else []
    return [{option: False}, {option: True}, *resumed]
