"""What a document tells the reader to do is done, word by word, and what it says will come out comes out."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from lint import tree

pytestmark = pytest.mark.slow

BLOCK = re.compile(r"(?:`(?P<file>\S+)`:\n\n)?```(?P<kind>python|yaml|sh|text)\n(?P<text>.*?)```\n", re.S)
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(document: Path) -> list[tuple[str, str]]:
    """Return a document's blocks as (kind, text): commands, what they print, and pieces of files as commands."""
    blocks = []
    for block in BLOCK.finditer(document.read_text("utf-8")):
        kind, text = block["kind"], block["text"]
        if kind in ("python", "yaml"):
            assert block["file"], f"a piece of code belongs to no file:\n{text}"
            kind, text = "sh", f"cat >> {block['file']} <<'END'\n\n\n{text}END\n"
        blocks.append((kind, text))
    return blocks


@pytest.fixture
def checkout(tmp_path):
    """Return a folder that is this checkout to whoever works in it, with a neighbourhood of its own."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for file in ROOT.iterdir():
        (folder / file.name).symlink_to(file)
    return folder


@pytest.fixture
def copied_checkout(tmp_path):
    """Return a copy of this checkout, as git sees it, to which files can be added; tables and pictures are links."""
    folder = tmp_path / "checkout"
    for name in tree.read(ROOT):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(tree.NOT_TEXT):
            (folder / name).symlink_to(ROOT / name)
        else:
            shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder


def follow(document, folder, **environment):
    """Do what a document says in a folder, and compare each output with what it says."""
    done = steps(ROOT / "docs" / document)
    script = "\n".join(f"echo '@@{number}'\n{text}" for number, (kind, text) in enumerate(done) if kind == "sh")
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = ["bash", "-e", "-c", script]
    finished = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=os.environ | environment)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    printed = dict(re.findall(r"@@(\d+)\n(.*?)(?=@@\d+\n|\Z)", finished.stdout, re.S))
    promises = [(number, text) for number, (kind, text) in enumerate(done) if kind == "text"]
    assert len(promises) >= 4
    for number, promise in promises:
        got = printed[str(number - 1)]
        assert doctest.OutputChecker().check_output(promise, got, SAME), f"promised:\n{promise}\ncame out:\n{got}"


@pytest.mark.timeout(600)
def test_a_system_is_added_step_by_step(checkout):
    follow("adding-a-system.md", checkout)


@pytest.mark.timeout(300)
def test_a_notebook_is_added_step_by_step(copied_checkout):
    follow("adding-a-notebook.md", copied_checkout, PYTHONPATH=str(copied_checkout))
