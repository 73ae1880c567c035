"""Each notebook's headline number, computed again by the reader in a few lines, agrees with the one that is shown."""

import re

import nbformat
import numpy as np
import pytest
from conftest import ROOT
from handmade import reference

import bench
import bench.apps.notebook  # what the cells before it have loaded
from bench.analysis.comparison import effect
from bench.experiments import clients
from bench.experiments.compare import A, B
from bench.grammar.experiment import experiment
from bench.run.frames import P50

NOTEBOOKS = [
    *("openload", "calibration", "scaleup", "nodelay", "marginal", "capacity", "noise", "origins", "mystery"),
    *("retries", "streaming", "tls", "messages", "connections", "fanin", "languages", "network"),
]


def cells(notebook):
    return nbformat.read(ROOT / "notebooks" / f"{notebook}.ipynb", 4).cells


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_the_reader_s_number_agrees_with_the_one_shown(notebook, capsys):
    # some notebooks count the calls of each start in a cell of its own, first
    places = (f"{notebook}-by-hand-rates", f"{notebook}-by-hand-code")
    inside = {"run": reference(notebook), "bench": bench}
    experiment(notebook)  # loads what a cell may name, as measuring does
    for source in [cell.source for cell in cells(notebook) if cell.id in places]:
        exec(source, inside)
    rows = (".samples", ".sessions", ".streams", ".attempts", "codec_us")  # calls and codecs, no rates
    assert any(name in cell.source for cell in cells(notebook) if cell.id in places for name in rows)
    assert inside["by_hand"] == pytest.approx(inside["shown"], rel=1e-9) and inside["shown"] > 0
    assert inside["run"].labels and capsys.readouterr().out


def printed(notebook, capsys):
    """Return what the reader's own computation prints for the reference run, line by line."""
    inside = {"run": reference(notebook), "np": np}
    for cell in cells(notebook):
        if cell.cell_type == "code" and cell.id.startswith("byhand"):
            exec(cell.source, inside)
    return capsys.readouterr().out.splitlines()


def last_number(line):
    return float(re.findall(r"[\d,.]+\d", line)[-1].replace(",", ""))


@pytest.mark.parametrize(
    ("notebook", "shown", "rel"),
    [
        ("latency", lambda run: run.cases[P50].iloc[0], 1e-3),
        ("throughput", lambda run: run.round_trips()["rate_per_s"].max(), 1e-3),
        ("clients", lambda run: clients.gain.ratios(run)[0].value, 1e-3),
        ("compare", lambda run: effect(run, A, B, P50).middle, 1e-3),
    ],
)
def test_the_number_that_the_reader_prints_is_the_one_shown(notebook, shown, rel, capsys):
    assert last_number(printed(notebook, capsys)[-1]) == pytest.approx(shown(reference(notebook)), rel=rel)


@pytest.mark.parametrize("notebook", ["wamp", "placement", "overview", "explore"])
def test_the_medians_of_all_cases(notebook, capsys):
    cases = reference(notebook).cases
    lines = [line for line in printed(notebook, capsys) if not line.startswith("case")]
    assert len(lines) == len(cases)
    for line, (_, row) in zip(lines, cases.iterrows(), strict=True):
        assert line.startswith(row["label"]) and last_number(line) == pytest.approx(row[P50], rel=1e-3, abs=1e-3)
