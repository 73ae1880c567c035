"""A selection of the campaign (`make campaign`), and what would make it blind."""

import importlib
import random
import sys
from unittest import mock

import inputs
import kills
import mutations
import pytest
import surroundings
import trying

from bench.errors import DataError

pytestmark = pytest.mark.slow

SEED = 7


@pytest.mark.timeout(0)
@pytest.mark.parametrize(("part", "count"), [("mutations", 5), ("inputs", 20)])
def test_nothing_goes_unseen_or_ends_in_a_traceback(part, count):
    tries = importlib.import_module(part).tries(count, SEED)
    assert [(what, fault) for what, fault in tries if fault] == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process so")
@pytest.mark.parametrize("system", ["http_aiohttp", "thrift", "zeromq"])
def test_a_reply_without_end_does_not_fill_the_memory(system):
    assert inputs.asked(system, inputs.without_end(system)) == ""


@pytest.mark.parametrize(("role", "system"), [("run", "zeromq"), ("served server", "sockets")])
def test_what_is_killed_leaves_nothing_and_loses_nothing(role, system, private_parent):
    (private_parent / "own").mkdir()
    assert kills.tried(role, system, 0.3, private_parent / "own") == ""


@pytest.mark.parametrize("name", ["no input", "no home"])
def test_surroundings_that_lack_something(name, private_parent):
    for place, commands, wanted, how in surroundings.all_places():
        if place == name and wanted != "either":
            (private_parent / "own").mkdir()
            assert surroundings.tried(commands[0], wanted, how, private_parent / "own") == ""


EDITS = {  # what the sentence names, and how a manifest or a table was edited
    "callers": lambda path: mutations.in_manifest(path, ("plan", "cases", 0, "callers"), "text"),
    "machine": lambda path: mutations.in_manifest(path, ("machine",), mutations.DROPPED),
    "column case": lambda path: mutations.in_table(path, "ledger", lambda table: table.drop_columns(["case"])),
    "start 0 .*200 samples": lambda path: mutations.in_table(path, "samples", mutations.ROWS["rows twice"]),
    "no row in the ledger": lambda path: mutations.in_table(path, "ledger", mutations.ROWS["emptied"]),
}


@pytest.mark.parametrize("named", EDITS)
def test_what_cannot_be_is_named(named):
    path = mutations.original()
    EDITS[named](path)
    with pytest.raises(DataError, match=named):
        mutations.whole(path)


def test_faults_are_seen(monkeypatch, tmp_path):
    path = mutations.original()
    assert mutations.fault(lambda _: "a", path, "a") == "" != mutations.fault(lambda _: "a", path, "b")
    for error, is_fault in ((TypeError(path), True), (DataError("bad"), True), (DataError(f"{path} is bad"), False)):
        assert bool(mutations.fault(mock.Mock(side_effect=error), path)) == is_fault
    write_elsewhere = mutations.elsewhere(path).joinpath("x").write_text
    monkeypatch.setattr(mutations, "compared", lambda at: write_elsewhere("x") and "")
    assert "elsewhere" in mutations.tried(mutations.special, path, random.Random(1))[1]
    assert trying.fault(0, "", "") == trying.fault(1, "", "bench: no run\n") == ""
    assert trying.fault(1, "", "bench: no run\n", "works") and trying.fault(0, "", "", "refuses")
    for status, complaint in ((None, ""), (1, "Traceback"), (1, "bench: a\nb"), (-11, ""), (1, "bench: unforeseen x")):
        assert trying.fault(status, "", complaint), complaint
    command = trying.Command(["sleep", "60"], tmp_path)
    assert command.processes("sleep") == [command.process.pid] and "processes" in command.left(patience_s=0)
    (tmp_path / "tmp" / "file").touch()
    assert command.answer()[0] == -9 and "file" in command.left()
