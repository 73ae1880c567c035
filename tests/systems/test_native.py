"""What answers or calls in processes of its own is counted, and its CPU time is told."""

import os
import subprocess
import sys
import time

import pytest
from conftest import wait_for

from bench.child.client import Meter
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.process import cpu_clocks

pytestmark = pytest.mark.slow


def test_the_cpu_time_of_a_clients_program_is_the_clients():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as program:
        try:
            meter = Meter(None, [program.pid])
            meter.start()
            before = cpu_clocks.process_ns(program.pid)
            assert wait_for(lambda: cpu_clocks.process_ns(program.pid) > before + 20_000_000)
            used = cpu_clocks.process_ns(program.pid) - before
            assert meter.stop()["client_cpu_ns"] >= used
        finally:
            program.kill()


def test_context_switches_are_those_of_all_threads_and_processes():
    def used() -> tuple[int, int]:
        return cpu_clocks.switches([os.getpid(), os.getpid()])

    before = used()
    for _ in range(20):
        time.sleep(0.001)
    after = used()
    assert after[0] - before[0] >= 40 and after[1] >= before[1]
    assert cpu_clocks.switches([]) == (0, 0)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert cpu_clocks.threads(gone.pid) == [] and cpu_clocks.switches([gone.pid]) == (0, 0)


def test_a_server_that_ends_a_thread_with_each_connection_reports_their_switches():
    case = Case("sockets", "tcp", 100, calls_per_connection=50, placement="split", max_calls=500)
    ledger = measure(case, 1.0, 1).ledger
    assert ledger["calls"] == 500
    assert ledger["server_voluntary_switches"] > 0.2 * ledger["calls"]  # the thread that accepts makes 0.08 of them


def test_clients_do_without_psutil_and_processes_that_ended_count_nothing():
    code = "import sys, bench.child.client; print('psutil' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
    with subprocess.Popen([sys.executable, "-c", ""]) as program:
        pass
    assert cpu_clocks.total_ns([program.pid]) == 0 and cpu_clocks.total_ns([os.getpid()]) > 0
