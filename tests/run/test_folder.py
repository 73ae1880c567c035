"""Runs on disk: whole or absent, documented, and readable for ever."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bench
from bench.errors import DataError, SystemFailedError, UsageError
from bench.measurement import runner, start
from bench.measurement.validation.profiles import make_plan
from bench.plan import paths
from bench.plan.case import Case
from bench.run import schema
from bench.run.folder import Folder
from bench.run.frames import Run
from bench.run.stored import create, find, unfinished


def small_plan(**changes):
    cases = [Case("sockets", "ipc", 64, max_calls=200), Case("loopback", "inproc", 64, max_calls=200)]
    return make_plan("latency", cases, **{"starts": 2, "window_s": 5.0} | changes)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return the folder of a run that was measured, which no test changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROUNDTRIP_RUNS", str(tmp_path_factory.mktemp("runs")))
        return runner.run(small_plan())


@pytest.fixture
def folder(measured):
    """Return a copy of that folder, among the runs of the test."""
    return Folder(shutil.copytree(measured.path, paths.runs() / measured.id))


def test_a_run_holds_its_plan_machine_and_versions_but_no_names(folder):
    manifest = folder.manifest()
    assert folder.plan() == small_plan()
    assert manifest["finished"] and manifest["version"] == schema.VERSION
    assert {"python", "pyarrow"} <= manifest["versions"].keys()
    assert {"cpu_model", "kernel", "clock_source", "machine_id"} <= manifest["machine"].keys()
    import getpass
    import platform

    text = json.dumps(manifest["machine"])
    assert platform.node() not in text and f'"{getpass.getuser()}"' not in text


def test_every_start_has_its_files_and_every_column_its_unit(folder):
    assert [file.name for file in folder.files("ledger")] == [f"{n:05d}.parquet" for n in range(4)]
    for name in schema.TABLES:
        for file in folder.files(name):
            stored = pq.ParquetFile(file).schema_arrow
            assert stored.names == schema.TABLES[name].names
            assert all({b"unit", b"meaning"} <= field.metadata.keys() for field in stored)
    assert not list(folder.path.rglob(".*"))


def test_samples_of_a_start_that_was_never_finished_do_not_count(folder):
    folder.update(finished=False)
    folder.files("ledger")[-1].unlink()
    assert folder.done() == {0, 1, 2}
    folder.files("ledger")[0].unlink()
    assert folder.done() == {1, 2} and unfinished(small_plan()).path == folder.path
    assert runner.run(small_plan(), folder).done() == {0, 1, 2, 3}
    folder.update(finished=False)
    folder.files("ledger")[-1].unlink()
    assert set(folder.read("samples")["start"].to_pylist()) == {0, 1, 2}
    assert len(Run(folder).samples) == Run(folder).ledger["calls"].sum()
    assert bench.query("select distinct start from samples order by all")["start"].to_list() == [0, 1, 2]


@pytest.mark.parametrize("table", ["ledger", "samples"])
def test_a_truncated_file_is_named_and_its_start_is_measured_again_without_it(folder, table):
    file = folder.files(table)[0]
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DataError, match=rf"{table}/00000\.parquet"):
        folder.read(table)
    with pytest.raises(DataError, match=r"move ledger/00000\.parquet away"):
        Run(folder)
    folder.files("ledger")[0].unlink()
    assert unfinished(small_plan()).path == folder.path
    assert runner.run(small_plan(), folder).done() == {0, 1, 2, 3}
    assert len(Run(Folder(folder.path)).samples) == 800


def test_a_newer_version_is_refused_and_an_older_one_is_completed(folder):
    file = folder.files("ledger")[0]
    table = pq.ParquetFile(file).read()
    newer = table.replace_schema_metadata(table.schema.metadata | {b"roundtrip.version": b"999"})
    pq.write_table(newer, file)
    with pytest.raises(DataError, match=r"00000\.parquet"):
        folder.read("ledger")
    older = table.drop_columns(["gc_collections"])
    pq.write_table(older, file)
    assert folder.read("ledger")["gc_collections"].to_pylist()[0] is None
    wrong = table.set_column(0, "start", pa.array(["zero"]))
    pq.write_table(wrong.replace_schema_metadata(table.schema.metadata), file)
    with pytest.raises(DataError, match="column start"):
        folder.read("ledger")


def test_a_clock_that_steps_back_ends_the_start(monkeypatch):
    calls = np.array([[5, 6, 7], [6, 5, 8]])
    monkeypatch.setattr(np, "stack", lambda arrays: calls)
    with pytest.raises(SystemFailedError):
        start.measure(Case("loopback", "inproc", max_calls=100), 0.05, 1)


def test_a_run_that_is_being_measured_is_left_alone(folder):
    folder.files("ledger")[0].unlink()
    assert unfinished(small_plan()) is not None
    with folder.measuring():
        assert unfinished(small_plan()) is None
        with pytest.raises(DataError, match=folder.id):
            runner.run(small_plan(), Folder(folder.path))
    assert unfinished(small_plan()) is not None
    assert not (folder.path / "measuring.lock").exists()


def test_runs_are_found_by_id_part_path_and_latest(folder):
    assert find("latest").path == find(folder.id).path == find(str(folder.path)).path
    assert find(folder.id[:12]).path == folder.path
    with pytest.raises(DataError, match="bench runs"):
        find("nosuch")


def test_equal_plans_at_one_moment_get_folders_of_their_own():
    plan = small_plan()
    assert len({create(plan, {}).path for _ in range(3)}) == 3


def test_questions_across_runs(folder, capsys):
    other = runner.run(small_plan(seed=2))
    broken = runner.run(small_plan(seed=3))
    broken.files("ledger")[0].write_bytes(b"PAR1")
    (broken.path / "manifest.json").write_text("{")
    frame = bench.runs()
    assert list(frame.index) == [folder.id, other.id]
    assert (frame["starts_done"] == 4).all() and (frame["notebook"] == "latency").all()
    calls = bench.query("select run, sum(calls) as calls from ledger where system = 'sockets' group by run")
    assert {folder.id, other.id} <= set(calls["run"])
    assert (
        int(calls.set_index("run").loc[folder.id, "calls"])
        == Run(folder).ledger.query("system == 'sockets'")["calls"].sum()
    )
    assert broken.id in capsys.readouterr().err
    with pytest.raises(UsageError, match="nonsense"):
        bench.query("select nonsense from ledger")


def test_questions_without_any_run():
    assert len(bench.runs()) == 0
    assert bench.query("select count(*) as n from samples")["n"].to_list() == [0]
