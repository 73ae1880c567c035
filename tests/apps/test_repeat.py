"""The command that repeats a run; and runs whose system is not here any more."""

import shlex

import own_system
import pytest
from handmade import handmade

from bench import systems
from bench.apps import code, listing, notebook, repeat
from bench.errors import BENCH
from bench.grammar import figure as panels
from bench.grammar.experiment import experiment
from bench.measurement import runner
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case

pytestmark = pytest.mark.slow

SMALL = {"starts": 2, "window_s": 0.05}


def test_the_command_holds_what_differs_from_the_notebooks_defaults_and_is_printed(command):
    asked = {"system": "sockets", "transport": "ipc", "payload_bytes": [100, 200], "options": "{writes: 2}"}
    usual = {"target": "", "engine": "library", "placement": "default", "profile": "class", "seed": 1}
    run = notebook.measure("latency", **asked, **usual, **SMALL)
    command_line = repeat.command(run.folder)
    assert f"measure   {command_line}" in command("show", "latest").stdout.splitlines()
    assert f"measure   {command_line}" in command("explain", str(panels.save(run)[1])).stdout.splitlines()
    words = shlex.split(command_line)
    assert words[:3] == [BENCH, "run", "latency"] and set(words[3::3]) == {"-p"}
    parameters = {words[place + 1]: words[place + 2] for place in range(3, len(words), 3)}
    assert parameters == {
        "system": "sockets", "transport": "ipc", "payload_bytes": "[100, 200]", "options": "{writes: 2}",
        "starts": "2", "window_s": "0.05",
    }  # fmt: skip
    again = experiment("latency").plan(**parameters)
    assert again.cases == run.plan.cases and again.starts == 2


def test_parameters_of_a_stored_run_that_differ_from_those_shown_are_named(capsys):
    shown = {"two_clients": "auto", "system": "all"}
    notebook.measure("overview", source="reference", **shown)
    assert "It was measured with two_clients=True\n" in capsys.readouterr().out
    notebook.measure("overview", source="reference", **shown | {"two_clients": "true"})
    assert "It was measured with" not in capsys.readouterr().out


def test_what_a_foreign_manifest_holds_is_quoted():
    folder = runner.run(make_plan("latency", [Case("sockets", "ipc")], **SMALL), parameters={"system": "$(rm x); 'y'"})
    folder.update(parameters={"system": "$(rm x); 'y'", "no such": "z", "transport": "ipc\ntcp"})
    words = shlex.split(repeat.command(folder))[2:]
    assert words == ["latency", "-p", "system", "$(rm x); 'y'", "-p", "transport", "ipc\ntcp"]


@pytest.fixture
def gone(tmp_path, with_systems):
    """Return a run of a system whose file is not here any more."""
    file = tmp_path / "gone.py"
    file.write_text(own_system.text('GROUP = "broker"', "loud: bool = False"))
    with_systems(tmp_path)
    run = handmade([Case("gone", "ipc"), Case("gone", "tcp"), Case("loopback", "inproc")], [20, 30, 0.1], calls=500)
    file.unlink()
    return run


def test_a_run_is_shown_without_its_systems_file(gone, command, capfd, tmp_path):
    assert "gone" not in systems.names()
    shown = command("show", "latest")
    assert shown.returncode == 0 and "gone ipc" in shown.stdout
    (_, figure) = panels.save(gone)
    assert gone.id in listing.figure_text(str(figure))
    run = notebook.measure("latency", source=gone.id)
    notebook.trust(run), notebook.table(run, "plan", "versions"), notebook.table(run), notebook.tell(run)
    notebook.show(run, "calls_in_order")
    capfd.readouterr()
    notebook.method(run)
    assert "gone" in capfd.readouterr().out
    assert code.of_run(run) == [] and code.of_run(run, "loopback")
    (tmp_path / "gone.py").write_text("def (")
    assert "gone" in systems.names() and command("show", "latest").stdout == shown.stdout
    assert code.of_run(run) == []
