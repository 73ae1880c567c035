"""Handing in: one small file, the same bytes for the same runs, nothing private in it; a hostile one is refused."""

import functools
import json
import os
import platform
import re
import resource
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import classes
import numpy as np
import pytest
from handmade import handmade, in_turns, reference

from bench.analysis import comparison
from bench.analysis.comparison import QUANTITIES
from bench.apps import classroom, listing
from bench.apps.classroom import merging, ratios, reading, submitting, telling
from bench.apps.classroom.reading import RefusedError
from bench.errors import DataError, UsageError
from bench.measurement import runner
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run import schema, stored
from bench.run.frames import P50

pytestmark = pytest.mark.slow


@pytest.fixture
def kept(tmp_path):
    """Return a copy of a reference run, to be changed."""
    return stored.keep(stored.find("reference/latency"), tmp_path / "kept")


def test_the_same_runs_give_the_same_bytes_in_any_order():
    plans = (
        make_plan("latency", [Case("sockets", "ipc", max_calls=100)], starts=2, window_s=0.05, seed=n) for n in (1, 2)
    )
    one, two = (runner.run(plan).id for plan in plans)
    made, again = submitting.submission([one, two]), submitting.submission([two, one, two])
    assert made.data == again.data and made.name == again.name
    assert len(made.data) < 100_000 and len(reading.read(made.data)) == 2


def test_what_is_handed_in_is_what_the_run_says():
    run = reference("latency")
    (submitted,) = reading.read(submitting.submission(["reference/latency"]).data, "x.json")
    assert submitted.id == run.id and submitted.machine == run.manifest["machine"]["machine_id"]
    assert [vars(case) for case in submitted.cases] == [vars(case) for case in run.plan.cases]
    for name in ("case", "block", "calls", "p50_rtt_us", "p99_rtt_us", "rate_per_s"):
        np.testing.assert_array_equal(submitted.starts[name], run.starts[name], err_msg=name)
    is_known = run.starts["server_cpu_us_per_call"].notna().to_numpy()
    cpu = (run.starts["client_cpu_us_per_call"] + run.starts["server_cpu_us_per_call"]).to_numpy()
    np.testing.assert_array_equal(submitted.starts["cpu_us_per_call"][is_known], cpu[is_known])
    assert submitted.starts["cpu_us_per_call"][~is_known].isna().all()


def test_the_digest_of_a_run_is_handed_in_shown_and_printed_where_the_run_is(tmp_path):
    (tmp_path / "class").mkdir()
    submitting.write(submitting.submission(["reference/latency"]), str(tmp_path / "class" / "a.json"))
    digest = reference("latency").manifest["digest"]
    room = merging.gather(str(tmp_path / "class"), "median RTT", "")
    assert telling.submissions(room)["digest"].to_list() == [digest[:16]]
    assert f"digest    {digest}" in listing.run_text("reference/latency").splitlines()


def test_a_case_that_took_turns_in_several_groups_of_a_block_is_submitted_as_one_start_of_it():
    cases = [Case("sockets", "ipc"), Case("zeromq", "ipc"), Case("zeromq", "tcp")]
    run = in_turns([10, 20, 30], rounds=2, calls=40, cases=cases, groups=((0, 1), (0, 2)))
    run.folder.update(machine=run.manifest["machine"] | {"machine_id": "0" * 8})
    (submitted,) = submitting.submission([run.id]).content["runs"]
    starts = [(start["case"], start["block"]) for start in submitted["starts"]]
    assert len(starts) == len(set(starts)) == 3 * 8 < len(run.starts)
    told = {start["block"]: start[P50] for start in submitted["starts"] if start["case"] == 0}
    assert told == comparison.values(run, 0, P50).to_dict()


def test_nothing_private_is_submitted():
    measured = runner.run(make_plan("latency", [Case("sockets", "ipc", max_calls=100)], starts=2, window_s=0.05))
    made = submitting.submission([measured.id])
    known = [platform.node(), str(measured.path.parent), str(Path.home()), "/tmp/", "/ho" + "me/"]
    for private in [*known, Path("/etc/machine-id").read_text().strip() if Path("/etc/machine-id").exists() else ""]:
        assert len(private) < 4 or private not in made.data.decode()
    (run,) = made.content["runs"]
    assert not set(run["cases"][0]) & set(reading.LEFT_OUT)


def test_what_a_person_typed_is_not_submitted_and_an_address_is_refused(kept):
    kept.failed(3, 0, "somebody's secret: failed")
    assert b"secret" not in submitting.submission([str(kept.path)]).data
    plan = kept.manifest()["plan"]
    plan["cases"][0]["target"] = "tcp://myhost.example:5555"
    kept.update(plan=plan)
    with pytest.raises(DataError, match=kept.manifest()["id"]):
        submitting.submission([str(kept.path)])


