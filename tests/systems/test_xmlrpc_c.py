"""Xmlrpc-c: its server and client speak with ours in Python, count, and end; its program is compiled once."""

import dataclasses
import os
import shutil
import subprocess
import sys
import threading

import pytest
from conftest import ROOT, is_gone, wait_for
from specs import server_spec
from test_xmlrpc import LAUGHS, begin, client_of, post

from bench import systems
from bench.contract import Binding
from bench.errors import NotInstalledError, SystemFailedError, TransportError, UsageError
from bench.installation import programs
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.process.channel import Listening
from bench.process.child_process import Child, collect
from bench.systems import xmlrpc_pstream, xmlrpc_stdlib
from bench.validation.support import checked

try:
    library = systems.load("xmlrpc_c")
except NotInstalledError as missing:
    pytest.skip(str(missing), allow_module_level=True)

PYTHON = {"http": xmlrpc_stdlib, "pstream": xmlrpc_pstream}
protocols = pytest.mark.parametrize("protocol", PYTHON)


@pytest.fixture
def serve():
    """Return a function that starts the library's server as a child and returns it and its address."""
    children = []

    def start(protocol):
        spec = server_spec("xmlrpc_c", options={"protocol": protocol})
        children.append(Child("server", "bench.child.server", spec))
        (listening,) = collect(Listening, children, 10)
        return children[0], listening.address

    systems.prepare("xmlrpc_c")
    yield start
    for child in children:
        child.stop()


def load_of(address, protocol, payload=b"hello", **options):
    """Return a started load of the library's client, one caller, two payloads."""
    load = library.Load(address, library.Options(protocol=protocol, **options), [payload, payload[::-1]], 1, 50)
    load.first()
    return load


def test_options_that_do_not_exist():
    with pytest.raises(UsageError, match=r"protocol of xmlrpc_c .*http or pstream"):
        checked(Case("xmlrpc_c", "tcp", options={"protocol": "soap"}))


@protocols
def test_both_protocols_are_answered_and_counted(protocol):
    measured = measure(Case("xmlrpc_c", "tcp", 2000, {"protocol": protocol}, clients=2, callers=2), 0.1, seed=1)
    assert measured.ledger["calls"] == measured.ledger["server_calls"] >= 4
    assert len(measured.calls) == 4 and all(times[0, 0] >= 0 for times in measured.calls)
    assert measured.ledger["voluntary_switches"] > measured.ledger["calls"] / 10  # the program's are among them
    assert measured.ledger["client_cpu_ns"] > 0 and measured.ledger["server_cpu_ns"] > 0


@protocols
@pytest.mark.parametrize("server", ["c", "python"])
@pytest.mark.parametrize("client", ["c", "python"])
def test_either_side_is_native_or_in_python(protocol, client, server):
    options = {"protocol": protocol, "client": client, "server": server}
    measured = measure(checked(Case("xmlrpc_c", "tcp", 300, options, clients=2, callers=2)), 0.1, seed=1)
    assert measured.ledger["calls"] == measured.ledger["server_calls"] >= 4 and len(measured.calls) == 4


@protocols
def test_the_open_load_is_made_by_the_client_in_python(protocol):
    case = Case("xmlrpc_c", "tcp", options={"protocol": protocol}, load="open", offered_per_s=100)
    with pytest.raises(UsageError, match=r"xmlrpc_c .*closed .*option client"):
        checked(case)
    with_python = dataclasses.replace(case, options={"protocol": protocol, "client": "python"})
    ledger = measure(checked(with_python), 0.2, seed=1).ledger
    assert ledger["calls"] == ledger["server_calls"] > 5


@protocols
@pytest.mark.parametrize("size", [1, 1000, 700_000])
def test_a_client_in_python_is_answered_by_the_library(serve, protocol, size):
    _, address = serve(protocol)
    for module in (PYTHON[protocol], library):
        options = {"protocol": protocol} if module is library else {}
        client = client_of(module, address, **options)
        for payload in (os.urandom(size), bytes(size)):
            assert client.call(payload) == payload
        client.close()


@protocols
@pytest.mark.parametrize("size", [1, 1000, 700_000])
def test_the_librarys_client_is_answered_by_a_server_in_python(protocol, size):
    module = PYTHON[protocol]
    load = load_of(begin(module, module.Options(), Binding("tcp", "")), protocol, os.urandom(size))
    load.load(0, 2**62)
    report = load.report()
    load.close()
    assert report.calls == 50 and report.errors == 0 and [len(one) for one in report.times] == [50, 50]
    assert all(before <= after for before, after in zip(*report.times, strict=True))


