"""Faults that need a network between hosts: a cable that is pulled, and a firewall."""

import threading
import time

import psutil
import pytest
from conftest import wait_for
from namespaces import bed, registered

from bench.errors import SystemFailedError
from bench.measurement import start
from bench.measurement.start import measure
from bench.plan.case import Case

pytestmark = pytest.mark.slow


def case(scheduler: str, **more) -> Case:
    return Case("sockets", "tcp", 100, placement="free", hosts={"scheduler": scheduler}, **more)


def children(hosts) -> list[int]:
    """Return the processes that a conductor has on hosts."""
    pids = [pid for host in hosts.hosts for pid in host.processes()]
    return [pid for pid in pids if psutil.pid_exists(pid) and "bench.child." in " ".join(_words(pid))]


def _words(pid: int) -> list[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


def test_a_cable_that_is_out_for_two_seconds_only_delays_calls_and_a_firewall_is_suspected(private_parent, monkeypatch):
    with bed(0.05, 10) as hosts, registered(hosts) as scheduler:  # on a bridge
        serving, loading = hosts.hosts

        def pull() -> None:  # once a server, a client and two clocks run, and have had time to begin
            wait_for(lambda: len(children(hosts)) >= 4, 30)
            time.sleep(1.5)
            loading.plug(False)
            time.sleep(2)
            loading.plug(True)

        pulling = threading.Thread(target=pull)
        pulling.start()
        record = measure(case(scheduler), 5.0, 1)
        pulling.join()
        ((sent, received),) = record.calls
        assert record.ledger["calls"] == record.ledger["server_calls"] and (received - sent).max() > 1e9
        assert wait_for(lambda: not children(hosts))

        monkeypatch.setattr(start, "READY_S", 2.0)
        serving.ip(f"route add blackhole {loading.address}/32")  # answers to it are dropped
        with pytest.raises(SystemFailedError, match=r"host2.*firewall") as caught:
            measure(case(scheduler), 0.2, 1)
        assert f"tcp://{serving.address}:" in str(caught.value) and "\n" not in str(caught.value)
        assert wait_for(lambda: not children(hosts))
