"""The engine ``wire`` as a factor: what can have it, and that its counts are the servers'."""

import numpy as np
import pytest
from handmade import handmade
from wire_servers import WIRED

from bench import systems
from bench.child import timed_loops
from bench.errors import UsageError
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.plan.validation import checked

ALL = (*WIRED, "http_aiohttp")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("transport", ["ipc", "tcp"])
@pytest.mark.parametrize("callers", [1, 8])
def test_the_servers_count_is_the_clients(name, transport, callers):
    measured = measure(Case(name, transport, 1000, engine="wire", callers=callers), 0.1, 1)
    ledger = measured.ledger
    assert len(measured.calls) == callers and all(times.shape[1] >= 1 for times in measured.calls)
    assert sum(times.shape[1] for times in measured.calls) == ledger["calls"] == ledger["server_calls"]
    assert ledger["client_cpu_ns"] > 0 and ledger["first_rtt_ns"] > 0


@pytest.mark.parametrize(
    ("name", "options"),
    [("http_stdlib", {}), ("xmlrpc_c", {"protocol": "http"}), ("xmlrpc_c", {"protocol": "pstream"})],
)
def test_servers_that_listen_at_ports_only_have_it_too(name, options):
    if name not in systems.offering("Wire"):
        pytest.skip("Xmlrpc-c is not installed: apt-get install g++ libxmlrpc-c++8-dev")
    ledger = measure(Case(name, "tcp", 1000, options, engine="wire", callers=4), 0.1, 1).ledger
    assert 4 <= ledger["calls"] == ledger["server_calls"] and ledger["errors"] == 0


@pytest.mark.parametrize("name", ALL)
def test_an_open_load_is_dealt_to_processes_and_connections(name):
    case = Case(
        name, "ipc", 100, engine="wire", load="open", offered_per_s=40, arrivals="poisson", clients=2, callers=3
    )
    measured = measure(case, 1.0, 1)  # not shorter: what is late by a fifth of it, on a busy machine, is not sent
    ledger, dues = measured.ledger, timed_loops.schedule(40, 1.0, "poisson", 1)
    assert len(dues) > 20
    assert ledger["calls"] == ledger["scheduled"] == ledger["server_calls"] == len(dues)
    assert np.sort(np.concatenate([times[2] for times in measured.calls])).tolist() == dues


@pytest.mark.parametrize("name", ALL)
def test_limits_and_large_payloads(name):
    ledger = measure(Case(name, "tcp", 2_000_000, engine="wire", callers=2, max_calls=6), 30, 1).ledger
    assert ledger["calls"] == ledger["server_calls"] == 6


@pytest.mark.parametrize(
    ("system", "rest", "text"),
    [
        (
            "zeromq",
            {},
            "has no engine wire: .*http_aiohttp, http_crossbar, http_stdlib, oracle, sockets, .*xmlrpc_stdlib have one",
        ),
        ("zeromq", {"transport": "inproc"}, "zeromq over inproc has no engine wire"),
        ("sockets", {"engine": "wires"}, "there are library, wire, wrk, h2load; did you mean wire"),
        ("sockets", {"options": {"writes": 2}}, "sockets: .* give writes 1, or engine library"),
        ("xmlrpc_pstream", {"options": {"writes": 3}}, "give writes 1"),
        ("xmlrpc_stdlib", {"options": {"http": "1.0"}}, 'give http "1.1" and gzip false, or engine library'),
        ("xmlrpc_stdlib", {"options": {"gzip": True}}, 'give http "1.1" and gzip false'),
        ("zeromq", {"load": "stream"}, "makes calls, and a stream has none"),
    ],
)
def test_what_has_no_wire_is_refused(system, rest, text):
    with pytest.raises(UsageError, match=text):
        checked(Case(**{"system": system, "transport": "tcp", "engine": "wire"} | rest))


def test_open_loads_take_callers_only_by_wire():
    shared = {"load": "open", "offered_per_s": 100.0, "callers": 4}
    assert Case("sockets", "ipc", engine="wire", **shared).callers == 4
    with pytest.raises(UsageError, match="give clients, not callers"):
        checked(Case("sockets", "ipc", **shared))


def test_the_engine_is_stored_and_shown_where_it_differs():
    cases = [Case("sockets", "ipc"), Case("sockets", "ipc", engine="wire")]
    run = handmade(cases, [100, 50])
    assert run.cases["label"].tolist() == ["sockets ipc library", "sockets ipc wire"]
    assert run.cases["engine"].tolist() == ["library", "wire"]
    assert set(run.ledger["engine"]) == {"library", "wire"}
