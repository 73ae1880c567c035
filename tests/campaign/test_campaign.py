"""A selection of the campaign (`make campaign`), and what would make it blind."""

import shutil
import sys
from itertools import islice

import endless
import inputs
import kills
import mutations
import pytest
import surroundings
import trying
from handmade import file_by_file, handmade

from bench.errors import DataError

pytestmark = pytest.mark.slow

SEED = 7


@pytest.mark.timeout(0)
def test_no_alteration_of_a_run_goes_unseen_or_ends_in_a_traceback():
    assert [(what, fault) for what, fault in mutations.tries(60, SEED) if fault] == []


@pytest.mark.timeout(0)
def test_no_bad_input_and_no_bad_server_ends_in_a_traceback():
    assert [(what, fault) for what, fault in inputs.tries(60, SEED) if fault] == []


@pytest.mark.fresh
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process so")
@pytest.mark.parametrize("system", ["http_stdlib", "http_aiohttp", "rpyc", "xmlrpc_pstream", "thrift", "zeromq"])
def test_a_reply_without_end_does_not_fill_the_memory(system):
    assert inputs.asked(system, endless.answering(system)) == ""


@pytest.mark.parametrize(("role", "system"), [("run", "sockets"), ("server", "zeromq"), ("served server", "sockets")])
def test_what_is_killed_leaves_nothing_and_loses_nothing(role, system, private_parent):
    (private_parent / "own").mkdir()
    assert kills.tried(role, system, 0.3, private_parent / "own") == ""


SELECTED = [place for place in surroundings.all_places() if place.name in ("no input", "8 processes", "no home")]
SELECTED = [place for place in SELECTED if place.words == ["list"] or place.wanted == "refuses"]


@pytest.mark.parametrize("place", SELECTED, ids=lambda place: f"{place.name} {place.words[0]}")
def test_surroundings_that_lack_something(place, private_parent):
    assert surroundings.tried(place, private_parent) == ""


def test_the_same_seed_gives_the_same_tries():
    assert list(islice(kills.cases(SEED), 5)) == list(islice(kills.cases(SEED), 5)) != list(islice(kills.cases(8), 5))
    path = mutations.original().folder.path
    edits = [name for name, _ in mutations.manifest_edits(path)]
    assert edits == [name for name, _ in mutations.manifest_edits(path)] and len(edits) > 1000
    assert len(mutations.table_edits(path)) > 500
    assert {kind for name, _ in mutations.special_files(path) for kind in [name.partition(": ")[2]]} == set(
        mutations.SPECIAL
    )


def test_what_is_written_through_a_link_is_a_fault(monkeypatch):
    path = mutations.original().folder.path
    with mutations.copied(path) as copy:
        mutations.replaced(copy, "measuring.lock", "a link")
        monkeypatch.setattr(mutations, "written", lambda path, tables: (path / "measuring.lock").write_text("x") and "")
        assert "elsewhere" in mutations.special_fault("measuring.lock: a link", copy, {})


def test_what_goes_wrong_is_a_fault():
    path = handmade(mutations.CASES, [100, 50], starts=2, calls=50, write=file_by_file).folder.path

    def raises(error):
        def look(_):
            raise error

        return mutations.fault(look, path)

    assert "TypeError" in raises(TypeError("x")) and "TimeoutError" in raises(TimeoutError())
    assert raises(DataError("bad")) and raises(DataError(f"{path}\nbad"))
    assert raises(DataError(f"{path} is bad")) == "" and mutations.fault(lambda _: "a", path, "a") == ""
    assert mutations.fault(lambda _: "a", path, "b")
    shutil.rmtree(path)


def answer(status, complaint="", out=""):
    return trying.Answer(status, out, complaint, 0.0, "token")


def test_an_answer_that_is_no_sentence_is_a_fault():
    assert trying.fault(answer(0)) == trying.fault(answer(1, "bench: no run\n")) == ""
    assert trying.fault(answer(1, "bench: no run\n"), "works") and trying.fault(answer(0), "refuses")
    for status, complaint in ((None, ""), (1, "Traceback"), (1, "bench: a\nb"), (-11, ""), (1, "bench: unforeseen x")):
        assert trying.fault(answer(status, complaint)), complaint


def test_what_is_left_is_found(tmp_path):
    process, token = trying.started(["sleep", "60"], {})
    assert trying.tagged(token) == [process.pid]
    assert "1 process" in trying.left(token, tmp_path, patience_s=0)
    process.wait()
    process.stdout.close()
    process.stderr.close()
    assert trying.left(token, tmp_path) == ""
    (tmp_path / "file").touch()
    assert trying.left(token, tmp_path) == "left file"
