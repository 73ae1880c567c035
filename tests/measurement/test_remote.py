"""Hosts as processes of this machine, on loopback: a start runs there as it runs here; failures name the host."""

import asyncio
import errno
import os
import re
import resource
import signal
import threading
import time
from dataclasses import replace

import pytest
from conftest import CALM, descendants, is_gone, wait_for
from host_processes import Hosts, Started, intruded

from bench.errors import SystemFailedError, UsageError
from bench.measurement import certificates, revision, runner, start
from bench.measurement.hosts import commands, dask_engine, remote
from bench.measurement.hosts.remote import connected
from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.process.spec import ClockSpec
from bench.run import stored

pytestmark = pytest.mark.slow


def _two():
    """Return a scheduler with the hosts alpha and beta."""
    hosts = Hosts("alpha", "beta")
    yield hosts
    hosts.close()


two = pytest.fixture(_two, scope="module")
own = pytest.fixture(_two)  # that a test may end


@pytest.fixture
def impatient(monkeypatch):
    """Give up soon."""
    monkeypatch.setattr(start, "READY_S", 3.0)
    monkeypatch.setattr(start, "PATIENCE_S", 3.0)
    monkeypatch.setattr(remote, "ANSWER_S", 2.0)


def case(hosts: Hosts, system: str = "sockets", **more) -> Case:
    return Case(system, "tcp", 100, placement="free", hosts=hosts.asked, **more)


def children(*hosts: Started) -> list[int]:
    return [pid for host in hosts for pid in descendants(host.pid)]


def nothing_is_left(*hosts: Started) -> bool:
    return wait_for(lambda: not any(host.process.poll() is None and descendants(host.pid) for host in hosts))


def test_a_start_runs_on_hosts_and_leaves_nothing(two):
    record = measure(case(two, clients=2), 0.3, 1)
    assert record.ledger["calls"] == record.ledger["server_calls"] == sum(len(sent) for sent, _ in record.calls) > 10
    assert record.ledger["server_cpu_ns"] > 0 < record.ledger["client_cpu_ns"]
    assert {row["role"] for row in record.tables["load"]} == {"server", "client"}
    assert "steal_ns" not in record.ledger  # of which machine?
    assert nothing_is_left(*two.hosts.values())


def test_loads_run_there_too(two):
    with Routers() as routers:
        for system, more in (
            ("sockets", {"load": "open", "offered_per_s": 200.0}),
            ("sockets", {"engine": "wire"}),
            ("grpc_aio", {"callers": 2}),
            ("sockets", {"options": {"tls": True}}),
        ):
            ledger = measure(case(two, system, **more), 0.3, 1, routers).ledger
            assert ledger["calls"] == ledger["server_calls"] > 10


def test_one_host_serves_and_this_machine_loads_and_it_ends_cleanly_as_its_scheduler_does():
    hosts = Hosts("only")
    try:
        with connected(hosts.asked) as assignment:
            assert assignment.server.name == "only" and [host.name for host in assignment.load] == ["here"]
        ledger = measure(case(hosts), 0.2, 1).ledger
        assert ledger["calls"] == ledger["server_calls"] > 1
        host = hosts.hosts["only"]
        assert host.end(signal.SIGINT) == 0 and hosts.scheduler.end(signal.SIGTERM) == 0
        assert "Traceback" not in host.output + hosts.scheduler.output and "ERROR" not in host.output
    finally:
        hosts.close()


def test_an_order_to_go_that_comes_too_late_is_given_anew_with_more_time(two, monkeypatch):
    monkeypatch.setattr(start, "FAR_AHEAD_NS", (-20_000_000_000, 1_000_000_000))
    with Routers() as routers:
        for load in ({}, {"load": "open", "offered_per_s": 500.0}):
            record = measure(case(two, **load), 0.2, 1, routers)
            send_ns = record.calls[0][0]
            assert send_ns[0] >= 0 and record.ledger["calls"] == record.ledger["server_calls"] == len(send_ns)


def test_a_host_that_gets_its_order_too_late_twice_is_named(two, monkeypatch):
    monkeypatch.setattr(start, "FAR_AHEAD_NS", (-20_000_000_000, -20_000_000_000))
    begun, spawn = [], start.Start.spawn
    monkeypatch.setattr(start.Start, "spawn", lambda self, children: begun.append(1) or spawn(self, children))
    with pytest.raises(SystemFailedError, match=r"host beta.*-p resume true$"):
        measure(case(two), 0.2, 1)
    assert len(begun) == 2 and nothing_is_left(*two.hosts.values())


def test_a_router_runs_on_the_servers_host(two):
    with Routers() as routers:
        asked = case(two, "redis")
        router = routers.router_of(asked)
        assert router.child.name.endswith("alpha")
        assert routers.router_of(asked) is router
        assert {pid for pids in router.pids.values() for pid in pids} <= set(children(two.hosts["alpha"]))
        ledger = measure(asked, 0.2, 1, routers).ledger
        assert ledger["calls"] == ledger["server_calls"] > 1 and ledger["router_cpu_ns"] > 0
    assert nothing_is_left(*two.hosts.values())


