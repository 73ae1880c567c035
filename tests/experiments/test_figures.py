"""What a reader of a figure relies on: nothing is covered, cut or left out, and the words are those of the field."""

import itertools
import re
import threading
import xml.etree.ElementTree as ElementTree

import classes
import drawings
import matplotlib as mpl
import numpy as np
import pytest
from conftest import slow_but
from drawings import RUNS, texts, whole
from handmade import handmade, reference
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from bench import stats
from bench.analysis.quantiles import STARTS, Quantile, crossed
from bench.analysis.resources import total_cpu
from bench.apps import classroom, listing
from bench.apps.classroom import forest
from bench.apps.classroom.merging import HOLDS
from bench.experiments.overview import above
from bench.grammar import axes as house
from bench.grammar import figure as panels
from bench.grammar.experiment import experiment, of_run
from bench.plan.case import Case

LOOKED_AT = slow_but(RUNS, "latency")


@pytest.fixture(scope="module", params=LOOKED_AT)
def figure(request):
    """Return the figure of a reference run, laid out."""
    return whole(request.param)


def points(axes):
    """Return the places in pixels of all points that are plotted inside an Axes."""
    found = []
    for line in axes.lines:
        if line.get_transform() == axes.transData and len(line.get_xdata()):
            with np.errstate(all="ignore"):
                found.append(axes.transData.transform(line.get_xydata().astype(float)))
    every = np.concatenate(found) if found else np.empty((0, 2))
    box = axes.get_window_extent()
    return every[((every >= box.min - 1) & (every <= box.max + 1)).all(axis=1)]


@pytest.fixture(scope="module", params=LOOKED_AT)
def figures(request):
    """Return the figures of a notebook's reference run by name, laid out: the whole, and the panels that it showed."""
    return drawings.shown(request.param)


def test_no_text_is_clipped(figures):
    assert {name: words for name, figure in figures.items() if (words := drawings.clipped(figure))} == {}


def test_no_two_texts_cover_each_other(figures):
    assert {name: pairs for name, figure in figures.items() if (pairs := drawings.overlapping(figure))} == {}


def test_no_text_is_smaller_than_9_points_where_a_figure_is_1280_pixels_wide(figures):
    assert {name: words for name, figure in figures.items() if (words := drawings.too_small(figure))} == {}


def test_no_axes_have_more_than_six_curves_and_a_baseline(figures):
    assert max(drawings.curves(axes) for figure in figures.values() for axes in figure.axes) <= drawings.MOST_CURVES


def test_every_entry_of_a_legend_is_drawn(figures):
    for figure in figures.values():
        assert [label for axes in figure.axes for label in drawings.not_drawn(axes)] == []


def test_no_legend_covers_a_panel(figure):
    for axes in figure.axes:
        for box in (of.get_window_extent() for of in axes.get_figure().legends):
            assert box.y1 <= axes.get_tightbbox().y0 + 1, axes.get_title(loc="left")
            assert box.x1 <= axes.get_figure().bbox.x1 + 1, axes.get_title(loc="left")


def test_every_axis_has_a_label_with_its_unit_or_words(figure):
    for axes in figure.axes:
        assert axes.get_title(loc="left")
        rows = [text.get_text() for text in axes.get_yticklabels()]
        assert axes.get_ylabel() or any(letter.isalpha() for name in rows for letter in name)


def test_every_horizontal_axis_ends_near_its_data(figure):
    for axes in figure.axes:
        box, shown = axes.get_window_extent(), list(points(axes)[:, 0])
        for patch in axes.patches:
            shown += [patch.get_window_extent().x0, patch.get_window_extent().x1]
        for ranges in (one for one in axes.collections if isinstance(one, LineCollection)):
            ends = [axes.transData.transform(path.vertices)[:, 0] for path in ranges.get_paths()]
            shown += [x for pair in ends for x in pair if np.isfinite(x)]
        covered = (np.clip(shown, box.x0, box.x1).max() - np.clip(shown, box.x0, box.x1).min()) / box.width
        assert covered > 0.6, axes.get_title(loc="left")


def test_labels_of_axes_have_room(figure):
    for axes in figure.axes:
        for axis, ends in ((axes.xaxis, ("x0", "x1")), (axes.yaxis, ("y0", "y1"))):
            shown = [tick.label1 for tick in axis.get_major_ticks() if tick.label1.get_text()]
            low, high = sorted(axis.get_view_interval())
            inside = [
                label.get_window_extent()
                for label, at in zip(shown, axis.get_majorticklocs(), strict=False)
                if low <= at <= high
            ]
            assert len(inside) >= 2, axes.get_title(loc="left")
            for one, other in itertools.pairwise(sorted(inside, key=lambda box: getattr(box, ends[0]))):
                assert getattr(one, ends[1]) <= getattr(other, ends[0]) + 2, axes.get_title(loc="left")


def test_panels_do_not_run_into_each_other_or_out_of_the_figure(figure):
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.padded(-3).overlaps(other.padded(-3))
    assert all(box.x0 >= -1 and box.x1 <= figure.bbox.width + 1 for box in boxes)


@pytest.mark.parametrize("stem", RUNS)
def test_alt_texts_say_the_finding(stem):
    found = panels.first_sentence(of_run(reference(stem)).answer(reference(stem)))
    assert panels.alt_text(reference(stem)).endswith(found) and not re.search(r"[*`]", found)
    assert re.sub(r"\W", "", found) in re.sub(r"\W", "", of_run(reference(stem)).answer(reference(stem)))


