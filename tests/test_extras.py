"""The extras, for those who install the package by pip: what each names can be imported."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions

import pytest
from conftest import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


def modules(name: str) -> list[str]:
    """Return the modules by which a distribution is imported."""
    listed = (distribution(name).read_text("top_level.txt") or "").split()
    wanted = distribution(name).metadata["Name"]
    found = listed or [module for module, homes in packages_distributions().items() if wanted in homes]
    return sorted(module for module in found if module.isidentifier() and not module.startswith("_"))


@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"dev", "all"}))
def test_what_an_extra_names_can_be_imported(extra):
    imported = [module for line in EXTRAS[extra] for module in modules(re.split(r"[<>=]", line)[0])]
    assert len(imported) >= len(EXTRAS[extra])
    words = [sys.executable, "-P", "-c", f"import {', '.join(imported)}"]
    assert subprocess.run(words, capture_output=True, text=True).stderr == ""


def test_binder_installs_this_package_with_an_extra_that_there_is_on_a_python_that_it_supports():
    folder, project = ROOT / ".binder", tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {file.name for file in folder.iterdir()} == {"requirements.txt", "runtime.txt"}
    (extra,) = re.fullmatch(r"-e \.\[(\w+)\]\n", (folder / "requirements.txt").read_text("utf-8")).groups()
    (version,) = re.fullmatch(r"python-(3\.\d+)\n", (folder / "runtime.txt").read_text("utf-8")).groups()
    assert extra in EXTRAS and project["requires-python"] == f">={version}"


def test_the_extra_all_is_that_of_all_systems():
    assert EXTRAS["all"] == [f"roundtrip-rpc[{','.join(sorted(EXTRAS.keys() - {'all', 'dev', 'hosts'}))}]"]
