"""A class: whose word counts, which claims hold, and what is said where there are too few machines."""

import json
import math
import re
from dataclasses import asdict, replace
from datetime import datetime, timedelta

import classes
import drawings
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from handmade import reference
from papermilling import outputs, papermill_here
from PIL import Image

from bench.analysis import comparison
from bench.apps import classroom, listing
from bench.apps.classroom import forest, merging, ratios, reading, submitting, telling
from bench.errors import UsageError
from bench.run import stored
from bench.stats import intervals
from bench.stats.meta_analysis import standard_error
from bench.systems import sockets
from lint.words import retired

pytestmark = pytest.mark.slow

P50 = "p50_rtt_us"


@pytest.fixture
def room(tmp_path):
    return classroom.gather(str(classes.a_class(tmp_path / "class", [1.0, 1.2, 1.4, 0.9])))


def claim_of(room, label="zeromq ipc"):
    (labelled_claim,) = [claim for claim in room.claims if claim.label == label]
    return labelled_claim


def test_a_machine_says_what_compare_says_of_its_run():
    run = reference("latency")
    labels = run.labels
    expected = comparison.compare_cases(run, labels.index("sockets ipc"), labels.index("zeromq ipc"))[0]
    (submitted,) = reading.read(submitting.submission(["reference/latency"]).data)
    ipc_ratio = {ratio.case.transport: ratio for ratio in ratios.ratios(submitted, [P50])[0]}["ipc"]
    near = 0.05 if len(run.stored_slices) else 1e-6  # a submission holds starts, and no slices
    theirs = [math.exp(end) for end in (ipc_ratio.effect.middle, ipc_ratio.effect.low, ipc_ratio.effect.high)]
    assert theirs == pytest.approx([expected.ratio, expected.low, expected.high], rel=near)
    assert ipc_ratio.verdict == expected.verdict


def test_raw_sockets_of_each_group_of_a_block_are_one_baseline():
    (submitted,) = reading.read(submitting.submission(["reference/latency"]).data)
    before = ratios.ratios(submitted, [P50])[0]
    of_sockets = [index for index, case in enumerate(submitted.cases) if ratios.is_baseline(case)]
    starts = submitted.starts
    twice = pd.concat([starts, starts[starts["case"].isin(of_sockets)]])
    after = ratios.ratios(replace(submitted, starts=twice), [P50])[0]
    assert [one.effect for one in after] == [one.effect for one in before]


def test_speed_of_a_machine_is_divided_out_and_a_claim_holds_where_every_machine_agrees(room):
    claim = claim_of(room)
    base = {row: float(sorted(ratio.baseline)[3]) for row, ratio in claim.rows.items()}
    assert base["00000003"] > 1.5 * base["00000000"]  # machines are 1, 4/3, 5/3, 2 times as slow
    middle = {row: math.exp(ratio.effect.middle) for row, ratio in claim.rows.items()}
    assert middle["00000001"] / middle["00000000"] == pytest.approx(1.2, rel=0.06)
    assert middle["00000002"] / middle["00000000"] == pytest.approx(1.4, rel=0.06)
    assert room.machines == 4 and claim.pool.predicted is not None
    assert {claim.verdict for claim in room.claims} == {merging.HOLDS}
    assert "**higher on every machine** (4 of 4)" in telling.conclusion(room)


def test_a_claim_depends_where_machines_contradict_each_other(tmp_path):
    room = classroom.gather(str(classes.a_class(tmp_path / "class", [1.0, 1.1, 0.1, 0.9])))
    assert claim_of(room).verdict == merging.DEPENDS
    assert re.search("00000000, 00000001 and 00000003, .*00000002", telling.conclusion(room))


def test_of_many_equal_machines_hardly_any_class_depends_on_the_machine():
    chance, classes_that_depend = np.random.default_rng(1), 0
    for _ in range(100):
        rows = {}
        for machine in range(30):
            effect = intervals.paired_shift(0.03 * chance.standard_normal(12))
            error = standard_error(effect, 12)
            verdict = comparison.judge(math.exp(effect.low), math.exp(effect.high), 0.05)
            rows[f"m{machine}"] = ratios.Ratio(None, None, "p50_rtt_us", effect, error, np.ones(12), verdict)
        classes_that_depend += merging.Claim("zeromq ipc", "p50_rtt_us", rows).verdict == merging.DEPENDS
    assert classes_that_depend <= 5


