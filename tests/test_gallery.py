"""The gallery: what the reference runs of today found, with pictures, for every notebook."""

import re

import numpy as np
import pytest
from conftest import ROOT
from handmade import reference
from matplotlib.colors import to_rgb
from PIL import Image

from bench.grammar.axes import SYSTEM_COLOURS
from docs import gallery

DOCS = ROOT / "docs"
WITH_RUN = [stem for stem in gallery.ORDER if gallery.run_of(stem) is not None]


def test_the_gallery_has_every_notebook_once():
    assert sorted(gallery.ORDER) == sorted(file.stem for file in (ROOT / "notebooks").glob("[a-z]*.ipynb"))
    text, readme = ((DOCS / file).read_text("utf-8") for file in ("gallery.md", "../README.md"))
    assert f"{len(gallery.ORDER)} questions, {len(WITH_RUN)} of them with stored answers" in readme
    assert re.findall(r"<br>`(\w+)` \|$", text, re.M) == gallery.ORDER


@pytest.mark.parametrize("stem", WITH_RUN)
def test_a_page_shows_the_reference_run_and_its_picture(stem):
    text = (DOCS / "examples" / f"{stem}.md").read_text("utf-8")
    assert reference(stem).id in text, "make gallery writes the pages anew"
    assert re.findall(r"!\[[^\]]{20,}\]\((\S+)\)", text) == [f"{stem}.png"]
    assert all((DOCS / "examples" / f"{stem}{end}.png").stat().st_size > 4_000 for end in ("", "-small"))


def test_a_page_has_answer_tables_and_trust_card():
    page, run = gallery.page("latency", reference("latency")), reference("latency")
    assert page.startswith(f"# {gallery.question('latency')}") and run.id in page
    assert "## Answer" in page and "<details><summary>Trust card: checks passed" in page and "| verdict |" in page
    assert "](../glossary.md" in page and "](../docs/" not in page


def test_a_picture_keeps_the_colours_of_thin_pale_bars():
    pixels = np.asarray(Image.open(DOCS / "examples" / "streaming.png").convert("RGB")).astype(int)
    for name in SYSTEM_COLOURS[:6]:  # of its six systems
        pale = np.array(to_rgb(name)) * 255 * 0.45 + 255 * 0.55
        assert (np.abs(pixels - pale).max(axis=2) < 10).any()
