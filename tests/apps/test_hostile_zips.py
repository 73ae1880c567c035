"""Zips come from strangers: whatever is in them there is a reason or a run, and nothing else happens."""

import contextlib
import io
import json
import os
import pickle
import random
import stat
import subprocess
import sys
import textwrap
import time
import warnings
import zipfile
from pathlib import Path

import classes
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.analysis.comparison import QUANTITIES
from bench.apps import classroom
from bench.apps.classroom import manifests, merging, ratios, reading, starts, survival, zips
from bench.apps.classroom.zips import RefusedError

pytestmark = pytest.mark.slow

RUN = "20260101T000000.000Z-latency-00000000"


@pytest.fixture(autouse=True)
def untouched(tmp_path, monkeypatch):
    """Work in an empty folder, without any way to unpack into it, and look whether something appeared there."""

    def never(*words, **options):
        raise AssertionError("a stranger's zip is not unpacked to disk")

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(zipfile.ZipFile, "extract", never)
    monkeypatch.setattr(zipfile.ZipFile, "extractall", never)
    yield
    assert {str(file.relative_to(tmp_path)).split("/")[0] for file in tmp_path.rglob("*")} <= {"here", "zips"}
    assert not list((tmp_path / "here").iterdir())


def zipped(*members, kind=zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of (name or ZipInfo, bytes) pairs, whatever the names are; of the same name as often as asked."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", kind) as archive:
        warnings.simplefilter("ignore")  # of the same name twice
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def good() -> list[tuple[str, bytes]]:
    run, told, rows = classes.real()
    return [(f"{run}/manifest.json", told), (f"{run}/starts.parquet", rows)]


def with_(name, data: bytes = b"x") -> bytes:
    return zipped(*good(), (name, data))


def nulled() -> bytes:
    """Return a zip with a name that ends at a null, for those who read it so."""
    return with_(f"{RUN}/manifest.json?.exe").replace(b"json?.exe", b"json\0.exe")


def many_large() -> bytes:
    """Return a zip whose members are each small enough, and together too large."""
    some = os.urandom(19_000) * 100
    return zipped(*((f"{RUN}-{n}/manifest.json", some) for n in range(1, 18)))


def encrypted() -> bytes:
    data = bytearray(zipped(*good()))
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + place] |= 1
    return bytes(data)


def lying(by: int) -> bytes:
    """Return a zip whose list promises a member of another length than it has."""
    data = bytearray(zipped(*good()))
    place = data.index(b"PK\x01\x02") + 24
    size = int.from_bytes(data[place : place + 4], "little") + by
    data[place : place + 4] = size.to_bytes(4, "little")
    return bytes(data)


def overlapping() -> bytes:
    """Return a zip whose members all lie at the same place: a bomb that needs no ratio."""
    run, told, rows = classes.real()
    data = bytearray(zipped(*good(), (f"{run[:-1]}0/manifest.json", told), (f"{run[:-1]}0/starts.parquet", rows)))
    first = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02", first + 4) + 4)
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    return bytes(data)


