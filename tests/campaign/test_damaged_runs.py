"""Whatever a stranger's run holds, it is shown or refused in one sentence that names it: no traceback, no wait."""

import json
import random
from dataclasses import replace

import mutations
import pytest
from conftest import ROOT

from bench.errors import DataError
from bench.run import manifest
from bench.run.folder import Folder
from bench.run.frames import Run
from bench.validation.estimate import described

pytestmark = pytest.mark.slow


@pytest.fixture
def run():
    return mutations.original()


WRONG = {  # the field, what stands in it instead, and what the sentence says
    "plan.cases[0].callers": ("text", "Expected int, got str"),
    "plan.cases[0].payload_bytes": (10**30, "<= "),
    "plan.cases[0].added": (1, "unknown field"),
    "plan.cases": ([], ">= 1"),
    "plan.window_s": (1e12, "<= "),
    "plan.notebook": ("../x", "matching regex"),
    "machine": (mutations.DROPPED, "missing required field"),
    "created": ("yesterday", "RFC3339"),
    "added": (mutations.nested(700), "nested too deeply"),
}


def way(name):
    return tuple(int(part) if part.isdigit() else part for part in name.replace("[", ".").replace("]", "").split("."))


@pytest.mark.parametrize("name", WRONG)
def test_a_field_of_another_kind_is_named_with_its_file_and_what_is_expected(run, name):
    value, expected = WRONG[name]
    mutations.in_manifest(run.folder.path, way(name), value)
    with pytest.raises(DataError) as refused:
        Folder(run.folder.path).manifest()
    text = str(refused.value)
    assert expected in text and "manifest.json" in text and "\n" not in text
    assert name.rpartition(".")[2] in text or "nested" in text


REFERENCES = sorted((ROOT / "data" / "reference").glob("*/manifest.json"))


@pytest.mark.parametrize("file", REFERENCES, ids=lambda file: file.parent.name)
def test_the_manifests_of_all_reference_runs_can_be_used(file):
    assert manifest.problem(json.loads(file.read_text())) == ""


@pytest.mark.parametrize(
    ("table", "name", "kind", "expected"),
    [
        ("ledger", "case", "dropped", "column case "),
        ("samples", "rtt_ns", "binary", "column rtt_ns .*binary"),
        ("ledger", "window_s", "infinite", "column window_s "),
        ("ledger", "system", "twice", "columns"),
    ],
)
def test_a_column_that_cannot_be_is_named_with_its_file(run, table, name, kind, expected):
    mutations.rewritten(run.folder.path, table, lambda rows: mutations.COLUMN[kind](rows, name))
    with pytest.raises(DataError, match=rf"{table}/00000\.parquet: .*{expected}"):
        Run(Folder(run.folder.path)).samples.any()


@pytest.mark.parametrize(
    ("table", "kind", "expected"),
    [
        ("samples", "emptied", "start 0 .*0 samples .*100 calls"),
        ("samples", "rows twice", "start 0 .*200 samples .*100 calls"),
        ("ledger", "rows twice", "ledger"),
    ],
)
@pytest.mark.timeout(20)
def test_tables_that_contradict_each_other_are_refused_and_not_compared(run, table, kind, expected):
    mutations.rewritten(run.folder.path, table, mutations.TABLE[kind])
    with pytest.raises(DataError, match=expected):
        mutations.whole(run.folder.path)


def test_a_plan_of_a_system_that_is_not_here_is_described(run):
    (case, *_), plan = run.plan.cases, run.plan
    assert "2 starts" in described(replace(plan, cases=(replace(case, system="a_system_of_mine"),)))


def test_a_run_of_a_notebook_that_is_not_here_is_refused_with_its_name(run):
    mutations.in_manifest(run.folder.path, ("plan", "notebook"), "a_notebook_of_mine")
    with pytest.raises(DataError, match="'a_notebook_of_mine'"):
        mutations.whole(run.folder.path)


JSON_TYPES = ("null", "true", "text", "list", "dict", "fraction", "dropped")


@pytest.mark.timeout(0)
def test_every_json_type_in_every_key_of_the_manifest_is_used_or_refused_in_a_sentence_that_names_the_file(run):
    """All keys, those of the plan and of its cases too, times all types; what is accepted is shown."""
    path = run.folder.path
    file, tried, accepted = path / "manifest.json", 0, {}
    content = file.read_bytes()
    for name, edit in mutations.manifest_edits(path):
        if name.rpartition(": ")[2] not in JSON_TYPES:
            continue
        edit(path)
        try:
            Folder(path).manifest()
        except DataError as refused:
            text = str(refused)
            assert "manifest.json" in text and "\n" not in text and len(text) < 1500, (name, text)
        else:
            accepted[name] = file.read_bytes()
        finally:
            file.write_bytes(content)
        tried += 1
    assert tried > 700 and len(accepted) < tried / 3
    assert not [name for name in accepted if name.endswith(": list") and name != "digest: list"]  # which is signed anew
    for name in random.Random(1).sample(sorted(accepted), 12):  # `make campaign` shows others
        file.write_bytes(accepted[name])
        assert mutations.fault(mutations.whole, path) == "", name
