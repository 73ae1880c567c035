"""The alternative text of a panel says what that panel shows, read from what was drawn."""

import re

import numpy as np
import pytest
from drawings import whole
from handmade import handmade, reference
from matplotlib.figure import Figure
from test_figures import RUNS

from bench.drawing.axes import (
    RangeRow,
    curve,
    distribution_axes,
    name_lanes,
    name_rows,
    nothing,
    range_rows,
    ticks_at,
    time_axis,
)
from bench.experiments import alternative, panels
from bench.plan.case import Case


@pytest.fixture
def axes():
    """Return an empty panel with a title."""
    drawn = Figure().subplots()
    drawn.set_title("What it shows", loc="left")
    return drawn


def test_rows_are_named_with_the_words_beside_them(axes):
    range_rows(axes, [RangeRow([10, 12, 20], "black", "  × 2.00 [1.50, 3.00]"), RangeRow([5, 6, 7], "black")])
    name_rows(axes, ["zeromq\ntcp", "sockets tcp"])
    assert alternative.sentence(axes) == ("What it shows: zeromq tcp 12.0 µs × 2.00 (1.50, 3.00); sockets tcp 6.00 µs.")


def test_rows_without_words_have_the_range_of_their_markers(axes):
    axes.plot([1, 4], [0, 0], "o")
    axes.plot([2, 3], [1, 1], "o")
    name_rows(axes, ["a", "b"])
    axes.set_xlabel("time [ms]; each start")
    assert alternative.sentence(axes) == "What it shows: a 1 ms to 4 ms; b 2 ms to 3 ms."


def test_bars_are_named_with_their_totals(axes):
    axes.bar([0, 1], [3, 5], label="client")
    axes.annotate("3 µs", (0, 3))
    axes.annotate("5 µs", (1, 5))
    axes.set_xticks([0, 1], ["one", "two"])
    assert alternative.sentence(axes) == "What it shows: one 3 µs; two 5 µs."


def test_bars_without_words_have_their_heights(axes):
    axes.bar([0, 1], [3, 5], label="client")
    axes.set_xticks([0, 1], ["one", "two"])
    axes.set_ylabel("share [%]")
    assert alternative.sentence(axes) == "What it shows: client 3 % at one, 5 % at two."


def test_a_curve_has_its_values_at_both_ends_and_the_scales_are_named(axes):
    axes.plot([1, 2, 8], [100, 150, 1000.4], "o-", label="sockets")
    axes.plot([1, 8], [90, 70], "x", label="published")
    axes.plot([1, 8], [1, 1])
    axes.set_yscale("log")
    time_axis(axes.yaxis)
    ticks_at(axes.xaxis, [1, 2, 8])
    axes.set(xlabel="clients", ylabel="mean RTT; band: range over starts")
    assert alternative.sentence(axes) == (
        "What it shows (mean RTT against clients): sockets 100 µs at 1 and 1 ms at 8; published 70 µs to 90 µs."
    )


def test_a_level_that_its_label_names_is_named_once(axes):
    axes.plot([0, 8], [250, 250], label="offered: 250/s")
    axes.plot([0, 8], [3, 3], label="sockets")
    axes.set(xlabel="time", ylabel="rate")
    assert alternative.sentence(axes).count("250") == 1


def test_a_distribution_has_its_median_and_its_p99(axes):
    curve(axes, np.arange(1.0, 1001.0), "zeromq, n = 1,000", "black")
    curve(axes, np.arange(1.0, 11.0), "few, n = 10", "black")
    distribution_axes(axes)
    first, second = alternative.sentence(axes).removeprefix("What it shows: ").split("; ")
    assert first.startswith("zeromq p50 50") and re.search(r"p99 99\d µs$", first) and " n = " not in first
    assert second.startswith("few p50 5")


def test_lanes_have_the_median_and_the_largest_value(axes):
    axes.plot([0.4, 0.5, 0.6], [1, 2, 9], ".")
    axes.plot([1.5], [4], ".")
    name_lanes(axes, ["a", "b"], 1)
    assert alternative.sentence(axes) == "What it shows: a median 2, largest 9; b median 4, largest 4."


def test_an_empty_panel_says_why(axes):
    nothing(axes, "the server's CPU time is not known")
    assert alternative.sentence(axes) == "What it shows: the server's CPU time is not known."


def test_of_many_rows_the_first_are_named(axes):
    range_rows(axes, [RangeRow([n], "black") for n in range(1, 12)])
    name_rows(axes, [f"row {n}" for n in range(1, 12)])
    assert alternative.sentence(axes).endswith("row 8 8.00 µs; and 3 more.")


def test_a_panel_without_names_says_nothing(axes):
    axes.plot([1, 2], [1, 2])
    assert alternative.sentence(axes) == ""


@pytest.mark.parametrize("stem", RUNS)
def test_panels_of_reference_runs_have_sentences_of_their_own(stem):
    said = [alternative.sentence(axes) for axes in whole(stem).axes if axes.get_title(loc="left")]
    known = [text for text in said if text]
    assert len(known) >= len(said) / 2 and len(set(known)) == len(known)
    for text in known:
        assert re.search(r"\d", text) and not re.search(r"[\[\]$\n]", text) and len(text) < 1200


def test_a_panel_is_described_by_its_own_finding_then_by_how_it_is_drawn():
    run = reference("latency")
    drawn = panels.panel(run, "medians")
    text = panels.panel_described(run, "medians", drawn)
    assert text == f"{alternative.sentence(drawn.axes[0])} {panels.in_words([panels.figure_of('latency').medians])}"


def test_a_run_without_a_conclusion_has_no_numbers_in_its_panels_texts():
    run = handmade([Case("zeromq", "ipc"), Case("sockets", "ipc")], [50, 20], starts=2)
    drawn = panels.panel(run, "medians")
    assert "50" in alternative.sentence(drawn.axes[0])
    assert alternative.sentence(drawn.axes[0]) not in panels.panel_described(run, "medians", drawn)
