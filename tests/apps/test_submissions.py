"""Handing in: one small zip, the same bytes for the same runs, shown before it is written, nothing private in it."""

import functools
import io
import json
import os
import platform
import pty
import re
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from handmade import reference

from bench.apps import listing
from bench.apps.classroom import merging, reading, starts, submitting, telling, zips
from bench.errors import DataError, UsageError
from bench.measurement import machine, runner
from bench.plan.case import Case
from bench.run import integrity, schema, stored
from bench.validation.profiles import make_plan

pytestmark = pytest.mark.slow


@pytest.fixture
def kept(tmp_path):
    """Return a copy of a reference run, to be changed."""
    return stored.keep(stored.find("reference/latency"), tmp_path / "kept")


def test_the_same_runs_give_the_same_bytes_in_any_order():
    made = submitting.submission(["reference/latency", "reference/placement"])
    again = submitting.submission(["reference/placement", "reference/latency", "reference/placement"])
    assert made.data == again.data and made.name == again.name
    assert len(made.data) < 100_000  # the calls of these runs are 30 times as many bytes
    infos = zipfile.ZipFile(io.BytesIO(made.data)).infolist()
    assert [info.filename for info in infos] == sorted(made.members)
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}


def test_what_is_handed_in_is_what_the_run_says():
    run = reference("latency")
    (found,) = reading.read(submitting.submission(["reference/latency"]).data, "x.zip")
    assert found.id == run.id and found.machine == run.manifest["machine"]["machine_id"]
    ours = found.starts.set_index("start")
    for name in (*starts.QUANTILES, "rate_per_s", "client_cpu_ns", "window_s"):
        np.testing.assert_allclose(ours[name].astype(float), run.starts[name].astype(float), err_msg=name)
    assert [case.system for case in found.plan.cases] == [case.system for case in run.plan.cases]
    assert found.plan.cases[0].options == run.plan.cases[0].options
    known = run.starts["server_cpu_us_per_call"].notna()
    every = run.starts["client_cpu_us_per_call"] + run.starts["server_cpu_us_per_call"]
    np.testing.assert_allclose(ours["cpu_us_per_call"][known], every[known])
    assert ours["cpu_us_per_call"][~known].isna().all()


def test_the_digest_of_a_run_is_handed_in_shown_and_printed_where_the_run_is(tmp_path):
    (tmp_path / "zips").mkdir()
    submitting.write(submitting.submission(["reference/latency"]), str(tmp_path / "zips" / "a.zip"))
    digest = reference("latency").manifest["digest"]
    room = merging.gather(str(tmp_path / "zips"), "default", "p50 RTT", "")
    assert [run.run_digest for run in room.runs] == [digest]
    assert telling.submissions(room)["digest"].to_list() == [digest[:16]]
    assert f"digest    {digest}" in listing.run_text("reference/latency").splitlines()


@pytest.mark.parametrize(
    ("digest", "is_accepted"), [(None, True), ("", True), ("<b>", False), (5, False), ("0" * 63, False)]
)
def test_a_digest_may_be_missing_in_an_older_zip_and_is_nothing_but_digits(digest, is_accepted):
    made = submitting.submission(["reference/latency"])
    (name,) = (name for name in made.members if name.endswith(".json"))
    report = json.loads(made.members[name])
    report.pop("digest")
    report |= {} if digest is None else {"digest": digest}
    changed = zips.packed(made.members | {name: json.dumps(report).encode()})
    if is_accepted:
        assert reading.read(changed)[0].run_digest == ""
        return
    with pytest.raises(zips.RefusedError, match="digest"):
        reading.read(changed)


def test_nothing_private_is_told():
    measured = runner.run(make_plan("latency", [Case("sockets", "ipc", max_calls=100)], starts=2, window_s=0.05))
    made = submitting.submission([measured.id])
    everything = b"".join(made.members.values()).decode("latin-1")
    known = [platform.node(), str(measured.path.parent), str(Path.home()), "/tmp/", "/ho" + "me/"]
    for private in [*known, Path("/etc/machine-id").read_text().strip() if Path("/etc/machine-id").exists() else ""]:
        assert len(private) < 4 or private not in everything
    told = json.loads(made.members[f"{measured.id}/manifest.json"])
    assert set(told) == {"submission", "id", "created", "digest", "revision", "machine", "versions", "checks", "plan"}
    assert set(told["machine"]) == set(machine.record()) and set(told["checks"].values()) <= {"PASS", "CAUTION"}
    assert not any("target" in case for case in told["plan"]["cases"])
    text = [field.name for field in schema.LEDGER if str(field.type) == "string"]
    assert "target" in text and not set(text) & set(starts.LEDGER)  # no text of the ledger is told


