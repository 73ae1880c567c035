"""Hosts that keep their samples: all of them are in a file there, and the run has sketches and a random sample."""

import errno
import os
import re
import resource
import stat
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import descendants, wait_for
from drawings import legend
from host_processes import Hosts

from bench import stats
from bench.apps import listing
from bench.errors import SystemFailedError, UsageError
from bench.experiments import panels
from bench.measurement import keeping, runner
from bench.measurement.capacity_search import judged
from bench.measurement.hosts import agent
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.plan.objective import objective
from bench.process.channel import Count, Reader, encode
from bench.process.spec import Done
from bench.run import sketched, stored
from bench.run.frames import Run, column
from bench.run.start_record import StartRecord
from bench.stats.sketches import ACCURACY
from bench.validation.profiles import make_plan

pytestmark = pytest.mark.slow

SENT = 100  # samples of a process
COLUMNS = ["t_send_ns", "lag_ns", "rtt_ns"]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Let processes keep more than a few samples."""
    monkeypatch.setenv(keeping.VARIABLE, str(SENT))


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    """Return the hosts alpha, which serves, and beta, and the folder where they keep samples."""
    folder = tmp_path_factory.mktemp("far") / "samples"
    hosts = Hosts("alpha", "beta", variables={"ROUNDTRIP_SAMPLES": str(folder)})
    yield hosts, folder
    hosts.close()


def cases(hosts, **more):
    """Return a closed and an open load of two client processes on beta."""
    closed = Case("sockets", "tcp", 100, placement="free", clients=2, hosts=hosts.asked, **more)
    return [closed, replace(closed, load="open", offered_per_s=2500.0)]


def test_all_samples_are_on_the_host_and_the_run_has_sketches_and_some_of_them(bed, tmp_path):
    hosts, folder = bed
    run = Run(runner.run(make_plan("latency", cases(hosts), starts=1, window_s=0.4)))
    assert set(run.sketches["host"]) == {"beta"} and set(run.sketches["process"]) == {0, 1}
    assert (run.ledger["calls"] == run.ledger["server_calls"]).all()
    for start in run.ledger.index:
        sent, files = run.samples[run.samples["start"] == start], []
        for process in (0, 1):
            file = folder / run.id / f"{start:05d}-{process:03d}.parquet"
            assert str(file) in set(run.sketches["path"])
            files.append(pq.read_table(file).to_pandas())
            assert set(files[-1]["client"]) == {process} and len(files[-1]) > SENT
            chance, number = np.random.default_rng((run.plan.seed + start) * 1000 + process), len(files[-1])
            chosen = files[-1].loc[np.sort(chance.choice(number, SENT // keeping.PART, replace=False)), COLUMNS]
            mine = sent.loc[sent["client"] == process, COLUMNS].reset_index(drop=True)
            assert mine.equals(chosen.sort_values("t_send_ns", kind="stable", ignore_index=True))
        every = pd.concat(files)
        assert len(every) == run.ledger.loc[start, "calls"]
        found = run.sketched.times(start, "response", warm=False)
        for p in (0.5, 0.9, 0.99):
            true = stats.quantile((every["rtt_ns"] + every["lag_ns"]).to_numpy() / 1e3, p)
            assert abs(found.quantile(p) - true) <= ACCURACY * true * (1 + 1e-9)
        assert found.mean == pytest.approx((every["rtt_ns"] + every["lag_ns"]).mean() / 1e3, rel=1e-12)
        assert run.starts.loc[start, "rate_per_s"] > 0 < run.starts.loc[start, column(0.5)]
    assert stat.S_IMODE((folder / run.id).stat().st_mode) == 0o700
    kept = stored.keep(run.folder, tmp_path / "kept")
    assert f"beta: {folder / run.id}" in listing.run_text(str(kept.path))
    assert "from sketches" in legend(panels.panel(Run(kept), "distribution").axes[0])[0]
    assert wait_for(lambda: not any(map(descendants, (one.pid for one in hosts.hosts.values()))))


def test_a_full_disk_there_is_said_and_the_run_can_be_resumed(bed):
    if not hasattr(resource, "prlimit"):
        pytest.skip("a limit of another process can be set on Linux only")
    hosts, folder = bed
    plan, pid = make_plan("latency", cases(hosts)[:1], starts=1, window_s=0.4), hosts.hosts["beta"].pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    with pytest.raises(SystemFailedError, match=rf"host beta: .*[\d,]+ samples .*{os.strerror(errno.EFBIG)}") as caught:
        runner.run(plan)
    assert "\n" not in str(caught.value)
    (unfinished,) = stored.all_runs()
    assert list((folder / unfinished.id).iterdir()) == [] and unfinished.done() == set()
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    assert runner.run(plan, unfinished).done() == {0}
    assert {file.name for file in (folder / unfinished.id).iterdir()} == {"00000-000.parquet", "00000-001.parquet"}


def test_this_machine_keeps_nothing():
    record = measure(Case("sockets", "tcp", 100, placement="free"), 0.2, 1)
    assert record.ledger["calls"] == sum(one.shape[1] for one in record.calls) > SENT and not record.sketches


def done(calls, blobs):
    usage = dict.fromkeys(("voluntary_switches", "involuntary_switches", "gc_collections", "client_cpu_ns"), 0)
    return Done(**usage, server_cpu_ns=None, calls=calls, blobs=blobs)


def test_an_agent_holds_back_the_samples_of_reports_with_too_many_and_passes_on_the_rest():
    holding = agent._Holding(10)
    blobs = [np.arange(11).tobytes(), np.arange(11).tobytes()]
    sent = b"".join(b"".join(encode(one)) for one in (Count(), done(10, [b"x" * 80]), done(11, blobs)))
    passed = b"".join(holding.passed(sent[at : at + 7]) for at in range(0, len(sent), 7))
    count, few, many = Reader().feed(passed)
    assert isinstance(count, Count) and (few.blobs, few.held) == ((b"x" * 80,), 0)
    assert (many.blobs, many.held, many.calls) == ((), 11, 11) and holding.blobs == blobs
    assert holding.passed(b"no message\n") == b"no message\n"
    made = agent.Agent()
    try:
        with pytest.raises(SystemFailedError):
            made.keep(1, {})
    finally:
        made.close()


def order(**changed):
    words = {"run": "r", "start": 0, "process": 0, "callers": 1, "width": 2, "go_ns": 0, "window_ns": 10**9, "seed": 1}
    return words | {"sampled": 3} | changed


def test_what_cannot_be_kept_is_said(monkeypatch, tmp_path):
    sent = np.arange(0, 10_000, 100)
    blobs = [sent.tobytes(), (sent + 50).tobytes()]
    monkeypatch.setenv("ROUNDTRIP_SAMPLES", str(tmp_path))
    assert len(keeping.keep(blobs, order())["blobs"][0]) == 3 * 8
    for name in ("../r", "..", "", "/r"):
        with pytest.raises(UsageError, match=re.escape(repr(name))):
            keeping.keep(blobs, order(run=name))
    with pytest.raises(SystemFailedError):
        keeping.keep(blobs[::-1], order())
    (tmp_path / "file").touch()
    monkeypatch.setenv("ROUNDTRIP_SAMPLES", str(tmp_path / "file"))
    with pytest.raises(SystemFailedError, match=r"\b100 samples .*: (Not a directory|File exists)"):
        keeping.keep(blobs, order())


@pytest.mark.parametrize("text", ["0", "many", "-1", "1.5"])
def test_a_number_that_cannot_be_is_refused(monkeypatch, text):
    monkeypatch.setenv(keeping.VARIABLE, text)
    with pytest.raises(UsageError, match=f"{keeping.VARIABLE} .*'{text}'"):
        keeping.above()


def test_samples_are_held_back_of_calls_that_are_alike(monkeypatch):
    case = Case("sockets", "tcp")
    assert keeping.hold_above(case) == keeping.hold_above(replace(case, load="open", offered_per_s=1.0)) == SENT
    others = ({"calls_per_connection": 2}, {"large_bytes": 1000, "outstanding": 2}, {"load": "stream"})
    assert [keeping.hold_above(replace(case, **other)) for other in (*others, {"engine": "wrk"})] == [0] * 4
    monkeypatch.delenv(keeping.VARIABLE)
    assert keeping.above() == keeping.ABOVE


def test_a_search_for_a_capacity_judges_by_sketches():
    chance = np.random.default_rng(1)
    due = np.arange(0, 10**9, 10**5)
    every = [np.stack([due + 100, due + chance.lognormal(12, 0.5, len(due)).astype("i8"), due]) for _ in range(3)]
    times = np.concatenate([one[1] - one[2] for one in every]) / 1e3
    chosen = np.arange(0, len(due), 10)
    rows = [
        {"process": process, "host": "a"} | row
        for process in (0, 1)
        for row in sketched.rows([every[process]], 10**9, chosen)
    ]
    ledger = {"calls": len(times), "scheduled": len(times)}
    hosts = [{"role": "load", "clients": 3, "first_client": 0}]
    goal = objective("p99 <= 5 ms")
    record = StartRecord(ledger, [every[0][:, chosen], every[1][:, chosen], every[2]], hosts=hosts, sketches=rows)
    true = judged(StartRecord(ledger, every, hosts=hosts), 1.0, goal).quantile_us
    assert true == stats.quantile(times, 0.99)
    assert abs(judged(record, 1.0, goal).quantile_us - true) <= ACCURACY * true * (1 + 1e-9)
