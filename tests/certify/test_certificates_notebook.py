"""The notebook of load generators: their certificates beside each other."""

import json

import certifying
import pytest
from conftest import ROOT
from papermilling import outputs, papermill_here

from bench.errors import DataError
from bench.run import stored
from certify import comparison, generator_file, stored_certificate
from certify.check import HELD, NOT_DECIDED, NOT_HELD
from certify.load_checks import RESENT
from certify.stored_certificate import GROUPS, RESENT_ONLY, Row, of_group
from lint.words import retired

STORED = sorted((ROOT / "data" / "referees").glob("*.json"))


@pytest.fixture(scope="module")
def rows():
    """Return the stored certificates."""
    return [stored_certificate.read(file) for file in STORED]


def test_every_load_generator_with_a_file_has_a_certificate_of_this_format_or_is_said_to_have_none(rows, capsys):
    missing = set(generator_file.names()) - {row.document["generator"] for row in rows}
    comparison.gather()
    assert missing == {"k6"} and "No certificate of k6 is stored here: " in capsys.readouterr().out


def test_every_check_belongs_to_one_kind(rows):
    kinds = [name for names in GROUPS.values() for name in names]
    assert len(kinds) == len(set(kinds)) and {check["name"] for row in rows for _, check in row.checks()} <= set(kinds)


def test_nothing_that_ours_reports_is_wrong(rows):
    (ours,) = (row for row in rows if row.document["generator"] == "roundtrip")
    assert {check["verdict"] for _, check in ours.checks()} == {HELD} and ours.count(HELD) > 100


def test_the_notebook_reads_the_stored_certificates(tmp_path, rows):
    papermill_here("referees.ipynb", str(tmp_path / "out.ipynb"))
    text = outputs(tmp_path / "out.ipynb")
    assert "referees.svg" in text and not stored.all_runs() and retired(text) == []
    true = [row for row in rows if row.holds(of_load=False)]
    assert 5 < len(true) < len(rows)
    assert f"All checks of the report are held in {len(true)} of {len(rows)} certificates" in text
    assert all(row.document["generator"] in text for row in rows)
    assert (tmp_path / "figures" / "referees.png").stat().st_size > 50_000


def test_the_worst_verdict_of_a_kind_is_shown(rows):
    document = json.loads(STORED[0].read_text("utf-8"))
    for verdict in (NOT_DECIDED, NOT_HELD):
        document["scenarios"][0]["checks"][0]["verdict"] = verdict
        name = document["scenarios"][0]["checks"][0]["name"]
        assert of_group(Row(document), (name,)) == verdict


def test_requests_that_a_library_may_have_sent_again_keep_no_report_from_being_true():
    document = json.loads(next(file for file in STORED if file.stem == "oha").read_text("utf-8"))
    check = next(check for one in document["scenarios"] for check in one["checks"] if check["name"] == "errors")
    check |= {"verdict": NOT_DECIDED, "text": f"It reports 0 errors. Not decided: {RESENT}."}
    assert Row(document).holds(of_load=False) and Row(document).verdict == RESENT_ONLY
    assert "whether oha 1.16.0 sent failed requests again" in comparison.conclusion([Row(document)])
    check["text"] = "Not decided: other processes used the CPU."
    assert not Row(document).holds(of_load=False) and Row(document).verdict == document["verdict"]


@pytest.mark.parametrize("changed", [{"format": 1}, {"date": None}, {"machine": None}, {"scenarios": None}])
def test_a_certificate_of_another_version_or_that_lacks_something_is_refused(changed, tmp_path):
    file = tmp_path / "other.json"
    document = json.loads(STORED[0].read_text("utf-8")) | changed
    file.write_text(json.dumps({key: value for key, value in document.items() if value is not None}))
    with pytest.raises(DataError, match=r"other\.json"):
        stored_certificate.read(file)


def test_a_folder_without_certificates_is_named(tmp_path):
    with pytest.raises(DataError, match=tmp_path.name):
        comparison.gather(str(tmp_path))


@pytest.mark.slow
def test_a_generator_is_certified_in_the_place_of_its_stored_certificate(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ROUNDTRIP_HOME", str(ROOT))
    monkeypatch.setattr("bench.plan.paths.workplace", lambda: tmp_path)
    monkeypatch.setattr(comparison.scenarios, "of_loads", lambda loads, chosen: chosen[:1])
    with certifying.fewer():
        made = comparison.gather("reference", "roundtrip", 10)
    assert [row.document["generator"] for row in made if not row.is_stored] == ["roundtrip"]
    assert len(made) == len(STORED) and (tmp_path / "data" / "certificates" / "roundtrip.json").is_file()
    assert "1 load generator certified here" in capsys.readouterr().out
