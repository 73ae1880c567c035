"""Two network namespaces as hosts: joined, limited, counted by their own kernel counters, and nothing of them left."""

import contextlib
import glob
import ipaddress
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import wait_for

from bench.errors import UsageError
from bench.measurement.hosts import namespaces
from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan import namespaces as links
from bench.plan.case import Case
from bench.process.pipes import program

pytestmark = pytest.mark.slow

WHY_NOT = namespaces.why_not()
needed = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


def case(system: str = "sockets", rate_mbit: int = 0, **more: object) -> Case:
    return checked(Case(system, "tcp", 1000, hosts=links.hosts(rate_mbit), max_calls=200, **more))  # type: ignore[arg-type]


def devices() -> list[str]:
    return sorted(one.name for one in Path("/sys/class/net").iterdir())


def inhabitants(inode: int) -> list[int]:
    """Return the processes that have a thread in a network namespace."""
    pids = []
    for link in glob.glob("/proc/[0-9]*/task/*/ns/net"):  # noqa: PTH207 - passes over processes that end meanwhile
        with contextlib.suppress(OSError):
            if Path(link).stat().st_ino == inode:
                pids.append(int(link.split("/")[2]))
    return pids


def is_empty_soon(inode: int) -> bool:
    return wait_for(lambda: not inhabitants(inode))


def inode_of(host: object) -> int:
    assert isinstance(host, namespaces.NamespaceHost)
    return (host.network.parent / "ns" / "net").stat().st_ino


@pytest.mark.parametrize(
    ("hosts", "transport", "what"),
    [
        (links.hosts(), "ipc", "tcp, not ipc"),
        ({"namespaces": {"rate": 1}}, "tcp", "'rate'"),
        ({"namespaces": {"rate_mbit": -1}}, "tcp", "rate_mbit .*-1"),
        ({"namespaces": {}, "scheduler": "tcp://a:1"}, "tcp", "scheduler"),
    ],
)
def test_what_no_link_can_be_is_refused(hosts, transport, what):
    with pytest.raises(UsageError, match=what):
        checked(Case("sockets", transport, 100, hosts=hosts))


def test_a_network_that_the_machine_uses_is_not_taken():
    networks = [ipaddress.IPv4Network(one) for one in ("10.0.0.0/15", "192.168.0.0/16", "10.2.3.4/32")]
    assert [str(one) for one in namespaces.addresses(networks)] == ["10.3.0.1/30", "10.3.0.2/30"]
    with pytest.raises(UsageError, match=r"10\.x\.0\.0"):
        namespaces.addresses([ipaddress.IPv4Network("10.0.0.0/8")])


def test_who_may_not_make_namespaces_is_told_what_is_lacking(monkeypatch):
    assert namespaces._lacking("Name:\tpython\nCapEff:\t0000000000001000\n") == ["CAP_SYS_ADMIN"]
    assert namespaces._lacking("CapEff:\t000001ffffffffff\n") == []
    monkeypatch.setattr(namespaces, "_lacking", lambda status: ["CAP_SYS_ADMIN"])
    with pytest.raises(UsageError, match=r"CAP_SYS_ADMIN"):
        namespaces.joined().__enter__()


@needed
def test_server_and_clients_are_in_networks_of_their_own_and_nothing_is_left():
    before = devices()
    with Routers() as routers:
        hosts = routers.hosts(case())
        inodes = [inode_of(host) for host in hosts.all()]
        assert len({*inodes, Path("/proc/self/ns/net").stat().st_ino}) == 3
        record = measure(case(), 0.2, 1, routers)
        assert routers.hosts(case()) is hosts
    calls = record.ledger["calls"]
    assert calls == record.ledger["server_calls"] > 0 == record.ledger["errors"]
    assert record.ledger["tcp_connections"] == 0  # none is opened in the window
    assert record.ledger["tcp_segments_out"] >= 2 * calls  # of both networks: requests, and replies
    assert record.ledger["machine_busy_ns"] is not None
    assert devices() == before
    assert all(map(is_empty_soon, inodes))


@needed
def test_a_link_is_limited_in_both_directions():
    with namespaces.joined(rate_mbit=100) as hosts:
        for host in hosts.all():
            shown = host._namespace.run(subprocess.check_output, [program("tc"), "qdisc", "show"], text=True)
            assert "tbf" in shown
            assert "rate 100Mbit" in shown


@needed
def test_a_broker_is_in_the_namespace_of_its_server():
    from bench import systems

    if reason := systems.missing("redis"):
        pytest.skip(str(reason))
    with Routers() as routers:
        record = measure(case("redis"), 0.2, 1, routers)
        inode = inode_of(routers.hosts(case()).server)
        router = routers.router_of(case("redis"))
        assert router is not None
        assert {pid for pids in router.pids.values() for pid in pids} <= set(inhabitants(inode))
    assert record.ledger["calls"] == record.ledger["server_calls"] > 0
    assert is_empty_soon(inode)


@needed
def test_a_broker_at_an_address_encrypts_for_the_cases_that_ask_for_it_only():
    from bench import systems

    if reason := systems.missing("nats"):
        pytest.skip(str(reason))
    with Routers() as routers:
        for tls in (False, True, False):
            record = measure(case("nats", options={"tls": tls}), 0.2, 1, routers)
            assert record.ledger["calls"] == record.ledger["server_calls"] > 0 == record.ledger["errors"]


@needed
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_after_a_failure(error):
    inodes = []
    with pytest.raises(error), Routers() as routers:
        inodes += [inode_of(host) for host in routers.hosts(case()).all()]
        raise error
    assert len(inodes) == 2
    assert all(map(is_empty_soon, inodes))


@needed
def test_nothing_is_left_of_a_run_that_is_killed():
    program = """
        import sys, time
        from bench.measurement.hosts import namespaces
        from bench.process.pipes import Process

        with namespaces.joined() as hosts:
            child = hosts.server._namespace.run(Process, ["cat"])
            print(*[(host.network.parent / "ns" / "net").stat().st_ino for host in hosts.all()], flush=True)
            time.sleep(60)
    """
    words = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout
        inodes = [int(one) for one in killed.stdout.readline().split()]
        assert len(inhabitants(inodes[0])) == 2  # the thread's process, and cat
        killed.send_signal(signal.SIGKILL)
    assert all(map(is_empty_soon, inodes))
