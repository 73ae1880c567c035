"""The oracle's server in C: the same service times as in Python, the same protocol, and nothing left behind."""

import itertools
import os
import select
import signal
import socket
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import is_gone, wait_for
from specs import choices

from bench import systems
from bench.contract import parse_address
from bench.errors import NotInstalledError, UsageError
from bench.grammar.experiment import experiment
from bench.measurement.start import measure
from bench.measurement.validation import oracle_options
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.process import programs
from bench.systems import _connections, oracle

try:
    oracle.program()
except NotInstalledError as missing:
    pytest.skip(str(missing), allow_module_level=True)

by_transport = pytest.mark.parametrize("transport", oracle.TRANSPORTS)


def program_of(child):
    """Return the process of the compiled program that a server's process started."""
    (program,) = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    return int(program)


@pytest.mark.parametrize("law", choices(oracle, "law"))
def test_its_service_times_are_those_of_python(law):
    options = oracle.Options(law=law, mean_us=700, freeze_after=5, freeze_ms=30)
    command = [oracle.program(), "times", "5000", law, "700", "5", "30", str(oracle.SEED), "spin", "3.5"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    assert [float(one) for one in printed] == list(itertools.islice(oracle.service_times(options), 5000))


@by_transport
def test_calls_are_answered_and_counted_and_take_their_service_times(transport):
    options = {"mean_us": 2000, "law": "exponential", "server": "c"}
    measured = measure(Case("oracle", transport, 100, options), 0.3, 1)
    ledger, (times,) = measured.ledger, measured.calls
    assert ledger["calls"] == ledger["server_calls"] > 5 and ledger["server_cpu_ns"] > 0
    services = oracle.service_times(oracle.Options("exponential", 2000))
    wanted_us = np.array(list(itertools.islice(services, 1, 1 + times.shape[1])))  # the first is the connection's
    assert np.all(times[1] - times[0] >= 1e3 * wanted_us - 1)


@pytest.mark.parametrize("server", choices(oracle, "server"))
@pytest.mark.parametrize("wait", choices(oracle, "wait"))
def test_requests_that_are_sent_before_the_reply_are_answered_in_order(child_server, server, wait):
    _, address = child_server("oracle", "tcp", {"mean_us": 1000, "server": server, "wait": wait})
    with _connections.connect(parse_address(address)) as connection:
        messages = [struct.pack("!I", len(text)) + text for text in (b"first", b"", b"the third")]
        connection.sendall(b"".join(messages) + messages[0][:6])
        wanted = b"".join(messages)
        assert connection.recv(len(wanted), socket.MSG_WAITALL) == wanted
        connection.sendall(messages[0][6:])
        assert connection.recv(len(messages[0]), socket.MSG_WAITALL) == messages[0]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_behind_however_the_server_ends(child_server, number):
    child, _ = child_server("oracle", "ipc", {"server": "c"})
    program = program_of(child)
    os.kill(child.pid, number)
    assert wait_for(lambda: is_gone(program)) and wait_for(lambda: is_gone(child.pid))


def test_without_a_compiler_python_serves_and_the_run_says_so(monkeypatch):
    assert oracle_options.oracle_server() == "c"
    monkeypatch.setattr(programs, "COMPILER", "no-such-compiler")
    assert oracle.best_server() == "python" and oracle_options.oracle_server() == "python"
    systems.prepare("oracle")  # nothing to make
    for notebook in ("openload", "calibration"):
        plan = experiment(notebook).plan(profile="smoke")
        assert {case.options["server"] for case in plan.cases} == {"python"}
    with pytest.raises(NotInstalledError, match="apt-get install g"):
        oracle.program()


@pytest.mark.parametrize("server", choices(oracle, "server"))
def test_bytes_add_what_they_are_told_to_to_a_service_time(server):
    """A request is not answered before its service time is over: 100 us, and 2,000 ns for each byte."""
    options = {"server": server, "mean_us": 100, "ns_per_byte": 2000.0}
    for size in (1, 1000, 5000):
        sent, received = measure(Case("oracle", "ipc", size, options, max_calls=4), 5.0, 1).calls[0]
        assert np.all(received - sent >= 100_000 + 2000 * size)
    with pytest.raises(UsageError, match=r"ns_per_byte .*100 000"):
        checked(Case("oracle", "ipc", options={"ns_per_byte": -1.0}))


@pytest.mark.parametrize("server", choices(oracle, "server"))
def test_workers_answer_beside_each_other_and_one_of_them_freezes(child_server, server):
    options = {"mean_us": 1000, "server": server, "wait": "sleep", "workers": 2, "freeze_after": 1, "freeze_ms": 400}
    _, address = child_server("oracle", "tcp", options)
    endpoint, message = parse_address(address), struct.pack("!I", 5) + b"hello"
    with _connections.connect(endpoint) as frozen, _connections.connect(endpoint) as other:
        frozen.sendall(message)
        assert select.select([frozen], [], [], 0.05)[0] == []  # it is served: the next request is the second
        other.sendall(message)
        assert other.recv(len(message), socket.MSG_WAITALL) == message
        assert select.select([frozen], [], [], 0)[0] == []
        assert frozen.recv(len(message), socket.MSG_WAITALL) == message
