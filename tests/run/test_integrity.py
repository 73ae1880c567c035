"""A run that was altered on disk is refused with the file's name, and a run that was not is the same as ever."""

import contextlib
import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from handmade import file_by_file, handmade

import bench
from bench.apps import listing, notebook
from bench.apps.classroom import submitting
from bench.errors import DataError
from bench.plan import paths
from bench.plan.case import Case
from bench.run import schema, stored
from bench.run.files import table_bytes
from bench.run.folder import Folder
from bench.run.frames import Run
from bench.run.manifest import signature

CASES = [Case("zeromq", "ipc"), Case("sockets", "ipc")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a run as it was measured, which no test changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROUNDTRIP_RUNS", str(tmp_path_factory.mktemp("runs")))
        return handmade(CASES, [100, 50], calls=300, write=file_by_file)


@pytest.fixture
def run(made):
    """Return a copy of that run, among the runs of the test."""
    return Run(Folder(shutil.copytree(made.folder.path, paths.runs() / made.id)))


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


def in_manifest(path, change):
    file = path / "manifest.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def signed(manifest):
    manifest["digest"] = signature(manifest)


def exchanged(path):
    one, other = (path / "samples" / f"{start:05d}.parquet" for start in (0, 1))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


FIRST = "00000.parquet"
DATA = r": a table was altered"
ALTERED = {  # what is done to a run's folder, and what the sentence says
    "one value": (lambda p: edited(p / "ledger" / FIRST, lambda t: with_column(t, "calls", 299)), DATA),
    "CPU below zero": (
        lambda p: edited(p / "ledger" / FIRST, lambda t: with_column(t, "server_cpu_ns", -1)),
        "ledger/00000",
    ),
    "starts exchanged": (exchanged, "samples/0000[01]"),
    "truncated": (lambda p: os.truncate(p / "samples" / FIRST, 1000), "samples/00000"),
    "an option": (
        lambda p: in_manifest(p, lambda m: m["plan"]["cases"][0].update(options={"copy": False})),
        "manifest",
    ),
    "no digest": (lambda p: in_manifest(p, lambda m: m.pop("digest")), "manifest.json"),
    "no digest of the data": (lambda p: in_manifest(p, lambda m: (m.pop("data_digest"), signed(m))), DATA),
    "a file too many": (lambda p: shutil.copy(p / "ledger" / FIRST, p / "ledger" / "00099.parquet"), "ledger/00099"),
    "one of a kept run": (lambda p: shutil.copy(p / "ledger" / FIRST, p / "ledger" / "all.parquet"), DATA),
}


@pytest.mark.parametrize("what", ALTERED)
def test_what_was_altered_is_refused_with_the_files_name(run, what):
    change, named = ALTERED[what]
    change(run.folder.path)
    with pytest.raises(DataError, match=named) as refused:
        whole(run.folder.path)
    assert "\n" not in str(refused.value)


def test_files_of_another_run_with_their_digest_contradict_the_plan(run):
    other = handmade([Case("zeromq", "tcp", 64), Case("sockets", "tcp", 64)], [100, 50], calls=300, write=file_by_file)
    for name in ("ledger", "samples"):
        shutil.rmtree(run.folder.path / name)
        shutil.copytree(other.folder.path / name, run.folder.path / name)
    run.folder.update(finished=True)
    with pytest.raises(DataError, match=r"start \d+ "):
        whole(run.folder.path)


def test_an_interrupted_write_leaves_no_ledger(run, monkeypatch):
    """Written anew, a start is incomplete until its last file is there, whichever write is the last one."""
    tables = {name: run.folder.read_file(run.folder.path / name / FIRST, name) for name in ("ledger", "samples")}
    written = []
    monkeypatch.setattr("bench.run.folder.write_bytes", lambda file, content: written.append(file) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.folder.append(0, tables)
    assert [file.parent.name for file in written] == ["samples"] and run.folder.done() == set(range(1, 12))
    monkeypatch.undo()
    run.folder.append(0, tables)
    assert whole(run.folder.path)


def test_a_kept_run_is_verified_as_well(run, tmp_path):
    kept = stored.keep(run.folder, tmp_path / "kept")
    assert whole(kept.path).splitlines()[1:] and kept.manifest()["version"] == schema.VERSION
    assert Run(kept).samples.equals(run.samples) and Run(kept).ledger.equals(run.ledger)
    edited(kept.path / "ledger" / "all.parquet", lambda t: with_column(t, "calls", 299))
    with pytest.raises(DataError, match=DATA):
        whole(kept.path)


def test_a_run_from_before_there_were_digests_still_loads(run):
    path = run.folder.path
    in_manifest(path, lambda m: (m.pop("digest"), m.pop("data_digest"), m.update(version=1)))
    assert Run(Folder(path)).cases["n"].min() > 0


def test_a_run_of_version_2_is_verified_without_its_folder_of_digests(tmp_path):
    path = shutil.copytree(ROOT / "data" / "reference" / "latency", tmp_path / "latency")
    shutil.rmtree(path / "digests")
    assert Run(Folder(path)).manifest["version"] == 2
    edited(path / "ledger" / "all.parquet", lambda t: with_column(t, "calls", 299))
    for look in (lambda: whole(path), lambda: submitting.submission([str(path)])):
        with pytest.raises(DataError, match=DATA):
            look()


@pytest.mark.parametrize("version", [None, -1, "2", schema.VERSION + 1, "none at all"])
def test_a_version_that_is_unknown_or_missing_is_an_error_that_names_the_file(run, version):
    change = (lambda m: m.pop("version")) if version == "none at all" else lambda m: m.update(version=version)
    in_manifest(run.folder.path, lambda m: (change(m), signed(m)))
    with pytest.raises(DataError, match=r"manifest\.json") as refused:
        Folder(run.folder.path).manifest()
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize("dropped", [["data_digest"], ["digest"], []])
def test_a_run_that_has_any_digest_is_verified_whatever_its_version_says(run, dropped):
    edited(run.folder.path / "samples" / FIRST, lambda t: with_column(t, "rtt_ns", 1))
    in_manifest(run.folder.path, lambda m: (m.update(version=1), [m.pop(name) for name in dropped]))
    with pytest.raises(DataError, match=f"manifest.json|{DATA}"):
        Run(Folder(run.folder.path))


LOST = {
    "samples": ["samples/00000", "samples/00001", "samples/00005"],
    "a start": ["ledger/00003", "samples/00003"],
    "everything": [f"{name}/{start:05d}" for name in ("samples", "ledger") for start in range(12)],
}


@pytest.mark.parametrize("what", LOST)
def test_a_run_that_lost_files_is_refused_everywhere(run, what, capsys):
    other = handmade(CASES, [100, 50], calls=300)
    for name in LOST[what]:
        (run.folder.path / f"{name}.parquet").unlink()
    looks = {
        "show": lambda: whole(run.folder.path),
        "compare": lambda: listing.compared(other.id, run.id, "5%", None),
        "submit": lambda: submitting.submission([run.id]),
        "notebook": lambda: notebook._load("latency", run.id),
        "keep": lambda: stored.keep(Folder(run.folder.path), run.folder.path.parent / "kept"),
    }
    for look in looks.values():
        with pytest.raises(DataError, match=DATA) as refused:
            look()
        assert "\n" not in str(refused.value)
    assert not (run.folder.path.parent / "kept").exists()
    capsys.readouterr()
    asked = bench.query("select distinct run from samples join ledger using (run, start)")
    assert asked["run"].to_list() == [other.id]
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_lost_samples_of_an_unfinished_run_are_missed_too(run):
    run.folder.update(finished=False)
    (run.folder.path / "samples" / FIRST).unlink()
    with pytest.raises(DataError, match="start 0 has 0 samples of 300 calls"):
        whole(run.folder.path)


def test_replies_without_their_streams_are_one_sentence(tmp_path):
    path = shutil.copytree(ROOT / "data" / "reference" / "streaming", tmp_path / "streaming")
    (path / "streams" / "all.parquet").unlink()
    folder = Folder(path)
    folder.update(finished=True)
    with pytest.raises(DataError, match=r"start \d+ "):
        Run(folder).starts.any()


SPECIAL = {  # what is put in the place of a file or folder; the victim is what was there
    "link": lambda at, victim: at.symlink_to(victim),
    "pipe": lambda at, victim: os.mkfifo(at),
    "device": lambda at, victim: at.symlink_to("/dev/zero"),
}
PLACES = [
    ("manifest.json", "link"), ("manifest.json", "pipe"), ("ledger/00000.parquet", "pipe"),
    ("samples/00000.parquet", "device"), ("samples/00000.parquet", "link"), ("samples", "link"),
    *(("measuring.lock", kind) for kind in SPECIAL),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), PLACES)
@pytest.mark.timeout(20)
def test_what_is_no_regular_file_is_refused_and_neither_waited_for_nor_written_through(run, tmp_path, name, kind):
    path, victim, at = run.folder.path, tmp_path / "victim", run.folder.path / name
    tables = {table: run.folder.read_file(path / table / FIRST, table) for table in ("ledger", "samples")}
    at.rename(victim) if at.exists() else victim.write_text("kept")
    SPECIAL[kind](at, victim)
    before, folder = content_of(victim), Folder(path)
    reads = [lambda: whole(path), lambda: stored.keep(folder, tmp_path / "kept")]
    for refused in reads if name != "measuring.lock" else [lambda: folder.measuring().__enter__()]:
        with pytest.raises(DataError):
            refused()
    for write in (lambda: folder.append(0, tables), lambda: folder.update(finished=True)):
        with contextlib.suppress(DataError):
            write()
    assert content_of(victim) == before and not folder.is_being_measured()


def content_of(place):
    """Return the bytes of a file, or of all files in a folder."""
    files = [place] if place.is_file() else sorted(file for file in place.rglob("*") if file.is_file())
    return [(file, file.read_bytes()) for file in files]


@pytest.mark.timeout(20)
def test_a_submission_is_not_written_through_a_link_or_a_pipe(run, tmp_path):
    made, victim = submitting.Submission({}, b"{}", "a.json"), tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "link.json").symlink_to(victim)
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("link.json", "pipe.json"):
        with pytest.raises(DataError, match=name):
            submitting.write(made, str(tmp_path / name))
    assert victim.read_text() == "kept"