ZIPS = {
    "absolute path": (lambda: with_("/tmp/escaped"), "would leave the folder"),
    "parent folder": (lambda: with_("../escaped"), "would leave the folder"),
    "parent folder inside": (lambda: with_(f"{RUN}/../../escaped"), "would leave the folder"),
    "this folder": (lambda: with_(f"./{RUN}/manifest.json"), "would leave the folder"),
    "drive letter": (lambda: with_("C:/escaped"), "would leave the folder"),
    "drive letter, backslash": (lambda: with_("C:\\escaped"), "would leave the folder"),
    "backslash": (lambda: with_("..\\escaped"), "would leave the folder"),
    "symbolic link": (lambda: with_(entry(f"{RUN}/manifest.json", stat.S_IFLNK | 0o777), b"/etc/passwd"), "a link"),
    "device": (lambda: with_(entry(f"{RUN}/manifest.json", stat.S_IFCHR | 0o777)), "special file"),
    "folder": (lambda: with_(f"{RUN}/"), "a folder or a special file"),
    "pickle": (lambda: with_(f"{RUN}/starts.pickle", pickle.dumps(1)), "nothing that a submission holds"),
    "program": (lambda: with_(f"{RUN}/manifest.py"), "nothing that a submission holds"),
    "deeper": (lambda: with_(f"{RUN}/x/manifest.json"), "nothing that a submission holds"),
    "other digits": (lambda: with_(f"{RUN.replace('2026', '२०२६')}/manifest.json"), "nothing that a submission"),
    "line end": (lambda: with_(f"{RUN}/manifest.json\n"), "nothing that a submission holds"),
    "null in a name": (nulled, "nothing that a submission holds"),
    "same name twice": (lambda: with_(good()[0][0]), "the same name"),
    "encrypted": (encrypted, "is encrypted"),
    "other packing": (lambda: zipped(*good(), kind=zipfile.ZIP_BZIP2), "unknown way"),
    "other packing, lzma": (lambda: zipped(*good(), kind=zipfile.ZIP_LZMA), "unknown way"),
    "too many members": (lambda: zipped(*((f"{n}", b"") for n in range(zips.MOST_MEMBERS + 1))), "more than 32"),
    "large member": (lambda: with_(f"{RUN}/manifest.json", os.urandom(2_000_001)), "more than 2,000,000 B"),
    "bomb": (lambda: with_(f"{RUN}/manifest.json", bytes(1_900_000)), "more than 100 times"),
    "many large members": (many_large, "unpacks to more than 30,000,000 B"),
    "longer than it says": (lambda: lying(-20), "damaged"),
    "shorter than it says": (lambda: lying(20), "not as long"),
    "overlapping": (overlapping, "damaged"),
    "truncated": (lambda: zipped(*good())[:-30], "damaged"),
    "half": (lambda: zipped(*good())[: len(zipped(*good())) // 2], "damaged"),
    "beginning cut": (lambda: zipped(*good())[100:], "damaged"),
    "empty zip": (lambda: zipped(), "empty"),
    "nothing": (lambda: b"", "no zip"),
    "text": (lambda: b"I hand in my homework tomorrow", "no zip"),
    "Parquet": (lambda: classes.real()[2], "no zip"),
    "without manifest": (lambda: zipped(good()[1]), "has no manifest.json"),
    "without table": (lambda: zipped(good()[0]), "no starts.parquet"),
}  # fmt: skip


def edited(*path, to) -> dict:
    told = inside = classes.manifest()
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = to
    return told


DEEP = b'{"plan":' + b"[" * 500_000 + b"]" * 500_000 + b"}"
MANIFESTS = {
    "no JSON": (b"{", "damaged"),
    "no text": (b"\xff\xfe\x00", "damaged"),
    "a list": (b"[]", "submission of the manifest"),
    "a pickle": (pickle.dumps({}), "damaged"),
    "deep": (DEEP, "damaged"),
    "no number": (b'{"submission": NaN}', "submission of the manifest"),
    "a huge number": (b'{"submission": ' + b"9" * 5000 + b"}", "damaged"),
    "newer": (lambda: edited("submission", to=2), "not of version 1"),
    "a truth value": (lambda: edited("submission", to=True), "submission"),
    "other run": (lambda: edited("id", to="../../x"), "id of the manifest"),
    "no time": (lambda: edited("created", to="yesterday"), "damaged"),
    "no zone": (lambda: edited("created", to="2026-11-21T13:11:49"), "created"),
    "the future": (lambda: edited("created", to="2999-01-01T00:00:00+00:00"), "created"),
    "machine id": (lambda: edited("machine", "machine_id", to="<b>x</b>"), "no salted name"),
    "no machine": (lambda: edited("machine", to=[]), "machine_id of the machine"),
    "check": (lambda: edited("checks", to={"answers": "<b>"}), "checks"),
    "check's name": (lambda: edited("checks", to={"$x^2$": "PASS"}), "checks"),
    "invalid run": (lambda: edited("checks", to={"answers": "INVALID"}), "invalid by its own checks"),
    "no cases": (lambda: edited("plan", "cases", to=[]), "cases of the plan"),
    "cases": (lambda: edited("plan", "cases", to={"a": 1}), "cases of the plan"),
    "too many cases": (lambda: edited("plan", "cases", to=[{}] * 101), "cases of the plan"),
    "no case": (lambda: edited("plan", "cases", to=[1]), "system of the case"),
    "system": (lambda: edited("plan", "cases", 0, "system", to="$\\frac$"), "system of the case"),
    "transport": (lambda: edited("plan", "cases", 0, "transport", to=["ipc"]), "transport of the case"),
    "payload": (lambda: edited("plan", "cases", 0, "payload_bytes", to=10**400), "payload_bytes of the case"),
    "rate": (lambda: edited("plan", "cases", 0, "offered_per_s", to=-1), "offered_per_s of the case"),
    "options": (lambda: edited("plan", "cases", 0, "options", to={"copy": {"x": 1}}), "options of the case"),
    "option's text": (lambda: edited("plan", "cases", 0, "options", to={"copy": "<script>"}), "options of the case"),
    "no call under way": (lambda: edited("plan", "cases", 0, "outstanding", to=0), "outstanding of the case"),
    "renewed": (lambda: edited("plan", "cases", 0, "calls_per_connection", to=-1), "calls_per_connection of the case"),
    "window": (lambda: edited("plan", "window_s", to="0.2"), "window_s of the plan"),
}


def with_manifest(made) -> bytes:
    """Return a zip whose manifest is these bytes, or what a function makes, as JSON."""
    data = made if isinstance(made, bytes) else json.dumps(made()).encode()
    return zipped((f"{classes.real()[0]}/manifest.json", data), good()[1], kind=zipfile.ZIP_STORED)


def test_a_manifest_of_before_means_persistent_connections_with_one_call_under_way():
    told = classes.manifest()
    for case in told["plan"]["cases"]:
        for name in ("calls_per_connection", "outstanding", "large_bytes", "p99_bytes"):
            del case[name]
    cases = manifests.read(json.dumps(told).encode())["plan"].cases
    assert {(case.calls_per_connection, case.outstanding, case.large_bytes, case.p99_bytes) for case in cases} == {
        (0, 1, 0, 0)
    }


def test_a_run_under_the_name_of_another_is_refused():
    _, told, rows = classes.real()
    with pytest.raises(RefusedError, match="calls itself"):
        reading.read(zipped((f"{RUN}/manifest.json", told), (f"{RUN}/starts.parquet", rows)))


def parquet(of: pa.Table, **options) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(of, buffer, **{"compression": "none", "use_dictionary": False} | options)
    return buffer.getvalue()


def column(name: str, values) -> bytes:
    return classes.changed({name: values})


def other_type(name: str, kind: pa.DataType) -> bytes:
    of = classes.table()
    place = of.schema.names.index(name)
    return parquet(of.set_column(place, name, pa.nulls(len(of), kind)))


def version(text: str) -> bytes:
    """Return a table of another version."""
    return parquet(classes.table().replace_schema_metadata({"roundtrip.table": "ledger", "roundtrip.version": text}))


def no_number() -> bytes:
    """Return a table whose windows are no numbers, but not null either."""
    of = classes.table()
    place = of.schema.names.index("window_s")
    return parquet(of.set_column(place, of.schema.field(place), pa.array([np.nan] * len(of))))


class Touch:
    """What a pickle would do."""

    def __reduce__(self):
        return os.system, ("touch escaped",)


def extension() -> bytes:
    """Return a table with a column of an Arrow type that old readers would have unpickled."""
    of = classes.table()
    meant = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": pickle.dumps(Touch())}
    field = of.schema.field("calls").with_metadata(meant)
    return parquet(of.set_column(of.schema.names.index("calls"), field, of["calls"]))


def for_pandas() -> bytes:
    """Return a table whose notes for pandas name an index that is not there and a type that is no type."""
    notes = {"index_columns": ["nowhere"], "columns": [{"name": "calls", "numpy_type": "object", "metadata": "x"}]}
    of = classes.table()
    return parquet(of.replace_schema_metadata(of.schema.metadata | {b"pandas": json.dumps(notes).encode()}))


def rows() -> int:
    return len(classes.table())


TABLES = {
    "no Parquet": (lambda: b"PAR1" + bytes(100) + b"PAR1", "damaged"),
    "a pickle": (lambda: pickle.dumps(Touch()), "damaged"),
    "no rows": (lambda: parquet(classes.table()[:0]), "rows"),
    "too many rows": (lambda: parquet(pa.concat_tables([classes.table()] * 120)), "rows"),
    "many groups": (lambda: parquet(classes.table(), row_group_size=1), "rows"),
    "one more column": (lambda: parquet(classes.table().append_column("x", [[1] * rows()])), "other columns"),
    "one column less": (lambda: parquet(classes.table().drop_columns(["rate_per_s"])), "other columns"),
    "text": (lambda: other_type("calls", pa.string()), "plain numbers"),
    "lists": (lambda: other_type("calls", pa.list_(pa.int64())), "other columns"),
    "times": (lambda: other_type("calls", pa.timestamp("ns")), "is timestamp"),
    "whole numbers": (lambda: other_type("p50_rtt_us", pa.int64()), "another type"),
    "times for medians": (lambda: other_type("p50_rtt_us", pa.timestamp("ns")), "another type"),
    "compressed": (lambda: parquet(classes.table(), compression="zstd"), "compressed once more"),
    "other table": (lambda: parquet(classes.table().replace_schema_metadata({})), "not a ledger table"),
    "no version": (lambda: version("x"), "damaged"),
    "newer": (lambda: version("99"), "newer"),
    "infinite": (lambda: column("p99_rtt_us", [np.inf] * rows()), "infinite"),
    "no number": (no_number, "gaps"),
    "negative": (lambda: column("p50_rtt_us", [-1.0] * rows()), "above zero"),
    "zero": (lambda: column("cpu_us_per_call", [0.0] * rows()), "above zero"),
    "negative window": (lambda: column("window_s", [-1.0] * rows()), "negative"),
    "start twice": (lambda: column("start", [0] * rows()), "there twice"),
    "other case": (lambda: column("case", [99] * rows()), "none of the"),
    "case below zero": (lambda: column("case", [-1] * rows()), "negative"),
    "same block": (lambda: column("block", [0] * rows()), "two starts in a block"),
    "quantiles": (lambda: column("p90_rtt_us", [0.001] * rows()), "below a lower one"),
    "long call": (lambda: column("p99_9_rtt_us", [1e8] * rows()), "longer than its window"),
    "tiny": (lambda: column("p50_rtt_us", [1e-300] * rows()), "beyond all measure"),
    "huge": (lambda: column("rate_per_s", [1e300] * rows()), "beyond all measure"),
    "errors": (lambda: column("errors", [1] * rows()), "failed or were lost"),
}  # fmt: skip


def refusal(data: bytes) -> str:
    """Return why a zip is refused; nothing if it is read."""
    try:
        reading.read(data)
    except RefusedError as reason:
        return str(reason)
    return ""


def test_whatever_is_hostile_is_refused_with_its_reason():
    """All in one test: several have the same reason, which may be put into other words in one place."""
    known = [("zip", kind, make(), reason) for kind, (make, reason) in ZIPS.items()]
    known += [("manifest", kind, with_manifest(made), reason) for kind, (made, reason) in MANIFESTS.items()]
    known += [("table", kind, classes.packed(rows=make()), reason) for kind, (make, reason) in TABLES.items()]
    found = [(part, kind, reason, refusal(data)) for part, kind, data, reason in known]
    assert [one for one in found if one[2] not in one[3]] == []
    assert [one for one in found if one[0] == "zip" and one[3] != zips.plain(one[3], 300)] == []


@pytest.mark.parametrize("make", [extension, for_pandas])
def test_what_a_table_says_to_others_is_not_followed(make):
    (run,) = reading.read(classes.packed(rows=make()))
    assert [str(kind) for kind in run.starts.dtypes[["calls", "case"]]] == ["int64", "int32"]
    assert list(run.starts.index) == list(range(rows()))


def test_starts_that_do_not_vary_are_no_measurement():
    of = {name: [5.0] * rows() for name in starts.QUANTILES}
    (run,) = reading.read(classes.packed(rows=classes.changed(of)))
    found, silent = ratios.ratios(run, ["p50_rtt_us"])
    assert not found and silent


BOUNDED = """
    import resource, sys
    import classes, test_hostile_zips as hostile
    from bench.apps.classroom import reading
    from bench.apps.classroom.zips import RefusedError
    made = [make() for make, _ in hostile.ZIPS.values()]
    made += [classes.packed(rows=rows) for rows in hostile.bombs()]
    reading.read(classes.packed())
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 100_000_000, now + 100_000_000))
    for data in made:
        try:
            reading.read(data)
        except RefusedError as reason:
            assert "emory" not in str(reason) and "alloc" not in str(reason), reason
        else:
            raise AssertionError("a bomb was read")
    print("bounded", len(made))
"""


def bombs() -> list[bytes]:
    """Return small tables that would be large: repeated, compressed, or of long texts named once."""
    many, text = 4_000_000, "x" * 1_000_000
    return [
        parquet(pa.table({"calls": pa.array(np.zeros(many, np.int64))}), compression="zstd"),
        parquet(pa.table({"calls": pa.array(np.zeros(many, np.int64))}), use_dictionary=True),
        parquet(pa.table({"calls": pa.array([text] * 500)}), use_dictionary=True),
        parquet(pa.table({f"c{n}": [0] for n in range(5000)})),
    ]


def test_bombs_take_no_memory():
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BOUNDED)], capture_output=True, text=True, timeout=100,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'tests'}:{Path(__file__).parent}:{ROOT}"},
    )  # fmt: skip
    assert finished.returncode == 0 and finished.stdout.startswith("bounded"), finished.stderr


