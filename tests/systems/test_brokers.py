"""Brokers: what goes wrong is one sentence, nothing is left behind, and nobody but this host can reach one."""

import inspect
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import psutil
import pytest
from conftest import CALM, ROOT, children, descendants, is_gone, serving, wait_for
from specs import calling

from bench import systems
from bench.contract import parse_address
from bench.errors import SystemFailedError, TransportError
from bench.measurement import routers as routers_module
from bench.measurement import runner, start
from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run import stored
from bench.systems import _broker, _ports

pytestmark = pytest.mark.slow

NAMES = ("rabbitmq_pika", "rabbitmq", "mqtt", "nats", "redis")
MISSING = {name: why for name in NAMES if (why := str(systems.missing(name) or ""))}
CLIENTS = [
    pytest.param(name, marks=pytest.mark.skipif(name in MISSING, reason=MISSING.get(name, ""))) for name in NAMES
]
BROKERS = CLIENTS[1:]  # of the first, the broker is that of the second
every_client = pytest.mark.parametrize("name", CLIENTS)
every_broker = pytest.mark.parametrize("name", BROKERS)


def server_of(name):
    """Return what a system's file says of its broker's program."""
    return systems.load(name).SERVER


def port_mappers(folder):
    """Return the Erlang port mappers that were started for brokers in private directories of a folder, and run now."""
    mappers = (one for one in psutil.process_iter(["name", "environ"]) if one.info["name"] == "epmd")
    return [one.pid for one in mappers if (one.info["environ"] or {}).get("HOME", "").startswith(str(folder))]


@every_broker
def test_a_broker_listens_on_this_host_alone_and_writes_into_its_directory_alone(name, routers):
    router = routers.router_of(Case(name, "tcp"))
    members = [psutil.Process(pid) for pid in router.pids["router"]]
    assert name != "rabbitmq" or len(port_mappers(router.child._directory)) == 1  # its own, not the host's
    listening = [
        one.laddr.ip for member in members for one in member.net_connections("inet") if one.status == psutil.CONN_LISTEN
    ]
    assert listening and set(listening) <= {"127.0.0.1", "::1"}
    written = [file.path for member in members for file in member.open_files() if file.mode != "r"]
    assert all("/roundtrip-" in path for path in written), written


ENDED = [BROKERS[0], BROKERS[-1]]  # of rabbitmq a shell is left, and a second program; the others are one process


@pytest.mark.parametrize("name", ENDED)
def test_a_broker_that_is_killed_in_a_window_is_an_error_and_the_run_is_resumed(name, monkeypatch, private_parent):
    monkeypatch.setattr(start, "PATIENCE_S", 5.0)
    routers, windows = [], []
    router_of, run_window = Routers.router_of, start.Start.run_window

    def remember(self, case):
        routers.append(router_of(self, case))
        return routers[-1]

    def kill_in_the_second(self, spawned, prepared):
        windows.append(threading.Timer(0.4, kill, [routers[-1]]))
        if len(windows) == 2:
            windows[-1].start()
        return run_window(self, spawned, prepared)

    monkeypatch.setattr(Routers, "router_of", remember)
    monkeypatch.setattr(start.Start, "run_window", kill_in_the_second)
    plan = make_plan("latency", [Case(name, "tcp", **CALM)], starts=2, window_s=1.5)
    with pytest.raises(SystemFailedError, match=r"kept before it: 1 start,") as caught:
        runner.run(plan)
    text = str(caught.value)
    how = "status 0: Killed" if name == "rabbitmq" else "signal 9"  # its shell says so
    assert re.search(f"{server_of(name).name} .*{how}", text) and "\n" not in text and "Traceback" not in text, text
    assert all(wait_for(lambda pid=pid: is_gone(pid)) for pid in routers[0].pids["router"])
    assert not list(private_parent.glob("roundtrip-*"))
    resumed = runner.run(plan, stored.unfinished(plan))
    assert resumed.done() == {0, 1} and resumed.manifest()["finished"]
    assert wait_for(lambda: not port_mappers(private_parent))


def kill(router):
    """Kill the process of a broker that has used the most CPU time."""
    members = [psutil.Process(pid) for pid in router.pids["router"]]
    os.kill(max(members, key=lambda one: sum(one.cpu_times()[:2])).pid, signal.SIGKILL)


FAKES = {
    "another": ("echo 'hello from something else'; exit 3", "hello from something else"),
    "silent": ("sleep 60", r"\b1 s\b"),
    "broken": ("echo 'Starting'; echo 'Error: no luck today'; exit 5", "status 5: Error: no luck today"),
}


@pytest.mark.parametrize("fake", FAKES)
@pytest.mark.parametrize("name", BROKERS[-1:])
def test_another_program_of_that_name_is_an_error(name, fake, tmp_path, monkeypatch, private_parent):
    script, words = FAKES[fake]
    file = tmp_path / server_of(name).name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("ROUNDTRIP_SYSTEMS", str(impatient(name, tmp_path)))
    before = children()
    with pytest.raises(SystemFailedError, match=words) as caught:
        routers_module.start(Case(f"impatient_{name}", "tcp"))
    assert "\n" not in str(caught.value)
    assert wait_for(lambda: children() == before)
    assert not list(private_parent.glob("roundtrip-*"))


