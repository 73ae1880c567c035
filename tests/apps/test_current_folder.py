"""A file in the current folder is not taken for a library by any interpreter that is started."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

from bench.process.pipes import python

NAMES = ("bench", "zmq", "json", "click", "numpy", "nbconvert", "venv", "pip", "subprocess", "random")


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Return a current folder whose files have the names of libraries and end whoever imports them."""
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the current folder was imported')\n")
    return tmp_path


STARTED = re.compile(r"sys\.executable,\s*(.{4})")


@pytest.mark.parametrize("folder", ["bench", "docs/site"])
def test_interpreters_are_started_with_a_safe_path(folder):
    texts = {file: file.read_text("utf-8") for file in (ROOT / folder).rglob("*.py")}
    words_by_file = {file: STARTED.findall(text) for file, text in texts.items()}
    assert [file for file, words in words_by_file.items() if set(words) - {'"-P"'}] == []
    assert sum(map(len, words_by_file.values())) == (2 if folder == "bench" else 0)


@pytest.mark.parametrize("words", [python("venv", "--help"), python("pip", "--version"), python("bench", "runs")])
def test_modules_that_are_started_are_the_installed_ones(hostile, words):
    ended = subprocess.run(words, cwd=hostile, capture_output=True, text=True)
    assert ended.returncode == 0 and "current folder" not in ended.stdout + ended.stderr


def test_an_installer_that_is_not_installed_yet_prefers_libraries_to_the_files_beside_it(tmp_path):
    (line,) = re.findall(r'-P -c ("import sys; .*?")', (ROOT / "Makefile").read_text("utf-8"))
    (tmp_path / "bench").symlink_to(ROOT / "bench")
    (tmp_path / "json.py").write_text("raise SystemExit('a file of the current folder was imported')\n")
    words = [sys.executable, "-S", "-P", "-c", line.strip('"'), "nosuch.txt"]
    environment = os.environ | {"ROUNDTRIP_INSTALLER": "neither"}
    ended = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 2 and ended.stderr.startswith("bench: ") and "'neither'" in ended.stderr
