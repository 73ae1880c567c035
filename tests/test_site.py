"""The site: built from stored runs, whole, without a network, and readable by those who cannot see."""

import functools
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT, made_once
from handmade import reference

from bench.analysis import checks
from bench.grammar import figure as panels
from bench.grammar.experiment import experiment
from docs import gallery

for needed in ("sphinx", "myst_nb", "furo"):
    pytest.importorskip(needed, reason=f"the site is made by {needed}: python -m pip install -r requirements/lab.txt")
BeautifulSoup = pytest.importorskip("bs4").BeautifulSoup

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # whoever comes first builds it

NOTEBOOKS = sorted(file.stem for file in (ROOT / "notebooks").glob("*.ipynb") if not file.stem.startswith("out"))
EXECUTED = ("latency",)  # the others are shown as they are written
BUILD = [sys.executable, str(ROOT / "docs" / "site" / "build.py")]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Return the folder of a site that all tests share, whichever process they run in."""
    with made_once(tmp_path_factory, "site") as (target, is_made):
        if not is_made:
            words = [*BUILD, str(target), "--only", *EXECUTED]
            built = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=580)
            assert built.returncode == 0, built.stdout + built.stderr
            assert f"Open it: {(target / 'index.html').as_uri()}" in built.stdout
    return target


@functools.cache
def page(file: Path) -> BeautifulSoup:
    return BeautifulSoup(file.read_text("utf-8"), "html.parser")


@functools.cache
def ids(file: Path) -> set[str]:
    """Return the anchors of a page."""
    return {element["id"] for element in page(file).find_all(id=True)}


def pages(site: Path) -> list[Path]:
    return [file for file in site.rglob("*.html") if "_static" not in file.parts and "_downloads" not in file.parts]


def addresses(file: Path) -> list[str]:
    """Return what a page's elements fetch or lead to."""
    elements = page(file).find_all(lambda tag: tag.get("src") or tag.get("href"))
    return [element.get("src") or element["href"] for element in elements]


def test_a_browser_would_fetch_nothing_from_a_network(site):
    for file in pages(site):
        for element in page(file).find_all(["script", "link", "img", "iframe", "source", "object", "use"]):
            fetched = element.get("src") or element.get("href") or element.get("data") or ""
            assert not urlsplit(fetched).netloc, (file, fetched)
    for file in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?\s*(https?:)?//", file.read_text("utf-8")), file


def test_every_link_between_pages_leads_somewhere(site):
    assert len(pages(site)) > len(NOTEBOOKS) + 5
    for file in pages(site):
        for address in addresses(file):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert target.is_file(), (file, address)
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in ids(target), (file, address)


def test_every_picture_is_described(site):
    for file in pages(site):
        for picture in page(file).select("article img"):
            alt = picture.get("alt", "")
            assert len(alt) > 3 and not alt.endswith((".png", ".svg")), (file, picture)


def test_every_notebook_is_a_page(site):
    for stem in NOTEBOOKS:
        shown = page(site / "notebooks" / f"{stem}.html")
        note = shown.select_one(".admonition.note")
        assert shown.select(".cell_input") and note.select_one("a.download"), stem
        pictures = shown.select(".cell_output img")
        if stem in EXECUTED:
            run = reference(stem)
            assert run.id in note.get_text(), stem
            assert pictures[-1]["alt"] == panels.alt_text(run), stem
            described = [picture for picture in pictures if picture["alt"] != "plot of the code above"]
            assert len(described) == len(experiment(stem).figure) + 1 < len(pictures), stem
            assert 'source = "reference"' in shown.get_text(), stem
        else:
            assert not pictures, stem


def test_the_gallery_leads_to_a_page_for_each_stored_run(site):
    links = [link["href"] for link in page(site / "docs" / "gallery.html").select("article td a[href^='examples/']")]
    with_run = [stem for stem in gallery.ORDER if gallery.run_of(stem) is not None]
    assert list(dict.fromkeys(links)) == [f"examples/{stem}.html" for stem in with_run]
    shown = page(site / "docs" / "examples" / "latency.html")
    assert (site / "docs" / "examples" / shown.select_one("article img")["src"]).resolve().stat().st_size > 50_000
    assert str(checks.tally(reference("latency"))) in shown.select_one("details summary").get_text()


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    finished = subprocess.run([*BUILD, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert finished.returncode == 1 and str(tmp_path) in finished.stderr and "Traceback" not in finished.stderr
    assert (tmp_path / "letter.txt").read_text() == "dear"