def test_a_message_of_ones_own_is_named_by_its_content():
    names, first, second = [], '{"secret": 1}', '{"secret": 2}'
    for name, content in (("mine.json", first), ("other.json", first), ("mine.json", second)):
        run = handmade([replace(Case("sockets", "ipc"), message=name, content=content)], [50], starts=2, calls=200)
        run.folder.update(machine=run.manifest["machine"] | {"machine_id": "0" * 8})
        made = submitting.submission([run.id])
        assert name.encode() not in made.data and b"secret" not in made.data
        names.append(reading.read(made.data)[0].cases[0].message)
    assert names[0] == names[1] != names[2]


def test_runs_of_several_machines_are_refused(kept):
    kept.update(id=kept.manifest()["id"][:-1] + "0", machine=kept.manifest()["machine"] | {"machine_id": "00000000"})
    with pytest.raises(UsageError):
        submitting.submission([str(kept.path), "reference/latency"])


def test_an_invalid_run_is_refused(kept):
    manifest, tables = kept.manifest(), {name: kept.read(name) for name in schema.TABLES}
    rows = tables["ledger"].to_pylist()
    rows[0]["server_calls"] = 1
    kept.write_all(tables | {"ledger": schema.make("ledger", rows)})
    kept.write_manifest(manifest | {"data_digest": kept.data_digest()})
    with pytest.raises(DataError, match="answers"):
        submitting.submission([str(kept.path)])


@pytest.mark.parametrize(
    ("has_terminal", "words", "agrees", "status"),
    [(True, (), False, 1), (True, (), True, 0), (False, (), True, 2), (False, ("--yes",), False, 0)],
)
def test_it_is_described_first_and_written_only_if_agreed(
    tmp_path, command, monkeypatch, has_terminal, words, agrees, status
):
    file = tmp_path / "mine.json"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: has_terminal))
    monkeypatch.setattr("click.confirm", lambda question: agrees and "mine.json" in question)
    ended = command("submit", "reference/latency", "-o", str(file), *words)
    assert ended.returncode == status and "machine_id" in ended.stdout and file.exists() == (status == 0)
    assert status != 2 or "--yes" in ended.stderr
    assert status or len(reading.read(file.read_bytes())) == 1


def test_a_file_that_is_there_is_kept(tmp_path):
    made = submitting.submission(["reference/latency"])
    assert re.fullmatch(r"roundtrip-[0-9a-f]{8}-\d{8}T\d{6}\.json", made.name)
    file = tmp_path / made.name
    file.write_bytes(b"mine")
    for place in (file, tmp_path / "none" / "x.json"):
        with pytest.raises(DataError, match="-o"):
            submitting.write(made, str(place))
    assert file.read_bytes() == b"mine"


def test_what_would_not_be_accepted_is_not_written(monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)
    with pytest.raises(DataError, match="1,000"):
        submitting.submission(["reference/latency"])


