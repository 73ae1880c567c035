"""Questions by SQL read the runs, and nothing else unless they are allowed to."""

import re

import pytest
from conftest import ROOT
from handmade import handmade

import bench
from bench.errors import UsageError
from bench.plan.case import Case


@pytest.fixture
def run():
    return handmade([Case("zeromq", "ipc")], [100], starts=2, calls=50)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('{file}')",
        "select * from '{file}'",
        "select * from read_text('{file}')",
        "select * from glob('{folder}/*')",
        "with other as (select * from read_csv('{file}')) select * from other, ledger",
    ],
)
def test_a_question_reads_no_file_but_the_runs(run, tmp_path, sql):
    file = tmp_path / "secret.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="external"):
        bench.query(sql.format(file=file, folder=tmp_path))


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '{target}'",
        "copy ledger to '{ledger}' (use_tmp_file false)",
        "select 1; copy (select 1) to '{target}'",
        "attach '{target}' as other",
        "install httpfs",
        "set enable_external_access=true; select 1",
        "drop view ledger",
        "",
    ],
)
def test_a_question_writes_nothing(run, tmp_path, sql):
    (ledger, *_) = run.folder.files("ledger")
    before, target = ledger.read_bytes(), tmp_path / "out.parquet"
    with pytest.raises(UsageError, match="SELECT"):
        bench.query(sql.format(target=target, ledger=ledger))
    assert ledger.read_bytes() == before and not target.exists()


def test_what_is_asked_for_is_allowed(run, tmp_path):
    file = tmp_path / "machines.csv"
    file.write_text("run,place\n" + f"{run.id},here\n")
    joined = bench.query(f"select place, sum(calls) as n from ledger join '{file}' using (run) group by 1", True)
    assert joined.to_dict("list") == {"place": ["here"], "n": [100]}
    assert bench.query("select count(*) as n from ledger, samples where ledger.run = samples.run")["n"].iloc[0] == 200


@pytest.mark.parametrize("sql", re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "data.md").read_text("utf-8"), re.S))
def test_the_questions_of_the_document_are_answered(run, sql):
    found = bench.query(sql)
    assert found["system"].unique().tolist() == ["zeromq"] and found.notna().all(axis=None)
