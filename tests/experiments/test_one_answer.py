"""One question, one answer: what a score reports is what the sentences and tables of the same notebook report."""

import re

import nbformat
import numpy as np
import pytest
from handmade import reference

from bench.analysis import checks
from bench.analysis.pacing import lateness, latest
from bench.apps.teaching import questions
from bench.drawing.axes import tail_scale
from bench.experiments import panels, sentences
from bench.experiments.calibration import text as calibration
from bench.experiments.openload import text as openload
from bench.experiments.streaming.findings import CPU, QUANTITIES, steps
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


@pytest.mark.parametrize("question", ["nodelay q1", "nodelay q2"])
def test_the_score_is_what_the_sentences_say(question):
    one = questions.find(question)
    run = reference(one.notebook)
    value = one.said(questions.measured(run, one))
    said = sentences.conclusion(run)
    assert value in said


SAID = {  # the value and the two ends of a score in a sentence of the same run
    "messages q2": r"{} times \([^)]*{} to {}\)",
    "network q1": r"{} times \([^)]*{} to {}\)",
}


@pytest.mark.parametrize("question", SAID)
def test_the_score_is_what_a_sentence_says(question):
    one = questions.find(question)
    run = reference(one.notebook)
    said = SAID[question].format(*map(re.escape, one.shown(questions.measured(run, one))))
    assert re.search(said, sentences.conclusion(run))


def test_messages_score_is_the_share_that_its_sentences_say():
    one = questions.find("messages q1")
    run = reference(one.notebook)
    value, low, high = (f"{end:.0f}%" for end in questions.measured(run, one)[:3])
    (line,) = [line for line in sentences.conclusion(run).splitlines() if "**zeromq, json**" in line]
    assert re.search(rf"{value} .*{low} to {high}", line)


def test_languages_score_is_the_share_that_its_sentences_say():
    run = reference("languages")
    value, low, high, _ = questions.measured(run, questions.find("languages q1"))
    said = re.search(r"sockets_c tcp\*\*: .*?, (\d+) % \(95 % CI (\d+) to (\d+)\)", sentences.conclusion(run))
    share, least, most = (int(each) / 100 for each in said.groups())
    assert [value, low, high] == pytest.approx([share, least, most], abs=0.006)


def test_streamings_score_of_cpu_time_is_the_step_that_the_sentences_judge():
    run = reference("streaming")
    (found,) = [one.ratio.interval for one in steps(run) if (one.factor, one.what) == ("stack", QUANTITIES[CPU])]
    answer = questions.measured(run, questions.find("streaming q2"))[:3]
    assert answer == pytest.approx((found.middle, found.low, found.high))


def test_retries_score_is_the_number_of_its_sentences():
    run = reference("retries")
    line = next(one for one in sentences.conclusion(run).splitlines() if "**retries at once**" in one)
    attempts, met = (questions.measured(run, questions.find(f"retries {name}")) for name in ("q1", "q2"))
    assert f": {attempts.words('{:.2f}'.format)} attempts per request." in line
    assert f" {met.words('{:.0f}%'.format)} within the deadline" in line


def test_openloads_mean_response_time_is_one_number_in_score_and_table():
    run = reference("openload")
    table = openload.utilization(run)
    for question in ("openload q1", "openload q2"):
        answer = questions.measured(run, questions.find(question)).times(1e3)
        assert f"| {answer.values(duration)} |" in table


def test_calibrations_sentence_and_the_card_report_one_lateness():
    run = reference("calibration")
    (pacing,) = [one for one in checks.check(run) if one.name == "pacing"]
    late = latest(lateness(run, run.find(load="open"))).spread
    assert late.values("{:.0f} us".format) in pacing.found
    assert late.values(duration) in calibration.instrument(run)


def test_calibration_measured_the_server_in_c():
    run = reference("calibration")
    assert {case.options["server"] for case in run.plan.cases} == {"c"}


def p99s(axes):
    """Return the 99th percentile of each curve in the legend of a panel on the scale of tails, in words."""
    curves = [line for line in axes.lines if not line.get_label().startswith("_") and len(line.get_xdata()) > 2]
    return [duration(line.get_xdata()[np.argmax(line.get_ydata() >= tail_scale(0.99) - 1e-9)]) for line in curves]


@pytest.mark.parametrize(("notebook", "panel", "say"), [("openload", "three_ways", openload.freeze),
                                                        ("calibration", "freeze", calibration.correction)])  # fmt: skip
def test_quantiles_under_a_freeze_are_those_of_the_picture_and_say_that_the_warm_up_is_included(notebook, panel, say):
    run = reference(notebook)
    drawn = p99s(panels.panel(run, panel).axes[0])
    said = say(run).partition("warm-up included")[2]
    assert len(drawn) >= 3 and said and all(value in said for value in drawn)
