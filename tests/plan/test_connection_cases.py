"""How a case may use connections and the engine ``wire``: what is refused, what is accepted, and its label."""

import pytest

from bench.errors import UsageError
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.plan.labels import labels

REFUSED = [
    {"system": "http_stdlib", "outstanding": 2},
    {"system": "http_aiohttp", "outstanding": 2},
    {"system": "grpc_aio", "outstanding": 2, "options": {"rpc": "stream"}},
    {"system": "grpc_sync", "outstanding": 2, "options": {"rpc": "stream"}},
    {"system": "sockets", "outstanding": 2, "options": {"writes": 2}},
    {"system": "zeromq", "outstanding": 2, "options": {"high_water_mark": 10}},
    {"system": "sockets", "outstanding": 1001},
    {"system": "sockets", "outstanding": 0},
    {"system": "sockets", "outstanding": 2, "engine": "wire", "load": "open", "offered_per_s": 5},
    {"system": "zeromq", "outstanding": 2, "load": "stream"},
    {"system": "sockets", "calls_per_connection": -1},
    {"system": "http_aiohttp", "calls_per_connection": 2, "engine": "wrk", "options": {"resource": "bytes"}},
    {"system": "sockets", "calls_per_connection": 2, "load": "open", "offered_per_s": 10.0},
    {"system": "sockets", "calls_per_connection": 2, "outstanding": 2},
    {"system": "grpc_sync", "calls_per_connection": 2, "options": {"connections": "shared"}},
    {"system": "zeromq", "transport": "inproc", "calls_per_connection": 2},
    {"system": "sockets", "large_bytes": 1000},
    {"system": "sockets", "large_bytes": 1000, "outstanding": 2, "load": "open", "offered_per_s": 1.0},
    {"system": "sockets", "p99_bytes": 50},
    {"system": "sockets", "p99_bytes": 5000, "engine": "wire"},
    {"system": "sockets", "load": "open", "offered_per_s": 10.0, "callers": 2},
    {"system": "zeromq", "load": "open", "offered_per_s": 10.0, "outstanding": 2},
    {"system": "zeromq", "load": "open", "offered_per_s": 10.0, "transport": "inproc"},
    {"system": "sockets", "load": "open", "offered_per_s": 0},
    {"system": "sockets", "load": "open", "offered_per_s": 10.0, "arrivals": "bursts"},
    {"system": "zenoh", "engine": "wire"},
    {"system": "zeromq", "engine": "wire", "transport": "inproc"},
    {"system": "sockets", "engine": "wire", "options": {"writes": 2}},
    {"system": "zeromq", "engine": "wire", "load": "stream"},
    {"system": "grpc_sync", "engine": "wire", "load": "retry", "offered_per_s": 10.0},
    {"system": "thrift", "engine": "wire", "message": "items"},
    {"system": "sockets", "engine": "wire", "callers": 10_001},
    {"system": "sockets", "callers": 257},
    {"system": "sockets", "load": "stream"},
    {"system": "zeromq", "transport": "inproc", "clients": 2},
]


@pytest.mark.parametrize("asked", REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_carried_out_is_refused(asked, monkeypatch):
    monkeypatch.setattr("bench.child.generators.program", str)  # as if all load generators were installed
    with pytest.raises(UsageError):
        checked(Case(**{"transport": "tcp", "payload_bytes": 100} | asked))


ALLOWED = [
    {"system": "grpc_aio", "load": "open", "offered_per_s": 10.0, "callers": 4},
    {"system": "grpc_aio", "load": "open", "offered_per_s": 10.0, "outstanding": 64},
    {"system": "http_aiohttp", "load": "open", "offered_per_s": 10.0, "callers": 64},
    {"system": "http_aiohttp", "outstanding": 2, "options": {"pool": 1}},
    {"system": "http_stdlib", "calls_per_connection": 10, "callers": 2},
    {"system": "sockets", "callers": 2, "large_bytes": 10_000},
    {"system": "sockets", "payload_bytes": 1500, "p99_bytes": 196_000},
]


@pytest.mark.parametrize("asked", ALLOWED, ids=range(len(ALLOWED)))
def test_what_can_be_carried_out_is_accepted(asked):
    case = checked(Case(**{"transport": "tcp", "payload_bytes": 100} | asked))
    assert case.under_way == case.clients * case.callers * case.outstanding


def test_labels_name_how_connections_are_used_and_nothing_usual():
    cases = (
        Case("zeromq", "tcp"),
        Case("zeromq", "tcp", calls_per_connection=1),
        Case("zeromq", "tcp", calls_per_connection=1000),
        Case("zeromq", "tcp", outstanding=64),
        Case("zeromq", "tcp", outstanding=2, large_bytes=1_000_000),
    )
    assert labels(cases) == [
        "zeromq tcp persistent",
        "zeromq tcp 1 call per connection",
        "zeromq tcp 1,000 calls per connection",
        "zeromq tcp persistent 64 outstanding",
        "zeromq tcp persistent 2 outstanding beside 1,000,000 B",
    ]