@pytest.mark.parametrize("factors", [[1.0], [1.0, 1.1]])
def test_with_fewer_than_three_machines_nothing_is_concluded_about_machines(tmp_path, factors):
    room = classroom.gather(str(classes.a_class(tmp_path / "class", factors)))
    assert all(claim.verdict == merging.FEW and claim.pool.predicted is None for claim in room.claims)
    assert not any(claim.label in telling.conclusion(room) for claim in room.claims)


def test_a_machine_counts_once_by_its_newest_run(tmp_path):
    folder = classes.a_class(tmp_path / "class", [1.0, 1.1, 1.2])
    again = classes.slow_down(classes.content("00000001"), "zeromq", 2.0)
    (run,) = again["runs"]
    run["digest"] = "f" * 64
    run["created"] = (datetime.fromisoformat(run["created"]) + timedelta(seconds=1)).isoformat()
    (folder / "again.json").write_bytes(submitting.encoded(again))
    room = classroom.gather(str(folder))
    claim = claim_of(room)
    assert list(claim.rows) == ["00000000", "00000001", "00000002"]
    assert claim.rows["00000001"].run.file == "again.json"
    assert {one.file for one in room.refusals if "zeromq ipc" in one.what} == {"student01.json"}


def test_pairs_on_pcs_made_from_one_image_count_as_machines_by_their_names(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    for number, name in enumerate(("Anna", "Bert", "Carl", "")):
        made = classes.content(f"{number:08x}") | {"name": name}
        made["machine"]["machine_id"] = "0000000c"
        (folder / f"{number}.json").write_bytes(submitting.encoded(made))
    room = classroom.gather(str(folder))
    assert list(claim_of(room).rows) == ["0000000c", "Anna", "Bert", "Carl"]
    assert "4 submissions of 4 machines" in room.counts and "4 names share 1 machine id" in room.counts
    assert list(telling.submissions(room)["name"]) == ["Anna", "Bert", "Carl", "none"]


def test_a_run_that_several_files_hold_counts_once_and_all_of_them_are_named(tmp_path):
    folder = classes.a_class(tmp_path / "class", [1.0, 1.1, 1.2])
    stolen = json.loads((folder / "student01.json").read_text())
    stolen["machine"]["machine_id"] = "0000000f"
    (folder / "a_copy.json").write_bytes(submitting.encoded(stolen))
    room = classroom.gather(str(folder))
    assert room.machines == 3 and "0 refused, 1 run in several files" in room.counts
    (refusal,) = [one for one in room.refusals if one.what == reading.COPIES]
    assert refusal.file == "a_copy.json and student01.json"
    assert "counts once" in refusal.reason and "0000000f and 00000001" in refusal.reason


def without_its_own_baseline(run):
    for case in run["cases"]:
        if case["system"] == "sockets":
            case["payload_bytes"] = 64  # raw sockets, but of other messages


def with_five_starts(run):
    run["starts"] = [start for start in run["starts"] if start["block"] < 5]


def with_equal_starts(run):
    for start in run["starts"]:
        start["p50_rtt_us"] = start["p99_rtt_us"] = 5.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [(without_its_own_baseline, "sockets"), (with_five_starts, r"\b5\b.*\b6\b"), (with_equal_starts, "vary")],
)
def test_a_submission_that_says_nothing_is_named_with_the_reason_and_in_no_claim(tmp_path, change, reason):
    folder = classes.a_class(tmp_path / "class", [1.0, 1.1, 1.2])
    submitted = classes.content("0000000a")
    change(submitted["runs"][0])
    (folder / "other.json").write_bytes(submitting.encoded(submitted))
    room = classroom.gather(str(folder))
    assert "0000000a" not in claim_of(room).rows
    assert any(re.search(reason, one.reason) for one in room.refusals if one.file == "other.json")


def test_options_of_raw_sockets_as_they_come_are_a_baseline():
    assert all(ratios.PLAIN.get(name) == value for name, value in asdict(sockets.Options()).items())


def test_simulated_machines_are_five_have_no_measurement_and_say_so(room):
    generated = classroom.gather("simulated")
    assert generated.machines == 5 and generated.chosen.pool.predicted is not None
    assert {run.facts["cpu_model"] for run in generated.runs} == {f"simulated {letter}" for letter in "ABCDE"}
    for text in (telling.conclusion, forest.caption):
        assert "simulated" in text(generated) and "simulated" not in text(room)
    base = {round(float(run.starts["p50_rtt_us"].median()), 6) for run in generated.runs}
    assert len(base) == 5  # machines of different speeds
    again = classroom.gather("simulated")
    assert generated.data_hash == again.data_hash and telling.claims(generated).equals(telling.claims(again))


