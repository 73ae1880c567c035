"""What a system's file declares: the values of its options, its largest payload, its programs, and their versions."""

import sys

import own_system
import pytest
import zmq

from bench import systems
from bench.errors import SystemFileError, UsageError
from bench.grammar.experiment import experiment
from bench.measurement import versions
from bench.measurement.validation import cases
from bench.measurement.validation.plan_time import expected_s
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.process import pipes

OPTIONS = """
http: Literal["1.1", "1.0"] = "1.1"
size: Literal[1, 2, 3] = 1
"""


@pytest.fixture
def declaring(tmp_path, with_systems):
    """Return a function that writes a system's file with further lines, under another name each time."""
    with_systems(tmp_path)

    def write(name, more=""):
        (tmp_path / f"{name}.py").write_text(own_system.text(more, OPTIONS))
        return name

    return write


def case(name, **changed):
    return Case(name, "tcp", **changed)


@pytest.mark.parametrize(
    ("raw_options", "values"),
    [({}, ("1.1", 1)), ({"http": "1.0", "size": 3}, ("1.0", 3)), ({"http": 1.0, "size": "2"}, ("1.0", 2))],
)
def test_a_literal_takes_its_values_however_they_are_written(declaring, raw_options, values):
    options = checked(case(declaring("literals"), options=raw_options)).options
    assert (options["http"], options["size"]) == values


@pytest.mark.parametrize(
    ("raw_options", "allowed"),
    [({"http": "2"}, '"1.1" or "1.0"'), ({"size": 4}, "1, 2 or 3"), ({"size": True}, "1, 2 or 3")],
)
def test_another_value_is_refused_with_those_that_are_allowed(declaring, raw_options, allowed):
    with pytest.raises(UsageError, match=allowed):
        checked(case(declaring("literals"), options=raw_options))


@pytest.mark.parametrize(
    "changed", [{"payload_bytes": 1001}, {"large_bytes": 2000}, {"load": "session", "sessions": ((1, 100), (1, 5000))}]
)
def test_a_payload_above_the_declared_limit_is_refused(declaring, changed):
    name = declaring("small", "LARGEST_BYTES = 1000")
    assert checked(case(name, payload_bytes=1000)).payload_bytes == 1000
    with pytest.raises(UsageError, match="small"):
        checked(case(name, **changed))


def test_programs_are_found_where_servers_are_installed(monkeypatch, tmp_path):
    (tmp_path / "a-server").write_text("#!/bin/sh\n")
    monkeypatch.setattr(pipes, "SYSTEM_FOLDERS", (str(tmp_path),))
    assert pipes.program("a-server") is None  # nobody may execute it
    (tmp_path / "a-server").chmod(0o755)
    assert pipes.program("a-server") == str(tmp_path / "a-server")
    assert pipes.program("sh").endswith("/sh") and pipes.program("no-such-server") is None


def test_versions_are_those_of_the_cases_systems(declaring, monkeypatch, tmp_path):
    for name, says in {"a-server": "A server v=7.0.15 sha=0", "b-server": "3.10.8"}.items():
        (tmp_path / name).write_text(
            f"#!/bin/sh\n[ $1 = {'--version' if name[0] == 'a' else 'version'} ] && echo {says}\n"
        )
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(pipes, "SYSTEM_FOLDERS", (str(tmp_path),))
    programs = 'PROGRAMS = {"a-server": "a", "b-server": "b"}\nVERSION_COMMANDS = {"b-server": "b-server version"}'
    installed_versions = versions.installed([case(declaring("versioned", programs))])
    assert (
        installed_versions["a-server"] == "7.0.15"
        and installed_versions["b-server"] == "3.10.8"
        and "pyzmq" in installed_versions
    )
    others = versions.installed([case("sockets")])
    assert others.keys().isdisjoint({"a-server", "pyzmq"}) and {"python", "numpy"} <= others.keys()


def test_a_router_is_needed_always_or_where_an_option_says_so(declaring):
    route = "def route(binding, options, service): pass\n"
    always = declaring("always", f"ROUTER_S = 3\n{route}")
    chosen = declaring("chosen", f'ROUTER_S = 3\nROUTER_OPTION = "size"\n{route}')
    never = declaring("never", 'ROUTER_OPTION = "size"')
    assert [systems.is_routed(name, {}) for name in (always, chosen, never)] == [True, False, False]
    assert systems.is_routed(chosen, {"size": True}) and not systems.is_routed(chosen, {"size": False})
    assert not systems.is_routed(never, {"size": True})

    def estimate(name, **options):
        return expected_s(Plan("latency", (Case(name, "ipc", options=options),), 1, 0.1, 1, "class"))

    without = estimate(never)
    assert estimate(chosen) == without and estimate(chosen, size=True) == estimate(always) == without + 3


def test_a_library_or_a_program_that_is_absent_is_absent_in_estimates_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "bench.systems.redis", None)
    real_program = pipes.program
    monkeypatch.setattr(pipes, "program", lambda name: None if name == "nats-server" else real_program(name))
    with cases.all_present():
        plan = experiment("fanin").plan()
    assert "redis" in plan.absent and "redis" not in {case.system for case in plan.cases}
    assert "nats" in plan.absent and "nats" not in {case.system for case in plan.cases}
    assert "sockets" in {case.system for case in plan.cases}


def test_groups_are_declared(declaring):
    assert (systems.group("sockets"), systems.group("wamp_crossbar")) == ("direct", "broker")
    with pytest.raises(SystemFileError, match="GROUP"):
        systems.group(declaring("grouped", 'GROUP = "others"'))


def test_transports_are_those_that_there_are(tmp_path, with_systems):
    with_systems(tmp_path)
    (tmp_path / "datagrams.py").write_text('"""Datagrams."""\n\nTRANSPORTS = ("tcp", "udp")\n')
    with pytest.raises(SystemFileError, match=r"some of inproc, ipc, tcp, not 'udp'"):
        systems.constant("datagrams", "TRANSPORTS")


def test_versions_hold_the_environments_package_the_codecs_and_pyzmqs_own_libzmq():
    carrying = Case("sockets", "tcp", message="items", options={"codec": "msgpack"})
    installed_versions = versions.installed([Case("wamp_crossbar", "tcp"), carrying, Case("zeromq", "ipc")])
    assert {"crossbar", "autobahn", "msgpack"} <= installed_versions.keys()
    assert installed_versions["libzmq of pyzmq"] == zmq.zmq_version() and "libzmq" not in installed_versions
    assert versions.reported("true") == "" and versions.reported("no-such-program --version") == ""
