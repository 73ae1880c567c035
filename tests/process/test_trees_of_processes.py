"""The CPU time of a process and of all that it starts meanwhile: ended, or still alive; others are left out."""

import os
import signal
import subprocess
import sys

import pytest

from bench.process.cpu_clocks import total_ns, trees, used_by_trees_ns

BURN_S = 0.2
SERVER = f"""
import os, sys, time
for line in sys.stdin:
    if not (child := os.fork()):
        while time.process_time() < {BURN_S}:
            pass
        print(os.getpid(), flush=True)
        if line == "stay\\n":
            time.sleep(60)
        os._exit(0)
    if line == "end\\n":
        os.waitpid(child, 0)
        print("waited for", flush=True)
"""


@pytest.fixture
def server():
    """Yield a process that starts another one for each line; both use no CPU time but that."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        yield started
        for pid in trees([started.pid]):
            os.kill(pid, signal.SIGKILL)


def ask(server, line):
    """Let the server start a process and wait until it has used its CPU time; return its pid."""
    server.stdin.write(f"{line}\n".encode())
    server.stdin.flush()
    return int(server.stdout.readline())


def test_a_process_that_is_started_in_between_counts_whether_it_has_ended_or_not(server):
    before = used_by_trees_ns([server.pid])
    alone = total_ns([server.pid])
    ask(server, "end")
    server.stdout.readline()
    ended = used_by_trees_ns([server.pid])
    assert ended - before >= (BURN_S - 0.02) * 1e9 > 4 * (total_ns([server.pid]) - alone)
    child = ask(server, "stay")
    assert trees([server.pid]) == [server.pid, child]
    assert used_by_trees_ns([server.pid]) - ended >= (BURN_S - 0.02) * 1e9


def test_processes_of_another_role_are_left_out(server):
    child = ask(server, "stay")
    assert trees([server.pid], without=[child]) == [server.pid]
    assert used_by_trees_ns([server.pid], without=[child]) < BURN_S * 1e9 < used_by_trees_ns([server.pid])
