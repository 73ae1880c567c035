"""Each notebook's headline number, computed again by the reader in a few lines, agrees with the one that is shown."""

import nbformat
import pytest
from conftest import ROOT
from handmade import handmade, reference

import bench
import bench.apps.notebook  # what the cells before it have loaded
from bench.grammar import tables
from bench.plan.case import Case
from bench.run.frames import Run

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
    for source in [cell.source for cell in cells(notebook) if cell.id in places]:
        exec(source, inside)
    rows = (".samples", ".sessions", ".streams", ".attempts", "codec_us")  # calls and codecs, no rates
    assert any(name in cell.source for cell in cells(notebook) if cell.id in places for name in rows)
    assert inside["by_hand"] == pytest.approx(inside["shown"], rel=1e-9) and inside["shown"] > 0
    assert inside["run"].labels and capsys.readouterr().out


def test_a_run_measured_outside_a_checkout_has_a_table_of_versions_without_a_revision():
    run = handmade([Case("sockets", "ipc")], [50])
    known = tables.versions(run)["version"]
    run.folder.update(git={"revision": None, "dirty": None})
    without = tables.versions(Run(run.folder))["version"]
    assert list(without.index) == list(known.index) and (without != known).sum() == 1