def test_three_writes_of_ours_are_read_by_the_library(serve):
    _, address = serve("pstream")
    client = client_of(xmlrpc_pstream, address, writes=3)
    assert client.call(b"hello") == b"hello"
    client.close()


def test_more_calls_on_one_connection_than_the_servers_own_limit(serve):
    _, address = serve("http")
    client = client_of(xmlrpc_stdlib, address)
    connection = client._transport._connection[1].sock
    assert all(client.call(b"x") == b"x" for _ in range(40))
    assert client._transport._connection[1].sock is connection
    client.close()


@protocols
def test_a_server_that_does_not_echo_is_found_out(protocol):
    module = PYTHON[protocol]
    address = begin(module, module.Options(), Binding("tcp", ""), answer=lambda payload: payload + b"!")
    with pytest.raises(TransportError, match=r"request 0 .*\(6\)"):
        load_of(address, protocol)


@protocols
def test_nobody_there_is_said_and_ends_the_program(protocol):
    with pytest.raises(TransportError):
        load_of("tcp://127.0.0.1:1", protocol)


def test_a_server_that_dies_is_explained(serve):
    import psutil

    child, _ = serve("http")
    (program,) = psutil.Process(child.pid).children()
    program.kill()
    with pytest.raises(SystemFailedError, match=r"Xmlrpc-c program .*status -9"):
        collect("never", [child], 5)


@protocols
def test_the_programs_end_with_those_who_started_them(serve, protocol):
    import psutil

    child, address = serve(protocol)
    code = (
        "import sys; from bench.systems import xmlrpc_c as c\n"
        f"load = c.Load({address!r}, c.Options({protocol!r}), [b'x', b'y'], 2, 10)\n"
        "load.first(); print(*load.pids, flush=True); load.load(0, 2**62) or sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
        pid = int(one.stdout.readline())
        (server,) = psutil.Process(child.pid).children()
        one.kill()
    os.kill(child.pid, 9)
    assert wait_for(lambda: is_gone(pid) and is_gone(server.pid))


def test_entities_do_no_harm_to_the_library(serve):
    _, address = serve("http")
    assert b"haha" not in post(address, LAUGHS.encode())
    client = client_of(xmlrpc_stdlib, address)
    assert client.call(b"hello") == b"hello"
    client.close()


# ---- the program


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder for programs, empty."""
    monkeypatch.setenv("ROUNDTRIP_ENVIRONMENTS", str(tmp_path / "made"))
    programs.ensure.cache_clear()
    yield tmp_path / "made"
    programs.ensure.cache_clear()


def small(tmp_path, text="int main() {}"):
    """Return the source of a small program."""
    (tmp_path / "small.cpp").write_text(text)
    return tmp_path / "small.cpp"


def test_a_program_is_compiled_once_and_again_when_its_source_differs(folder, tmp_path):
    said = []
    first = programs.ensure(small(tmp_path), (), said.append)
    programs.ensure.cache_clear()
    assert programs.ensure(small(tmp_path), (), said.append) == first and len(said) == 1
    assert subprocess.run([first]).returncode == 0
    programs.ensure.cache_clear()
    assert programs.ensure(small(tmp_path, "int main() { return 3; }"), (), said.append) != first and len(said) == 2


def test_two_at_once_compile_it_once(folder, tmp_path):
    said, source = [], small(tmp_path)
    both = [threading.Thread(target=programs.ensure, args=(source, (), said.append)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sum("small.cpp" in line for line in said) == 1
    assert [file.name for file in folder.glob("*/*")] == ["program"]


def test_a_compiler_that_fails_is_quoted_and_nothing_counts_as_made(folder, tmp_path):
    for _ in range(2):
        with pytest.raises(NotInstalledError, match=r"small\.cpp .*nothing_of_this_name.*g\+\+ "):
            programs.ensure(small(tmp_path, "int main() { return nothing_of_this_name; }"), ())
    assert not list(folder.glob("*/*"))


def test_what_is_missing_is_named_with_the_command_that_installs_it(monkeypatch, process):
    with pytest.raises(NotInstalledError, match=r"nowhere/at_all\.hpp.*apt-get install some-package"):
        programs.need(["nowhere/at_all.hpp"], "some-package")
    assert shutil.which(programs.COMPILER)
    monkeypatch.setenv("PATH", "/nowhere")
    finished = process("list")
    assert "apt-get install g++ libxmlrpc-c++8-dev" in finished.stdout
