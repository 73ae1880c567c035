"""Text for readers is plain technical English: without the retired words, without measured numbers typed by hand.

Tested are documents, notebooks, files of parameters and of teaching, all docstrings, comments and strings of the
package, and the text that each notebook shows when it draws its reference run.
"""

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from papermilling import outputs
from retired_words import INTRODUCED, RULES, found

from bench.apps.documents import blocks

DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
NOTEBOOKS = sorted(file for file in (ROOT / "notebooks").glob("[a-z]*.ipynb") if not file.stem.startswith("out"))
DRAWN = [file for file in NOTEBOOKS if (ROOT / "data" / "reference" / file.stem).is_dir()]
WRITTEN = sorted(
    [
        *(ROOT / "papermill_params").glob("*.yaml"),
        *(file for kind in ("*.yaml", "*.j2", "*.html") for file in (ROOT / "bench").rglob(kind)),
        *(ROOT / "data").glob("*.md"),
    ]
)
CODE = sorted((ROOT / "bench").rglob("*.py"))
TEACHING = re.compile(r"<!-- expected: begin.*?<!-- expected: end -->", re.S)
OURS = ("README.md", "docs/choosing.md", "docs/results.md", "docs/trust.md", "docs/using.md", "docs/site/index.md")
MEASURED = re.compile(
    r"""(?<![\w.#-])\d[\d.,\u202f ]*(?:\u00a0|\s)?
    (?:%|(?:[nµumk]?s|min(?:utes?)?|hours?|seconds?|milliseconds?|microseconds?|times|percent)\b
    |(?:k|M)?\s?(?:calls?|requests?|messages?|RPC|msg)?\s?/\s?s\b|(?:calls|requests|messages)\s(?:a|per)\ssecond
    |(?:-fold|x\b))
    |[×]\s?\d""",
    re.X,
)
ALLOWED = {"95 %", "100 %"}  # the level of every interval, and what saturated means


def path_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def cells(notebook: Path) -> list[str]:
    """Return the source of each cell of a notebook, code and comments of parameters included."""
    return ["".join(cell["source"]) for cell in json.loads(notebook.read_text("utf-8"))["cells"]]


def texts(source: str) -> Iterator[str]:
    """Yield each docstring, comment, f-string, and string of more than a word; a field of an f-string is a dash."""
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "-" for part in node.values)
        elif isinstance(node, ast.Constant) and id(node) not in parts and re.search(r"\S[\s/]+\S", str(node.value)):
            yield str(node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


@pytest.mark.parametrize("file", [*DOCUMENTS, *WRITTEN], ids=path_of)
def test_documents_and_files_of_teaching_use_no_retired_word(file):
    assert found(file.read_text("utf-8")) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=path_of)
def test_notebooks_use_no_retired_word(notebook):
    assert found(*cells(notebook)) == []


@pytest.mark.parametrize("notebook", DRAWN, ids=path_of)
def test_what_a_notebook_shows_uses_no_retired_word(notebook, drawn):
    executed = drawn(notebook.stem) / "out.ipynb"
    shown = outputs(executed)
    assert len(shown) > 1000 and found(shown) == []
    assert sum(len(cell.get("outputs", [])) for cell in nbformat.read(executed, 4).cells) > 5


@pytest.mark.parametrize("file", CODE, ids=path_of)
def test_docstrings_comments_and_strings_use_no_retired_word(file):
    assert found(*texts(file.read_text("utf-8"))) == []


def test_the_files_are_there_and_not_few():
    assert len(CODE) > 150 and len(DRAWN) >= 17 and len(NOTEBOOKS) >= 18 and len(WRITTEN) > 30 and len(DOCUMENTS) > 8


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=path_of)
def test_words_that_stay_as_names_of_parameters_are_introduced_where_they_stand(notebook):
    for name, words in INTRODUCED.items():
        for comment in re.findall(rf"^{name}: .*?#(.*)$", "\n".join(cells(notebook)), re.M):
            assert words in comment, comment


def test_a_start_is_introduced_as_a_fork():
    assert "JMH calls it a *fork*" in (ROOT / "docs" / "glossary.md").read_text("utf-8")
    assert "".join(cells(ROOT / "notebooks" / "latency.ipynb")).count("*fork* in JMH") == 1


