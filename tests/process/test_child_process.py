"""Deadlines: who hangs is late, who works on a busy machine is waited for."""

import os
import time

import pytest
from specs import server_spec

from bench.errors import SystemFailedError
from bench.process import child_process
from bench.process.channel import Listening
from bench.process.child_process import Child, collect, stop_all
from bench.process.pipes import ROOT

pytestmark = pytest.mark.slow

BUSY = """
import time
from bench.process.channel import Listening, run_child
from bench.process.spec import ServerSpec

def work(channel):
    spec = channel.receive(ServerSpec)
    end = time.monotonic() + float(spec.case.options["busy_s"])
    while time.monotonic() < end:
        pass
    time.sleep(float(spec.case.options["idle_s"]))
    channel.send(Listening(address="here"))
    channel.receive(ServerSpec)

if __name__ == "__main__":
    run_child(work)
"""


@pytest.fixture
def child(tmp_path, monkeypatch):
    (tmp_path / "busy_child.py").write_text(BUSY)
    monkeypatch.setattr(child_process, "with_package", lambda: os.environ | {"PYTHONPATH": f"{ROOT}:{tmp_path}"})
    monkeypatch.setattr(child_process, "LOOK_S", 0.3)
    started = []

    def start(busy_s, idle_s):
        started.append(Child("one server", "busy_child", server_spec("sockets", options=locals())))
        return started[0]

    yield start
    stop_all(started)


def test_a_child_that_works_beyond_the_deadline_is_waited_for(child):
    assert collect(Listening, [child(busy_s=3, idle_s=0)], 1.5)[0].address == "here"


@pytest.mark.parametrize(("load", "times_as_late"), [(0.0, 1), (1e6, child_process.LONGEST)])
def test_a_child_on_a_crowded_machine_may_wait_for_others_that_are_starved(child, monkeypatch, load, times_as_late):
    monkeypatch.setattr(child_process.os, "getloadavg", lambda: (load, load, load))
    began = time.monotonic()
    with pytest.raises(SystemFailedError, match=r"one server.*service\.announce"):
        collect(Listening, [child(busy_s=0, idle_s=60)], 1.5)
    assert time.monotonic() - began >= times_as_late * 1.5


def test_a_child_that_never_comes_to_an_end_is_late_too(child):
    began = time.monotonic()
    with pytest.raises(SystemFailedError, match="one server"):
        collect(Listening, [child(busy_s=100, idle_s=0)], 0.5)
    assert time.monotonic() - began >= child_process.LONGEST * 0.5
