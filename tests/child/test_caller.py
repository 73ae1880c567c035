"""Calls that fail inside a window: counted by kind, in no time and no rate; the client connects anew and goes on."""

import itertools
import json
import socket
import struct

import pytest
from specs import client_spec, library_load, reported
from wire_servers import framed, http, leaving, posted, served

from bench import systems
from bench.analysis import checks
from bench.child import caller
from bench.child.loads import Callers
from bench.errors import TransportError
from bench.measurement import runner
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run.frames import Run
from bench.systems import http_aiohttp, http_stdlib, sockets


def callers(system, address, **spec):
    """Make a window's calls in this process; return what was reported, and the times."""
    window_spec = client_spec(**{"max_calls": 30, "offered_per_s": 30} | spec)
    report = reported(Callers(system, system.Options(), address, window_spec))
    return report, [list(times) for times in report.times]


def fourth(fault):
    """Return what answers a connection's requests over HTTP, the fourth of each connection with a fault."""

    def behave(connection, asked):
        for _ in range(3):
            if payload := posted(connection):
                connection.sendall(http(payload))
        if payload := posted(connection):
            fault(connection, payload)

    return behave


def refuse(connection, payload):
    connection.sendall(http(b"no", b"500 Internal Server Error"))


def truncate(connection, payload):
    connection.sendall(http(payload)[: 10 - len(payload)])


def reset(connection, payload):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.slow
@pytest.mark.parametrize("system", [http_aiohttp, http_stdlib])
@pytest.mark.parametrize("load", ["closed", "open"])
@pytest.mark.parametrize(("fault", "kind"), [(refuse, "status 500"), (truncate, "read"), (reset, "read")])
def test_faults_of_a_server_are_counted_and_what_worked_is_kept(system, load, fault, kind):
    with served(fourth(fault)) as address:
        report, blobs = callers(system, address, load=load)
    assert report.numbers == [(f"error_{kind}", report.errors, "1")] and report.errors >= 4
    width = 3 if load == "open" else 2
    assert [len(blob) for blob in blobs] == [report.calls] * width
    sent, received = blobs[:2]
    assert all(0 < begin < end for begin, end in zip(sent, received, strict=True)) and sent == sorted(sent)
    if load == "open":
        assert report.scheduled == 30 == report.calls + report.errors
        assert all(due <= begin for due, begin in zip(blobs[2], sent, strict=True)) and len(set(blobs[2])) == len(sent)
    else:
        assert report.calls == 30


def test_a_server_that_is_gone_is_told_by_the_call_that_failed():
    with pytest.raises(TransportError, match="no connection could be made again"):
        callers(sockets, leaving(3))


def test_a_server_that_answers_nothing_any_more_ends_the_start(monkeypatch):
    monkeypatch.setattr(caller, "MOST_LOST", 4)

    def behave(connection, asked):
        connection.sendall(framed(next(asked)))
        next(asked)

    with served(behave) as address, pytest.raises(TransportError, match=r"\b3 more"):
        callers(sockets, address)


def test_failures_are_on_the_trust_card_by_kind_and_in_no_quantile():
    with served(fourth(refuse)) as address:
        case = Case("http_aiohttp", "tcp", 100, target=address)
        run = Run(runner.run(make_plan("latency", [case], "smoke")))
    ledger = run.ledger
    assert (ledger["errors"] > 0).all() and len(run.samples) == ledger["calls"].sum()
    (answers_check,) = [one for one in checks.check(run) if one.name == "answers"]
    assert answers_check.verdict == checks.INVALID and "status 500" in answers_check.found and answers_check.advice


@pytest.mark.parametrize("load", ["closed", "open"])
@pytest.mark.parametrize(("engine", "how"), [("library", {}), ("library", {"callers": 2}), ("wire", {"callers": 2})])
def test_a_service_that_refuses_every_second_call_keeps_its_connections(tmp_path, own_systems, engine, how, load):
    connections = []

    def behave(connection, asked):
        connections.append(connection)
        for number in itertools.count():
            if posted(connection) is None:
                return
            connection.sendall(http(b"", b"503 Busy") if number % 2 else http(b"ok"))

    with served(behave) as address:
        request = {"name": "it", "http": {"path": "/", "method": "POST", "body": "x"}, "expect": {"status": 200}}
        file = tmp_path / "busy.yaml"
        file.write_text(f"address: {address.replace('tcp', 'http')}\nrequests: {json.dumps([request])}\n")
        name = systems.adopt(str(file))
        system = systems.load(name)
        spec = client_spec(system=name, engine=engine, load=load, offered_per_s=40, max_calls=10, **how)
        report = reported(library_load(system, system.Options(), address, spec), 10**9)
    assert report.numbers == [("error_it: status 503, expected 200", report.errors, "1")] and report.errors >= 4
    assert load == "closed" or report.calls + report.errors == report.scheduled == 40
    assert len(connections) == spec.case.callers
