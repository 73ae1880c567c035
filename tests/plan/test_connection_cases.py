"""How a case may use connections: what is refused, with a sentence that says what works instead."""

import pytest

from bench.errors import UsageError
from bench.plan.case import Case
from bench.plan.labels import labels
from bench.validation.support import checked

REFUSED = [
    ({"system": "http_stdlib", "outstanding": 2}, "callers.*grpc_aio.*sockets"),
    ({"system": "http_aiohttp", "outstanding": 2}, "HTTP/1.1 .*callers.*pool 1"),
    ({"system": "grpc_aio", "outstanding": 2, "options": {"rpc": "stream"}}, "rpc unary.*outstanding 1"),
    ({"system": "grpc_sync", "outstanding": 2, "options": {"rpc": "stream"}}, "rpc unary"),
    ({"system": "sockets", "outstanding": 2, "options": {"writes": 2}}, "writes 1, or outstanding 1"),
    ({"system": "zeromq", "outstanding": 2, "options": {"high_water_mark": 10}}, "high_water_mark of 1,000"),
    ({"system": "sockets", "outstanding": 1001}, "outstanding .*1,000"),
    ({"system": "sockets", "outstanding": 0}, "outstanding .*0"),
    (
        {"system": "sockets", "outstanding": 2, "engine": "wire", "load": "open", "offered_per_s": 5},
        "outstanding 1.*callers",
    ),
    ({"system": "zeromq", "outstanding": 2, "load": "stream"}, "load stream"),
    ({"system": "sockets", "calls_per_connection": -1}, "calls_per_connection"),
    (
        {"system": "http_aiohttp", "calls_per_connection": 2, "engine": "wrk", "options": {"resource": "bytes"}},
        "give 0",
    ),
    (
        {"system": "sockets", "calls_per_connection": 2, "load": "open", "offered_per_s": 10.0},
        "calls_per_connection.*closed",
    ),
    ({"system": "sockets", "calls_per_connection": 2, "outstanding": 2}, "outstanding 1"),
    ({"system": "grpc_sync", "calls_per_connection": 2, "options": {"connections": "shared"}}, "connections own"),
    ({"system": "zeromq", "transport": "inproc", "calls_per_connection": 2}, "ipc or tcp"),
    ({"system": "sockets", "large_bytes": 1000}, "outstanding or callers 2"),
    ({"system": "sockets", "large_bytes": 1000, "outstanding": 2, "load": "open", "offered_per_s": 1.0}, "closed"),
    ({"system": "sockets", "p99_bytes": 50}, "p99_bytes .*payload_bytes"),
    ({"system": "sockets", "p99_bytes": 5000, "engine": "wire"}, "p99_bytes|library"),
    ({"system": "sockets", "load": "open", "offered_per_s": 10.0, "callers": 2}, "clients"),
    ({"system": "zeromq", "load": "open", "offered_per_s": 10.0, "outstanding": 2}, "clients"),
]


@pytest.mark.parametrize(("asked", "why"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_carried_out_is_refused_with_what_can(asked, why, monkeypatch):
    monkeypatch.setattr("bench.child.generators.program", str)  # as if all load generators were installed
    given = {"transport": "tcp", "payload_bytes": 100} | asked
    with pytest.raises(UsageError, match=f"(?s){why}"):
        checked(Case(**given))


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
        "zeromq tcp",
        "zeromq tcp 1 call per connection",
        "zeromq tcp 1,000 calls per connection",
        "zeromq tcp 64 outstanding",
        "zeromq tcp 2 outstanding beside 1,000,000 B",
    ]


def test_a_stored_case_of_before_keeps_its_connections():
    case = Case.from_dict({"system": "zeromq", "transport": "tcp"})
    assert (case.calls_per_connection, case.outstanding, case.large_bytes, case.p99_bytes) == (0, 1, 0, 0)
