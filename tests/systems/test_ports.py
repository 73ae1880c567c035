"""Ports for servers that cannot pick one themselves."""

import subprocess
import sys

import pytest

from bench.systems import _ports

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's range of ports is read on Linux only")


@LINUX
def test_the_kernel_gives_a_free_port_to_no_connection_and_nobody_else_is_given_it(monkeypatch):
    first, last = map(int, _ports.RANGE.read_text().split())
    port = _ports.free()
    assert not first <= port <= last
    code = f"from bench.systems import _ports; print(_ports._claimed({port}))"
    command = [sys.executable, "-c", code]
    assert subprocess.check_output(command, text=True) == "False\n"
    _ports._claims.pop().close()
    assert subprocess.check_output(command, text=True) == "True\n"


@LINUX
@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_port_at_which_somebody_listens_is_not_free(host, monkeypatch, tmp_path):
    port = _ports.free(host)
    (tmp_path / "range").write_text(f"{port + 1}\t60999\n")
    monkeypatch.setattr(_ports, "FIRST", port - 1)
    monkeypatch.setattr(_ports, "RANGE", tmp_path / "range")
    monkeypatch.setattr(_ports, "_claims", [])
    monkeypatch.setattr(_ports, "_claimed", lambda port: True)
    last = _ports.addresses(host)[-1]
    with _ports._listening(last, port):
        assert _ports.free(host) == port - 1
        with _ports._listening(last, port - 1):
            assert _ports.free(host) not in (port - 1, port)  # none is left: the kernel gives one
