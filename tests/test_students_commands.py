"""The commands of the students' pages do what the pages say, in a folder as students get it."""

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest
from conftest import ROOT

from bench.apps import cli
from bench.apps.teaching import copies

PAGES = ("handout.md", "help.md")
COMMAND = re.compile(r"`((?:taskset -c \S+ )?(?:make|\.venv/bin/\w+) [^`]+)`")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """Return a folder as class-setup.md makes it: the checkout, with the students' documents."""
    folder = tmp_path_factory.mktemp("bundle")
    copies.write(folder / "build")
    for file in ROOT.iterdir():
        if file.name not in ("build", "docs", "README.md"):
            (folder / file.name).symlink_to(file)
    for name in ("docs", "README.md"):
        (folder / name).symlink_to(folder / "build" / name)
    return folder


def commands():
    """Return each command of the students' pages as words, without `taskset -c CPUS`."""
    typed = [
        shlex.split(text)
        for page in PAGES
        for text in COMMAND.findall((ROOT / "docs" / "teaching" / page).read_text("utf-8"))
    ]
    return [words[3:] if words[0] == "taskset" else words for words in typed]


def test_each_command_of_a_students_page_is_one_that_the_program_takes(bundle):
    assert len(commands()) > 5
    for words in commands():
        if words[0] == "make":
            assert made(bundle, *words[1:])
        else:
            assert words[0] == ".venv/bin/bench", f"{words}: students type make and bench"
            command = cli.cli.commands[words[1]]
            command.make_context(words[1], words[2:]).close()


def made(folder, *words):
    """Return the lines that make would run in a folder whose .venv is ready."""
    asked = ["make", "--no-print-directory", "-n", "-o", ".venv/ready", *words]
    return subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()


def contents(address):
    """Return what a server answers, which prints its address a moment before it listens there."""
    for _ in range(100):
        try:
            with urllib.request.urlopen(address) as answer:
                return json.load(answer)
        except urllib.error.HTTPError:
            raise
        except urllib.error.URLError:
            time.sleep(0.1)
    raise AssertionError(f"nothing listens at {address}")


@pytest.mark.slow
def test_make_lab_opens_the_students_folder_and_the_documents_beside_it(bundle, tmp_path):
    words = shlex.split(made(bundle, "lab")[-1])
    assert words[:2] == [".venv/bin/jupyter", "lab"]
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "RUNTIME", "DATA")}
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *words[2:], "--no-browser", "--ServerApp.port=0", "--allow-root"],
        cwd=bundle, env=os.environ | own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        lines = (re.search(r"(http://\S+?:\d+)(/\S*)\?token=(\w+)", line) for line in server.stdout)
        address, opened, token = next(match for match in lines if match).groups()
        threading.Thread(target=server.stdout.read, daemon=True).start()
        assert opened == "/lab/tree/student"
        for file in ("student/nodelay.ipynb", "docs/teaching/handout.md"):
            assert contents(f"{address}/api/contents/{file}?token={token}&content=0")["path"] == file
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()


def test_no_document_opens_a_folder_that_jupyterlab_takes_for_a_command():
    from jupyterlab.labapp import LabApp

    texts = "\n".join(file.read_text("utf-8") for file in (ROOT / "docs").rglob("*.md"))
    folders = re.findall(r"jupyter lab (\S+?)`", texts)
    assert folders and not set(folders) & LabApp.subcommands.keys()
