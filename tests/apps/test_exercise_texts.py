"""The exercises as they are written: commands that can be run, points, and a model answer for each open one."""

import json
import re
import shlex

import pytest

from bench.apps import scenarios
from bench.apps.teaching import copies
from bench.grammar.experiment import exists, experiment

NOTEBOOKS = copies.notebooks()
COMMAND = re.compile(r"`(\.venv/bin/bench [^`]+)`")


def commands(notebook):
    """Return the commands of a notebook's exercises, as lists of words."""
    return [
        shlex.split(text.replace("$PWD/", ""))[1:]
        for text in COMMAND.findall(copies.exercises(json.loads(notebook.read_text("utf-8"))))
    ]


def asked(words):
    """Return notebook and parameters of the words behind ``bench``."""
    name, *rest = words[1:]
    assert rest[::3] == ["-p"] * (len(rest) // 3) and len(rest) % 3 == 0, words
    return name, dict(zip(rest[1::3], rest[2::3], strict=True))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_every_command_of_an_exercise_asks_for_a_plan_that_there_is(notebook, tmp_path, monkeypatch):
    (tmp_path / "mine.json").write_text('{"a": [1, 2]}')
    monkeypatch.chdir(tmp_path)
    for words in commands(notebook):
        if words == ["submit", "latest"]:
            continue
        name, parameters = asked(words)
        if "." in name:
            assert name in [*scenarios.files()]
            continue
        if not exists(name):
            continue
        if experiment(name).why_not():
            pytest.skip(experiment(name).why_not())
        assert experiment(name).plan(**parameters).cases
