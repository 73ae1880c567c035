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
from drawings import RUNS, WHOLE, legends, texts
from handmade import handmade, reference
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from bench.analysis.quantiles import STARTS, Quantile, crossed
from bench.apps import classroom, listing
from bench.apps.classroom import forest
from bench.apps.classroom.merging import HOLDS
from bench.grammar import axes as house
from bench.grammar import figure as panels
from bench.grammar.experiment import experiment
from bench.plan.case import Case


def points(axes):
    """Return the places in pixels of all points that are plotted inside an Axes."""
    places = []
    for line in axes.lines:
        if line.get_transform() == axes.transData and len(line.get_xdata()):
            with np.errstate(all="ignore"):
                places.append(axes.transData.transform(line.get_xydata().astype(float)))
    every = np.concatenate(places) if places else np.empty((0, 2))
    box = axes.get_window_extent()
    return every[((every >= box.min - 1) & (every <= box.max + 1)).all(axis=1)]


def titles(are_wrong):
    """Return a look that finds the titles of the axes of which a function returns that they are wrong."""
    return lambda figure: [axes.get_title(loc="left") for axes in figure.axes if are_wrong(axes)]


def covered_by_a_legend(axes):
    boxes = [(legend.get_window_extent(), legend.get_figure(root=False).bbox) for legend in legends(axes)]
    panel = axes.get_tightbbox()
    return any(box.y1 > panel.y0 + 1 or box.x1 > figure.x1 + 1 for box, figure in boxes)


def unlabelled(axes):
    rows = [text.get_text() for text in axes.get_yticklabels()]
    return not axes.get_ylabel() and not any(letter.isalpha() for name in rows for letter in name)


def mostly_empty(axes):
    """Return whether the horizontal axis goes on far beyond the data."""
    box, shown = axes.get_window_extent(), list(points(axes)[:, 0])
    for patch in axes.patches:
        shown += [patch.get_window_extent().x0, patch.get_window_extent().x1]
    for ranges in (one for one in axes.collections if isinstance(one, LineCollection)):
        ends = [axes.transData.transform(path.vertices)[:, 0] for path in ranges.get_paths()]
        shown += [x for pair in ends for x in pair if np.isfinite(x)]
    inside = np.clip(shown, box.x0, box.x1)
    return not (inside.max() - inside.min()) / box.width > 0.6


def crowded(axes):
    """Return whether labels of ticks run into each other, or an axis has fewer than two."""
    for axis, ends in ((axes.xaxis, ("x0", "x1")), (axes.yaxis, ("y0", "y1"))):
        shown = [tick.label1 for tick in axis.get_major_ticks() if tick.label1.get_text()]
        low, high = sorted(axis.get_view_interval())
        inside = [
            label.get_window_extent()
            for label, at in zip(shown, axis.get_majorticklocs(), strict=False)
            if low <= at <= high
        ]
        pairs = itertools.pairwise(sorted(inside, key=lambda box: getattr(box, ends[0])))
        if len(inside) < 2 or any(getattr(one, ends[1]) > getattr(other, ends[0]) + 2 for one, other in pairs):
            return True
    return False


def colliding(figure):
    """Return the titles of panels that run into each other or out of the figure."""
    boxes = [(axes.get_title(loc="left"), axes.get_tightbbox()) for axes in figure.axes]
    outside = [title for title, box in boxes if box.x0 < -1 or box.x1 > figure.bbox.width + 1]
    pairs = itertools.combinations(boxes, 2)
    return outside + [(a, b) for (a, one), (b, other) in pairs if one.padded(-3).overlaps(other.padded(-3))]


OF_PANELS = {  # what is looked for, as what is found
    "a legend over a panel": titles(covered_by_a_legend),
    "ticks without room for their labels": titles(crowded),
    "panels that collide": colliding,
}
OF_THE_WHOLE = OF_PANELS | {
    "an axis without a label": titles(unlabelled),
    "a panel without a title": lambda figure: [axes for axes in figure.axes if not axes.get_title(loc="left")],
    "an axis that does not end near its data": titles(mostly_empty),
}
OF_ALL = {
    "clipped text": drawings.clipped,
    "texts that cover each other": drawings.overlapping,
    "text below 9 points where the figure is 1280 pixels wide": drawings.too_small,
    "more than six curves and a baseline": titles(lambda axes: drawings.curves(axes) > drawings.MOST_CURVES),
    "entries of a legend that are not drawn": lambda figure: [
        label for axes in figure.axes for label in drawings.not_drawn(axes)
    ],
}