SENTENCES = {
    "foretold, foretells": ["Foretold from the starts", "what the model foretells"],
    "told apart": ["the two were not told apart", "which cannot be told from zero", "tell the cases apart"],
    "told, tells (of a value)": ["no quantile told of it", "a rate tells how fast it is", "was told the address"],
    "middle (of starts)": ["the middle of the starts", "their middles", "the start in the middle decides"],
    "stroke, tick on top": ["the stroke is the median", "a tick on top"],
    "line, wait in line": ["calls wait in line", "where does the line grow without end"],
    "full (a CPU)": ["no CPU is full", "the server is full at that rate", "without time left in some case"],
    "law (of a server)": ["a server of known law", "the service law", "the law of the server"],
    "kept, lost, kept up (an objective)": ["is kept up to 9,000 a second", "the SLO is lost", "keeps an SLO"],
    "expanded (closed loop)": ["the closed loop, expanded"],
    "sleeps (counts)": ["sleeps/call", "sleeps per call", "it counts sleeps"],
    "floor": ["the instrument's floor", "above the floor of raw sockets"],
    "service (seen from a client)": ["service p50", "service and response times"],
    "response (from when due)": ["response p99", "response from when due"],
    "is gone on with": ["an unfinished run is gone on with", "go on with the latest run"],
    "quick and dear": ["quick and dear", "at what CPU price"],
    "lies, stands, is held against": ["is held against the margin", "lies within the noise", "hold side by side"],
    "found no level, no steady state": ["most starts found no level"],
    "moods of the machine": ["users in moods"],
    "drawn by lot": ["in an order drawn by lot"],
    "of a call": ["the CPU time of a call"],
    "shares out": ["how the kernel shares connections out"],
    "bell curve": ["a bell curve is assumed"],
    "no user's waiting, nothing is paced": ["nothing is paced, and no user's waiting", "users do not wait"],
    "may you believe it": ["and may you believe it?", "May it be believed?"],
    "is absent (a value)": ["what a program does not give is absent"],
    "riddle": ["a riddle"],
    "against itself": ["A against itself", "a case is up to 5% from itself"],
}


def test_every_rule_has_its_sentences():
    assert list(SENTENCES) == [rule.retired for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.retired)
def test_a_retired_word_is_found_in_prose_docstrings_and_strings(rule):
    for sentence in SENTENCES[rule.retired]:
        for source in (f'say("{sentence}")', f'def f():\n    """{sentence}."""', f'say(f"{{x}} {sentence}: {{y}}")'):
            assert any(one.endswith(f"write {rule.write}") for one in found(*texts(source))), (sentence, source)
    assert found(*texts(f"x = 1  # {SENTENCES[rule.retired][0]}")) and rule.write and rule.retired


@pytest.mark.parametrize(
    "sentence",
    [
        "Little's law ties them together; Amdahl's law and the universal scalability law.",
        "profile full measures longer; the full reply is verified; the queue is full.",
        "The command line starts a run; a line in the figure shows it; the line is the running median.",
        "Start two clients at 100 % utilization: two CPUs are saturated.",
        "A disturbance in the middle of the run affects all cases.",
        "Each start is kept on disk; no packet is lost; the file is kept.",
        "The service time is the server's own, the response time begins at the scheduled send time.",
        "It sleeps until shortly before; a sleep of 1 ms takes longer.",
        "bench.tell(run) shows the conclusion; the interval holds the true value.",
        "A lock held by the process; the starts of a block; ESC stands for a byte.",
        "The CPU time per call; the reply of the server.",
    ],
)
def test_technical_uses_of_the_same_words_pass(sentence):
    assert found(sentence) == []


def prose(text: str) -> str:
    """Return what of a document is written by hand, without code."""
    without = TEACHING.sub("", blocks.outside(text))
    return re.sub(r"```.*?```|`[^`\n]*`", "", without, flags=re.S)


@pytest.mark.parametrize("name", OURS)
def test_measured_numbers_are_generated_not_typed(name):
    typed = [match[0].strip() for match in MEASURED.finditer(prose((ROOT / name).read_text("utf-8")))]
    assert [number for number in typed if number not in ALLOWED] == []


@pytest.mark.parametrize(
    "text", ["42.1 µs", "takes 3 s", "× 1.93", "57 %", "11 100/s", "20 minutes", "12 calls/s", "2 x"]
)
def test_a_measured_number_is_found(text):
    assert MEASURED.search(f"It is {text} here.")


def test_six_starts_and_two_cpus_are_no_measured_numbers():
    assert not MEASURED.search("At least 6 starts, 2 CPUs, Python 3.11, HTTP/1.1, 1 kB, p99 and h2load.")


GIVEN = re.compile(r"^\*\*(?:To check here|And this|And here).*|^\d+\. .*", re.M)  # exercises give numbers of their own
KNOWN = {  # of the field, of an origin, and of how figures are drawn
    ("latency", "90 %"): "a distribution's axis",
    ("network", "45 times"): "a segment of loopback over one of Ethernet",
}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=path_of)
def test_no_measured_number_is_typed_into_a_notebook(notebook):
    written = json.loads(notebook.read_text("utf-8"))["cells"]
    text = "\n\n".join("".join(cell["source"]) for cell in written if cell["cell_type"] == "markdown")
    typed = {match[0].strip() for match in MEASURED.finditer(GIVEN.sub("", prose(text)))}
    assert {number for number in typed - ALLOWED if (notebook.stem, number) not in KNOWN} == set()