def test_a_file_that_cannot_be_written_to_its_end_leaves_nothing(tmp_path):
    made = submitting.submission(["reference/latency"])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(DataError, match=r"mine\.json.*-o"):
            submitting.write(made, str(tmp_path / "mine.json"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


RUN = ("runs", 0)
CASE, START = (*RUN, "cases", 0), (*RUN, "starts", 0)
HOSTILE = {  # a value of a submission, what stands in its place, and what the reason says
    "another version": (("submission",), 1, "submission"),
    "a huge number": ((*CASE, "payload_bytes"), 10**400, "digits"),
    "a large number": ((*START, "calls"), 10**30, "calls"),
    "not a number": ((*START, "p50_rtt_us"), float("nan"), "NaN"),
    "beyond all measure": ((*START, "rate_per_s"), 1e300, "rate_per_s"),
    "negative": ((*START, "cpu_us_per_call"), -1.0, "cpu_us_per_call"),
    "a median above the tail": ((*START, "p50_rtt_us"), 1e8, "above p99"),
    "failed requests": ((*START, "errors"), 1, "errors"),
    "a case that is not there": ((*START, "case"), 99, "none of the"),
    "no starts": ((*RUN, "starts"), [], "starts"),
    "too many starts": ((*RUN, "starts"), [{}] * 2001, "starts"),
    "markup in a system": ((*CASE, "system"), "<script>", "system"),
    "a path in an id": ((*RUN, "id"), "../../x", "id"),
    "markup in a machine's name": (("machine", "machine_id"), "<b>x</b>", "machine_id"),
    "a long text": (("machine", "cpu_model"), "x" * 101, "cpu_model"),
    "nested options": ((*CASE, "options"), {"copy": {"x": 1}}, "options"),
    "deeply nested": (("machine",), functools.reduce(lambda inner, _: [inner], range(500), []), "machine"),
    "a field of another program": ((*CASE, "added"), 1, "added"),
    "an invalid run": ((*RUN, "checks"), {"answers": "INVALID"}, "INVALID"),
    "markup in a check's name": ((*RUN, "checks"), {"$x^2$": "PASS"}, "checks"),
    "markup in a digest": ((*RUN, "digest"), "<b>", "digest"),
    "no date": ((*RUN, "created"), "yesterday", "created"),
    "no time zone": ((*RUN, "created"), "2026-11-21T13:11:49", "created"),
    "the future": ((*RUN, "created"), "2999-01-01T00:00:00+00:00", "future"),
}


def edited(path, value) -> bytes:
    content = inside = classes.content()
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = value
    return json.dumps(content).encode()


def twice(*path) -> bytes:
    content = inside = classes.content()
    for name in path:
        inside = inside[name]
    inside.append(inside[0])
    return json.dumps(content).encode()


FILES = {name: (functools.partial(edited, path, value), reason) for name, (path, value, reason) in HOSTILE.items()} | {
    "a run twice": (functools.partial(twice, "runs"), "submitted twice"),
    "a start twice": (functools.partial(twice, "runs", 0, "starts"), "two starts in a block"),
    "empty": (bytes, "no submission"),
    "no UTF-8": (lambda: b'{"submission": "\xff"}', "no submission"),
    "deeper than any parser": (lambda: b"[" * 100_000, "no submission"),
    "a zip": (lambda: b"PK\x03\x04", "no submission"),
    "too large": (lambda: b" " * (reading.MOST_BYTES + 1), "larger than"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_refused_in_a_sentence_without_markup(name):
    data, reason = FILES[name]
    with pytest.raises(RefusedError) as refused:
        reading.read(data())
    text = str(refused.value)
    assert reason in text and len(text) < 400 and not re.search(r"[\n$`]|<[a-z/!?]", text)


def test_markup_in_a_text_that_may_be_any_is_shown_as_text():
    content = classes.content()
    content["machine"]["cpu_model"] = "<script>$x$"
    content["runs"][0]["cases"][0] |= {"options": {"<b>": "`x`"}, "message": "<i>"}
    (run,) = reading.read(json.dumps(content).encode())
    assert not re.search("[<$`]", f"{run.facts} {run.cases[0]}")


def test_wrong_files_do_not_stop_the_others_and_each_is_named(tmp_path):
    folder = classes.a_class(tmp_path / "class", [1.0, 1.1, 1.2])
    for number, (data, _) in enumerate(FILES.values()):
        (folder / f"wrong{number:02d}.json").write_bytes(data())
    (folder / "link.json").symlink_to(folder / "student00.json")
    (folder / "zcopy.json").write_bytes((folder / "student00.json").read_bytes())
    (folder / "inside").mkdir()
    os.mkfifo(folder / "pipe.json")
    (folder / "notes <b>.txt").write_text("read me")
    (folder / ".hidden").write_text("")
    room = classroom.gather(str(folder))
    assert [run.file for run in room.runs] == ["student00.json", "student01.json", "student02.json"]
    refused = {one.file: one.reason for one in room.refusals if not one.run}
    assert len(refused) == len(FILES) + 4 and all(refused.values()) and "notes \uff1cb>.txt" in refused
    (copied,) = [one for one in room.refusals if one.what == reading.COPIES]
    assert copied.file == "student00.json and zcopy.json" and "same run" in copied.reason
    assert {len(claim.rows) for claim in room.claims} == {3}


def test_every_quantity_that_is_compared_is_submitted():
    assert set(QUANTITIES) < set(reading.Start.__struct_fields__)
    (run,) = reading.read(json.dumps(classes.content()).encode())
    assert {ratio.quantity for ratio in ratios.ratios(run, QUANTITIES)[0]} == set(QUANTITIES)


def test_a_submission_is_no_run_and_the_error_says_where_it_goes(command, tmp_path):
    file, place = tmp_path / "a.json", "into a folder for classroom.ipynb"
    submitting.write(submitting.submission(["reference/latency"]), str(file))
    for words, fact in (
        (("show", str(file)), place),
        (("keep", str(file), str(tmp_path / "kept")), place),
        (("show", f"{file}.gone"), "no run"),
    ):
        finished = command(*words)
        assert (finished.returncode, finished.stdout, finished.stderr.count("\n")) == (1, "", 1)
        assert fact in finished.stderr


def test_what_a_class_gets_no_ratio_from_is_said_before_a_file_is_written():
    run = handmade([Case("sockets", "ipc"), Case("zeromq", "ipc")], (10, 20), starts=5)
    run.folder.update(machine=run.manifest["machine"] | {"machine_id": "0" * 8})
    few = submitting.submission([run.id])
    assert "no ratio of zeromq ipc: 5 starts: at least 6 are needed" in str(few)
    enough = submitting.submission(["reference/latency"])
    assert "no ratio of zeromq ipc" not in str(enough)
