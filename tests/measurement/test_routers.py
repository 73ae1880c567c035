"""WAMP through a real router: its processes told apart, and what happens when something is gone."""

import os
import signal
import threading
import time

import psutil
import pytest
from conftest import CALM, children, descendants, is_gone, serving, wait_for

from bench.errors import SystemFailedError
from bench.measurement import start
from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.plan.case import Case

pytestmark = pytest.mark.slow

NAME = "wamp_crossbar"


def test_the_cpu_time_and_the_memory_of_router_and_controller_are_measured(routers):
    ledger = measure(Case(NAME, "tcp", 3000, max_calls=20), 20.0, 1, routers).ledger
    assert min(ledger[f"{role}_cpu_ns"] for role in ("client", "server", "router")) > 0
    assert ledger["controller_cpu_ns"] >= 0 and ledger["controller_rss_bytes"] > 1e6 < ledger["router_rss_bytes"]


def test_a_router_is_placed_where_the_start_wants_it(routers):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU leaves no choice")
    router = routers.router_of(Case(NAME, "ipc"))
    for placement in ("same", "split"):
        ledger = measure(Case(NAME, "ipc", placement=placement), 0.05, 1, routers).ledger
        for pids in router.pids.values():
            assert ",".join(map(str, os.sched_getaffinity(pids[0]))) == ledger["router_cpus"]


def test_routers_that_are_killed_leave_nothing_are_quoted_and_print_nothing_here(monkeypatch, private_parent, capfd):
    monkeypatch.setattr(start, "PATIENCE_S", 5.0)
    with Routers() as own:
        old = own.router_of(Case(NAME, "ipc"))
        os.kill(old.child.pid, signal.SIGKILL)
        new = own.router_of(Case(NAME, "ipc", fresh_router=True))
        assert new.pids != old.pids
        assert wait_for(lambda: all(is_gone(pid) for pids in old.pids.values() for pid in pids))
        case = Case(NAME, "ipc", **CALM)
        assert measure(case, 0.1, 1, own).ledger["calls"] > 1
        killing = threading.Thread(target=_kill_in_window, args=(new, children()))
        killing.start()
        with pytest.raises(SystemFailedError, match="router") as caught:
            measure(case, 4.0, 1, own)
        killing.join()
        assert "\n" not in str(caught.value)
    assert wait_for(lambda: all(is_gone(pid) for pids in new.pids.values() for pid in pids))
    assert not list(private_parent.glob("roundtrip-*"))
    assert capfd.readouterr() == ("", "")


def _kill_in_window(router, before):
    wait_for(lambda: len(children() - before) >= 2, 60)  # server, client
    time.sleep(1.5)
    os.kill(router.pids["router"][0], signal.SIGKILL)


def test_a_router_at_a_named_address_is_a_target_and_without_its_callee_an_error():
    with serving(NAME) as served:
        ledger = measure(Case(NAME, "tcp", 100, target=served.target), 0.1, 1).ledger
        assert ledger["calls"] > 1 and ledger.get("router_cpu_ns") is None and ledger["server_calls"] is None
        family = descendants(served.process.pid)
        (callee,) = [pid for pid in family if "bench.child.server" in psutil.Process(pid).cmdline()]
        os.kill(callee, signal.SIGSTOP)  # it is there, but does not answer
        os.kill(callee, signal.SIGKILL)
        assert wait_for(lambda: all(map(is_gone, family)))
        served.process.wait(10)


def test_a_callee_that_is_not_there_is_an_error_at_once(routers):
    router = routers.router_of(Case(NAME, "ipc"))
    with pytest.raises(SystemFailedError, match=r"roundtrip\.echo"):
        measure(Case(NAME, "tcp", target=router.addresses["tcp rawsocket"]), 0.1, 1)