FREE = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
EDITS = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6)


def mutated(data: bytes, edits, cut) -> bytes:
    found = bytearray(data)
    for place, value in edits:
        found[int(place * len(found))] = value
    return bytes(found[: int(len(found) * cut)]) if cut < 1 else bytes(found)


def outcome(data: bytes) -> list:
    """Return the runs of a zip, looked at as the notebook does, or nothing if it is refused with a reason."""
    try:
        found = reading.read(data, "x.zip")
    except RefusedError as reason:
        assert str(reason)
        return []
    spoken = [ratio for run in found for ratio in ratios.ratios(run, QUANTITIES)[0]]
    for unit in (merging.MACHINE, merging.PLACEMENT):
        kept, _ = merging.newest(spoken, unit)
        assert all(claim.pool.k == len(claim.rows) for claim in merging.claims_of(kept, unit))
    return found


@FREE
@given(st.binary(max_size=2000))
def test_random_bytes(data):
    assert outcome(data) == [] and outcome(b"PK\x03\x04" + data + b"PK\x05\x06" + bytes(18)) == []


@FREE
@given(EDITS, st.floats(0, 1.2))
def test_mutated_zips(edits, cut):
    outcome(mutated(classes.packed(), edits, cut))


def test_a_look_that_ends_the_process_or_hangs_is_taken_by_a_copy(monkeypatch):
    assert survival.survives(lambda: None) and survival.survives(lambda: 1 / 0)
    assert not survival.survives(os.abort)
    monkeypatch.setattr(survival, "PATIENCE_S", 0.2)
    assert not survival.survives(lambda: time.sleep(60))


