"""The executed notebooks in ``docs/examples``: those of today's reference runs."""

import re

import pytest
from conftest import ROOT
from handmade import reference

from docs.site import build


@pytest.mark.parametrize("stem", build.EXAMPLES)
def test_an_example_shows_the_reference_run_and_its_pictures(stem):
    folder = ROOT / "docs" / "examples"
    text = (folder / f"{stem}.md").read_text("utf-8")
    assert reference(stem).id in text, "make examples writes the examples anew"
    named = re.findall(r"!\[[^\]]+\]\((\S+)\)", text)
    assert sorted(named) == sorted(file.name for file in folder.glob(f"{stem}-*.png"))
