"""What one more call costs: the arithmetic on known numbers, and whole client processes that run and end."""

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import own_system
import pandas as pd
import pytest
from conftest import ROOT, descendants, is_gone, wait_for
from hypothesis import given
from hypothesis import strategies as st

from bench import systems
from bench.analysis import marginal_costs as findings
from bench.errors import SystemFailedError, UsageError
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan.case import Case

SESSIONS = ((1, 100), (30, 100), (10, 5000))


@given(
    a=st.floats(0, 1e6), b=st.floats(0, 1e4), c=st.floats(0, 100), seed=st.integers(0, 100), repeats=st.integers(1, 3)
)
def test_the_regression_finds_the_law_that_made_the_numbers(a, b, c, seed, repeats):
    points = np.array([(1, 100), (100, 100), (300, 100), (100, 10_000), (300, 10_000)] * repeats)
    np.random.default_rng(seed).shuffle(points)
    calls, sizes = points.T
    coefficients = findings.fit(calls, sizes, a + b * calls + c / 1e3 * calls * sizes)
    assert np.allclose(coefficients, (a, b, c), rtol=1e-6, atol=1e-3)


def test_what_cannot_be_told_is_not_a_number():
    calls, one_size = np.array([1, 100, 300]), np.array([100] * 3)
    a, b, c = findings.fit(calls, one_size, 5 + 2.0 * calls)
    assert (a, b) == pytest.approx((5, 2)) and c != c
    assert np.isnan(findings.fit(np.array([7, 7]), np.array([1, 1]), np.array([1.0, 2.0]))).all()


class MadeUp(SimpleNamespace):
    __hash__ = object.__hash__  # what follows from a run is kept by the run


def made_up(*rows):
    """Return what stands for a run: (start, calls, begin, answered, called, end) in us."""
    names = ("start", "calls", "begin_ns", "answered_ns", "called_ns", "end_ns")
    frame = pd.DataFrame(rows, columns=names)
    frame[list(names[2:])] *= 1000
    frame = frame.assign(case=0, payload_bytes=100, client_cpu_ns=1, server_cpu_ns=1)
    return MadeUp(sessions_of=lambda case: frame, case=lambda number: Case("sockets", "tcp", 100))


def test_the_origins_difference_and_the_stopwatch_of_a_known_run():
    rows = [(start, calls, 0, 1000, 1000 + 10 * (calls - 1), 2000 + 12 * (calls - 1)) for start in range(3)
            for calls in (1, 100, 1000)]  # fmt: skip
    run = made_up(*rows)
    assert findings.of_hundred(run, 0) == 100
    assert findings.difference_us(run, 0).to_list() == pytest.approx([12, 12, 12])
    assert findings.stopwatch_us(run, 0).to_list() == pytest.approx([10, 10, 10])
    assert findings.costs(run, 0)["call"].to_list() == pytest.approx([12, 12, 12])
    assert findings.costs(run, 0)["process"].to_list() == pytest.approx([1988] * 3)


@pytest.mark.parametrize(("system", "transport"), [("sockets", "ipc"), ("http_aiohttp", "tcp"), ("xmlrpc_c", "tcp")])
def test_processes_of_every_kind_of_client_are_run_and_counted(system, transport):
    if system == "xmlrpc_c" and system not in systems.offering("Load"):
        pytest.skip("Xmlrpc-c is not installed: apt-get install g++ libxmlrpc-c++8-dev")
    case = Case(system, transport, 100, load="session", sessions=SESSIONS)
    measured = measure(case, 1.0, seed=1)
    assert measured.ledger["calls"] == measured.ledger["server_calls"] == 41 and measured.ledger["errors"] == 0
    assert [(row["calls"], row["payload_bytes"]) for row in measured.tables["sessions"]] == list(SESSIONS)
    for row in measured.tables["sessions"]:
        told = [row[name] for name in ("interpreted_ns", "prepared_ns") if row[name] is not None]
        moments = [row["begin_ns"], *told, row["answered_ns"], row["called_ns"], row["end_ns"]]
        assert moments == sorted(moments) and len(told) == (0 if system == "xmlrpc_c" else 2)
        assert 0 < row["client_cpu_ns"] <= row["end_ns"] - row["begin_ns"] + 20_000_000
        assert row["server_cpu_ns"] >= 0


@pytest.mark.parametrize("changed", [{"sessions": ()}, {"clients": 2}, {"engine": "wire"}, {"transport": "inproc"}])
def test_what_processes_cannot_be_is_refused(changed):
    with pytest.raises(UsageError):
        checked(Case(**{"system": "zeromq", "transport": "tcp", "load": "session", "sessions": SESSIONS} | changed))


def test_a_client_process_that_fails_ends_the_start_with_its_words(with_systems, tmp_path):
    client = """
        made = 0
        def call(self, payload):
            self.made += 1
            if self.made == 3:
                raise TransportError("that was one too many")
            return super().call(payload)
    """
    (tmp_path / "fragile.py").write_text(own_system.text("from bench.errors import TransportError", client=client))
    with_systems(tmp_path)
    with pytest.raises(SystemFailedError, match="that was one too many"):
        measure(Case("fragile", "tcp", 100, load="session", sessions=((2, 100), (3, 100))), 1.0, seed=1)


def test_a_client_process_leaves_when_its_parent_is_killed():
    case = "Case('sockets', 'tcp', 100, load='session', sessions=((10**6, 100),))"
    code = f"from bench.plan.case import Case; from bench.measurement.start import measure; measure({case}, 1.0, 1)"
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL) as process:

        def sessions():
            return [pid for pid in descendants(process.pid) if "bench.child.session" in command(pid)]

        assert wait_for(lambda: any("1000000" in command(pid) for pid in sessions()), 20)
        family = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
    assert wait_for(lambda: all(is_gone(pid) for pid in family))


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
