"""A run that was altered on disk is refused with the file's name, and a run that was not is the same as ever."""

import json
import os
import re
import shutil
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from handmade import file_by_file, handmade

from bench.apps import listing
from bench.errors import DataError
from bench.plan.case import Case
from bench.run import integrity, schema, stored
from bench.run.files import table_bytes
from bench.run.folder import Folder
from bench.run.frames import Run

CASES = [Case("zeromq", "ipc"), Case("sockets", "ipc")]


@pytest.fixture
def run():
    return handmade(CASES, [100, 50], calls=300, write=file_by_file)


def whole(path):
    """Read all of a run; return what it shows."""
    return listing.run_text(str(path))


def edited(file, change):
    """Change a Parquet file's table; what is written is a valid file of this project."""
    table = pq.ParquetFile(file).read()
    file.write_bytes(table_bytes(change(table)))


def with_column(table, name, value):
    place = table.schema.get_field_index(name)
    values = pa.array([value] * len(table), table.schema.field(name).type)
    return table.set_column(place, table.schema.field(name), values)


def of_another_case(table):
    return with_column(table, "case", 1 - table["case"][0].as_py())


def in_manifest(path, change):
    file = path / "manifest.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def exchanged(path):
    one, other = (path / "samples" / f"{start:05d}.parquet" for start in (0, 1))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


FIRST = "00000.parquet"
ALTERED = {  # what is done to a run's folder, and what the sentence names
    "rows halved": (lambda p: edited(p / "samples" / FIRST, lambda t: t[: len(t) // 2]), "samples/00000.parquet"),
    "one value": (lambda p: edited(p / "ledger" / FIRST, lambda t: with_column(t, "calls", 299)), "ledger/00000"),
    "times": (lambda p: edited(p / "samples" / FIRST, lambda t: with_column(t, "rtt_ns", 2**62)), "samples/00000"),
    "CPU below zero": (
        lambda p: edited(p / "ledger" / FIRST, lambda t: with_column(t, "server_cpu_ns", -1)),
        "ledger/00000",
    ),
    "another case": (lambda p: edited(p / "ledger" / FIRST, of_another_case), "ledger/00000"),
    "starts exchanged": (exchanged, "samples/0000[01]"),
    "an option": (
        lambda p: in_manifest(p, lambda m: m["plan"]["cases"][0].update(options={"copy": False})),
        "manifest",
    ),
    "no digest": (lambda p: in_manifest(p, lambda m: m.pop("digest")), "manifest.json"),
    "no digest file": (lambda p: (p / "digests" / "00001.sha256").unlink(), "digests"),
    "strange digest file": (lambda p: (p / "digests" / "00001.sha256").write_text("x\n"), "digests"),
}


@pytest.mark.parametrize("what", ALTERED)
def test_what_was_altered_is_refused_with_the_files_name(run, what):
    change, named = ALTERED[what]
    change(run.folder.path)
    with pytest.raises(DataError, match=named) as refused:
        whole(run.folder.path)
    assert "\n" not in str(refused.value)


def test_an_altered_run_is_shown_on_demand_and_its_card_says_so(run, command):
    edited(run.folder.path / "ledger" / FIRST, lambda t: with_column(t, "calls", 299))
    refused = command("show", run.id)
    assert refused.returncode == 1 and refused.stderr.count("\n") == 1 and "--unverified" in refused.stderr
    shown = command("show", run.id, "--unverified")
    assert shown.returncode == 0
    assert re.search(r"INVALID answers: .*ledger/00000\.parquet", shown.stdout) and "No conclusion" in shown.stdout


def test_files_of_another_run_with_their_digests_contradict_the_plan(run):
    other = handmade([Case("zeromq", "tcp", 64), Case("sockets", "tcp", 64)], [100, 50], calls=300, write=file_by_file)
    for name in ("digests", "ledger", "samples"):
        shutil.rmtree(run.folder.path / name)
        shutil.copytree(other.folder.path / name, run.folder.path / name)
    folder = Folder(run.folder.path)
    content = json.loads((folder.path / "manifest.json").read_text())
    folder.write_manifest(content | {"data_digest": integrity.of_folder(folder.path)})
    with pytest.raises(DataError, match=r"start \d+ "):
        whole(folder.path)


def test_sha256sum_checks_a_run_too(run):
    files = sorted(str(file.relative_to(run.folder.path)) for file in (run.folder.path / "digests").iterdir())
    checked = subprocess.run(["sha256sum", "-c", *files], cwd=run.folder.path, capture_output=True, text=True)
    assert checked.returncode == 0 and checked.stdout.count(": OK") == 2 * 12
    edited(run.folder.path / "samples" / FIRST, lambda t: t[:1])
    again = subprocess.run(["sha256sum", "-c", *files], cwd=run.folder.path, capture_output=True, text=True)
    assert again.returncode == 1 and "samples/00000.parquet: FAILED" in again.stdout


def test_an_interrupted_run_is_whole_and_a_start_that_was_moved_away_is_measured_again(run):
    path = run.folder.path
    run.folder.update(finished=False)
    assert "data_digest" not in run.folder.manifest() and whole(path)
    for name in ("ledger", "samples"):
        (path / name / FIRST).unlink()
    assert Folder(path).done() == set(range(1, 12)) and whole(path)


def test_a_kept_run_is_verified_as_well(run, tmp_path):
    kept = stored.keep(run.folder, tmp_path / "kept")
    assert whole(kept.path).splitlines()[1:] and kept.manifest()["version"] == schema.VERSION
    edited(kept.path / "ledger" / "all.parquet", lambda t: with_column(t, "calls", 299))
    with pytest.raises(DataError, match=r"ledger/all\.parquet"):
        whole(kept.path)


def test_a_run_from_before_there_were_digests_still_loads(run):
    path = run.folder.path
    shutil.rmtree(path / "digests")
    in_manifest(path, lambda m: (m.pop("digest"), m.pop("data_digest"), m.update(version=1)))
    assert Run(Folder(path)).cases["n"].min() > 0


SPECIAL = {  # each kind of a file that is no regular one, in the place of each kind of file
    "manifest.json": lambda file: file.symlink_to(file),
    "ledger/00000.parquet": os.mkfifo,
    "samples/00000.parquet": lambda file: file.symlink_to("/etc/passwd"),
    "digests/00000.sha256": lambda file: file.mkdir(),
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.timeout(20)
def test_what_is_no_regular_file_is_refused_and_not_waited_for(run, name):
    file = run.folder.path / name
    file.unlink()
    SPECIAL[name](file)
    with pytest.raises(DataError) as refused:
        whole(run.folder.path)
    assert "\n" not in str(refused.value)
