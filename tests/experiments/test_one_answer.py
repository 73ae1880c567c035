"""One question, one answer: what a score reports is what the sentences and tables of the same notebook report."""

import re

import nbformat
import pytest
from conftest import ROOT
from handmade import reference

from bench.analysis import checks
from bench.apps.documents import results, summary
from bench.apps.teaching import questions
from bench.experiments.calibration import text as calibration
from bench.experiments.openload import text as openload
from bench.text import duration

SCORED = re.compile(r"\*\*(?P<question>.*?)\*\*.*?Measured: (?P<value>[\d.,]+) \S* ?\((?P<ends>.*?)\)")
REPEATED = ("clients", "connections", "fanin", "overview", "tls")  # each score of them is also in a sentence or a table


def shown(cell):
    """Return what a cell shows as text, of an executed notebook."""
    found = []
    for output in cell.get("outputs", []):
        found.append(output.get("text", ""))
        found += [str(text) for kind, text in output.get("data", {}).items() if kind in ("text/markdown", "text/html")]
    return "\n".join(found)


@pytest.mark.parametrize("notebook", REPEATED)
def test_each_score_is_repeated_by_the_notebooks_sentences_or_tables(notebook, drawn):
    cells = [cell for cell in nbformat.read(drawn(notebook) / "out.ipynb", 4).cells if cell.cell_type == "code"]
    (scores,) = [shown(cell) for cell in cells if "bench.score(" in cell.source]
    others = "\n".join(shown(cell) for cell in cells if "bench.score(" not in cell.source)
    answers = list(SCORED.finditer(scores))
    assert len(answers) == 2
    for answer in answers:
        low, high = re.findall(r"[\d.,]*\d", answer["ends"])[-2:]
        assert answer["value"] in others, answer["question"]
        assert f"{low} to {high}" in others or f"{low}, {high}" in others, answer["question"]


@pytest.mark.parametrize("notebook", REPEATED)
def test_the_teaching_table_reports_the_scores(notebook, drawn):
    cells = nbformat.read(drawn(notebook) / "out.ipynb", 4).cells
    (scores,) = [shown(cell) for cell in cells if "bench.score(" in cell.source]
    teaching = (ROOT / "docs" / "teaching.md").read_text("utf-8")
    rows = dict(re.findall(rf"^\| {notebook} \| (.*?) \| (.*? \| .*?) \|$", teaching, re.M))
    for answer in SCORED.finditer(scores):
        row = rows[answer["question"]]
        assert row.startswith(answer["value"]) and row.endswith(answer["ends"])


def test_openloads_mean_response_time_is_one_number_in_score_and_table():
    run = reference("openload")
    table = openload.utilization(run)
    for question in ("openload q1", "openload q2"):
        (asked,) = [one for one in questions.ALL if one.name == question]
        value = asked.answer(run)[0]
        assert f"| {duration(1e3 * value)} |" in table


def test_calibrations_sentence_and_the_card_report_one_lateness():
    run = reference("calibration")
    (pacing,) = [one for one in checks.check(run) if one.name == "pacing"]
    late = float(re.search(r"at most (\d+) us", pacing.found)[1])
    said = re.search(r"at most ([\d.]+) (µs|ms) \(median over starts\)", calibration.instrument(run))
    assert float(said[1]) * (1e3 if said[2] == "ms" else 1) == pytest.approx(late, rel=0.01)


def test_calibration_says_which_server_it_measured_and_what_the_instrument_is_off_by():
    run = reference("calibration")
    assert {case.options["server"] for case in run.plan.cases} == {"c"}
    assert "longer than the service time" in calibration.instrument(run)
    assert "do not interpret smaller differences" in calibration.instrument(run)


def test_the_readme_names_each_check_that_its_run_does_not_pass_and_why_it_cannot_pass_all():
    run = reference("overview")
    tally = checks.tally(run)
    said = summary.trust(run, results.systems(run)[0][0])
    assert f"{tally.passed} of the {len(tally.verdicts)} checks" in said
    assert all(name in said for name in tally.others)
    assert ("cannot pass" in said) == bool({"client", "limit"} & set(tally.others))
    assert summary.answers(run) in (ROOT / "README.md").read_text("utf-8")
