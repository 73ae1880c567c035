"""Texts that users read are in the field's words: retired words do not come back."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from language_rules import FILES, NOT_YET, RETIRED

BENCH = ROOT / "bench"


def covered() -> list[Path]:
    found = [
        path for name in FILES for path in ([BENCH / name] if name.endswith(".py") else (BENCH / name).rglob("*.py"))
    ]
    return sorted(set(found) - {BENCH / name for name in NOT_YET})


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring, f-string and string with a space; a field of an f-string is a dash."""
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "-" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield node.lineno, " ".join(text.split())


def offences(source: str) -> list[str]:
    """Return the retired words in the texts of a source, each with its line and the term to use."""
    return [
        f"line {line}: {found[0]!r} in {text!r}: write {instead}"
        for line, text in texts(source)
        for pattern, instead in RETIRED.items()
        if (found := re.search(pattern, text))
    ]


@pytest.mark.parametrize("file", covered(), ids=lambda file: str(file.relative_to(BENCH)))
def test_no_retired_word(file):
    assert not offences(file.read_text("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "no quantile told of it", "a case is up to 5% from itself", "most starts found no level", "the CPU was full",
        "the instrument's floor", "an unfinished run is gone on with", "the CPU time of a call", "keeps an SLO",
        "is held against the margin", "users in moods", "in an order drawn by lot", "nothing is paced",
    ],
)  # fmt: skip
def test_a_retired_word_is_found_in_strings_docstrings_and_f_strings(text):
    for source in (f'say("{text}")', f'def f():\n    """{text}."""', f'say(f"{{x}} {text}: {{y}}")'):
        assert offences(source), source


@pytest.mark.parametrize(
    "text",
    [
        "until the buffers are full", "bench.tell(run) shows the conclusion", "a lock held by the process",
        "the CPU time per call", "Little's law holds", "the file is kept", "the queue is full",
    ],
)  # fmt: skip
def test_technical_uses_of_the_same_words_pass(text):
    assert not offences(f'say("{text}")')


def test_the_files_exist_and_are_not_few():
    assert all((BENCH / name).exists() for name in (*FILES, *NOT_YET)) and len(covered()) > 90
