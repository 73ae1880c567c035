"""Panels: what each word draws of a run, whatever it lacks; axes that say what they show."""

import pytest
from handmade import handmade
from matplotlib.figure import Figure

from bench.grammar import P50, RATE, Cdf, Contrast, CpuBars, Curve, Lines, Model, Ratios, Rows
from bench.grammar import figure as panels
from bench.grammar.axes import sheet
from bench.plan.case import Case

CASES = [Case(name, transport, placement=placement) for name in ("sockets", "zeromq") for transport in ("ipc", "tcp")
         for placement in ("same", "split")]  # fmt: skip
OVER = Contrast(P50, of={"system": "zeromq"}, over={"system": "sockets"}, by=("transport", "placement"))
LINEAR = Model("twice", "clients", lambda run: Curve([1, 4], [2, 8], [1, 7], [3, 9]))


@pytest.fixture(scope="module")
def run():
    return handmade(CASES, (10, 20, 30, 40, 100, 200, 300, 400), notebook="placement")


@pytest.fixture(scope="module")
def grown():
    return handmade([Case("zeromq", "tcp", clients=count) for count in (1, 2, 4)], (10, 20, 30), notebook="clients")


def drawn(panel, run):
    axes = Figure().subplots()
    panel(run, axes)
    return axes


def test_rows_of_a_hue_stand_together_under_one_name_with_a_legend(run):
    axes = drawn(Rows("Title", P50, colour_by="placement", label=lambda run, case: run.case(case).system), run)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["sockets", "zeromq"]
    assert axes.texts[0].get_text() == "10.3 µs" and len(axes.texts) == len(CASES)
    assert set(axes.get_legend_handles_labels()[1]) == {"same", "split"}
    assert axes.get_xscale() == "log" and axes.get_title() == "Title"


def test_lines_have_ticks_at_what_was_measured_and_models_beside_them(grown):
    axes = drawn(Lines("Title", RATE, "clients", models=(LINEAR,)), grown)
    assert list(axes.get_xticks()) == [1, 2, 4] and axes.get_ylim()[0] == 0
    assert axes.get_legend_handles_labels()[1] == ["zeromq tcp", "twice"]
    measured, model = [line for line in axes.lines if not line.get_label().startswith("_")]
    assert list(measured.get_xdata()) == [1, 2, 4] and list(model.get_ydata()) == [2, 8]
    assert measured.get_ydata() == pytest.approx(grown.cases[RATE])
    assert LINEAR.at(grown, 1) == 4


def test_distributions_have_a_curve_for_each_case_up_to_six(run):
    first = {"transport": "ipc"}
    axes = drawn(Cdf("Title", colour_by="placement", dash="system", where=first), run)
    curves = {label: line.get_linestyle() for line in axes.lines if not (label := line.get_label()).startswith("_")}
    assert len(curves) == 4 and list(curves.values()) == ["-", "-", "--", "--"]


def test_cpu_time_is_a_bar_of_the_roles_for_each_case(run):
    axes = drawn(CpuBars("Title", where={"placement": "same"}), run)
    assert len(axes.get_yticklabels()) == 4 and [text.get_text() for text in axes.texts] == ["30.0 µs"] * 4


NATS = {"where": {"system": "nats"}}


@pytest.mark.parametrize("panel", [Rows("T", P50, **NATS), Lines("T", RATE, "clients", **NATS), Ratios("T", (OVER,))])
def test_a_figure_says_in_a_panel_why_it_is_empty(panel, grown):
    axes = Figure().subplots()
    panels._draw(grown, panel, axes)
    assert [text.get_text() for text in axes.texts] == ["this run has no such cases"]
    assert axes.get_title() == "T" and not axes.lines


@pytest.mark.parametrize(("others", "in_panels", "in_row"), [(("a", "b"), [0, 0], 1), (("a", "c"), [1, 1], 0)])
def test_panels_beside_each_other_share_a_legend_that_says_the_same_of_both(others, in_panels, in_row):
    def draws(labels):
        return lambda axes: [axes.plot([1, 2], label=label) for label in labels]

    figure = sheet((8, 4), 1, [draws(("a", "b")), draws(others)])
    (row,) = figure.subfigs
    assert ([len(part.legends) for part in row.subfigs], len(row.legends)) == (in_panels, in_row)


@pytest.mark.parametrize("count", [1, 3, 4, 5])
def test_a_figure_has_each_of_its_panels_once(count):
    drawn = []
    figure = sheet((8, 6), 2, [drawn.append] * count)
    assert figure.axes == drawn and len(drawn) == count
