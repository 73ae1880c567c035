"""The memory of a client whose server is a target; what endless replies do to it is tried by the campaign."""

import os
import resource
import subprocess
import sys
from types import SimpleNamespace

import pytest

from bench.child import memory
from bench.child.caller import Failures
from bench.errors import SystemFailedError, TransportError
from bench.plan.case import Case
from bench.process.pipes import python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process so")


@pytest.fixture
def program():
    """Yield a process that waits."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def kept(monkeypatch):
    """Leave the limit of this process as it is: return what it would have become."""
    became, prlimit = [], resource.prlimit

    def noted(pid, which, limits=None):
        if pid != os.getpid() or limits is None:
            return prlimit(pid, which) if limits is None else prlimit(pid, which, limits)
        return became.append(limits)

    monkeypatch.setattr(resource, "prlimit", noted)
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: became.append(limits))
    return became


def spec(**case):
    return SimpleNamespace(case=Case("sockets", "tcp", **case), window_s=1.0)


def test_a_client_and_its_program_are_limited_where_the_server_is_a_target(program, kept):
    memory.bound(spec(), [program])
    assert kept == [] and resource.prlimit(program, resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY
    memory.bound(spec(target="tcp://127.0.0.1:1"), [program])
    of_program = resource.prlimit(program, resource.RLIMIT_DATA)[0]
    assert memory.ROOM_BYTES < of_program < kept[0][0]
    memory.bound(spec(target="tcp://127.0.0.1:1", payload_bytes=10_000_000, callers=2), [program])
    assert kept[1][0] > kept[0][0] + 2 * 2 * 10_000_000


def test_memory_that_a_client_did_not_get_is_found_behind_other_errors(kept):
    failed = TransportError("the call failed", "read")
    failed.__cause__ = ValueError()
    failed.__cause__.__context__ = MemoryError()
    with pytest.raises(SystemFailedError, match="memory"):
        Failures().add(failed)
    with pytest.raises(SystemFailedError, match="memory"), memory.explained():
        raise MemoryError
    assert kept  # the error can be reported
    with pytest.raises(ZeroDivisionError), memory.explained():
        raise ZeroDivisionError


LIMITED = """
from bench.child import memory
from bench.plan.case import Case
from types import SimpleNamespace
memory.bound(SimpleNamespace(case=Case("sockets", "tcp", target="tcp://127.0.0.1:1"), window_s=1.0), [])
with memory.explained():
    kept = [bytes([1]) * 1_000_000 for _ in range(1_000)]
"""


def test_the_kernel_refuses_the_rest():
    ended = subprocess.run([*python("x")[:2], "-c", LIMITED], capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and "SystemFailedError" in ended.stderr
