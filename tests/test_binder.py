"""Binder installs this package with one of its extras."""

import re
import tomllib

from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_binder_installs_this_package_with_an_extra_that_there_is_on_a_python_that_it_supports():
    folder = ROOT / ".binder"
    assert {file.name for file in folder.iterdir()} == {"requirements.txt", "runtime.txt"}
    (extra,) = re.fullmatch(r"-e \.\[(\w+)\]\n", (folder / "requirements.txt").read_text("utf-8")).groups()
    (version,) = re.fullmatch(r"python-(3\.\d+)\n", (folder / "runtime.txt").read_text("utf-8")).groups()
    assert extra in EXTRAS and PROJECT["requires-python"] == f">={version}"
