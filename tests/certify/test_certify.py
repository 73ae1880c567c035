"""The command certify: what it prints and writes, and its exit statuses; programs that are run are ended in time."""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import replace

import certifying
import lying_generator
import numpy as np
import psutil
import pytest
from conftest import wait_for
from test_certificate_checks import BY_NAME, CLOSED, DONE, OPEN, quantiles_of

from certify import (
    certificate,
    certificate_report,
    cpu_of_others,
    generator_file,
    running,
    stored_certificate,
    time_checks,
)
from certify.certificate import Certificate, Section
from certify.observation import Observation, PathTimes
from certify.protocol_front import Front
from certify.record import SECOND
from certify.service import Service

FILE = """
name: {name}
loads: [{load}]
command: [{program}, "{{url}}", --duration, "{{duration}}", --connections, "{{connections}}", --rate, "{{rate}}"]
install: make it
version: [{python}, --version]
says:
  requests: {{json: requests}}
  p50: {{json: times.p50, unit: ms}}
percentiles: From the sending to the reply.
"""


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a generator file and returns its path."""

    def write(load="closed", program="no-such-program"):
        file = tmp_path / "mine.yaml"
        file.write_text(FILE.format(name="mine", load=load, program=program, python=sys.executable), "utf-8")
        return str(file)

    return write


@pytest.fixture
def made(written):
    """Return a function that makes a certificate of two scenarios by hand, with changes of the closed one's report."""

    def make(**changed):
        frozen = replace(OPEN, first_freeze_ns=int(OPEN.requests["arrived"][0]) + SECOND // 2)
        reported = quantiles_of(CLOSED.response_us, requests=32_000, **changed)
        seen = [
            Observation(BY_NAME["many"], "constant", CLOSED, DONE, reported),
            Observation(
                replace(BY_NAME["freeze"], duration_s=15), "constant", frozen, DONE, quantiles_of(OPEN.response_us)
            ),
        ]
        sections = [Section(each, certificate.checks(each)) for each in seen]
        paths = dict.fromkeys(("closed", "open"), PathTimes(50, 100, 200))
        return Certificate(generator_file.load(written()), "1.2", paths, sections)

    return make


def test_text_names_each_check_and_shows_those_that_are_not_held(made):
    text = certificate_report.text(made(p99_us=1))
    assert text.startswith("mine (1.2): not certified") and "NOT HELD    p99: It reports 1.00 µs" in text
    assert "many: closed load, 64 connections" in text and "From the sending to the reply." in text
    for check in made().sections[0].checks:
        assert check.name in text and check.text in certificate_report.text(made(), every=True)


def test_json_holds_what_was_found(made):
    document = json.loads(certificate_report.as_json(made(p99_us=1)))
    assert document["verdict"] == "not certified" and document["generator"] == "mine"
    assert document["format"] == 2
    many, freeze = document["scenarios"]
    assert many["requests"] == many["answered"] == 32_000 and many["reported"]["p99_us"] == 1
    assert many["true_us"]["p50"] == pytest.approx(20_000 * 0.693, rel=0.05) and many["true_us"]["since"] == "arrival"
    assert {check["verdict"] for check in many["checks"] if check["name"] == "p99"} == {"not held"}
    assert freeze["service"]["freeze_ms"] == 100 and freeze["true_us"]["since"] == "schedule"
    assert many["generator_cpu_us_per_request"] is None  # a program made by hand has no CPU clocks


def test_certificates_side_by_side(made, tmp_path, command):
    files = [tmp_path / "a.json", tmp_path / "b.json", tmp_path / "none.json"]
    files[0].write_text(certificate_report.as_json(made(p99_us=1)), "utf-8")
    files[1].write_text(certificate_report.as_json(made()), "utf-8")
    files[2].write_text('{"format": 1, "scenarios": [{}]}', "utf-8")
    frame = stored_certificate.table([stored_certificate.read(file) for file in files[:2]])
    assert frame["not held"].tolist() == [0, 1] and frame["which"].tolist() == ["", "many: p99"]
    assert frame["many p99 reported/true"].tolist() == pytest.approx([1, 0], abs=1e-3)
    assert "many: p99" in command("referees", *map(str, files[:2])).stdout
    refused = command("referees", str(files[2]))
    assert refused.returncode == 1 and "none.json" in refused.stderr and refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "wrk"),
        (("nothing.yaml",), "nothing.yaml"),
        (("{file}",), "make it"),
        (("{file}", "--scenario", "freeze"), "closed"),
        (("{file}", "--scenario", "frieze"), "freeze?"),
        (("{file}", "--connections", "1"), "connections"),
    ],
)
def test_what_cannot_be_run_has_status_2(command, written, words, text):
    finished = command("certify", *(word.format(file=written()) for word in words))
    assert finished.returncode == 2 and text in finished.stderr and finished.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_generator_is_run_and_certified_or_not(command, written, tmp_path):
    file = written("closed, open", f'{sys.executable}, "{lying_generator.__file__}"')
    words = ("--seconds", "10", "--scenario", "errors", "--scenario", "overload")
    with certifying.fewer():
        finished = command("certify", file, *words, "--json", f"{tmp_path}/a.json", "--figure", f"{tmp_path}/a.svg")
    document = json.loads((tmp_path / "a.json").read_text("utf-8"))
    errors, overload = document["scenarios"]
    for section in (errors, overload):
        verdicts = {check["name"]: check["verdict"] for check in section["checks"]}
        assert section["answered"] > 100 and verdicts["requests"] == "held"
        # its file does not say where errors are: those of the first scenario are hidden
        assert verdicts.get("errors", "held") == ("not held" if section is errors else "held")
    assert (finished.returncode, document["verdict"]) == (1, "not certified") and document["version"].startswith("3.")
    assert (tmp_path / "a.svg").stat().st_size > 1000