def test_quantities_and_claims_are_chosen_by_name(room, tmp_path):
    folder = str(tmp_path / "class")
    every = classroom.gather(folder, "all")
    assert {claim.quantity for claim in every.claims} == set(comparison.QUANTITIES)
    (rate,) = [one for one in every.claims if one.quantity == "rate_per_s" and one.label == "zeromq ipc"]
    assert rate.pool.high < 0 and rate.verdict == merging.HOLDS
    assert classroom.gather(folder, claim="zeromq t").chosen.label == "zeromq tcp"
    for wrong in ({"claim": "nosuch"}, {"quantity": "speed"}, {"folder": folder + "/none"}):
        with pytest.raises(UsageError):
            classroom.gather(**({"folder": folder} | wrong))


def test_a_folder_of_other_files_holds_no_submissions(tmp_path):
    (tmp_path / "passwd").write_text("x")
    for folder, named in ((tmp_path, tmp_path.name), ("x" * 5000, "xxx"), ("/dev/null", "/dev/null")):
        with pytest.raises(UsageError, match=named):
            classroom.gather(str(folder))


def test_an_empty_folder_is_no_error(tmp_path):
    (tmp_path / "empty").mkdir()
    room = classroom.gather(str(tmp_path / "empty"))
    assert room.chosen is None and telling.conclusion(room)
    forest.whole(room)
    for name in ("submissions", "refusals", "claims"):
        assert getattr(telling, name)(room).empty
    assert telling.heterogeneity(room)


@pytest.mark.parametrize("machines", [1, 30])
def test_the_figure_is_whole_for_any_class(machines, tmp_path):
    room = classroom.gather(str(classes.a_class(tmp_path / "class", [1 + n / 20 for n in range(machines)])))
    figure = forest.whole(room)
    assert (drawings.clipped(figure), drawings.overlapping(figure), drawings.too_small(figure)) == ([], [], [])
    for axes in figure.axes:
        assert axes.get_title(loc="left")
        words = [text.get_text() for text in axes.get_yticklabels()] + [text.get_text() for text in axes.texts]
        assert any(letter.isalpha() for word in words for letter in word)
    assert figure.get_size_inches()[0] == 14 and figure.get_size_inches()[1] >= 10.4
    drawn = figure.axes[0]
    assert [text.get_text() for text in drawn.get_yticklabels()][:machines] == list(room.chosen.rows)
    left, right = drawn.get_xlim()
    for ratio in room.chosen.rows.values():
        assert left < math.exp(ratio.effect.low) and math.exp(ratio.effect.high) < right
    assert left < 1 < right  # no difference is on the axis


def test_the_same_submissions_give_the_same_bytes_wherever_they_lie(tmp_path):
    files = []
    for place in ("one/class", "two/class"):
        room = classroom.gather(str(classes.a_class(tmp_path / place, [1.0, 1.1, 1.3])))
        files.append([file.read_bytes() for file in forest.save(room)])
    assert files[0] == files[1]
    png = tmp_path / "figures" / "classroom.png"
    assert Image.open(png).size == (2100, 1560)
    assert f"data={room.data_hash}" in Image.open(png).text["Description"]
    assert "-p folder FOLDER" in listing.figure_text(str(png))
    assert str(tmp_path) not in forest.caption(room) and str(tmp_path).encode() not in files[0][0]


SCENARIOS = sorted((ROOT / "papermill_params").glob("classroom.*.yaml"))


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_the_notebook_of_a_class_runs_with_every_scenario(file, tmp_path):
    folder = classes.a_class(tmp_path / "class", [1.0, 1.1, 1.2])
    (folder / "<b>wrong.json").write_text("no submission")
    papermill_here("classroom.ipynb", str(tmp_path / "out.ipynb"), "-f", str(file), "-p", "folder", str(folder))
    text = outputs(tmp_path / "out.ipynb")
    assert re.search(r"\b3 submissions.* 3 machines", text) and "zeromq ipc" in text
    assert "\uff1cb&gt;wrong.json" in text and "<b>wrong" not in text
    assert "classroom.svg" in text and not stored.all_runs() and retired(text) == []
    assert (tmp_path / "figures" / "classroom.png").stat().st_size > 50_000
