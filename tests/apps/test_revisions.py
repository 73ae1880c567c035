"""Two states of somebody's files: what two arguments mean, what each imports, and the verdict on a slow-down."""

import json
from pathlib import Path

import own_system
import pytest
from conftest import git

from bench import systems
from bench.analysis import verdicts
from bench.apps import revisions
from bench.apps.code import absent
from bench.errors import SystemFileError, UsageError
from bench.measurement import revision
from bench.measurement.validation.sources import taking_part
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.process import sources
from bench.run import stored
from bench.run.frames import Run

WORKING = """
import time
class Working:
    def __init__(self, service):
        self._service = service
    def __getattr__(self, name):
        return getattr(self._service, name)
    def answer(self, payload):
        end = time.perf_counter_ns() + {spin_us} * 1000
        while time.perf_counter_ns() < end:
            pass
        return self._service.answer(payload)
"""
SERVE = "sockets.serve(binding, sockets.Options(), Working(service))"


def write(folder: Path, spin_us=60, option="size", name="spinning"):
    folder.mkdir(parents=True, exist_ok=True)
    text = own_system.text(WORKING.format(spin_us=spin_us), f"{option}: int = 1", SERVE)
    (folder / f"{name}.py").write_text(text)
    return folder


@pytest.fixture
def repository(tmp_path):
    """Return a repository whose folder ``rpc`` holds a system; its branch ``slow`` spins longer, ``main`` is here."""
    top = tmp_path / "somebodys"
    write(top / "rpc")
    git(top, "init", "-q", "-b", "main")
    git(top, "add", ".")
    git(top, "commit", "-qm", "one")
    git(top, "checkout", "-qb", "slow")
    write(top / "rpc", spin_us=120)
    git(top, "commit", "-qam", "slower")
    git(top, "checkout", "-q", "main")
    return top


@pytest.fixture
def two(tmp_path):
    """Return two folders with a system each, the second of which has another option."""
    return str(write(tmp_path / "a")), str(write(tmp_path / "b", option="number"))


def quiet(line):
    pass


def test_two_arguments_mean_stored_runs_or_states_of_files(repository, monkeypatch, two):
    monkeypatch.chdir(repository)
    assert revisions.are_meant("main", "slow", are_asked=False) and revisions.are_meant("main", "rpc", are_asked=False)
    assert revisions.are_meant(*two, are_asked=False)
    assert not revisions.are_meant("reference/latency", "reference/nodelay", are_asked=False)
    assert revisions.are_meant("main", "no-such", are_asked=False)
    assert not revisions.are_meant("no-run", "no-such", are_asked=False)
    assert revisions.are_meant("no-run", "no-such", are_asked=True)


def test_a_revision_is_copied_beside_a_repository_that_stays_as_it_is(repository, private_parent, monkeypatch):
    write(repository / "rpc", spin_us=77)
    before, lines = git(repository, "status", "--porcelain"), []
    with revisions.opened("main", str(repository / "rpc"), [], lines.append) as (base, head):
        assert "60 * 1000" in Path(base.systems, "spinning.py").read_text()
        assert head.systems == str(repository / "rpc") and "77" in Path(head.systems, "spinning.py").read_text()
        assert base.label.startswith("main@") and head.label.startswith("rpc@") and base.label[-8:] != head.label[-8:]
    assert not Path(base.systems).exists() and not list(private_parent.glob(f"{revisions.COPIES}*"))
    assert git(repository, "status", "--porcelain") == before
    assert lines[0].endswith(", without the uncommitted changes of the folder")
    monkeypatch.chdir(repository / "rpc")
    with revisions.opened("slow", "main", [], lines.append) as (base, head):
        assert base.label.startswith("slow@") and "120 * 1000" in Path(base.systems, "spinning.py").read_text()
    with revisions.opened("main", "main~0", [], lines.append):
        assert "files of" in lines[-1] and "are equal" in lines[-1]


def test_what_is_imported_from_elsewhere_in_a_state_counts_as_its_content(tmp_path):
    for name, value in (("a", 1), ("b", 2)):
        write(tmp_path / name / "rpc")
        (tmp_path / name / "library").mkdir()
        (tmp_path / name / "library" / "of_mine.py").write_text(f"VALUE = {value}")
    roots = [str(tmp_path / name / "rpc") for name in "ab"]
    with revisions.opened(*roots, [], quiet) as (base, head):
        assert base.label.removeprefix("base-") == head.label.removeprefix("head-")
        with taking_part(head, base):
            assert [sources.source_of(each.label).root for each in (base, head)] == roots
    with revisions.opened(*roots, ["../library"], quiet) as (base, head):
        assert base.label != head.label
        sources.know(head)
        inherited = sources.environment({"PYTHONPATH": "/before"}, head.label)
        assert inherited["PYTHONPATH"] == f"{tmp_path / 'b' / 'library'}:/before"
        assert inherited[sources.SYSTEMS] == head.systems


@pytest.mark.parametrize(
    ("base", "head", "path", "wanted"),
    [
        ("no-such", "rpc", [], "no revision of .*git branch -a"),
        ("main", ".", [], "holds no service file and no system's file: name the folder"),
        ("main", "rpc", ["lib"], "no folder 'lib'"),
    ],
)
def test_states_that_cannot_be_measured(repository, monkeypatch, base, head, path, wanted):
    monkeypatch.chdir(repository)
    with pytest.raises(UsageError, match=wanted), revisions.opened(base, head, path, quiet):
        pass