def _in_window(hosts, act):
    """Do something in a window: once server and client run, and have had time to begin."""
    wait_for(lambda: sum(_is_busy(host) for host in hosts.hosts.values()) == 2, 30)
    time.sleep(1.0)
    act()


def _is_busy(host) -> bool:
    """Return whether a server or client runs on a host, beside its clock."""
    return len(descendants(host.pid)) >= 2


def test_a_run_is_not_resumed_by_other_hosts_but_after_a_host_ended_in_a_window_which_is_named(own, impatient):
    plan = make_plan("latency", [case(own, **CALM)], starts=2, window_s=2)
    with pytest.raises(ZeroDivisionError):
        runner.run(plan, progress=lambda case: 1 / 0)
    (folder,) = stored.all_runs()
    own.start("aaron").wait_for("registered")  # by name the first, which serves
    with pytest.raises(UsageError, match=r"alpha.*aaron"):
        runner.run(plan, folder)
    own.hosts.pop("aaron").close()
    for who, number in (("alpha", signal.SIGKILL), ("beta", signal.SIGTERM)):
        threading.Thread(target=_in_window, args=(own, lambda: own.hosts[who].end(number))).start()  # noqa: B023
        with pytest.raises(SystemFailedError, match=f"host {who}") as caught:
            runner.run(plan, folder)
        assert "\n" not in str(caught.value) and "kept before it: 1 start," in str(caught.value)
        assert nothing_is_left(*own.hosts.values())
        own.start(who).wait_for("registered")
    assert runner.run(plan, folder).done() == {0, 1}


def test_a_conductor_a_host_or_the_scheduler_that_is_gone_leaves_nothing_and_hosts_go_on(own, impatient):
    code = (
        "from bench.measurement.start import measure; from bench.plan.case import Case; "
        f"measure(Case('sockets', 'tcp', placement='free', hosts={own.asked}), 30.0, 1)"
    )
    conductor = Started.of_code(code)
    try:
        assert wait_for(lambda: all(_is_busy(host) for host in own.hosts.values()), 30)
    finally:
        conductor.close()
    assert nothing_is_left(*own.hosts.values())
    hung = own.hosts["beta"]
    threading.Thread(target=_in_window, args=(own, lambda: os.kill(hung.pid, signal.SIGSTOP))).start()
    with pytest.raises(SystemFailedError, match="host beta"):
        measure(case(own, **CALM), 2.0, 1)
    left = children(hung)
    os.kill(hung.pid, signal.SIGCONT)
    assert wait_for(lambda: all(is_gone(pid) for pid in left), 30)
    assert nothing_is_left(own.hosts["alpha"])
    threading.Thread(target=_in_window, args=(own, lambda: own.scheduler.end(signal.SIGKILL))).start()
    with pytest.raises(SystemFailedError, match=r"host (alpha|beta)"):
        measure(case(own, **CALM), 3.0, 1)
    assert nothing_is_left(*own.hosts.values())
    own.scheduler = Started("scheduler", "--listen", own.address)
    for host in own.hosts.values():
        host.wait_for("registered", times=2)
    assert measure(case(own), 0.2, 1).ledger["calls"] > 1
    if hasattr(resource, "prlimit"):  # the limit of another process
        resource.prlimit(own.hosts["alpha"].pid, resource.RLIMIT_FSIZE, (0, 0))
        with pytest.raises(SystemFailedError, match=f"alpha .*{os.strerror(errno.EFBIG)}") as caught:
            measure(case(own, options={"tls": True}), 0.2, 1)
        assert "\n" not in str(caught.value)


def test_a_second_conductor_is_refused_while_the_first_measures(two, monkeypatch):
    with connected(two.asked):
        monkeypatch.setattr(remote, "CONDUCTOR", "another")
        with (
            pytest.raises(UsageError, match="host alpha: "),
            connected(two.asked),
        ):
            pass
    with connected(two.asked) as again:
        assert again.server.name == "alpha"


