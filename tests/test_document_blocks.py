"""Documents: blocks made from the reference runs; model answers, and a course in order."""

import json
import re
import shutil

import pytest
from conftest import ROOT
from handmade import handmade
from PIL import Image

from bench.analysis import comparison
from bench.analysis.resources import Resource
from bench.apps.documents import __main__ as documents
from bench.apps.documents import blocks, choosing, results, summary, trust
from bench.apps.teaching import copies, expected
from bench.errors import DataError
from bench.experiments import panels
from bench.plan.case import Case
from bench.simulation import certificate
from bench.stats.intervals import Interval

DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("name", documents.FROM_RUNS)
def test_what_documents_quote_is_what_the_reference_runs_say(name):
    text = (ROOT / name).read_text("utf-8")
    assert blocks.filled(text, documents.FROM_RUNS[name]) == text, "make expected writes the blocks anew"


def test_every_block_has_a_maker_and_every_maker_a_block():
    for name in {*documents.FROM_RUNS, *documents.BY_TRYING}:
        makers = {**documents.FROM_RUNS.get(name, {}), **documents.BY_TRYING.get(name, {})}
        assert sorted(blocks.names((ROOT / name).read_text("utf-8"))) == sorted(makers)
    others = [file for file in DOCUMENTS if str(file.relative_to(ROOT)) not in documents.FROM_RUNS]
    assert [file.name for file in others if blocks.names(file.read_text("utf-8"))] == []


def test_the_certificate_in_the_document_is_of_todays_properties(monkeypatch):
    text = (ROOT / "docs" / "trust.md").read_text("utf-8")
    printed = re.search(r"generated: certificate.*?```text\n(.*?)```", text, re.S)[1].splitlines()
    today = [(line.tried, line.wanted) for line in certificate.certificate(4)]  # the same lines of any number
    lines = [re.fullmatch(r"pass  (.+?)\s{2,}\S.*?   wanted (.+)", line) for line in printed[:-1]]
    assert [(line[1].strip(), line[2]) for line in lines] == today
    assert printed[-1].startswith(f"passed: {certificate.RUNS} runs")


def test_a_failed_property_is_shown_in_the_certificate(monkeypatch):
    monkeypatch.setattr(trust, "certificate", lambda runs: [certificate.Line("this", "1", "0", False)])
    assert "FAIL  this" in trust.tried(20) and "FAILED: 20 runs" in trust.tried(20)


def test_a_block_is_filled_and_the_rest_is_left():
    text = "a\n<!-- generated: x (make expected) -->old<!-- generated: end -->\nb"
    made = blocks.filled(text, {"x": lambda: "new"})
    assert made == "a\n<!-- generated: x (make expected) -->\n\nnew\n\n<!-- generated: end -->\nb"
    assert blocks.outside(made) == "a\n\nb" and blocks.filled(made, {"x": lambda: "new"}) == made
    assert blocks.filled(text, {}) == text
    with pytest.raises(DataError, match="no place for y"):
        blocks.filled(text, {"y": str})
    with pytest.raises(DataError, match="lacks its first or its last marker"):
        blocks.filled(text.replace("<!-- generated: end -->", ""), {})


def resource(roles: tuple[str, ...], busy: float) -> Resource:
    return Resource(f"the {roles[0]}'s CPU", roles, 1, None, busy)


def test_a_rate_is_the_servers_capacity_only_if_the_server_is_saturated_and_the_clients_are_not():
    idle, clients = resource(("server",), 0.5), resource(("client",), 0.99)
    server, shared = resource(("server",), 0.95), resource(("client", "server"), 0.99)
    assert results.is_capacity([server, resource(("client",), 0.6)])
    assert not any(map(results.is_capacity, ([idle, clients], [server, clients], [shared], [idle])))
    assert results.limit([idle, clients]) == "**clients** (server 50% and clients 99%)"
    assert (
        results.limit([idle]) == "none saturated (server 50%)" and results.limit([shared]) == "**clients + server 99%**"
    )


def test_a_ratio_is_written_as_the_one_estimator_gives_it():
    run = handmade([Case("sockets", "ipc"), Case("sockets", "tcp")], [100, 150])
    ratio = comparison.effect(run, 0, 1, "p50_rtt_us")
    assert results.times(ratio) == "×\u00a01.50 [1.50, 1.50]"
    few = handmade([Case("sockets", "ipc"), Case("sockets", "tcp")], [100, 150], starts=3)
    assert results.times(comparison.effect(few, 0, 1, "p50_rtt_us")) == "×\u00a01.50"


def test_the_short_table_holds_the_baselines_the_two_fastest_of_each_group_and_grpc():
    names = ["zeromq", "sockets", "xmlrpc_pstream", "grpc_aio", "http_stdlib", "xmlrpc_stdlib", "grpc_sync"]
    run = handmade([Case(name, "tcp") for name in names], [30, 10, 20, 40, 300, 100, 400])
    shown = [run.case(case).system for case in summary.chosen(run)]
    assert shown == ["sockets", "xmlrpc_pstream", "zeromq", "xmlrpc_stdlib", "http_stdlib", "grpc_sync"]


