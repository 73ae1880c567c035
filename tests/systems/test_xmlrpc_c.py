"""Xmlrpc-c: its server and client speak with ours in Python, count, and end; its program is compiled once."""

import os
import subprocess

import pytest
from specs import calling
from test_xmlrpc import LAUGHS, begin, post

from bench import systems
from bench.contract import Binding
from bench.errors import NotInstalledError, TransportError
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.process import programs
from bench.systems import xmlrpc_stdlib

try:
    library = systems.load("xmlrpc_c")
except NotInstalledError as missing:
    pytest.skip(str(missing), allow_module_level=True)

PYTHON = {"http": "xmlrpc_stdlib", "pstream": "xmlrpc_pstream"}
protocols = pytest.mark.parametrize("protocol", PYTHON)


@pytest.mark.slow
@protocols
def test_both_sides_are_in_python(protocol):
    options = {"protocol": protocol, "client": "python", "server": "python"}
    measured = measure(checked(Case("xmlrpc_c", "tcp", 300, options, clients=2, callers=2)), 0.1, seed=1)
    assert measured.ledger["calls"] == measured.ledger["server_calls"] >= 4 and len(measured.calls) == 4


@pytest.mark.slow
@protocols
def test_a_client_in_python_is_answered_by_the_library(child_server, protocol):
    _, address = child_server("xmlrpc_c", options={"protocol": protocol})
    for name, options in ((PYTHON[protocol], {}), ("xmlrpc_c", {"protocol": protocol})):
        with calling(name, address, **options) as call:
            for size in (1, 1000, 700_000):
                for payload in (os.urandom(size), bytes(size)):
                    assert call(payload) == payload


@pytest.mark.slow
def test_more_calls_on_one_connection_than_the_servers_own_limit(child_server):
    _, address = child_server("xmlrpc_c")
    client = xmlrpc_stdlib.Client(address, xmlrpc_stdlib.Options())
    client.open()
    connection = client.connection._connection[1].sock
    assert all(client.call(b"x") == b"x" for _ in range(40))
    assert client.connection._connection[1].sock is connection
    client.close()


@protocols
def test_a_server_that_does_not_echo_is_found_out(protocol):
    module = systems.load(PYTHON[protocol])
    address = begin(module, module.Options(), Binding("tcp", ""), answer=lambda payload: payload + b"!")
    load = library.Load(address, library.Options(protocol=protocol), [b"hello", b"olleh"], 1, 50)
    with pytest.raises(TransportError, match=r"request 0 .*\(6\)"):
        load.first()


def test_entities_do_no_harm_to_the_library(child_server):
    _, address = child_server("xmlrpc_c")
    assert b"haha" not in post(address, LAUGHS.encode())
    with calling("xmlrpc_stdlib", address) as call:
        assert call(b"hello") == b"hello"


# ---- the program


def small(tmp_path, text="int main() {}", header=""):
    """Return a program made of a small source and its header, and what was said meanwhile."""
    lines = []
    (tmp_path / "small.cpp").write_text(f'#include "small.hpp"\n{text}')
    (tmp_path / "small.hpp").write_text(header)
    programs.ensure.cache_clear()
    made = programs.ensure(tmp_path / "small.cpp", (), lines.append, headers=(tmp_path / "small.hpp",))
    return made, lines


def test_a_program_is_compiled_once_and_again_when_its_source_or_its_header_differs(programs_folder, tmp_path):
    first, lines = small(tmp_path)
    assert len(lines) == 1 and subprocess.run([first]).returncode == 0
    assert small(tmp_path) == (first, [])
    second, _ = small(tmp_path, "int main() { return STATUS; }", "enum { STATUS = 3 };")
    third, _ = small(tmp_path, "int main() { return STATUS; }", "enum { STATUS = 4 };")
    assert len({first, second, third}) == 3
    assert [subprocess.run([made]).returncode for made in (second, third)] == [3, 4]


def test_a_compiler_that_fails_is_quoted_and_nothing_counts_as_made(programs_folder, tmp_path):
    for _ in range(2):
        with pytest.raises(NotInstalledError, match=r"small\.cpp .*nothing_of_this_name.*g\+\+ "):
            small(tmp_path, "int main() { return nothing_of_this_name; }")
    assert not list(programs_folder.glob("*/*"))
