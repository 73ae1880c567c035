"""Faults that need a network between hosts: a cable that is pulled, a firewall, a full disk; each names its host."""

import errno
import os
import threading
import time

import psutil
import pytest
from conftest import wait_for
from namespaces import bed, registered

from bench.errors import SystemFailedError
from bench.measurement import start
from bench.measurement.hosts import remote
from bench.measurement.start import measure
from bench.plan.case import Case

pytestmark = pytest.mark.slow


@pytest.fixture
def made(private_parent):
    """Return two hosts on a bridge and the address of their scheduler; the first serves, the second loads."""
    with bed(0.05, 10) as hosts, registered(hosts) as scheduler:
        yield hosts, scheduler


def case(scheduler: str, **more) -> Case:
    return Case("sockets", "tcp", 100, placement="free", hosts={"scheduler": scheduler}, **more)


def children(hosts) -> list[int]:
    """Return the processes that a conductor has on hosts."""
    found = [pid for host in hosts.hosts for pid in host.processes()]
    return [pid for pid in found if psutil.pid_exists(pid) and "bench.child." in " ".join(_words(pid))]


def _words(pid: int) -> list[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


def in_window(hosts, act) -> threading.Thread:
    """Do something in a window: once a server and a client run, and have had time to begin."""

    def wait() -> None:
        wait_for(lambda: len(children(hosts)) >= 4, 30)  # and two clocks
        time.sleep(1.5)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_cable_that_is_out_for_two_seconds_only_delays_calls(made):
    hosts, scheduler = made

    def pull() -> None:
        hosts.hosts[1].plug(False)
        time.sleep(2)
        hosts.hosts[1].plug(True)

    pulling = in_window(hosts, pull)
    record = measure(case(scheduler), 5.0, 1)
    pulling.join()
    ((sent, received),) = record.calls
    assert record.ledger["calls"] == record.ledger["server_calls"] and (received - sent).max() > 1e9
    assert wait_for(lambda: not children(hosts))


def test_a_cable_that_stays_out_is_a_host_that_does_not_answer(made, monkeypatch):
    monkeypatch.setattr(remote, "ANSWER_S", 2.0)
    hosts, scheduler = made
    pulling = in_window(hosts, lambda: hosts.hosts[1].plug(False))
    with pytest.raises(SystemFailedError, match=r"host2 .*\b4 s"):
        measure(case(scheduler), 3.0, 1)
    pulling.join()
    assert wait_for(lambda: not children(hosts), 40)  # also those beyond the cable: nobody asks for them


def test_a_firewall_between_load_host_and_server_is_suspected(made, monkeypatch):
    monkeypatch.setattr(start, "READY_S", 2.0)
    hosts, scheduler = made
    serving, loading = hosts.hosts
    serving.ip(f"route add blackhole {loading.address}/32")  # answers to it are dropped
    with pytest.raises(SystemFailedError, match=r"sockets client on host2 .*firewall") as caught:
        measure(case(scheduler), 0.2, 1)
    assert f"tcp://{serving.address}:" in str(caught.value) and "\n" not in str(caught.value)
    assert wait_for(lambda: not children(hosts))


def test_a_full_disk_there_is_said(made):
    hosts, scheduler = made
    folder = os.environ["TMPDIR"]
    hosts.hosts[0].run("mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder)
    hosts.hosts[0].run("dd", "if=/dev/zero", f"of={folder}/all", "bs=4k", "count=9", check=False)
    with pytest.raises(SystemFailedError, match=f"host1 .*{os.strerror(errno.ENOSPC)}") as caught:
        measure(case(scheduler, options={"tls": True}), 0.2, 1)
    assert "\n" not in str(caught.value)
    assert wait_for(lambda: not children(hosts))
