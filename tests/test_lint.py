"""`make lint` finds one fault of each kind where it stands, and nothing in a good tree."""

import json

from lint.__main__ import findings
from lint.words import RULES, retired

CARD = "\n".join(f"| {row} | text |" for row in ("You will be able to", "You need", "Minutes", "Remember"))
EXERCISES = "\n".join(f"{number}. Take 5 ms." for number in (1, 2, 3))
END = f"## Why not more?\n\n## Exercises\n\n{EXERCISES}\n\n## What this figure does not show"
SELF_TEST = 'answer = 2 * 3\nbench.check("fast e1", answer)'
GOOD = {
    "README.md": "# A\n\n[How](docs/guide.md#how-to-use), [A](#a).\n\n| a | b |\n|---|---|\n| 1 | `\\|` |\n",
    "CONTRIBUTING.md": "`bench/text.py`, `bench/`",
    "docs/guide.md": "## How to use\n\nThe command line.\n",
    "docs/trust.md": "<!-- generated: x (make expected) -->\n42 µs\n<!-- generated: end -->\n",
    "docs/glossary.md": "### RTT\n\nFrom a request to its reply. (RFC 2681)\n",
    "bench/text.py": '"""Words."""\n\nimport json\n',
    "bench/systems/one.py": "import zmq\n",
    "bench/experiments/fast.py": "TITLE = 1\n\n\ndef sweep(amount, profile):\n    pass\n",
    "bench/apps/teaching/course.yaml": "fast e1:\n  answer: 6\n",
    "docs/teaching/model-answers.md": f"# Answers\n\n## fast\n\n{EXERCISES}\n",
    "docs/gallery.py": 'GROUPS = {"Start": ("fast",)}\n',
    "data/reference/fast/manifest.json": "{}",
    "papermill_params/fast.first.yaml": "# It shows A.\nprofile: smoke\n",
}


def notebook(
    first="# How fast?",
    parameters='profile: str = "class"  # how long',
    prose="The RTT.",
    code="run = 1",
    self_test=SELF_TEST,
):
    """Return a notebook with these cells; its links lead to the glossary."""
    sources = [
        ("markdown", f"{first}\n\n{CARD}", []),
        ("code", parameters, ["parameters"]),
        ("markdown", f"{prose}\n[RTT](../docs/glossary.md#rtt)\n\n{END}", []),
        ("code", code, []),
        ("code", self_test, ["answer"]),
    ]
    cells = [{"cell_type": kind, "source": [text], "metadata": {"tags": tags}} for kind, text, tags in sources]
    return json.dumps({"cells": cells})


def lint(**changed):
    return [str(one) for one in findings(GOOD | {"notebooks/fast.ipynb": notebook()} | changed)]


def test_nothing_is_found_in_a_good_tree():
    assert lint() == []