def looked_at(looks, figures):
    """Return what looks find wrong in figures, by the name of the figure and of the look."""
    faults = {(name, look): see(figure) for name, figure in figures.items() for look, see in looks.items()}
    return {at: wrong for at, wrong in faults.items() if wrong}


@pytest.mark.parametrize("notebook", slow_but(RUNS, "latency"))
def test_nothing_in_a_figure_is_covered_cut_or_left_out(notebook):
    figures = drawings.shown(notebook)
    assert looked_at(OF_ALL, figures) | looked_at(OF_THE_WHOLE, {WHOLE: figures[WHOLE]}) == {}


def test_systems_and_roles_have_palettes_of_their_own():
    distance = [np.abs(np.subtract(to_rgb(one), to_rgb(other))).sum()
                for one in house.ROLE_COLOURS.values() for other in house.SYSTEM_COLOURS]  # fmt: skip
    assert min(distance) > 0.4
    neighbours = [(house.look(place), house.look(place + 1)) for place in range(26)]
    assert all(one.marker != other.marker and one.colour != other.colour for one, other in neighbours)
    colours = [np.array(to_rgb(house.look(place).colour)) for place in range(13)]
    assert min(np.abs(one - other).sum() for one, other in itertools.combinations(colours, 2)) > 0.24
    assert len({house.look(place) for place in range(52)}) == 52


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
    cases = [Case(name, transport) for transport in ("ipc", "tcp") for name in names]
    run = handmade(cases, [20 + 7 * place for place in range(14)], starts=2, calls=30, notebook=notebook)
    figure = panels.whole(run)
    figure.draw_without_rendering()
    written = [text for text in texts(figure.axes[1]) if re.search(r"[,;] n = ", text)]
    assert len(written) == 14
    assert looked_at(OF_PANELS, {WHOLE: figure}) == {}


@pytest.mark.parametrize(
    "notebook", slow_but(["latency", "mystery", "overview"], "latency", "mystery")
)  # the last is taller
def test_a_saved_figure_is_large_enough_and_carries_its_origin(notebook, drawn, monkeypatch):
    run, folder = reference(notebook), drawn(notebook) / "figures"
    svg, png = folder / f"{notebook}.svg", folder / f"{notebook}.png"
    assert Image.open(png).text["Description"].startswith(f"run={run.id} data={run.folder.data_hash()}")
    assert Image.open(png).size == (2100, 1560 + round(150 * experiment(notebook).height(run)))
    assert run.id in svg.read_text("utf-8") and ElementTree.parse(svg).getroot().tag.endswith("svg")
    for file in (svg, png):
        told = listing.figure_text(str(file))
        assert run.id in told
        assert f"bench run {notebook} -p source reference" in told
    monkeypatch.setattr(type(run.folder), "data_hash", lambda folder: "0" * 64)
    assert listing.figure_text(str(png)) != told  # the data is not that of the figure any more
    caption = " ".join(panels.caption(run).split())
    counts = {int(run.cases["starts"].max()), run.plan.starts}  # a baseline has a start in each group of a block
    assert run.id in caption and "n = " in caption
    assert re.search(rf"\b({'|'.join(map(str, counts))}) (starts|blocks)", caption)


@pytest.mark.parametrize("stem", RUNS)
def test_a_reference_run_is_complete_and_of_enough_starts(stem):
    run = reference(stem)
    folder = run.folder.path
    assert run.manifest["finished"] and experiment(folder.name).why_no_conclusion(run) == ""
    assert run.plan.notebook == folder.name


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


def test_a_median_above_its_p90_is_not_drawn_without_words():
    def known(value):
        return Quantile(value, value, value, STARTS, 1, 1)

    assert crossed([(0.5, known(2.0)), (0.9, known(3.0))]) == ""
    assert re.search("p50.* > p90", crossed([(0.5, known(4.0)), (0.9, known(3.0))]))
    assert crossed([(0.5, known(4.0)), (0.9, known(float("nan")))]) == ""


def test_a_figure_from_elsewhere_is_refused(command, tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "other.png")
    finished = command("explain", str(tmp_path / "other.png"))
    assert finished.returncode == 1 and finished.stderr.count("\n") == 1
    assert command("explain", str(tmp_path / "none.png")).returncode == 1