def test_a_base_that_lacks_the_new_file_is_told_to_commit_it_first(repository, monkeypatch):
    write(repository, name="shop")
    monkeypatch.chdir(repository)
    with pytest.raises(UsageError, match="holds shop, which main does not have: commit the file there first"):
        revisions.opened("main", ".", [], quiet).__enter__()


def test_the_systems_are_those_of_both_and_of_a_checkout_those_that_differ(tmp_path):
    lines = []
    for name in ("a", "b"):
        write(tmp_path / name)
        write(tmp_path / name, name="other")
    write(tmp_path / "b", name="newer")
    with revisions.opened(str(tmp_path / "a"), str(tmp_path / "b"), [], lines.append) as pair:
        assert revisions.systems_of(*pair, [], lines.append) == ["other", "spinning"] and "newer" in lines[-1]
        assert revisions.systems_of(*pair, ["spinning"], lines.append) == ["spinning"]
        with pytest.raises(UsageError, match=r"newer.*other and spinning"):
            revisions.systems_of(*pair, ["newer"], quiet)
    for name, spin_us in (("old", 1), ("new", 2)):
        write(tmp_path / name / "bench" / "systems", spin_us=spin_us)
        write(tmp_path / name / "bench" / "systems", name="other")
    with revisions.opened(str(tmp_path / "old"), str(tmp_path / "new"), [], quiet) as pair:
        assert revisions.systems_of(*pair, [], quiet) == ["spinning"]
    with revisions.opened(*[str(tmp_path / "old")] * 2, [], quiet) as pair, pytest.raises(UsageError, match="--system"):
        revisions.systems_of(*pair, [], quiet)


def test_each_state_is_checked_by_an_interpreter_that_imports_from_there(two, tmp_path):
    with revisions.opened(*two, [], quiet) as (a, b), taking_part(a, b):
        cases = [checked(Case("spinning", "ipc", source=source.label)) for source in (a, b)]
        assert [case.options for case in cases] == [{"size": 1}, {"number": 1}]
        assert [case.source for case in cases] == [a.label, b.label]
        with pytest.raises(UsageError, match=rf"{b.label}: .*'size'"):
            checked(Case("spinning", "ipc", options={"size": 2}, source=b.label))
    assert "spinning" not in systems.names()
    Path(two[1], "spinning.py").write_text("TRANSPORTS = ('ipc',)\nthis is no Python\n")
    with revisions.opened(*two, [], quiet) as pair, taking_part(*pair), pytest.raises(SystemFileError) as error:
        checked(Case("spinning", "ipc", source=pair[1].label))
    assert str(error.value).startswith(f"{pair[1].label}: spinning.py, line 2") and str(tmp_path) not in str(
        error.value
    )


def test_a_source_that_this_process_does_not_know_is_not_measured():
    with pytest.raises(UsageError, match="bench compare BASE HEAD"):
        checked(Case("spinning", "ipc", source="elsewhere@12345678"))


def test_the_hash_of_a_system_is_that_of_its_file_and_of_the_helpers_that_it_uses(tmp_path):
    write(tmp_path)
    (tmp_path / "_helper.py").write_text("VALUE = 1")
    alone = revision.of_system("spinning", tmp_path)
    (tmp_path / "_helper.py").write_text("VALUE = 2")
    assert revision.of_system("spinning", tmp_path) == alone
    with (tmp_path / "spinning.py").open("a") as file:
        file.write('from bench.systems import _helper\nHEADER = "of_mine.hpp"\n')
    using = revision.of_system("spinning", tmp_path)
    for name in ("_helper.py", "of_mine.hpp"):
        (tmp_path / name).write_text("VALUE = 3")
        assert revision.of_system("spinning", tmp_path) != using
        using = revision.of_system("spinning", tmp_path)


@pytest.mark.slow
def test_a_slower_state_fails_and_an_equal_one_does_not(repository, command, tmp_path):
    amount = ("-p", "starts", "6", "-p", "slice_ms", "10", "--quantity", "p50", "--at-most", "10%", "--json")
    finished = command("compare", "main", str(repository / "rpc"), *amount)
    assert finished.returncode == 0 and not json.loads(finished.stdout)["failed"]
    slower = str(write(tmp_path / "slower", spin_us=480))  # found beside other load too
    finished = command("compare", str(repository / "rpc"), slower, *amount)
    assert finished.returncode == 3
    told = json.loads(finished.stdout)
    assert [one["verdict"] for one in told["runs"][0]["comparisons"]] == ["different"]
    run, before = (Run(folder) for folder in reversed(stored.all_runs()[-2:]))
    assert run.id == told["runs"][0]["run"] and run.manifest["sources"].keys() == {"spinning"}
    assert str(tmp_path) not in (run.folder.path / "manifest.json").read_text()
    assert absent(run).startswith("spinning of ")
    assert any("the source of spinning" in line for line in verdicts.differences(before, run))
    assert run.id in command("show", run.id).stdout and "bench compare BASE HEAD" in command("show", run.id).stdout
