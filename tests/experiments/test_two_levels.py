"""A median between two levels of the starts is printed as both of them: in sentences, tables, figures and scores."""

import pytest
from handmade import PAIR, handmade
from matplotlib.figure import Figure

from bench.analysis.quantiles import quantile
from bench.apps.teaching import questions, scores
from bench.experiments import sentences, tables
from bench.experiments.explore.figure import medians

CPU = {"client_cpu_ns": 50_000_000}  # the same in each start


def two_speeds(start, calls):
    """Starts of every second block take half as long again: a machine of two speeds."""
    return 1.5 if start // len(PAIR) % 2 else 1.0


@pytest.fixture(scope="module")
def run():
    return handmade(PAIR, [100, 40], shape=two_speeds, **CPU)


def test_sentences_and_tables_give_both_levels(run):
    spread = run.over_starts(0, "p50_rtt_us")
    assert spread.levels == pytest.approx((104.26, 151.87), rel=1e-3)
    both, bare = "104 or 152 µs (the two middle starts", "128 µs"
    assert both in sentences.conclusion(run) and bare not in sentences.conclusion(run)
    for table in (tables.calls(run), tables.loads(run)):
        shown = table.to_string()
        assert both in shown and bare not in shown
    assert "two middle" in tables.calls(run)["calls/s [range over starts]"].iloc[0]
    assert "two middle" not in tables.costs(run)["client CPU/call"].iloc[0]


def test_a_quantile_has_them_too(run):
    assert quantile(run, 0, 0.9).levels and "two middle" in str(quantile(run, 0, 0.9))
    assert quantile(handmade(PAIR, [100, 40]), 0, 0.9).levels is None


def test_a_figure_draws_and_writes_both(run):
    axes = Figure().subplots()
    medians(run, axes)
    (line,) = [line for line in axes.lines if line.get_marker() == "|" and line.get_ydata()[0] == 0]
    assert list(line.get_xdata()) == pytest.approx(run.over_starts(0, "p50_rtt_us").levels)
    assert axes.texts[0].get_text() == "104 or 152 µs"


def test_a_score_gives_both(run):
    one = questions.find("latency q1")
    answer = questions.measured(run, one)
    assert answer.levels and "two middle" in str(scores.Score(one, None, "", answer))