def test_a_description_of_columns_that_ends_the_library_is_refused():
    """Mutations by a fixed seed, among which are such."""
    chance, rows, refused = random.Random(1), classes.real()[2], []
    for _ in range(300):
        data = bytearray(rows)
        place = int(len(data) * chance.uniform(0.6, 1))  # the descriptions are at the end
        data[min(place, len(data) - 1)] = chance.randrange(256)
        with contextlib.suppress(RefusedError):
            refused.append(bool(reading.read(classes.packed(rows=bytes(data)))))
    assert len(refused) < 300


@FREE
@given(EDITS, st.floats(0.5, 2))
def test_mutated_tables(edits, cut):
    outcome(classes.packed(rows=mutated(classes.real()[2], edits, cut) or b"x"))


@FREE
@given(EDITS, st.floats(0.5, 2))
def test_mutated_manifests(edits, cut):
    run, told, table = classes.real()
    outcome(zips.packed({f"{run}/manifest.json": mutated(told, edits, cut), f"{run}/starts.parquet": table}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@FREE
@given(st.data(), JSON)
def test_any_value_in_any_place_of_a_manifest(data, value):
    told = inside = classes.manifest()
    while isinstance(inside, dict | list) and len(inside):
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(inside[key], dict | list) or data.draw(st.integers(0, 3)) == 0:
            inside[key] = value
            break
        inside = inside[key]
    run, _, table = classes.real()
    outcome(zips.packed({f"{run}/manifest.json": json.dumps(told).encode(), f"{run}/starts.parquet": table}))


def test_a_wrong_zip_does_not_stop_the_others(tmp_path):
    folder = classes.a_class(tmp_path / "zips", [1.0, 1.1, 1.2])
    for number, (make, _) in enumerate(ZIPS.values()):
        (folder / f"wrong{number:02d}.zip").write_bytes(make())
    (folder / "link.zip").symlink_to(folder / "student00.zip")
    (folder / "large.zip").write_bytes(bytes(zips.MOST_BYTES + 1))
    (folder / "inside").mkdir()
    os.mkfifo(folder / "pipe.zip")
    (folder / "notes <b>.txt").write_text("read me")
    (folder / ".hidden").write_text("")
    room = classroom.gather(str(folder))
    assert sorted({run.file for run in room.runs}) == ["student00.zip", "student01.zip", "student02.zip"]
    refused = {one.file: one.reason for one in room.refusals if not one.run}
    assert len(refused) == len(ZIPS) + 5 and all(refused.values())
    assert "plain file" in refused["link.zip"] and "plain file" in refused["pipe.zip"]
    assert "larger than" in refused["large.zip"] and "notes ?b?.txt" in refused
    assert {len(claim.rows) for claim in room.claims} == {3}