def test_systems_and_roles_have_palettes_of_their_own():
    distance = [np.abs(np.subtract(to_rgb(one), to_rgb(other))).sum()
                for one in house.ROLE_COLOURS.values() for other in house.SYSTEM_COLOURS]  # fmt: skip
    assert min(distance) > 0.4
    neighbours = [(house.look(place), house.look(place + 1)) for place in range(26)]
    assert all(one.marker != other.marker and one.colour != other.colour for one, other in neighbours)


def test_a_system_is_not_compared_with_raw_sockets_over_another_transport():
    run = handmade([Case("zeromq", "tcp"), Case("zeromq", "ipc"), Case("sockets", "ipc")], [50, 40, 20])
    assert "tcp" in above(run, 0) and "×" not in above(run, 0)
    assert above(run, 1).startswith("  × 2.00 [")


def test_markers_of_quantiles_are_on_their_curve():
    run, drawn = reference("latency"), Figure().subplots()
    experiment("latency").panels["distribution"](run, drawn)
    curves = [line for line in drawn.lines if len(line.get_xdata()) > 50]
    marks = [line for line in drawn.lines if len(line.get_xdata()) == 1 and line.get_marker() not in ("|", "None")]
    assert len(curves) == 5 and len(marks) == 5 * len(stats.QUANTILES)
    for mark in marks:
        (curve,) = [line for line in curves if line.get_color() == mark.get_color()]
        at = np.interp(mark.get_ydata()[0], curve.get_ydata(), np.log(curve.get_xdata()))
        assert np.log(mark.get_xdata()[0]) == pytest.approx(at, abs=1e-6)


def test_a_median_above_its_p90_is_not_drawn_without_words():
    def known(value):
        return Quantile(value, value, value, STARTS, 1, 1)

    assert crossed([(0.5, known(2.0)), (0.9, known(3.0))]) == ""
    assert re.search("p50.* > p90", crossed([(0.5, known(4.0)), (0.9, known(3.0))]))
    assert crossed([(0.5, known(4.0)), (0.9, known(float("nan")))]) == ""


def test_the_axis_of_ratios_always_has_a_tick_at_1():
    for panel, run in (("errors", "calibration"), ("verdicts", "compare"), ("shapes", "origins")):
        figure = panels.panel(reference(run), panel)
        figure.draw_without_rendering()
        ticks = figure.axes[0].get_xticks()
        assert 1 in ticks and len(ticks) >= 3, run


@pytest.mark.parametrize("inches", [2, 5])
@pytest.mark.parametrize("ends", [(9.4, 42), (23e3, 104e3), (8, 2e6), (0.8, 40), (13, 520), (30, 33), (6, 4e9)])
def test_ticks_of_a_logarithmic_axis_have_room_for_their_labels(ends, inches):
    with house.style():
        figure = Figure(figsize=(inches, 2))
        axes = figure.add_axes((0, 0.3, 1, 0.7))
        axes.plot(ends, (0, 1), "o")
        axes.margins(x=0)
        house.log_axis(axes.xaxis)
    figure.draw_without_rendering()
    labels = [text for text in axes.get_xticklabels() if text.get_text()]
    assert len(labels) >= 2
    for one, other in itertools.pairwise(label.get_window_extent() for label in labels):
        assert one.x1 + 3 < other.x0


@pytest.mark.parametrize(("notebook", "panel"), [("overview", "cost"), ("latency", "cpu_per_call")])
def test_cpu_times_are_bars_unless_the_largest_hides_the_smallest(notebook, panel):
    run = reference(notebook)
    cases = run.cases[(run.cases["system"] != "loopback") & (run.cases["clients"] == 1)]
    is_log = house.hides_bars(total_cpu(cases))
    axes = panels.panel(run, panel).axes[0]
    assert (axes.get_xscale() == "log") == is_log and bool(axes.patches) != is_log


def test_holds_is_never_beside_a_pool_that_contains_1(tmp_path):
    shown = []
    for place, ratios in enumerate(([1.2, 1.22, 1.21, 1.2], [1.2, 9.0, 1.15])):
        room = classroom.gather(str(classes.a_class(tmp_path / f"{place}", ratios)))
        (claim,) = [one for one in room.claims if one.label == "zeromq ipc"]
        assert claim.verdict == HOLDS
        shown.append(forest.verdict(claim))
    assert HOLDS in shown[0] and HOLDS not in shown[1]


@pytest.mark.parametrize("notebook", slow_but(["latency", "explore"], "latency"))
def test_thin_data_of_many_systems_is_drawn_and_named(notebook):
    names = ["zeromq", "sockets", "grpc_sync", "http_aiohttp", "xmlrpc_stdlib", "xmlrpc_pstream", "wamp_crossbar"]
    cases = [Case(name, by) for by in ("ipc", "tcp") for name in names]
    run = handmade(cases, [20 + 7 * place for place in range(14)], starts=2, calls=30, notebook=notebook)
    figure = panels.whole(run)
    figure.draw_without_rendering()
    written = [text for text in texts(figure.axes[1]) if re.search(r"[,;] n = ", text)]
    assert len(written) == 14
    test_no_legend_covers_a_panel(figure)
    test_labels_of_axes_have_room(figure)
    test_panels_do_not_run_into_each_other_or_out_of_the_figure(figure)


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
    counts = {int(run.cases["starts"].max()), run.plan.starts}  # a baseline has a start in each group of a block
    assert run.id in caption and "n = " in caption
    assert re.search(rf"\b({'|'.join(map(str, counts))}) (starts|blocks)", caption)


@pytest.mark.parametrize("stem", RUNS)
def test_a_reference_run_is_small_complete_and_of_enough_starts(stem):
    run = reference(stem)
    folder = run.folder.path
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert size < (15_000_000 if folder.name == "overview" else 6_000_000)  # overview: every system
    assert run.manifest["finished"] and experiment(folder.name).why_no_conclusion(run) == ""
    assert run.plan.notebook == folder.name


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
