"""Questions by SQL read the runs, and files that they name."""

import re

import pytest
from conftest import ROOT
from handmade import handmade

import bench
from bench.plan.case import Case


@pytest.fixture
def run():
    return handmade([Case("zeromq", "ipc")], [100], starts=2, calls=50)


def test_runs_are_joined_with_another_file(run, tmp_path):
    file = tmp_path / "machines.csv"
    file.write_text("run,place\n" + f"{run.id},here\n")
    joined = bench.query(f"select place, sum(calls) as n from ledger join '{file}' using (run) group by 1")
    assert joined.to_dict("list") == {"place": ["here"], "n": [100]}
    assert bench.query("SELECT COUNT(*) AS n FROM LEDGER")["n"].iloc[0] == 2
    assert bench.query("select count(*) as n from ledger, samples where ledger.run = samples.run")["n"].iloc[0] == 200


@pytest.mark.parametrize("sql", re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "data.md").read_text("utf-8"), re.S))
def test_the_questions_of_the_document_are_answered(run, sql):
    answer = bench.query(sql)
    assert answer["system"].unique().tolist() == ["zeromq"] and answer.notna().all(axis=None)
