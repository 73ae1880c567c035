"""Plan of origins.ipynb: the measurements of the five origins, case by case, in one run."""

from typing import Any

from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import Amount
from bench.validation.cases import absent_of, instrument

ORIGINS = ("wamp", "scaleup", "zeromq", "xmlrpc_c", "grpc")
SHORT = 100  # calls of the greeter exercise's loop, and of the processes of Xmlrpc-c's notes
CONNECTIONS = 128  # of the scale-up's load generator
STREAMED = (100, 1000, 10_000, 100_000)  # bytes of the messages of ZeroMQ's throughput


def plan(
    given: Amount,
    origin: object = "all",
    workers: object = 2,
) -> Plan:
    """Plan the replicas of the origins that are asked for, each with the real system; ``workers`` is the scale-up's."""
    count = parameters.count(workers, "workers", 64)
    makers = {"wamp": _wamp, "zeromq": _zeromq, "xmlrpc_c": _xmlrpc_c, "grpc": _grpc}
    cases: list[Case] = []
    for name in parameters.names(origin, "origin", ORIGINS):
        cases += _scaleup(count) if name == "scaleup" else makers[name]()
    absent = absent_of(list(dict.fromkeys(case.system for case in cases)))
    cases = [case for case in cases if case.system not in absent]
    cases.append(instrument(100, "same"))
    return given.plan("origins", cases, absent)


def _wamp() -> list[Case]:
    """Return the two combinations of the WAMP round trip."""
    ways = (("ipc", "rawsocket", "msgpack"), ("tcp", "websocket", "json"))
    return [
        Case("wamp_crossbar", by, 100, {"framing": framing, "serializer": serializer}, "same")
        for by, framing, serializer in ways
    ]


def _scaleup(workers: int) -> list[Case]:
    """Return the smallest and the largest of the scale-up's bytes, on as many connections as there."""
    options = {"resource": "bytes", "workers": workers, "pin": True}
    return [
        Case("http_crossbar", "tcp", size, options, "free", callers=CONNECTIONS, engine="wire") for size in (16, 65_536)
    ]


def _zeromq() -> list[Case]:
    """Return round trips of 1 kB over each transport, and one-way messages inside a process."""
    calls = [Case("zeromq", by, 1000, placement="same") for by in ("inproc", "ipc", "tcp")]
    return calls + [Case("zeromq", "inproc", size, placement="split", load="stream") for size in STREAMED]


def _xmlrpc_c() -> list[Case]:
    """Return whole processes with a hundred calls and with one, and packet streams without TCP_NODELAY."""
    sessions = tuple((count, 100) for count in (1, SHORT) * 3)
    processes: dict[str, Any] = {"placement": "same", "load": "session", "sessions": sessions}
    cases = [Case("xmlrpc_c", "tcp", 100, {"protocol": protocol}, **processes) for protocol in ("http", "pstream")]
    held = ({"client_nodelay": False}, {"client_nodelay": False, "server_nodelay": False})
    return cases + [
        Case("xmlrpc_pstream", "tcp", 100, {"writes": 2} | sides, "same", max_calls=SHORT) for sides in held
    ]


def _grpc() -> list[Case]:
    """Return a hundred calls in a loop by one client, and by each of two."""
    return [
        Case("grpc_sync", "tcp", 100, placement="split", clients=clients, max_calls=SHORT * clients)
        for clients in (1, 2)
    ]
