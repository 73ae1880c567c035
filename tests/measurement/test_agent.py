"""An agent holds one machine's children for a conductor elsewhere: nothing is done twice, nothing is left."""

import time

import numpy as np
import pytest
from conftest import is_gone, wait_for
from hypothesis import given
from hypothesis import strategies as some
from specs import server_spec

from bench.errors import SystemFailedError
from bench.measurement import revision
from bench.measurement.held_samples import pack, unpack
from bench.measurement.hosts import agent as agent_module
from bench.measurement.hosts.agent import Agent, _Samples
from bench.process.channel import Count, Listening, Reader, encode
from bench.process.spec import Done


@pytest.fixture
def agent():
    """Return an agent; it is closed at the end."""
    made = Agent()
    yield made
    made.close()


def spec_of(folder, **changed) -> bytes:
    return b"".join(encode(server_spec("sockets", "tcp", directory=str(folder / "private"), **changed)))


def polled(agent) -> bytes:
    """Return what the child 7 sends until it sends something."""
    data = b""
    while not data:
        data = b"".join(some for one, some in agent.poll(5) if one == 7)
    return data


def test_a_child_reports_is_metered_and_leaves(agent, tmp_path):
    pid = agent.spawn(7, "sockets server", "bench.child.server", spec_of(tmp_path))
    (listening,) = Reader().feed(polled(agent))
    assert isinstance(listening, Listening) and listening.address.startswith("tcp://127.0.0.1:")
    assert agent.child(7, "cpu_s") > 0
    agent.meter_start(1, {"server": [pid]})
    time.sleep(0.5)
    metered = agent.meter_stop(1)
    assert metered.used["server_cpu_ns"] >= 0 and {row[0] for row in metered.rows} == {"server"}
    assert len(metered.rows) >= 3
    assert agent.child(7, "exit_report", 0) == "" != agent.child(7, "log_tail")
    agent.child(7, "ask_to_leave")
    agent.stop([7])
    assert is_gone(pid) and agent.child(7, "log_tail") == "" and agent.child(7, "cpu_s") == 0


def test_without_polls_all_children_end_and_the_conductor_hears_why(monkeypatch, tmp_path):
    made = Agent()
    pid = made.spawn(7, "sockets server", "bench.child.server", spec_of(tmp_path))
    monkeypatch.setattr(agent_module, "LEASE_S", 0.1)  # from here: a busy machine needs longer to start a process
    assert wait_for(lambda: is_gone(pid))
    with pytest.raises(SystemFailedError):
        made.poll(1)


def test_a_revision_is_of_contents_and_names_alone(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        (folder / "inside").mkdir(parents=True)
        (folder / "inside" / "a.py").write_text("x = 1\n")
        (folder / "b.cpp").write_text("int x;\n")
    (other / "inside" / "a.pyc").write_text("compiled")
    same = revision.of_folders([one])
    assert revision.of_folders([other]) == same and len(same) == 12
    (other / "b.cpp").write_text("int y;\n")
    assert revision.of_folders([other]) != same
    (other / "b.cpp").write_text("int x;\n")
    (other / "b.cpp").rename(other / "c.cpp")
    assert revision.of_folders([other]) != same


@given(some.lists(some.lists(some.integers(-(2**63), 2**63 - 1), max_size=50), min_size=1, max_size=6))
def test_samples_that_are_packed_come_back_as_they_were(times):
    blobs = [np.array(values, "i8").tobytes() for values in times]
    assert unpack(pack(blobs)) == blobs


def done(calls, blobs):
    usage = dict.fromkeys(("voluntary_switches", "involuntary_switches", "gc_collections", "client_cpu_ns"), 0)
    return Done(**usage, server_cpu_ns=None, calls=calls, blobs=blobs)


def test_an_agent_holds_samples_and_passes_on_the_rest():
    samples, blobs = _Samples(), [np.arange(11).tobytes(), np.arange(11).tobytes()]
    sent = b"".join(b"".join(encode(message)) for message in (Count(), done(0, ()), done(11, blobs)))
    passed = b"".join(samples.without(sent[at : at + 7]) for at in range(0, len(sent), 7))
    count, none, some_calls = Reader().feed(passed)
    assert isinstance(count, Count) and not none.is_held
    assert (some_calls.blobs, some_calls.is_held, some_calls.calls) == ((), True, 11)
    assert list(samples.blobs) == blobs
    assert samples.without(b"no message\n") == b"no message\n"
