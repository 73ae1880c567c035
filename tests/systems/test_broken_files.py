"""A system's file that cannot be used costs one line that says where and why; it disturbs no other system."""

import re
import textwrap

import own_system
import pytest

from bench import systems
from bench.errors import NotInstalledError, SystemFailedError, SystemFileError, UsageError
from bench.grammar.experiment import experiment
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan.case import Case

WHOLE = own_system.text()
BROKEN = {  # name: what replaces what, and what the error names
    "b_syntax": (("def serve(", "def serve("), ("class Client", "class Client Client"), "line 12: "),
    "b_no_options": (("class Options", "class Settings"), "Options"),
    "b_no_transports": (("TRANSPORTS", "WAYS"), "TRANSPORTS"),
    "b_no_requires": (("REQUIRES", "NEEDS"), "REQUIRES"),
    "b_text_requires": (('("pyzmq>=20",)', '("pyzmq")'), "must be a tuple"),
    "b_computed": (('("ipc", "tcp")', "sockets.TRANSPORTS"), "line 5: "),
    "b_fails_inside": (("@dataclass", "import zmq.nothing\n@dataclass"), "line 7: ModuleNotFoundError"),
    "b_name_error": (("@dataclass", "undefined\n@dataclass"), "line 7: NameError"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, with_systems):
    """Return a folder of systems, all of them broken."""
    for name, (*changes, _) in BROKEN.items():
        text = WHOLE
        for old, new in changes:
            text = text.replace(old, new)
        (tmp_path / f"{name}.py").write_text(text)
    with_systems(tmp_path)
    return tmp_path


def write(folder, name, text):
    (folder / f"{name}.py").write_text(textwrap.dedent(text))


def test_each_broken_file_is_one_line_of_the_list(folder, command):
    listed = command("list")
    assert listed.returncode == 0 and listed.stderr == ""
    assert "\nsockets: " in listed.stdout and "pip install pyzmq" not in listed.stdout
    for name, (*_, why) in BROKEN.items():
        (line,) = [line for line in listed.stdout.splitlines() if line.startswith(f"{name}: ")]
        assert f"{folder}/{name}.py" in line and why in line


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_its_place_and_disturbs_nobody_else(folder, name):
    with pytest.raises(SystemFileError, match=str(folder)):
        checked(Case(name, "ipc"))
    assert name in systems.names() and systems.missing("sockets") is None
    assert experiment("tls").plan(system="sockets").cases and "zeromq" in systems.offering("Receiver")


def test_a_library_that_is_missing_is_named_without_those_that_are_there(folder):
    write(folder, "half", WHOLE.replace('",)', '", "no-such-package")') + "\nimport no_such_package\n")
    with pytest.raises(NotInstalledError, match=r"python -m pip install no-such-package$"):
        systems.load("half")


def test_what_is_missing_is_named_with_one_command_for_all_programs(folder, command):
    assert not re.search("loopback|oracle", command("list", "--missing").stdout)
    before = command("list", "--missing").stdout
    write(folder, "b_library", WHOLE.replace('("pyzmq>=20",)', '("no-such-package",)') + "\nimport no_such_package\n")
    write(folder, "b_program", WHOLE + '\nPROGRAMS = {"no-such-program": "its-package", "no-such-2": "its-package"}\n')
    write(folder, "b_second", WHOLE + '\nPROGRAMS = {"no-such-program": "its-package"}\n')
    output = command("list", "--missing").stdout
    assert "b_library, " in output and "b_program, " in output and "python -m pip install no-such-package\n" in output
    (line,) = [line for line in output.splitlines() if "apt-get install " in line]
    assert line.split().count("its-package") == 1 and "its-package" not in before
    assert re.search(r"^  b_syntax .*line 12: ", output, re.M)


def test_a_file_without_server_is_listed_but_not_measured(folder, command):
    write(folder, "begun", WHOLE[: WHOLE.index("def serve")])
    assert "\nbegun: " in command("list").stdout
    with pytest.raises(SystemFileError, match=r"begun\.py .*serve.*bench/contract\.py"):
        checked(Case("begun", "ipc"))


def test_a_folder_that_is_not_there_is_said(command, monkeypatch):
    monkeypatch.setattr(systems, "OWN", ["/no/such/folder"])
    words = re.compile("ROUNDTRIP_SYSTEMS .*/no/such/folder")
    assert words.search(command("list").stdout)
    for error in (command("run", "latency", "-p", "system", "mine"), command("serve", "mine", "tcp://127.0.0.1:0")):
        assert error.returncode == 2 and words.search(error.stderr)
    with pytest.raises(UsageError, match=r"'mine'.*ROUNDTRIP_SYSTEMS .*/no/such/folder"):
        systems.file_of("mine")


FAILING = '    {}["price"]'
GROUPED = f"""
import asyncio

async def fail(after_s):
    await asyncio.sleep(after_s)
{FAILING}

async def work():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fail(0))
        await asyncio.sleep(1)
"""


OPENING = """
    def open(self):
        from bench.errors import TransportError
        try:
            asyncio.run(work())
        except Exception as reason:
            raise TransportError(f"cannot connect: {reason}") from reason
"""
LAST = "        super().__init__(address, sockets.Options())\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("grouped_server", own_system.SERVE, "asyncio.run(work())", ""),
        ("grouped_client", LAST, LAST + OPENING, "cannot connect: .*"),
    ],
    ids=["server", "client"],
)
def test_an_error_in_a_group_of_tasks_is_named_with_its_line_of_the_systems_file(folder, name, old, new, words):
    write(folder, name, WHOLE.replace(old, new) + GROUPED)
    line = (folder / f"{name}.py").read_text().splitlines().index(FAILING) + 1
    with pytest.raises(SystemFailedError, match=rf"{words}KeyError: 'price' \(.*{name}\.py, line {line}\)"):
        measure(Case(name, "ipc"), 0.05, 1)
