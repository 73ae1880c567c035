"""HTTP by a Crossbar.io node: its resources by every engine, its workers counted, and its end."""

import os
import socket

import psutil
import pytest
from conftest import descendants, is_gone, wait_for
from specs import server_spec
from test_http import ask
from wire_servers import load_of

from bench import systems
from bench.contract import Binding
from bench.errors import TransportError
from bench.process.channel import Count, Counted, Listening
from bench.process.child_process import Child, collect, private_directory
from bench.systems import _http, http_crossbar

pytestmark = pytest.mark.slow

NAME = "http_crossbar"


def counted(child):
    child.send(Count())
    (count,) = collect(Counted, [child], 10)
    return count


def test_every_resource_is_got_by_each_engine_from_workers_that_have_a_cpu_each_and_count(child_server):
    child, address = child_server(NAME, options={"workers": 2, "pin": True})
    for resource in _http.TARGETS:
        before, payloads = counted(child), [b"x", os.urandom(1000), bytes(300_000)]
        assert ask(address, *payloads, resource=resource) == payloads
        after = counted(child)
        assert after.count - before.count == 3 == sum(after.workers) - sum(before.workers)
        options = http_crossbar.Options(resource=resource)
        _, report, _ = load_of(address, http_crossbar, options=options, payload_bytes=70_000, max_calls=2)
        assert (report.calls, report.errors) == (2, 0)
    named = {pid: psutil.Process(pid).cmdline() for pid in descendants(child.pid)}
    workers = [pid for pid, words in named.items() if any("worker" in word for word in words)]
    cpus = sorted(os.sched_getaffinity(0))
    chosen = [sorted(os.sched_getaffinity(pid)) for pid in workers]
    assert len(after.workers) == 2 and sorted(chosen) == sorted([[cpus[0]], [cpus[1 % len(cpus)]]])


def test_a_node_ends_with_its_servers_process():
    spec = server_spec(NAME, directory=private_directory(), environment=systems.environment(NAME))
    child = Child("node", "bench.child.server", spec)
    collect(Listening, [child], 60)
    family = descendants(child.pid)
    psutil.Process(child.pid).kill()
    child.stop()
    assert len(family) >= 2
    assert wait_for(lambda: all(is_gone(pid) for pid in family))


def test_a_port_must_be_free(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(TransportError, match=f"{address}.*Address already in use"):
            http_crossbar.serve(Binding("tcp", str(tmp_path), address), http_crossbar.Options(), None)
