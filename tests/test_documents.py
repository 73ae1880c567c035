"""What a document tells the reader to do is done, word by word, and what it says will come out comes out."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

pytestmark = pytest.mark.slow

BLOCK = re.compile(r"(?:`(?P<file>\S+)`:\n\n)?```(?P<kind>python|sh|text)\n(?P<text>.*?)```\n", re.S)
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(document: Path) -> list[tuple[str, str]]:
    """Return a document's blocks as (kind, text): commands, what they print, and pieces of files as commands."""
    blocks = []
    for block in BLOCK.finditer(document.read_text("utf-8")):
        kind, text = block["kind"], block["text"]
        if kind == "python":
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


@pytest.mark.timeout(600)
def test_a_system_is_added_step_by_step(checkout):
    done = steps(ROOT / "docs" / "adding-a-system.md")
    script = "\n".join(f"echo '@@{number}'\n{text}" for number, (kind, text) in enumerate(done) if kind == "sh")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    finished = subprocess.run(
        ["bash", "-e", "-c", script], cwd=checkout, capture_output=True, text=True, env=os.environ | {"PATH": path}
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    printed = dict(re.findall(r"@@(\d+)\n(.*?)(?=@@\d+\n|\Z)", finished.stdout, re.S))
    promises = [(number, text) for number, (kind, text) in enumerate(done) if kind == "text"]
    assert len(promises) >= 4
    for number, promise in promises:
        got = printed[str(number - 1)]
        assert doctest.OutputChecker().check_output(promise, got, SAME), f"promised:\n{promise}\ncame out:\n{got}"
