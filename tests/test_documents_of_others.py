"""Files and JSON of others: nothing hangs, fills the memory, or means two things."""

import json
import os

import classes
import pytest
from conftest import REFERENCE

from bench.apps.classroom import reading
from bench.codecs import message_types
from bench.contract import is_host, parse_address
from bench.errors import DataError, UsageError
from bench.measurement.validation import support
from bench.plan import documents, hosts
from bench.plan.case import Case
from bench.run.folder import Folder


def places(tmp_path, end):
    """Return paths at which reading would wait, or never end."""
    os.mkfifo(tmp_path / f"pipe{end}")
    (tmp_path / f"endless{end}").symlink_to("/dev/zero")
    (tmp_path / f"folder{end}").mkdir()
    return sorted(tmp_path.iterdir())


def test_no_pipe_device_or_folder_is_read(tmp_path, command):
    for file in places(tmp_path, ".yaml"):
        with pytest.raises(UsageError, match=file.name):
            hosts.asked(str(file))
        ended = command("explain", str(file))
        assert ended.returncode == 1 and ended.stderr.count("\n") == 1 and file.name in ended.stderr
    ended = command("explain", "/dev/zero")
    assert ended.returncode == 1 and "regular" in ended.stderr


@pytest.mark.parametrize("end", ["pipe", "endless", "folder"])
def test_a_message_is_a_regular_file(tmp_path, end):
    places(tmp_path, ".json")
    with pytest.raises(UsageError, match=f"{end}.json"):
        support.checked(Case("zeromq", "ipc", message=str(tmp_path / f"{end}.json")))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1e999}', '{"a": -1e999}', '{"a": NaN}', '{"a": ' + "9" * 401 + "}", '{"b": {"a": 1, "c": 2, "a": 1}}',
        '{"' + "x" * 10_000 + '": 1, "' + "x" * 10_000 + '": 1}', '{"a": ' * 50_000,
    ],
    ids=range(7),
)  # fmt: skip
def test_json_that_means_nothing_or_two_things_is_refused(text):
    with pytest.raises(UsageError, match=r"mine\.json") as refused:
        message_types.read_own(text.encode(), "mine.json")
    assert len(str(refused.value)) < 400


def twice(text, name):
    """Return JSON in which the field ``name`` stands twice, with the same value."""
    place = text.index(f'"{name}"')
    value, _ = json.JSONDecoder().raw_decode(text[place:].partition(":")[2].lstrip())
    return f"{text[:place]}{json.dumps(name)}: {json.dumps(value)}, {text[place:]}"


def test_a_manifest_with_a_field_twice_is_refused(tmp_path):
    text = (REFERENCE / "latency" / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(twice(text, "window_s"))
    with pytest.raises(DataError, match="window_s"):
        Folder(tmp_path).manifest()


def test_a_submission_with_a_field_twice_is_refused():
    text = json.dumps(classes.content())
    assert reading.read(text.encode())
    with pytest.raises(reading.RefusedError, match="p50_rtt_us"):
        reading.read(twice(text, "p50_rtt_us").encode())


@pytest.mark.parametrize("name", ["a" * 64, "a." * 150 + "a", "a..b", "", ".", "é" * 63])
def test_no_host_has_this_name(name, tmp_path, command):
    assert not is_host(name)
    with pytest.raises(UsageError):
        parse_address(f"tcp://{name}:1")
    for words in (["certificates", str(tmp_path / "new"), name], ["hosts", f"tcp://{name}:1"]):
        ended = command(*words)
        assert ended.returncode == 2 and "unforeseen" not in ended.stderr and ended.stderr.count("\n") == 1


def test_hosts_have_these_names():
    assert all(map(is_host, ("localhost", "a.b.", "10.0.0.1", "::1", "fe80::1%eth0", "a" * 63, "bücher.example")))


def test_an_argument_is_quoted_in_part(command):
    ended = command("capacity", "zeromq", "--first", "9x" * 2000)
    assert ended.returncode == 2 and len(ended.stderr) < 400


def test_a_file_is_read_also_through_a_link(tmp_path):
    (tmp_path / "a").write_text("x" * 10)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert documents.read(tmp_path / "b", 10) == b"x" * 10
    with pytest.raises(OSError):
        documents.read(tmp_path / "b", 9)
