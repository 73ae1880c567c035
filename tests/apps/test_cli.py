"""The command line: output for people, errors in one line with a remedy, exit status 1 or 2."""

import errno
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

from bench import systems
from bench.apps.doctor import EXAMINATIONS, Finding
from bench.apps.failures import outside
from bench.measurement import runner, trace
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.text import listed

LONG = "x" * 5000


@pytest.fixture
def one_run():
    cases = [Case("sockets", "ipc", max_calls=300), Case("loopback", "inproc", max_calls=300)]
    return runner.run(make_plan("latency", cases, starts=2, window_s=0.05))


def test_list_shows_every_system_with_transports_and_options(command):
    text = command("list").stdout
    for name in systems.names():
        assert f"{name}: {systems.describe(name)}" in text
    assert "inproc, ipc, tcp" in text and "nodelay=true" in text and "bytes, record, items, tree, numbers" in text


def test_runs_and_show(command, one_run):
    assert one_run.id in command("runs").stdout
    text = command("show", "latest").stdout
    assert one_run.id in text and "2 cases (one is loopback, the instrument alone) x 2 starts" in text
    assert "PASS    answers" in text and "CAUTION starts" in text and "sockets ipc" in text
    assert command("show", one_run.id[:10]).stdout == text


def test_without_runs_the_list_of_them_is_one_line(command):
    finished = command("runs")
    assert finished.returncode == 0 and finished.stdout.count("\n") == 1


def test_doctor_marks_each_finding_and_names_a_remedy(command):
    marks = ("ok      ", "caution ", "note    ")
    findings = [line for line in command("doctor").stdout.splitlines() if line.startswith(marks)]
    assert len(findings) == len(EXAMINATIONS)
    assert str(Finding("x", "y")) == "ok      x: y"
    assert str(Finding("x", "y", "do z")) == "caution x: y\n        -> do z"


def test_doctor_does_not_call_a_missing_tracer_ok_and_names_no_command_of_root(monkeypatch):
    monkeypatch.setattr(trace, "why_not", lambda: "as root: mount -t tracefs")
    (lack,) = (examine() for examine in EXAMINATIONS if examine.__name__ == "_tracer")
    assert str(lack).startswith("note    tracer: ") and "stored run" in str(lack) and "root" not in str(lack)


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["show", "nosuch"], 1, "bench runs"),
        (["nosuch"], 2, "nosuch"),
        (["run"], 2, "--all"),
        (["run", "latancy"], 2, "latency?"),
        (["run", "latency", "-p", "transport", "udp"], 2, "inproc, ipc, tcp"),
        (["serve", "sockets", "tcp://nowhere"], 2, "tcp://HOST:PORT"),
        (["run", "latency", "-p", "source", "nosuch"], 1, "'nosuch'"),
        (["run", "latency", "-p", "system", LONG], 2, "'xxx"),
        (["keep", "reference/latency", "/dev/null/x"], 1, "/dev/null/x"),
    ],
)
def test_errors_are_one_line_with_a_remedy(command, words, status, text):
    finished = command(*words)
    assert finished.returncode == status
    assert text in finished.stderr
    assert finished.stderr.count("\n") == 1 and finished.stderr.startswith("bench: ")
    assert len(finished.stderr) < 1000
    assert "Traceback" not in finished.stderr + finished.stdout


def test_a_process_fails_as_its_command_does_and_shows_the_traceback_on_request(command, process):
    expected, finished = command("show", "nosuch"), process("--debug", "show", "nosuch")
    assert finished.returncode == expected.returncode == 1 and finished.stdout == expected.stdout == ""
    assert "Traceback" in finished.stderr and "DataError" in finished.stderr
    assert finished.stderr.endswith(expected.stderr) and expected.stderr.startswith("bench: ")


@pytest.mark.slow
def test_units_can_be_read_in_ascii_too(process):
    finished = process("show", "reference/nodelay", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert finished.returncode == 0, finished.stderr
    assert " us " in finished.stdout and "?" not in finished.stdout and finished.stdout.isascii()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (MemoryError(), "ulimit -u"),
        (OSError(errno.EROFS, "Read-only file system"), "ROUNDTRIP_RUNS"),
        (KeyError("x"), "KeyError: 'x'"),
    ],
)
def test_an_error_of_the_machine_names_a_remedy_and_any_other_the_way_to_its_traceback(error, text):
    assert text in outside(error) and "\n" not in outside(error)
    wrapped = ImportError("cannot import")
    wrapped.__cause__ = error
    assert isinstance(error, KeyError) or text in outside(wrapped)


def test_an_unforeseen_error_names_the_last_line_of_the_package_that_it_came_through():
    with pytest.raises(TypeError) as caught:
        listed(3)
    assert re.search(r"TypeError: .* \(text\.py, line \d+\); ", outside(caught.value))


def test_keep_copies_a_run(command, one_run, tmp_path):
    assert command("keep", "latest", str(tmp_path / "kept")).returncode == 0
    assert (tmp_path / "kept" / "samples" / "all.parquet").is_file()
    assert command("keep", "latest", str(tmp_path / "kept")).returncode == 0
    for taken in (str(one_run.path), str(one_run.path.parent)):
        finished = command("keep", "latest", taken)
        assert finished.returncode == 1 and finished.stderr.count("\n") == 1
    assert len(one_run.done()) == 4


@pytest.mark.parametrize("variable", ["ROUNDTRIP_FIGURES", "ROUNDTRIP_EXECUTED", "ROUNDTRIP_RUNS"])
def test_a_folder_that_cannot_be_made_is_named_with_its_variable(command, monkeypatch, variable):
    monkeypatch.setenv(variable, "/proc/nowhere")
    words = ["-p", "source", "reference"] if variable != "ROUNDTRIP_RUNS" else ["-p", "profile", "smoke"]
    finished = command("run", "latency", *words)
    assert finished.returncode == 1 and variable in finished.stderr and finished.stderr.count("\n") == 1


def test_an_interpreter_without_the_packages_is_named():
    command = [sys.executable, "-S", "-m", "bench", "list"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert all(fact in ended.stderr for fact in (sys.executable, "package click", "make"))