SLEEPS = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"


def pythons(marker):
    """Return how many processes run that have a marker in their words."""
    count = 0
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            count += marker in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE
    return count


@pytest.mark.slow
@pytest.mark.parametrize("waits", [True, False])
def test_a_program_and_what_it_started_are_ended(waits):
    marker = f"marker-{os.getpid()}-{waits}"
    code = f"{SLEEPS.replace('60)', f'60) # {marker}')}\nprint('said', flush=True)" + "\ntime.sleep(60)" * waits
    ended = running.run([sys.executable, "-c", code], 2.0)
    assert ended.stdout == "said\n" and ended.clocks[-1][1] > 0
    assert (ended.status is None) == waits and ended.left_processes == (not waits)
    assert wait_for(lambda: pythons(marker) == 0)


def test_long_times_are_not_decided_where_others_use_the_machine(made):
    many = made(p90_us=1e6, p50_us=1).sections[0].seen
    for share, late in ((0.01, "not held"), (0.3, "not decided")):
        verdicts = {check.name: check.verdict for check in certificate.checks(replace(many, others_share=share))}
        assert (verdicts["p90"], verdicts["p50"], verdicts["p99"]) == (late, "not held", "held")


@pytest.mark.slow
def test_the_share_of_others_leaves_out_what_is_started_here():
    busy = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    with cpu_of_others.metered() as meanwhile:
        running.run([sys.executable, "-c", busy], 60)
    assert 0 <= meanwhile.share <= 1
    with cpu_of_others.metered() as others:
        process = subprocess.Popen([sys.executable, "-c", busy])
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # as long as nobody waits for it, it is another's
    process.wait()
    assert others.share > 0.1 / psutil.cpu_count()


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "rate", "clients"), [("http1", 0, 1), ("http1", 200, 2), ("grpc", 100, 1)])
def test_a_url_or_a_grpc_method_is_loaded_and_reported(c_compiler, process, protocol, rate, clients):
    service = Service("exponential", 2000, workers=0, fault="status", every=10, spared=4)
    with Front(service, protocol=protocol) as front:
        url, words = front.url, ()
        if protocol == "grpc":
            url, words = f"{url}oracle.Oracle/Ask", ("--proto", str(generator_file.FOLDER / "oracle.proto"))
        asked = {"rate": rate, "connections": 4, "duration": 1, "clients": clients}
        finished = process("load", url, *words, *(f"--{name}={value}" for name, value in asked.items()))
        report, record = json.loads(finished.stdout), front.end().after_warm_up(4)
    assert report["requests"] + report["errors"] == pytest.approx(len(record.requests), abs=4)
    assert report["errors"] == pytest.approx(record.faults, abs=1)
    assert report["connections"] == 4
    assert report["response_us"]["p50"] >= 0.9 * time_checks.quantile(record.response_us, 0.5)
    assert report["response_us"]["p50"] <= report["response_us"]["p90"] <= report["response_us"]["max"]


@pytest.mark.parametrize("words", [["certify"], ["certify", "--capacity"]])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(command, tmp_path, words):
    finished = command(*words, "roundtrip", "--json", str(tmp_path / "absent" / "a.json"))
    assert finished.returncode == 2 and "absent" in finished.stderr and not finished.stdout


@pytest.mark.slow
def test_streams_are_loaded_and_reported(c_compiler, process):
    service = Service(mean_us=20_000, workers=0, fault="close", every=10, spared=4, events=5, gap_us=5000)
    with Front(service, protocol="sse") as front:
        finished = process("load", front.url, "--stream", "sse", "--connections", "4", "--duration", "1")
        report, record = json.loads(finished.stdout), front.end().without_first(4)
    complete = record.answered[record.answered["fault"] == 0]
    assert report["requests"] == len(complete) and report["errors"] == record.faults
    assert report["events"] == 5 * len(complete) and report["connections"] == 4
    assert report["ttft_us"]["p50"] >= time_checks.quantile((complete["first"] - complete["arrived"]) / 1e3, 0.5)
    assert report["ttft_us"]["p50"] < report["response_us"]["p50"]  # of one, a stall may bring all events at once
    gap_us = np.mean(complete["departed"] - complete["first"]) / 1e3 / 4
    assert report["gap_us"]["mean"] == pytest.approx(gap_us, rel=0.3)


@pytest.mark.parametrize(
    "words",
    [
        ("nowhere",),
        ("ftp://127.0.0.1/",),
        ("http://192.0.2.1/",),
        ("http://127.0.0.1:1/", "--stream", "sse", "--rate", "10"),
        ("http://127.0.0.1:1/", "--connections", "3", "--clients", "2"),
    ],
)
def test_what_cannot_be_loaded_is_refused(command, words):
    finished = command("load", *words)
    assert finished.returncode and finished.stderr.count("\n") == 1


def test_the_schema_of_generator_files(command):
    assert "percentiles" in json.loads(command("certify", "--schema").stdout)["$defs"]["Description"]["required"]