def test_the_answers_name_the_fastest_system_its_cpu_time_its_trust_and_no_baseline():
    run = handmade([Case(name, "ipc") for name in ("sockets", "zeromq", "grpc_aio")], [10, 20, 30])
    lines = summary.answers(run).splitlines()
    assert len(lines) == 4 and "`zeromq` over ipc: median RTT 20.6 µs" in lines[0]
    assert "×\u00a02.00 [2.00, 2.00] that of raw sockets. The next, `grpc_aio`, takes longer: ×\u00a01.50" in lines[0]
    assert "per call (client + server)" in lines[1] and "Not measured" in lines[2] and "checks" in lines[3]


def test_the_limit_of_the_readmes_fastest_system_is_that_of_its_row():
    run = expected.reference("overview")
    name = next(system for _, system in results.systems(run) if system not in results.BASELINES)
    case = next(case for case, system in results.systems(run) if system == name)
    row = dict(zip(results.HEAD, results.cells(run, case), strict=True))
    said = summary.answers(run)
    assert row["median RTT"] in said and row["CPU per call: client + server (+ router)"] in said
    assert row["calls/s, 1 client"] in said and row["calls/s, 2 clients"].removeprefix("≥ ") in said
    assert row["calls/s, 2 clients"].startswith("≥") == ("capacity is at least this" in said)


def test_the_readmes_picture_is_drawn_from_the_reference_run():
    wanted = {key: text for key, text in panels.provenance(expected.reference("overview")).items() if key == "Title"}
    with Image.open(ROOT / "docs" / "overview.png") as picture:
        assert wanted.items() <= picture.text.items()
        assert f"run={expected.reference('overview').id} " in picture.text["Description"]


def test_ends_repeat_the_unit_only_where_it_differs():
    assert results.ends(646, 622, 1490) == " [622, 1.49 ms]" and results.ends(646, 622, 700) == " [622, 700]"
    assert results.ends(2.0, float("nan"), 3) == results.ends(2, 1, float("nan")) == ""


def test_two_cases_are_ordered_only_where_the_interval_excludes_one():
    ratio = Interval(1.3, 1.1, 1.5, 0.95)
    words = ("A", "B", "is slower than", "is faster than")
    assert choosing.found(ratio, *words) == "B is slower than A: ×\u00a01.30 [1.10, 1.50]"
    assert choosing.found(Interval(0.8, 0.7, 0.9, 0.95), *words) == "B is faster than A: ×\u00a00.80 [0.70, 0.90]"
    for low, high in ((0.9, 1.5), (float("nan"), float("nan"))):
        assert "B and A are not distinguishable" in choosing.found(Interval(1.3, low, high, 0.95), *words)


def _text(file):
    """Return a file's text; a notebook's on one line, as its cells hold it."""
    text = file.read_text("utf-8")
    return json.dumps(json.loads(text), ensure_ascii=False) if file.suffix == ".ipynb" else text


def test_students_copies_hold_no_model_answers(tmp_path):
    text = (ROOT / "docs" / "teaching-answers.md").read_text("utf-8")
    copies.write(tmp_path)
    made = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(made) > 30 and not [file for file in made if "answers" in file.name]
    answers = re.findall(r"^\d+\. (.{40,})$", text, re.M)
    written = "\n".join(_text(file) for file in made)
    assert len(answers) > 50 and [line for line in answers if line in written] == []


def test_every_open_exercise_has_a_model_answer():
    text = (ROOT / "docs" / "teaching-answers.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    for notebook in copies.notebooks():
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        asked = "\n".join("".join(cell["source"]) for cell in cells).partition("## Exercises")[2].partition("\n## ")[0]
        questions = [line for line in re.findall(r"^\d+\. (.*)$", asked, re.M) if not line.startswith("Below:")]
        assert len(re.findall(r"^\d+\. ", sections[notebook.stem], re.M)) >= len(questions) > 0, notebook.stem


def test_expected_writes_the_documents_in_place(tmp_path, monkeypatch):
    for name in ("README.md", "docs/choosing.md", "docs/trust.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(documents.paths, "home", lambda: tmp_path)
    documents.write({"README.md": {"summary": lambda: "| new |"}})
    text = (tmp_path / "README.md").read_text("utf-8")
    assert "| new |" in text and text.count("generated: origins") == 1


def prerequisites(name: str) -> list[str]:
    """Return the notebooks that a notebook's card asks for."""
    first = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8"))["cells"][0]
    return re.findall(r"`(\w+)\.ipynb`", re.search(r"^\| You need \|(.*)$", "".join(first["source"]), re.M)[1])


@pytest.mark.parametrize("title", ["One lab", "Four weeks"])
def test_a_course_schedules_the_prerequisites_of_each_notebook_before_it(title):
    text = (ROOT / "docs" / "teaching.md").read_text("utf-8")
    section = re.search(rf"^## {title}.*?\n(.*?)(?=^## )", text, re.M | re.S)[1]
    stems = [file.stem for file in copies.notebooks()]
    order = [name for name in dict.fromkeys(re.findall(r"`(\w+)`", section)) if name in stems]
    assert len(order) >= 6
    late = [(name, one) for at, name in enumerate(order) for one in prerequisites(name) if one not in order[:at]]
    assert late == []
