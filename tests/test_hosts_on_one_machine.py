"""The hosts that tests make on one machine: what they have of their own, and that nothing of them is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import namespaces
import pytest
from conftest import is_gone, wait_for
from namespaces import bed, inside

from bench.process.pipes import program

pytestmark = pytest.mark.slow

CLOCK = "import time; print(time.perf_counter_ns())"


def outside() -> tuple[str, ...]:
    """What the machine itself has: named namespaces, interfaces, mounts, its name."""
    if reason := namespaces.missing():
        pytest.skip(reason)
    ip = program("ip")
    commands = ([ip, "netns"], [ip, "-o", "link"], [ip, "-o", "address"], ["uname", "-n"])
    said = [subprocess.run(words, capture_output=True, text=True, check=True).stdout for words in commands]
    return (*said, Path("/proc/mounts").read_text(), Path("/etc/machine-id").read_text())


def test_each_host_has_its_own_clock_name_processes_and_address():
    with bed(0.05, 10) as made:
        first, second = made.hosts
        for host in made.hosts:
            before = time.perf_counter_ns()
            shown = int(host.run(sys.executable, "-c", CLOCK).stdout)
            assert before <= shown - host.offset_ns <= time.perf_counter_ns()
            assert host.run("uname", "-n").stdout.strip() == host.name
        assert [host.offset_ns for host in made.hosts] == [50_000_000, 10_000_000_000]
        ids = [host.run("cat", "/etc/machine-id").stdout for host in made.hosts]
        assert len({*ids, Path("/etc/machine-id").read_text()}) == 3
        assert len(first.run("ps", "-e", "--no-headers").stdout.splitlines()) == 2  # the holder, and ps itself
        assert f"{second.address}/16" in second.run("ip", "-o", "address", "show", "eth0").stdout


def test_a_cable_can_be_pulled_and_put_in_again_and_its_rate_limited():
    with bed(0) as made:
        (host,) = made.hosts
        reach = f"import socket; socket.create_connection(('{host.address}', 7), 0.5)"

        def refused():  # by the host itself: the connection reaches it
            said = subprocess.run([sys.executable, "-c", reach], capture_output=True, text=True).stderr
            assert "Error" in said
            return "ConnectionRefusedError" in said

        assert refused()
        host.plug(False)
        assert wait_for(lambda: not refused())
        host.plug(True)
        assert wait_for(refused)
        for rate in ("10Mbit", "1Gbit"):
            host.limit(rate)
            assert f"rate {rate}" in _shape(host, "eth0") and f"rate {rate}" in _shape(made.bridge, host.link)
        host.limit(None)
        assert "tbf" not in _shape(host, "eth0") and "tbf" not in _shape(made.bridge, host.link)


def _shape(network, device):
    return network.run("tc", "qdisc", "show", "dev", device).stdout


STUBBORN = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.setsid()
print("up", flush=True)
signal.pause()
"""


def test_nothing_is_left_even_after_failures_and_of_processes_that_ignore_signals():
    before = outside()
    started = []
    with pytest.raises(ZeroDivisionError), bed(0, 10) as made:
        holders = [network.pid for network in made.made]
        for network in (*made.hosts, made.conductor):
            process = network.popen(sys.executable, "-c", STUBBORN, stdout=subprocess.PIPE)
            assert process.stdout.readline() == b"up\n"
            started.append((process, inside(process) if network is not made.conductor else process.pid))
            assert started[-1][1] in network.processes()
        1 / 0  # noqa: B018
    for process, pid in started:
        assert process.wait(10) != 0 and is_gone(pid)
        process.stdout.close()
    assert all(map(is_gone, holders)) and outside() == before


def test_nothing_is_left_when_the_tests_process_is_killed():
    before = outside()
    program = """
import sys, time
from namespaces import bed
with bed(0, 10) as made:
    for host in made.hosts:
        host.popen("sleep", "1000")
    while any(len(host.processes()) < 1 for host in made.hosts):
        time.sleep(0.01)
    pids = [pid for host in made.hosts for pid in (host.pid, *host.processes())]
    print(*pids, made.bridge.pid, made.conductor.pid, flush=True)
    time.sleep(1000)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(namespaces.HOLDER.parent), str(namespaces.ROOT)])}
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment)
    pids = list(map(int, process.stdout.readline().split()))
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert len(pids) >= 6 and wait_for(lambda: all(map(is_gone, pids)))
    assert outside() == before