FAULTS = {
    "a retired word": ("README.md", "# A\n\nIt was\ntold.", "README.md:4: 'told' in "),
    "a retired word in a docstring": ("bench/text.py", '"""A riddle here."""', "bench/text.py:1: 'riddle' in "),
    "a retired word in an f-string": ("bench/text.py", 'a = 1\nb = f"{a} was told"', "bench/text.py:2: 'told' in "),
    "a retired word in a comment": ("bench/text.py", "a = 1  # a riddle", "bench/text.py:1: 'riddle' in "),
    "a measured number": ("README.md", "# A\nIt takes 42.1 µs.", "README.md:2: '42.1 µs' is typed"),
    "a link to no file": ("README.md", "[a](docs/none.md)", "README.md:1: docs/none.md does not exist"),
    "a link to no heading": ("README.md", "[a](docs/guide.md#none)", "README.md:1: docs/guide.md has no heading"),
    "a row of a table": ("README.md", "| a | b |\n|---|---|\n| 1 |\n", "README.md:3: a row of 1 cells"),
    "a file for contributors": ("CONTRIBUTING.md", "`bench/none.py`", "CONTRIBUTING.md:1: bench/none.py does not"),
    "a term without a source": ("docs/glossary.md", "### RTT\n\nA time.\n", "docs/glossary.md:1: RTT has no source"),
    "a scenario's parameter": ("papermill_params/fast.first.yaml", "# A.\nsize: 1\n", "size is no parameter of fast"),
    "a scenario's sentence": ("papermill_params/fast.first.yaml", "profile: a\n", "does not say what it shows"),
    "a scenario's notebook": ("papermill_params/other.first.yaml", "# A.\n", "there is no notebook other"),
    "a system's library": ("bench/text.py", "def f():\n    import zmq\n", "bench/text.py:2: zmq is imported outside"),
    "a socket": ("bench/text.py", "import socket", "bench/text.py:1: socket is imported outside"),
    "a bare preposition": ("bench/text.py", "def f(of):\n    return of", "bench/text.py:1: of does not say what"),
    "a bare participle": ("bench/text.py", "a = [found\n     for found in ()]", "bench/text.py:2: found does not say"),
    "a package index": ("README.md", "https://pypi" + ".org", "README.md:1: pypi"),
    "a path of a machine": ("README.md", "# A\n/home" + "/a", "README.md:2: /home"),
    "a generated file": ("figures/latency.png", "", "figures/latency.png:1: a generated file"),
    "a title that is no question": ("notebooks/fast.ipynb", notebook(first="# Fast"), "cell 1:1: the title is no"),
    "a parameter without a comment": ("notebooks/fast.ipynb", notebook(parameters="profile: str = 1"), "cell 2:1: pap"),
    "a word of ours": (
        "notebooks/fast.ipynb",
        notebook(parameters="profile: int = 1  # a\nstarts: int = 1  # how many"),
        "fast.ipynb:cell 2:2: starts is a word of this project",
    ),
    "nine parameters": (
        "notebooks/fast.ipynb",
        notebook(parameters="\n".join(f"p{n}: int = {n}  # a" for n in range(9))),
        "cell 2:1: 9 parameters; show 8",
    ),
    "a number in a notebook": ("notebooks/fast.ipynb", notebook(prose="\n57 % more"), "cell 3:2: '57 %' is typed"),
    "a term that is not linked": ("notebooks/fast.ipynb", notebook(prose="TLS"), "fast.ipynb:1: tls is not linked"),
    "an answer of another name": (
        "notebooks/fast.ipynb",
        notebook(self_test="a = 2"),
        "cell 5:1: a cell tagged",
    ),
    "a self-test without a judge": (
        "notebooks/fast.ipynb",
        notebook(self_test=SELF_TEST.replace("e1", "e2")),
        "cell 5:1: 'fast e2' has no judge; add it to bench/apps/teaching/course.yaml",
    ),
    "an exercise without an answer": (
        "docs/teaching/model-answers.md",
        "## fast\n\n1. A.\n3. C.\n",
        "fast.ipynb:1: exercise 2 has no answer in docs/teaching/model-answers.md",
    ),
    "a parameter that is not shown": (
        "bench/experiments/fast.py",
        "def sweep(amount, size):\n    pass\n",
        "fast.ipynb:1: the parameter size is not shown",
    ),
    "an experiment without a notebook": ("bench/experiments/slow.py", "TITLE = 1", "notebooks/slow.ipynb is missing"),
    "a number of systems": ("docs/guide.md", "## How to use\n\n2 systems", "guide.md:3: '2 systems': write 1"),
    "a number of notebooks": (
        "docs/guide.md",
        "## How to use\n2 questions, 1 of them with stored answers",
        "guide.md:2: '2 questions, 1 of them with stored answers': write 1 and 1",
    ),
}


def test_each_fault_is_found_where_it_stands():
    found_instead = {kind: lint(**{name: text}) for kind, (name, text, _) in FAULTS.items()}
    missed = [kind for kind, (*_, wanted) in FAULTS.items() if not any(wanted in one for one in found_instead[kind])]
    assert {kind: found_instead[kind] for kind in missed} == {}


def test_all_that_a_new_notebook_lacks_is_found_at_once():
    lacking = lint(**{"notebooks/other.ipynb": notebook()})
    for missing in (
        "bench/experiments/other.py is missing",
        "data/reference/other/manifest.json is missing",
        "it has no place in the gallery; add 'other'",
        "no scenario; add papermill_params/other.",
        "exercise 3 has no answer in docs/teaching/model-answers.md; write it below ## other",
    ):
        assert any(one.startswith("notebooks/other.ipynb:1: ") and missing in one for one in lacking), missing


def test_each_retired_use_is_found_and_the_standard_term_is_named():
    assert [rule.retired for rule in RULES if not any(rule.write in one for one in retired(rule.example))] == []


def test_technical_uses_of_the_same_words_pass():
    text = """Amdahl's law; profile full measures longer; the queue is full; a line in the figure. A disturbance in the
    middle of the run. Each start is kept on disk; no packet is lost. It sleeps until shortly before. The response time
    begins at the scheduled send time. `telling` is a name; bench.tell(run) shows the conclusion; a lock held by it."""
    assert retired(text) == []
