"""Systems with native programs: each side is native or in Python, both kinds speak with each other, and end."""

import contextlib
import dataclasses
import os
import socket
import struct
import threading
import time

import psutil
import pytest
from conftest import is_gone, wait_for
from specs import calling
from test_xmlrpc import begin

from bench import systems
from bench.contract import Binding, parse_address
from bench.errors import SystemFailedError, TransportError, UsageError
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan.case import Case

pytestmark = pytest.mark.slow

TWINS = {"sockets_c": "sockets", "zeromq_c": "zeromq", "grpc_cpp": "grpc_sync"}


twins = pytest.mark.parametrize("name", TWINS)


@twins
def test_the_native_client_makes_closed_loads_only(name):
    case = Case(name, "ipc", load="open", offered_per_s=200)
    with pytest.raises(UsageError, match=f"{name} .*closed .*option client"):
        checked(case)
    python = checked(dataclasses.replace(case, options={"client": "python"}))
    ledger = measure(python, 0.2, seed=1).ledger
    assert ledger["calls"] == ledger["server_calls"] > 5


@twins
def test_the_program_ends_with_the_server_that_started_it(child_server, name):
    child, _ = child_server(name)
    (program,) = psutil.Process(child.pid).children()
    os.kill(child.pid, 9)
    assert wait_for(lambda: is_gone(program.pid))


@twins
def test_a_server_that_does_not_echo_is_found_out(name):
    native, library = systems.load(name), systems.load(TWINS[name])
    address = begin(library, library.Options(), Binding("tcp", ""), answer=lambda payload: payload + b"!")
    load = native.Load(address, native.Options(), [b"hello", b"olleh"], 1, 50)
    with pytest.raises(TransportError, match=r"request 0 .*\(6\)"):
        load.first()


def test_requests_that_come_before_their_replies_are_answered_in_order(child_server):
    _, address = child_server("sockets_c")
    endpoint = parse_address(address)
    payloads = [os.urandom(size) for size in (0, 1, 70_000, 5, 65_532)]
    with socket.create_connection((endpoint.host, endpoint.port)) as connection:
        sent = b"".join(struct.pack("!I", len(one)) + one for one in payloads)
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as replies:
            assert replies.read() == sent


def test_a_peer_that_does_not_speak_the_protocol_is_left_and_others_are_served(child_server):
    _, address = child_server("sockets_c")
    endpoint = parse_address(address)
    with socket.create_connection((endpoint.host, endpoint.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert connection.recv(100) == b""
    with calling("sockets_c", address, client="python") as call:
        assert call(b"hello") == b"hello"


def programs_of_mine(role):
    """Return the native programs in this role that descend from this process."""
    processes = []
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            processes += [one] * (one.cmdline()[1:2] == [role] and one.name() == "program")
    return processes


@twins
@pytest.mark.parametrize("role", ["server", "client"])
def test_a_program_that_is_killed_in_the_window_is_one_sentence_and_leaves_nothing(name, role):
    def kill():
        assert wait_for(lambda: programs_of_mine(role))
        (program,) = programs_of_mine(role)
        killed.append(program.pid)
        time.sleep(0.3)
        program.kill()

    killed = []
    case = checked(Case(name, "ipc"))
    systems.prepare(name)
    threading.Thread(target=kill, daemon=True).start()
    with pytest.raises(
        SystemFailedError, match=f"{name} program .*(status -9|closed|reset|Broken pipe|status 14)"
    ) as caught:
        measure(case, 5.0, seed=1)
    assert "\n" not in str(caught.value) and killed
    assert wait_for(lambda: not programs_of_mine("server") and not programs_of_mine("client"))
