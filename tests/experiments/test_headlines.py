"""The reader computes the headline number from the samples, and it agrees with the table."""

import re

import nbformat
import pandas as pd
import pytest
from conftest import ROOT, slow_but
from handmade import reference

from bench.analysis.comparison import effect
from bench.experiments import clients
from bench.experiments.compare import A, B
from bench.grammar import RATE, Contrast
from bench.run.frames import column

P50 = column(0.5)
MEDIANS = ("wamp", "placement", "overview", "explore")


def printed(notebook, drawn):
    """Return what the cell of the reader's own computation prints in a notebook drawn from its reference run."""
    (cell,) = [cell for cell in nbformat.read(drawn(notebook) / "out.ipynb", 4).cells if cell.id == "byhand"]
    return "".join(output["text"] for output in cell.outputs)


def cells(notebook):
    return nbformat.read(ROOT / "notebooks" / f"{notebook}.ipynb", 4).cells


def last_number(line):
    return float(re.findall(r"[\d,.]+\d", line)[-1].replace(",", ""))


def test_latencys_median(drawn):
    assert last_number(printed("latency", drawn)) == pytest.approx(reference("latency").cases[P50].iloc[0], rel=1e-3)


def test_throughputs_highest_rate(drawn):
    rates = reference("throughput").round_trips()["rate_per_s"]
    assert last_number(printed("throughput", drawn)) == pytest.approx(rates.max(), rel=1e-3)


def test_the_largest_gain_of_clients(drawn):
    run = reference("clients")
    (gain,) = clients.gain.ratios(run)
    assert last_number(printed("clients", drawn)) == pytest.approx(gain.value, rel=1e-3)


def test_the_growth_that_clients_draws_is_the_gain_that_it_prints():
    run = reference("clients")
    (source,) = [cell.source for cell in cells("clients") if "threads above" in cell.source]
    inside = {"run": run, "pd": pd, "mine": pd.Series({1: 1.0, 2: 2.0})}
    exec(source, inside)
    (processes,) = [line for line in inside["axes"].lines if line.get_label() == "processes"]
    of_several = dict(zip(processes.get_xdata(), processes.get_ydata(), strict=True))
    assert of_several.pop(1) == 1 and len(of_several) > 2
    growth = Contrast(RATE, of={}, over={"clients": 1}, where=clients.WINDOW)
    gains = {run.case(of.other).clients: of.value for of in growth.ratios(run)}
    assert gains == {int(count): pytest.approx(value) for count, value in of_several.items()}


def test_the_ratio_of_compare(drawn):
    value = effect(reference("compare"), A, B, P50).middle
    assert last_number(printed("compare", drawn)) == pytest.approx(value, rel=0.02)  # by hand: medians of whole blocks


@pytest.mark.parametrize("notebook", slow_but(MEDIANS, "wamp"))
def test_the_medians_of_all_cases(notebook, drawn):
    cases = reference(notebook).cases
    lines = [line for line in printed(notebook, drawn).splitlines() if not line.startswith("case")]
    assert len(lines) == len(cases)
    for line, (_, row) in zip(lines, cases.iterrows(), strict=True):
        assert line.startswith(row["label"]) and last_number(line) == pytest.approx(row[P50], rel=1e-3, abs=1e-3)
