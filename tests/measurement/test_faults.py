"""What goes wrong is said in one line with a remedy; nothing is lost, nothing is left running."""

import errno
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, children, descendants, is_gone, serving, wait_for
from specs import server_spec

from bench.analysis import checks
from bench.contract import parse_address
from bench.errors import DataError, SystemFailedError
from bench.grammar.experiment import experiment
from bench.measurement import runner, start
from bench.measurement.start import measure
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.process.channel import encode
from bench.run import stored
from bench.run.frames import Run
from bench.systems import _connections

pytestmark = pytest.mark.slow

EXPERIMENT = """
import sys
from bench.measurement import runner
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
cases = [Case("sockets", "ipc"), Case("sockets", "tcp")]
plan = make_plan("latency", cases, starts=int(sys.argv[1]), window_s=0.1)
print(runner.run(plan, progress=lambda case: print("done", flush=True)).id)
"""


def experiment_of(starts):
    """Start a process that measures so many starts of each case."""
    words = [sys.executable, "-c", EXPERIMENT, str(starts)]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def faulty(fault, transport="tcp"):
    return Case("faulty", transport, 100, {"fault": fault})


@pytest.fixture
def impatient(with_systems, monkeypatch):
    """Use the faulty systems, and give up soon."""
    with_systems()
    monkeypatch.setattr(start, "READY_S", 1.5)
    monkeypatch.setattr(start, "PATIENCE_S", 1.0)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("dies_at_once", "server .*status 7; .*: cannot start: no luck today"),
        ("never_listens", "faulty server"),
        ("returns", r"serve\(\) of faulty"),
        ("lies_at_once", "request 0 .*100 bytes"),
        ("dies_later", "server .*status 3; .*: the last words of the server"),
        ("hangs_later", "faulty client"),
        ("lies_later", r"request \d+ .*100 bytes"),
        ("cuts_later", "99 bytes .*100"),
    ],
)
def test_a_server_that_fails_is_quoted_and_nothing_is_left(impatient, private_parent, fault, text):
    before = children()
    with pytest.raises(SystemFailedError, match=text) as caught:
        measure(faulty(fault, "ipc"), window_s=0.3, seed=1)
    assert "\n" not in str(caught.value)
    assert children() == before
    assert not list(private_parent.glob("roundtrip-*"))


def test_a_stale_server_that_answers_in_its_place_is_found_by_the_counts(with_systems):
    with_systems()
    run = Run(runner.run(make_plan("latency", [faulty("stale")], starts=1, window_s=0.05)))
    (answers_check,) = [one for one in checks.check(run) if one.name == "answers"]
    assert answers_check.verdict == checks.INVALID and answers_check.advice


def test_what_was_measured_before_a_failure_is_kept_and_resumed(impatient, monkeypatch):
    plan = make_plan("latency", [Case("sockets", "ipc"), faulty("lies_later")], starts=2, window_s=0.1)
    with pytest.raises(SystemFailedError):
        runner.run(plan)
    (folder,) = stored.all_runs()
    (failure,) = folder.manifest()["failures"]
    assert "100 bytes" in failure["error"]
    assert not folder.manifest()["finished"]
    kept = folder.done()
    monkeypatch.setattr(runner, "measure", lambda case, *rest: measure(plan.cases[0], *rest))
    resumed = runner.run(plan, stored.unfinished(plan))
    assert resumed.path == folder.path
    assert resumed.done() == set(range(4)) > kept
    assert resumed.manifest()["finished"]


def test_resume_measures_only_what_is_missing():
    plan = make_plan("latency", [Case("loopback", "inproc", max_calls=100)], starts=3, window_s=0.1)
    folder = runner.run(plan)
    stamps = {file: file.stat().st_mtime_ns for file in folder.files("ledger")}
    folder.update(finished=False)
    folder.files("ledger")[1].unlink()
    again = runner.run(plan, stored.unfinished(plan))
    assert again.path == folder.path and again.done() == {0, 1, 2}
    changed = [file.name for file in again.files("ledger") if stamps[file] != file.stat().st_mtime_ns]
    assert changed == ["00001.parquet"]
    assert runner.run(plan, stored.unfinished(plan)).path != folder.path  # a finished run is not gone on with


def test_an_interrupted_experiment_leaves_its_data_and_nothing_else(private_parent):
    with experiment_of(starts=100) as process:  # killed, it is in the campaign
        for _ in range(4):
            assert process.stdout.readline() == "done\n"
        assert wait_for(lambda: descendants(process.pid) and list(private_parent.glob("roundtrip-*")))
        family = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        process.wait(10)
    assert wait_for(lambda: all(is_gone(child) for child in family)), "orphans"
    assert wait_for(lambda: not list(private_parent.glob("roundtrip-*")))
    (folder,) = stored.all_runs()
    assert len(folder.done()) >= 4
    assert len(folder.read("samples")) > 100
    assert not list(folder.path.rglob(".*"))


def test_two_experiments_at_once_do_not_clash():
    both = [experiment_of(starts=3) for _ in range(2)]
    ids = {process.communicate(timeout=110)[0].split()[-1] for process in both}
    assert len(ids) == 2 and all(process.returncode == 0 for process in both)
    assert all(folder.manifest()["finished"] for folder in stored.all_runs())