def test_cases_of_one_run_give_hosts_different_roles(two):
    with Routers() as routers:

        def roles_of(asked, window_s=0.2, **more):
            record = measure(replace(asked, hosts={**two.asked, **more}), window_s, 1, routers)
            return [(row["role"], row["host"], row["clients"]) for row in record.tables["hosts"]], record

        for server, load in (("alpha", "beta"), ("beta", "alpha")):
            host_roles, _ = roles_of(case(two), server=server, load=[load])
            assert host_roles == [("server", server, 0), ("load", load, 1)]
        host_roles, record = roles_of(case(two, clients=2), server="alpha", load=["here"], latency="beta")
        # the client of the host "latency" is alone, and the last
        assert host_roles == [("server", "alpha", 0), ("load", "here", 2), ("latency", "beta", 1)]
        assert record.tables["hosts"][2]["first_client"] == 2 and len(record.calls) == 3
        instrument = Case("loopback", "inproc", placement="free", max_calls=1000)
        host_roles, record = roles_of(instrument, 1.0)
        assert record.ledger["calls"] == 1000 and [host for _, host, _ in host_roles] == ["beta"]
        served = Started("serve", "sockets", "tcp://127.0.0.1:0")
        try:
            target = served.wait_for("listens at ").split("listens at ")[1].split(";")[0]
            host_roles, record = roles_of(case(two, clients=2, target=target))
            assert host_roles == [("load", "alpha", 1), ("load", "beta", 1)]  # a target is loaded by all hosts
            assert record.ledger["calls"] > 1 and record.ledger.get("server_cpu_ns") is None
        finally:
            served.close()


def test_another_revision_and_another_python_are_refused(two, monkeypatch):
    monkeypatch.setattr(remote.revision, "content", lambda: "0123456789ab")
    with pytest.raises(UsageError, match=r"host alpha.*0123456"):
        measure(case(two), 0.2, 1)
    monkeypatch.undo()
    monkeypatch.setattr(remote.revision, "python", lambda: "cpython 3.99.0")
    with pytest.raises(UsageError, match=r"host alpha.*cpython 3.99.0"):
        measure(case(two), 0.2, 1)


def test_no_scheduler_and_no_host(monkeypatch):
    monkeypatch.setattr(remote, "CONNECT_S", 1.0)
    with (
        pytest.raises(SystemFailedError, match=r"tcp://127.0.0.1:9 .*bench scheduler"),
        connected({"scheduler": "tcp://127.0.0.1:9", "plain": True}),
    ):
        pass
    alone = Hosts()
    try:
        with pytest.raises(SystemFailedError, match=alone.address), connected(alone.asked):
            pass
    finally:
        alone.close()


def test_mutual_tls_lets_in_nobody_with_another_folder_or_none(two, tmp_path, monkeypatch):
    certificates.make_folder(tmp_path / "theirs", ["127.0.0.1"])
    monkeypatch.setattr(remote, "CONNECT_S", 2.0)
    for folder, error, text in (("theirs", SystemFailedError, two.address), ("none", UsageError, "none")):
        monkeypatch.setenv("ROUNDTRIP_CREDENTIALS", str(tmp_path / folder))
        with pytest.raises(error, match=text), connected(two.asked):
            pass


@pytest.mark.skipif(os.geteuid() != 0, reason="to become another user needs root")
def test_another_user_of_this_machine_runs_programs_on_a_host_only_if_it_is_plain(two):
    plain = Hosts("alpha", protocol="tcp")
    try:
        assert "entered 0" in intruded(plain.address) and "every user of this machine" in plain.hosts["alpha"].output
    finally:
        plain.close()
    output = intruded(two.address)
    assert output.count("refused") == 4 and "entered" not in output


def test_a_name_that_is_taken_is_said(two):
    second = Started("host", two.address, "--name", "alpha")
    try:
        second.wait_for("alpha .*--name")
        assert second.process.wait(20) == 2
    finally:
        second.close()


def test_hosts_are_listed_with_clock_revision_and_role(two, command):
    finished = command("hosts", two.address)
    _, alpha, beta = finished.stdout.splitlines()
    assert alpha.split()[0] == "alpha" and alpha.endswith("server") and beta.endswith("load")
    assert revision.content() in alpha and "within" in beta and finished.returncode == 0


def test_a_child_that_fails_there_is_quoted(two):
    with connected(two.asked) as assignment:
        spec = ClockSpec(bind="tcp://192.0.2.1:0")  # no address of this machine
        child = assignment.server.spawn("clock", "bench.child.clock_server", spec)
        with pytest.raises(SystemFailedError, match=r"clock on alpha .*tcp://192"):
            while True:
                child.read()
        assert re.search(r"clock on alpha .*status 1", child.exit_report(5))
        child.stop()


def test_a_host_takes_over_the_entry_that_its_own_process_left(two, tmp_path):
    security = dask_engine.security("tls", is_plain_wanted=False)
    distributed = dask_engine.load()
    left = {"security": security, "nthreads": 1, "dashboard_address": "127.0.0.1:0", "local_directory": str(tmp_path)}
    left |= {"name": "gamma", "startup_information": {remote.KEY: lambda _: {"process": "1"}}}

    async def names() -> set[str]:
        async with distributed.rpc(two.address, connection_args=security.get_connection_args("client")) as scheduler:
            return {worker["name"] for worker in (await scheduler.identity(n_workers=-1))["workers"].values()}

    async def come_back() -> None:
        async with distributed.Worker(two.address, **left):
            await commands.take_over(two.address, "gamma", "2", security)
            assert "gamma" in await names()
            await commands.take_over(two.address, "gamma", "1", security)
            assert await names() == {"alpha", "beta"}

    asyncio.run(come_back())
