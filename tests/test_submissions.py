"""Handing in: one small zip, the same bytes for the same runs, shown before it is written, nothing private in it."""

import io
import json
import platform
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bench import runner, schema, store
from bench.classroom import manifests, reading, starts, submitting, zips
from bench.errors import DataError, UsageError
from bench.plan import Case, make_plan
from bench.results import Run


def folders(*names):
    return [store.find(f"reference/{name}") for name in names]


@pytest.fixture
def kept(tmp_path):
    """Return a copy of a reference run, to be changed."""
    return store.keep(store.find("reference/latency"), tmp_path / "kept")


def test_the_same_runs_give_the_same_bytes_in_any_order():
    made = submitting.submission(folders("latency", "placement"))
    again = submitting.submission(folders("placement", "latency", "placement"))
    assert made.data == again.data and made.name == again.name
    assert len(made.data) < 100_000  # the calls of these runs are 30 times as many bytes
    infos = zipfile.ZipFile(io.BytesIO(made.data)).infolist()
    assert [info.filename for info in infos] == sorted(made.members)
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}


def test_what_is_handed_in_is_what_the_run_says():
    folder = store.find("reference/latency")
    run = Run(folder)
    (found,) = reading.read(submitting.submission([folder]).data, "x.zip")
    assert found.manifest.id == run.id and found.manifest.machine_id == run.manifest["machine"]["machine_id"]
    ours = found.starts.set_index("start")
    for name in (*starts.QUANTILES, "rate_per_s", "client_cpu_ns", "window_s"):
        np.testing.assert_allclose(ours[name].astype(float), run.starts[name].astype(float), err_msg=name)
    assert [case.system for case in found.manifest.plan.cases] == [case.system for case in run.plan.cases]
    assert found.manifest.plan.cases[0].options == run.plan.cases[0].options
    known = run.starts["server_cpu_us_per_call"].notna()
    every = run.starts["client_cpu_us_per_call"] + run.starts["server_cpu_us_per_call"]
    np.testing.assert_allclose(ours["cpu_us_per_call"][known], every[known])
    assert ours["cpu_us_per_call"][~known].isna().all()


def test_nothing_private_is_told():
    measured = runner.run(make_plan("latency", [Case("sockets", "ipc", max_calls=100)], starts=2, window_s=0.05))
    made = submitting.submission([measured])
    everything = b"".join(made.members.values()).decode("latin-1")
    known = [platform.node(), str(measured.path.parent), str(Path.home()), "/tmp/", "/ho" + "me/"]
    for private in [*known, Path("/etc/machine-id").read_text().strip() if Path("/etc/machine-id").exists() else ""]:
        assert len(private) < 4 or private not in everything
    told = json.loads(made.members[f"{measured.id}/manifest.json"])
    assert set(told) == {"submission", "id", "created", "revision", "machine", "versions", "checks", "plan"}
    assert set(told["machine"]) <= set(manifests.MACHINE) and set(told["checks"].values()) <= {"PASS", "CAUTION"}
    assert not any("target" in case for case in told["plan"]["cases"])
    text = [field.name for field in schema.LEDGER if str(field.type) == "string"]
    assert "target" in text and not set(text) & set(starts.LEDGER)  # no text of the ledger is told


def test_what_a_person_typed_is_not_told_and_an_address_refuses(kept):
    kept.failed(3, 0, "somebody's secret: failed")
    assert b"secret" not in b"".join(submitting.submission([kept]).members.values())
    plan = kept.manifest()["plan"]
    plan["cases"][0]["target"] = "tcp://myhost.example:5555"
    kept.update(plan=plan)
    with pytest.raises(DataError, match="address is not told"):
        submitting.submission([kept])


def test_runs_of_several_machines_are_refused(kept):
    kept.update(id=kept.manifest()["id"][:-1] + "0", machine=kept.manifest()["machine"] | {"machine_id": "00000000"})
    with pytest.raises(UsageError, match="different machines"):
        submitting.submission([kept, *folders("latency")])


def test_an_invalid_run_is_refused(kept):
    (file,) = kept.files("ledger")
    rows = store.read_table(file, "ledger").to_pylist()
    rows[0]["server_calls"] = 1
    store.write_table(file, schema.make("ledger", rows))
    with pytest.raises(DataError, match=r"is invalid \(answers\)"):
        submitting.submission([kept])


def test_it_is_shown_first_and_written_only_if_agreed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said, asked = [], []

    def ask(answer):
        return lambda question: asked.append((question, list(said))) or answer

    assert not submitting.submit(["reference/latency"], None, False, said.append, ask(False))
    assert said[-1] == "Nothing is written" and not list(tmp_path.iterdir())
    assert submitting.submit(["reference/latency"], None, False, said.append, ask(True))
    (file,) = tmp_path.iterdir()
    assert re.fullmatch(r"roundtrip-[0-9a-f]{8}-\d{8}T\d{6}\.zip", file.name)
    assert all(shown and file.name in question for question, shown in asked)  # shown before asked
    for needed in ("manifest.json", "starts.parquet", "machine_id", "Left out", "samples (", "A zip of"):
        assert needed in said[0]
    assert submitting.submit(["reference/latency"], None, True, said.append, None)  # the same again
    file.write_bytes(b"mine")
    with pytest.raises(UsageError, match="is there already"):
        submitting.submit(["reference/latency"], None, True, said.append, None)
    assert file.read_bytes() == b"mine"


def test_the_command(command, tmp_path):
    file = tmp_path / "mine.zip"
    finished = command("submit", "reference/latency", "-o", str(file))
    assert finished.returncode == 2 and "agree with --yes" in finished.stderr and not file.exists()
    assert "starts.parquet" in finished.stdout
    finished = command("submit", "reference/latency", "-o", str(file), "--yes")
    assert finished.returncode == 0 and len(reading.read(file.read_bytes())) == 1
    assert command("submit").returncode == 2
    finished = command("submit", "reference/latency", "--yes", "-o", str(tmp_path / "none" / "x.zip"))
    assert finished.returncode == 1 and "name another with -o" in finished.stderr
    assert "no run" in command("submit", "nosuch", "--yes").stderr


def test_what_would_not_be_accepted_is_not_written(monkeypatch):
    monkeypatch.setattr(zips, "MOST_MEMBER_BYTES", 1000)
    with pytest.raises(DataError, match="would not be accepted"):
        submitting.submission(folders("latency"))
