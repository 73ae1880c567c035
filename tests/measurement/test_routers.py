"""WAMP through a real router: its processes told apart, and what happens when something is gone."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import psutil
import pytest
from conftest import CALM, ROOT, descendants, is_gone, serving, wait_for

from bench.errors import SystemFailedError
from bench.measurement import routers as routers_module
from bench.measurement import runner, start
from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run import stored
from bench.systems import _crossbar, _ports

pytestmark = pytest.mark.slow

NAME = "wamp_crossbar"


def test_the_cpu_time_and_the_memory_of_router_and_controller_are_measured(routers):
    ledger = measure(Case(NAME, "tcp", 3000, max_calls=20), 20.0, 1, routers).ledger
    assert min(ledger[f"{role}_cpu_ns"] for role in ("client", "server", "router")) > 0
    assert ledger["controller_cpu_ns"] >= 0 and ledger["controller_rss_bytes"] > 1e6 < ledger["router_rss_bytes"]


def test_worker_and_controller_are_told_apart_and_one_router_serves_all(routers):
    router = routers.of(Case(NAME, "ipc"))
    assert routers.of(Case(NAME, "tcp", options={"framing": "websocket"})) is router
    (worker,), (controller,) = router.pids["router"], router.pids["controller"]
    assert psutil.Process(worker).ppid() == controller and psutil.Process(controller).ppid() == router.child.pid


def test_a_router_is_placed_where_the_start_wants_it(routers):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU leaves no choice")
    router = routers.of(Case(NAME, "ipc"))
    for where in ("same", "split"):
        ledger = measure(Case(NAME, "ipc", placement=where), 0.05, 1, routers).ledger
        for pids in router.pids.values():
            assert ",".join(map(str, os.sched_getaffinity(pids[0]))) == ledger["router_cpus"]


def test_a_fresh_router_is_another_one_and_the_old_one_is_gone():
    with Routers() as own:
        old = own.of(Case(NAME, "ipc"))
        new = own.of(Case(NAME, "ipc", fresh_router=True))
        assert new.pids != old.pids
        assert all(is_gone(pid) for pids in old.pids.values() for pid in pids)
    assert wait_for(lambda: all(is_gone(pid) for pids in new.pids.values() for pid in pids))


@pytest.mark.parametrize("role", ["router", "controller"])
def test_a_router_that_dies_in_a_window_is_quoted_and_what_was_measured_is_kept(role, monkeypatch, private_parent):
    monkeypatch.setattr(start, "PATIENCE_S", 5.0)
    started = []
    of = Routers.of

    def remember(self, case):
        started.append(of(self, case))
        return started[-1]

    monkeypatch.setattr(Routers, "of", remember)
    plan = make_plan("latency", [Case(NAME, "ipc", **CALM)], starts=2, window_s=2)
    ready = threading.Thread(
        target=lambda: (wait_for(lambda: len(started) == 2, 60), _kill_in_window(started[0], role))
    )
    ready.start()
    with pytest.raises(SystemFailedError, match=r"\b1 starts") as caught:
        runner.run(plan)
    ready.join()
    text = str(caught.value)
    assert "router" in text and "\n" not in text
    assert stored.all_runs()[-1].done() == {0}
    assert all(wait_for(lambda pid=pid: is_gone(pid)) for pids in started[0].pids.values() for pid in pids)
    assert not list(private_parent.glob("roundtrip-*"))


def _kill_in_window(router, role):
    wait_for(lambda: len(descendants(os.getpid())) >= 5, 60)  # router and its two, server, client
    time.sleep(1.5)
    os.kill(router.pids[role][0], signal.SIGKILL)


def test_what_a_router_left_behind_by_force_is_swept():
    router = routers_module.start(Case(NAME, "ipc"))
    os.kill(router.child.pid, signal.SIGKILL)
    router.child.stop()
    assert wait_for(lambda: all(is_gone(pid) for pids in router.pids.values() for pid in pids))


@pytest.mark.skipif(sys.platform != "linux", reason="ports are kept free for the node on Linux only")
def test_a_port_that_is_kept_for_the_node_is_given_to_nobody_else():
    port = _ports.held()
    with pytest.raises(OSError, match="in use"):
        socket.create_server(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port), reuse_port=True) as node:
        socket.create_connection(("127.0.0.1", port), 5).close()
        node.accept()[0].close()
    assert _crossbar.endpoint(f"tcp://127.0.0.1:{port}")["shared"]
    assert "shared" not in _crossbar.endpoint("tcp://127.0.0.1:80")


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
    router = routers.of(Case(NAME, "ipc"))
    with pytest.raises(SystemFailedError, match=r"roundtrip\.echo"):
        measure(Case(NAME, "tcp", target=router.addresses["tcp rawsocket"]), 0.1, 1)


def test_what_the_router_and_its_libraries_print_does_not_reach_the_experiment():
    code = (
        "from bench.measurement import runner\nfrom bench.plan.case import Case\n"
        "from bench.measurement.validation.profiles import make_plan\n"
        f"runner.run(make_plan('latency', [Case({NAME!r}, 'ipc')], starts=1, window_s=0.05))"
    )
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
