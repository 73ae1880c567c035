"""The gallery: what the reference runs of today found, with pictures, for every notebook."""

import re

import numpy as np
import pytest
from conftest import ROOT, slow_but
from handmade import reference
from matplotlib.colors import to_rgb
from PIL import Image

from bench.grammar.axes import SYSTEM_COLOURS
from docs import gallery

DOCS = ROOT / "docs"
WITH_RUN = [stem for stem in gallery.ORDER if gallery.run_of(stem) is not None]
QUICKLY_MADE = (
    *("explore", "latency", "compare", "wamp", "nodelay", "marginal", "clients", "scaleup", "openload", "retries"),
    *("capacity", "noise", "calibration"),
)


def test_the_gallery_has_every_notebook_once():
    assert sorted(gallery.ORDER) == sorted(file.stem for file in (ROOT / "notebooks").glob("[a-z]*.ipynb")), "GROUPS"
    text = (DOCS / "gallery.md").read_text("utf-8")
    assert gallery.ROW.findall(text) == gallery.ORDER


def test_a_gallery_of_some_names_writes_their_pages_and_those_that_are_missing(monkeypatch, tmp_path):
    text = (DOCS / "gallery.md").read_text("utf-8").replace("<br>`noise` |", "<br>`other` |")
    rows, written = gallery.unchanged(text, ["latency", "languages.servers"]), []
    monkeypatch.setattr(gallery, "entry", lambda stem, folder: written.append(stem) or f"new {stem}")
    groups = "\n".join(gallery.entries(tmp_path, rows))
    assert written == ["latency", "noise"] and "new latency" in groups and rows["compare"] in groups
    assert gallery.unchanged(text, []) == {}


@pytest.mark.parametrize("stem", slow_but(WITH_RUN, *QUICKLY_MADE))
def test_a_page_has_the_sentences_tables_and_checks_that_todays_code_finds_in_the_reference_run(stem):
    text = (DOCS / "examples" / f"{stem}.md").read_text("utf-8")
    assert f"{gallery.page(stem, reference(stem))}\n" == text, "make gallery writes the pages anew"
    assert re.findall(r"!\[[^\]]{20,}\]\((\S+)\)", text) == [f"{stem}.png"]
    assert all((DOCS / "examples" / f"{stem}{end}.png").stat().st_size > 4_000 for end in ("", "-small"))


def test_a_picture_keeps_the_colours_of_thin_pale_bars():
    pixels = np.asarray(Image.open(DOCS / "examples" / "streaming.png").convert("RGB")).astype(int)
    for name in SYSTEM_COLOURS[:6]:  # of its six systems
        pale = np.array(to_rgb(name)) * 255 * 0.45 + 255 * 0.55
        assert (np.abs(pixels - pale).max(axis=2) < 10).any()