def test_a_run_without_a_complete_start_says_so(command):
    plan = experiment("latency").plan(transport="ipc")
    folder = stored.create(plan, runner.facts(plan))
    for words in (["show", folder.id], ["run", "latency", "-p", "source", folder.id]):
        finished = command(*words)
        assert finished.returncode == 1 and folder.id in finished.stderr and finished.stderr.count("\n") == 1


def test_a_full_disk_is_explained_and_what_was_there_stays():
    plan = make_plan("latency", [Case("sockets", "ipc")], starts=1, window_s=0.1)
    folder = runner.run(plan)
    tables = {"samples": folder.read("samples"), "ledger": folder.read("ledger")}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(DataError, match="ROUNDTRIP_RUNS"):
            folder.append(1, tables)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert folder.done() == {0}
    assert not list(folder.path.rglob(".*"))


def test_a_target_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(start, "READY_S", 1.0)
    with pytest.raises(SystemFailedError, match=os.strerror(errno.ECONNREFUSED)):
        measure(Case("sockets", "tcp", target="tcp://127.0.0.1:1"), 0.1, seed=1)
    with pytest.raises(SystemFailedError, match="bench serve zeromq tcp"):
        measure(Case("zeromq", "tcp", target="tcp://127.0.0.1:1"), 0.1, seed=1)


def test_a_target_of_another_protocol_is_an_error_with_a_remedy(monkeypatch):
    monkeypatch.setattr(start, "READY_S", 0.8)
    for system, asked in (("zeromq", "sockets"), ("sockets", "zeromq")):
        with serving(system) as served, pytest.raises(SystemFailedError, match=f"bench serve {asked} tcp"):
            measure(Case(asked, "tcp", target=served.target), 0.1, seed=1)


def test_a_served_target_is_measured_without_its_cpu_and_leaves_on_request(tmp_path):
    address = f"ipc://{tmp_path}/served.sock"
    with serving("sockets", address) as served:
        ledger = measure(Case("sockets", "ipc", target=address), 0.5, seed=1).ledger
        children = descendants(served.process.pid)
    assert "server_cpu_ns" not in ledger and ledger["server_calls"] is None and ledger["calls"] > 1
    first, last = served.said.splitlines()
    assert re.search(rf"{address}; .*-p system sockets", first) and f" {ledger['calls'] + 1:,} " in last
    assert served.process.returncode == 0
    assert wait_for(lambda: all(is_gone(child) for child in children))
    assert not (tmp_path / "served.sock").exists()


def test_a_served_socket_file_is_for_its_user_alone_unless_asked_otherwise(tmp_path):
    for system, words, mode in (("zeromq", [], 0o600), ("grpc_sync", ["--mode", "666"], 0o666)):
        path = tmp_path / f"{mode}.sock"
        with serving(system, f"ipc://{path}", *words):
            assert stat.S_IMODE(path.stat().st_mode) == mode


def test_serving_never_replaces_what_is_there(command, tmp_path):
    file, folder = tmp_path / "letter", tmp_path / "folder"
    file.write_text("dear")
    folder.mkdir()
    for path in (file, folder):
        finished = command("serve", "wamp_crossbar", f"ipc://{path}")
        assert finished.returncode == 2 and str(path) in finished.stderr
        assert finished.stderr.count("\n") == 1
    assert file.read_text() == "dear" and folder.is_dir()
    busy = _connections.listen(parse_address(f"ipc://{tmp_path}/busy"))
    assert f"{tmp_path}/busy" in command("serve", "zeromq", f"ipc://{tmp_path}/busy").stderr
    busy.close()
    assert command("serve", "zeromq", f"ipc://{tmp_path}/x", "--mode", "rw").returncode == 2


def test_a_socket_that_a_server_left_is_used_again(tmp_path):
    path = tmp_path / "left.sock"
    _connections.listen(parse_address(f"ipc://{path}")).close()
    assert path.is_socket()
    with serving("zeromq", f"ipc://{path}"):
        assert measure(Case("zeromq", "ipc", target=f"ipc://{path}"), 0.05, seed=1).ledger["calls"] > 0


def test_a_child_whose_parent_dies_before_it_speaks_leaves_too(tmp_path):
    code = (
        "import os, subprocess, sys\n"
        "P = subprocess.PIPE\n"
        "c = subprocess.Popen([sys.executable, '-m', 'bench.child.server'], stdin=P, stdout=P)\n"
        "print(c.pid, flush=True); os._exit(0)"
    )
    child = int(subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout)
    assert wait_for(lambda: is_gone(child))


def test_the_private_directory_is_private(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.child.server"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    directory = Path(tmp_path / "private")
    process.stdin.write(b"".join(encode(server_spec("sockets", "ipc", directory=str(directory)))))
    process.stdin.flush()
    assert b"Listening" in process.stdout.readline()
    assert directory.stat().st_mode & 0o777 == 0o700
    process.stdin.close()
    assert process.wait(5) == 0 and not directory.exists()
    process.stdout.close()