def impatient(name, folder):
    """Write a system that is another one, with little patience for its broker; return the folder."""
    text = f"""
        import dataclasses
        from bench.systems import _broker
        from bench.systems import {name} as base
        TRANSPORTS, REQUIRES = ("tcp",), ()
        Options = base.Options
        route = _broker.router(dataclasses.replace(base.SERVER, ready_s=1.0), base._configured)
    """
    (folder / f"impatient_{name}.py").write_text(inspect.cleandoc(text))
    systems.__path__.append(str(folder))
    return folder


@pytest.fixture(autouse=True)
def own_path(monkeypatch):
    """Forget the folders of systems that a test adds."""
    monkeypatch.setattr(systems, "__path__", list(systems.__path__))


@pytest.mark.parametrize("name", [*BROKERS, "wamp_crossbar", "zeromq", "sockets"])
def test_a_port_that_is_taken_is_named(name, command, private_parent):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        finished = command("serve", name, address)
    assert finished.returncode == 1 and finished.stderr.count("\n") == 1, finished.stderr
    assert address in finished.stderr
    assert _broker.TAKEN.search(finished.stderr) or "cannot_listen" in finished.stderr, finished.stderr
    assert wait_for(lambda: not port_mappers(private_parent))


@every_client
def test_requests_that_nobody_takes_are_an_error(name, routers, monkeypatch):
    monkeypatch.setattr(_broker, "WAIT_S", 0.5)
    addresses = routers.router_of(Case(name, "tcp")).addresses
    with calling(name, f"{addresses['tcp']}#nobody:{addresses[_broker.OWN]}") as call, pytest.raises(TransportError):
        call(b"hello")


@every_client
def test_nobody_but_the_run_may_use_its_broker(name, routers, monkeypatch):
    address = routers.router_of(Case(name, "tcp")).addresses["tcp"]
    monkeypatch.setattr(_broker, "_logins", {})
    for behind in ("", f"#nobody:{_broker.SERVICE}:wrong"):
        with pytest.raises(TransportError, match="refuses the login"), calling(name, f"{address}{behind}"):
            pass


@pytest.mark.skipif("redis" in MISSING, reason=MISSING.get("redis", ""))
def test_redis_says_nothing_to_who_does_not_log_in(routers):
    address = parse_address(routers.router_of(Case("redis", "tcp")).addresses["tcp"])
    for word in (b"CLIENT LIST", b"INFO", b"KEYS *"):
        with socket.create_connection((address.host, address.port), 5) as stranger:
            stranger.sendall(word + b"\r\n")
            assert stranger.recv(1000).startswith(b"-NOAUTH")


@every_broker
def test_a_target_with_a_login_refuses_another_one(name, monkeypatch):
    monkeypatch.setenv(_broker.LOGIN, "someone:secret")
    with serving(name) as served:
        case = Case(name, "tcp", 100, target=served.target, max_calls=5)
        assert measure(case, 5.0, 1).ledger["calls"] == 5
        for login in ("someone:wrong", ""):
            monkeypatch.setenv(_broker.LOGIN, login)
            with pytest.raises(SystemFailedError, match=r"ROUNDTRIP_BROKER_LOGIN="):
                measure(case, 5.0, 1)
        family = descendants(served.process.pid)
    assert all(wait_for(lambda pid=pid: is_gone(pid)) for pid in family)


@pytest.mark.parametrize("login", ["someone", ":secret", "a:b'c"])
def test_a_login_that_is_none_is_refused(login, monkeypatch):
    monkeypatch.setenv(_broker.LOGIN, login)
    with pytest.raises(TransportError, match="USER:PASSWORD"):
        _broker.login()


@every_client
def test_a_broker_that_is_not_there_is_an_error(name):
    address = f"tcp://127.0.0.1:{_ports.free()}"
    with pytest.raises(TransportError, match=r"127\.0\.0\.1"), calling(name, address):
        pass


@pytest.mark.parametrize("name", [*ENDED, "wamp_crossbar"])
def test_nothing_is_left_when_an_experiment_with_a_broker_is_killed(name, private_parent):
    code = (
        "from bench.measurement.routers import Routers; from bench.plan.case import Case; import time\n"
        f"with Routers() as r:\n    print(sum(r.router_of(Case({name!r}, 'tcp')).pids.values(), []), flush=True)\n"
        "    time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        pids = [int(pid) for pid in process.stdout.readline().strip("[]\n").split(",")]
        everybody = descendants(process.pid)
        assert set(pids) <= set(everybody)
        process.kill()
    assert wait_for(lambda: all(is_gone(pid) for pid in everybody))
    assert wait_for(lambda: not list(private_parent.glob("roundtrip-*")))
    assert wait_for(lambda: not port_mappers(private_parent))
