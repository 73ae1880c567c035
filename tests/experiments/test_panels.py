"""Figures: each knows where it comes from, and is large enough and labelled."""

import threading
import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import pytest
from conftest import ROOT
from drawings import whole
from handmade import reference
from PIL import Image

from bench import stats
from bench.analysis import checks
from bench.apps import listing
from bench.drawing import axes as house
from bench.experiments import panels, registry, sentences
from bench.text import duration, quantity

RUNS = [
    "latency", "throughput", "placement", "clients", "wamp", "overview", "openload", "compare", "noise", "calibration",
    "capacity", "nodelay", "scaleup", "marginal", "origins", "mystery", "explore", "retries",
    "streaming", "tls", "messages", "connections", "fanin", "languages", "network",
]  # fmt: skip


@pytest.fixture(scope="module", params=RUNS)
def run(request):
    return reference(request.param)


@pytest.mark.parametrize("notebook", ["latency", "mystery", "overview"])  # the last is taller
def test_a_saved_figure_is_large_enough_and_carries_its_origin(notebook, drawn, monkeypatch):
    run, folder = reference(notebook), drawn(notebook) / "figures"
    svg, png = folder / f"{notebook}.svg", folder / f"{notebook}.png"
    assert Image.open(png).text["Description"].startswith(f"run={run.id} data={run.folder.data_hash()}")
    assert Image.open(png).size == (2100, 1560 + round(150 * panels.taller(run)))
    assert run.id in svg.read_text("utf-8") and ElementTree.parse(svg).getroot().tag.endswith("svg")
    for file in (svg, png):
        told = listing.figure_text(str(file))
        assert run.id in told
        assert f"python -m bench run {notebook} -p source reference" in told
    monkeypatch.setattr(type(run.folder), "data_hash", lambda folder: "0" * 64)
    assert listing.figure_text(str(png)) != told  # the data is not that of the figure any more
    caption = " ".join(panels.caption(run).split())
    assert run.id in caption and f"{run.cases['starts'].max():.0f} starts" in caption and "n = " in caption


def test_every_axis_has_a_label_with_its_unit_or_words(run):
    for axes in whole(run.plan.notebook).axes:
        assert axes.get_title(loc="left")
        names_cases = [text.get_text() for text in axes.get_yticklabels()]
        assert axes.get_ylabel() or any(letter.isalpha() for name in names_cases for letter in name)


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0.0705, "70.5 ns"),
        (1.234, "1.23 µs"),
        (99.95, "100 µs"),
        (512, "512 µs"),
        (1500, "1.50 ms"),
        (2.5e6, "2.50 s"),
        (-1980, "-1.98 ms"),
        (-0.5, "-500 ns"),
    ],
)
def test_durations(us, text):
    assert duration(us) == text


@pytest.mark.parametrize(
    ("value", "text"), [(950, "950"), (1000, "1.00 k"), (37_093, "37.1 k"), (1.2e6, "1.20 M"), (0, "0.00")]
)
def test_quantities(value, text):
    assert quantity(value) == text


def test_a_reference_run_is_small_complete_and_of_enough_starts(run):
    folder = run.folder.path
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert size < (15_000_000 if folder.name == "overview" else 6_000_000)  # overview: every system
    evidence = getattr(registry.text_of(folder.name), "evidence", sentences._fewest)(run)
    assert run.manifest["finished"] and evidence >= stats.LEAST_STARTS and not checks.tally(run).is_invalid
    assert run.plan.notebook == folder.name


def test_every_reference_run_is_among_those_that_are_tested():
    assert sorted(RUNS) == sorted(folder.name for folder in (ROOT / "data" / "reference").iterdir())


def test_a_figure_from_elsewhere_is_refused(command, tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "other.png")
    finished = command("explain", str(tmp_path / "other.png"))
    assert finished.returncode == 1 and finished.stderr.count("\n") == 1
    assert command("explain", str(tmp_path / "none.png")).returncode == 1


def test_threads_draw_one_after_the_other_and_leave_no_style_behind():
    before, is_drawing, enough = mpl.rcParams["svg.hashsalt"], threading.Event(), threading.Event()

    def draw():
        with house.style():
            is_drawing.set()
            enough.wait(10)

    other = threading.Thread(target=draw)
    with house.style():
        other.start()
        assert not is_drawing.wait(0.3)
    assert is_drawing.wait(10) and mpl.rcParams["svg.hashsalt"] == "roundtrip"
    enough.set()
    other.join(10)
    assert mpl.rcParams["svg.hashsalt"] == before
