"""What somebody wrote into a run stays text in exported notebooks, slides, the site and the page of explore.ipynb."""

import importlib.util
import json
import re
import subprocess

import ipywidgets as widgets
import nbformat
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT
from hostile_runs import HALVES, HOSTILE, hostile
from nbconvert import HTMLExporter
from papermilling import papermill_here

from bench.apps.exploring import command, showing
from bench.apps.exploring.screen import Page
from bench.apps.teaching import slides
from bench.process.pipes import python

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Glyph")]  # of characters that no font has
BOTH = pytest.mark.parametrize("text", HALVES, ids=["one", "other"])
NOTHING = {"profile": "class", "starts": None, "window_s": None, "seed": 1}
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


def live(page):
    """Return what of a page would be obeyed: scripts, elements that call one, links that run one, odd characters."""
    soup = BeautifulSoup(page, "html.parser")
    scripts = [str(one)[:100] for one in soup("script") if one.get_text().strip().startswith("alert(1)")]
    obeyed = [str(one)[:100] for one in soup(True) for name in one.attrs if name == "onerror"]
    links = [str(one) for one in soup(href=re.compile(r"^\s*javascript:"))]
    for one in soup(["script", "style"]):
        one.decompose()
    lines = [line for line in soup.get_text().splitlines() if line.strip().startswith("checks    12/12")]
    return [*scripts, *obeyed, *links, *lines, *CONTROL.findall(soup.get_text())]


@pytest.mark.parametrize("text", HOSTILE[:5] + HOSTILE[6:])
def test_what_would_be_obeyed_is_found(text):
    page = HTMLExporter().markdown2html({}, text) if text.startswith("[") else f"<p>{text}</p>"
    assert live(page) != []


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Return both hostile runs, each with a notebook that was executed with it as its source."""
    made = []
    for text in HALVES:
        folder = tmp_path_factory.mktemp("executed")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ROUNDTRIP_RUNS", str(folder / "runs"))
            patch.setenv("ROUNDTRIP_FIGURES", str(folder / "figures"))
            run, file = hostile(text), folder / "latency.ipynb"
            papermill_here("latency.ipynb", str(file), "-p", "source", run.id)
        assert "alert" in file.read_text("utf-8") or "evil" in file.read_text("utf-8")  # it is shown, as text
        made.append((run, file))
    return made


def test_an_executed_notebook_exported_to_html(executed):
    for _, file in executed:
        page, _ = HTMLExporter().from_notebook_node(nbformat.read(file, 4))
        assert live(page) == []


def test_slides(executed, tmp_path):
    for place, (_, file) in enumerate(executed):
        assert live(slides._convert(file, tmp_path / f"slides{place}").read_text("utf-8")) == []


def test_the_site(executed, tmp_path, monkeypatch):
    """A page of each notebook, and of what its run found, made by the site's own functions and by one Sphinx."""
    spec = importlib.util.spec_from_file_location("site_build", ROOT / "docs" / "site" / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    pages = tmp_path / "pages"
    (pages / "notebooks").mkdir(parents=True)
    (pages / "figures").mkdir()
    monkeypatch.setenv("ROUNDTRIP_FIGURES", str(pages / "figures"))
    stems = ("latency", "clients")  # two names for two pages of the same notebook
    for stem, (run, file) in zip(stems, executed, strict=True):
        monkeypatch.setattr(build.gallery, "run_of", lambda stem, run=run: run)
        made = (pages / "notebooks" / f"{stem}.ipynb").write_bytes
        monkeypatch.setattr(build, "execute", lambda *arguments, made=made, file=file: made(file.read_bytes()))
        build._page(ROOT / "notebooks" / f"{stem}.ipynb", pages, None)
        (pages / f"{stem}.md").write_text(build.gallery.page(stem, run), "utf-8")
    listed = "\n".join(f"notebooks/{stem}\n{stem}" for stem in stems)
    (pages / "index.md").write_text(f"# Gallery\n\n```{{toctree}}\n{listed}\n```\n", "utf-8")
    words = python("sphinx", "-q", "-c", str(build.SITE), str(pages), str(tmp_path / "site"))
    subprocess.run(words, check=True, capture_output=True)
    for stem, (run, _) in zip(stems, executed, strict=True):
        for name in (f"{stem}.html", f"notebooks/{stem}.html"):
            page = (tmp_path / "site" / name).read_text("utf-8")
            assert live(page) == [] and run.id in page


def strings(widget):
    """Yield every HTML of a widget and of those in it."""
    if isinstance(widget, widgets.HTML):
        yield widget.value
    for child in getattr(widget, "children", ()):
        yield from strings(child)


@BOTH
def test_the_page_that_voila_serves(text, monkeypatch):
    run = hostile(text, notebook="explore")
    page = Page(run.id, NOTHING)
    page.trust()
    page.numbers()
    cases = [command.spelled(case) for case in run.plan.cases]  # the page shows no command where options are unknown
    shown = "".join(strings(page._box)) + "".join(strings(page._trust)) + page._numbers.value
    shown += showing.command("In a shell:", command.measuring(cases, {}))
    assert "alert" in shown or "evil" in shown
    assert live(shown) == []
    assert live(json.dumps([one.tooltip for one in _all(page._box) if getattr(one, "tooltip", None)])) == []


def _all(widget):
    """Yield a widget and those in it."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _all(child)
