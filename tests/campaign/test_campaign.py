"""A selection of the campaign (`make campaign`), and what would make it blind."""

import json
import re
import shutil
from itertools import islice

import campaign
import inputs
import kills
import mutations
import pytest
import surroundings
import trying
from conftest import ROOT
from handmade import file_by_file, handmade

from bench.analysis import checks
from bench.errors import DataError, SystemFailedError
from bench.measurement import runner
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.run.frames import Run
from bench.text import one_line
from bench.validation.profiles import make_plan

pytestmark = pytest.mark.slow

SEED = 7


@pytest.mark.timeout(0)
def test_no_alteration_of_a_run_goes_unseen_or_ends_in_a_traceback():
    assert [(what, fault) for what, fault in mutations.tries(60, SEED) if fault] == []


@pytest.mark.timeout(0)
def test_no_bad_input_and_no_bad_server_ends_in_a_traceback():
    assert [(what, fault) for what, fault in inputs.tries(60, SEED) if fault] == []


@pytest.mark.parametrize(("role", "system"), [("run", "sockets"), ("server", "zeromq"), ("served server", "sockets")])
def test_what_is_killed_leaves_nothing_and_loses_nothing(role, system, private_parent):
    (private_parent / "own").mkdir()
    assert kills.tried(role, system, 0.3, private_parent / "own") == ""


SELECTED = [one for one in surroundings.all_places() if one.name in ("-O", "no input", "8 processes", "no home")]


SELECTED = [one for one in SELECTED if one.words == ["list"] or one.wanted == "refuses"]


@pytest.mark.parametrize("place", SELECTED, ids=lambda place: f"{place.name} {place.words[0]}")
def test_surroundings_that_lack_something(place, private_parent):
    assert surroundings.tried(place, private_parent) == ""


def test_the_same_seed_gives_the_same_tries():
    assert list(islice(kills.tries(SEED), 5)) == list(islice(kills.tries(SEED), 5)) != list(islice(kills.tries(8), 5))
    path = mutations.original().folder.path
    edits = [name for name, _ in mutations.manifest_edits(path)]
    assert edits == [name for name, _ in mutations.manifest_edits(path)] and len(edits) > 1000
    assert len(mutations.table_edits(path)) > 500


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


def test_the_document_quotes_the_last_campaign():
    found = json.loads((ROOT / "docs" / "campaign.json").read_text("utf-8"))["parts"]
    assert found.keys() == campaign.COUNTS.keys() == campaign.PARTS.keys()
    shown = re.search(r"generated: campaign.*?generated: end", (ROOT / "docs" / "trust.md").read_text("utf-8"), re.S)[0]
    for one in found.values():
        assert f"| {one['what']} | {one['tries']:,} | {one['failures']:,} |" in shown


def test_the_card_says_that_the_count_of_a_foreign_server_is_unknown():
    with inputs.server(inputs.SERVERS["returns what it gets"]) as address:
        folder = runner.run(make_plan("latency", [Case("sockets", "tcp", 64, target=address)], starts=1, window_s=0.05))
    (check, *_) = checks.check(Run(folder))
    assert check.name == "answers" and "1 starts" in check.found and "target" in check.found


def test_an_error_of_many_lines_becomes_one():
    text = one_line("HTTP 500\r\n\x1b[2J" + "one more line\n" * 500, 600)
    assert text.startswith("HTTP 500 [2Jone more line one") and len(text) == 603 and text.endswith("...")
    with inputs.server(inputs.SERVERS["answers with many lines"]) as at, pytest.raises(SystemFailedError) as failed:
        measure(Case("http_stdlib", "tcp", 64, target=at), 0.05, seed=1)
    assert "\n" not in str(failed.value) and len(str(failed.value)) < 2000