def test_what_a_person_typed_is_not_told_and_an_address_refuses(kept):
    kept.failed(3, 0, "somebody's secret: failed")
    assert b"secret" not in b"".join(submitting.submission([str(kept.path)]).members.values())
    plan = kept.manifest()["plan"]
    plan["cases"][0]["target"] = "tcp://myhost.example:5555"
    kept.update(plan=plan)
    with pytest.raises(DataError, match=kept.manifest()["id"]):
        submitting.submission([str(kept.path)])


def test_runs_of_several_machines_are_refused(kept):
    kept.update(id=kept.manifest()["id"][:-1] + "0", machine=kept.manifest()["machine"] | {"machine_id": "00000000"})
    with pytest.raises(UsageError):
        submitting.submission([str(kept.path), "reference/latency"])


def test_an_invalid_run_is_refused(kept):
    manifest, tables = kept.manifest(), {name: kept.read(name) for name in schema.TABLES}
    rows = tables["ledger"].to_pylist()
    rows[0]["server_calls"] = 1
    kept.write_all(tables | {"ledger": schema.make("ledger", rows)})
    kept.write_manifest(manifest | {"data_digest": integrity.of_folder(kept.path)})
    with pytest.raises(DataError, match=r"\(answers\)"):
        submitting.submission([str(kept.path)])


def test_it_is_shown_first_and_written_only_if_agreed(tmp_path):
    """In a terminal of its own, as a person would use it: once refused, once agreed."""
    for answer, status in (("n", 1), ("y", 0)):
        shown, found = in_a_terminal(answer, "submit", "reference/latency", "-o", str(tmp_path / "mine.zip"))
        assert found == status and (tmp_path / "mine.zip").exists() == (answer == "y")
        assert 0 < shown.index("starts.parquet") < shown.index("machine_id") < shown.index("samples (")
        assert shown.index("samples (") < shown.index("mine.zip")
    assert len(reading.read((tmp_path / "mine.zip").read_bytes())) == 1


def in_a_terminal(answer: str, *words: str) -> tuple[str, int]:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bench", *words]
    with subprocess.Popen(command, cwd=ROOT, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        os.write(ours, f"{answer}\n".encode())
        shown = process.stdout.read().decode()
    os.close(ours)
    os.close(theirs)
    return shown, process.returncode


def test_without_a_terminal_it_asks_for_yes(command, process, tmp_path):
    file = tmp_path / "mine.zip"
    finished = process("submit", "reference/latency", "-o", str(file), stdin=subprocess.DEVNULL)
    assert finished.returncode == 2 and "--yes" in finished.stderr and not file.exists()
    assert "starts.parquet" in finished.stdout
    finished = command("submit", "reference/latency", "-o", str(file), "--yes")
    assert finished.returncode == 0 and len(reading.read(file.read_bytes())) == 1


def test_a_file_that_is_there_is_kept(tmp_path):
    made = submitting.submission(["reference/latency"])
    assert re.fullmatch(r"roundtrip-[0-9a-f]{8}-\d{8}T\d{6}\.zip", made.name)
    file = tmp_path / made.name
    file.write_bytes(b"mine")
    for place in (file, tmp_path / "none" / "x.zip"):
        with pytest.raises(DataError, match="-o"):
            submitting.write(made, str(place))
    assert file.read_bytes() == b"mine"


def test_runs_that_are_not_there(tmp_path):
    with pytest.raises(DataError, match="'nosuch'"):
        submitting.submission(["nosuch"])
    with pytest.raises(UsageError):
        submitting.submission([])


def test_what_would_not_be_accepted_is_not_written(monkeypatch):
    monkeypatch.setattr(zips, "MOST_MEMBER_BYTES", 1000)
    with pytest.raises(DataError, match="1,000"):
        submitting.submission(["reference/latency"])


@pytest.mark.parametrize("most", [0, 4096])
def test_a_zip_that_cannot_be_written_to_its_end_leaves_nothing_and_one_that_is_there_is_kept(process, tmp_path, most):
    limited = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (most, most))
    words = ("submit", "reference/latency", "--yes", "-o", str(tmp_path / "mine.zip"))
    ended = process(*words, preexec_fn=limited)
    assert ended.returncode == 1 and "mine.zip" in ended.stderr and len(ended.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine.zip").write_text("another's")
    assert "File exists" in process(*words).stderr and (tmp_path / "mine.zip").read_text() == "another's"
