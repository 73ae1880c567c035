"""Named scenarios run by their names or files: what is executed with which parameters, and what it is called."""

from functools import partial

import papermill
import papermilling  # registers the engine that executes cells in this process
import pytest
import yaml
from conftest import ROOT

from bench.apps import notebook, scenarios, unattended
from bench.apps.listing import figure_text
from bench.errors import DataError, UsageError
from bench.measurement import trace
from bench.plan import paths
from bench.run import stored

FILE = ROOT / "papermill_params" / "explore.http_parsers.yaml"
LOOPBACK = "[{system: loopback, transport: inproc}, {system: loopback, transport: inproc, payload_bytes: 7}]"


@pytest.fixture
def executed(monkeypatch):
    """Return the function that executes a notebook, its cells in this process, and then returns the lines said."""
    monkeypatch.setattr(papermill, "execute_notebook", partial(papermill.execute_notebook, engine_name="here"))

    def execute(name, **parameters):
        lines = []
        unattended.execute([name], False, parameters, lines.append)
        return "\n".join(lines)

    return execute


@pytest.mark.parametrize(
    "name", ["explore.http_parsers", "explore.http_parsers.yaml", f"papermill_params/{FILE.name}", str(FILE)]
)
def test_a_scenario_is_named_by_its_name_or_its_file(name):
    scenario = scenarios.chosen(name)
    assert (scenario.notebook.stem, scenario.name) == ("explore", "explore.http_parsers")
    assert scenario.parameters == yaml.safe_load(FILE.read_text("utf-8"))


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("explore.http_parser", r"scenario 'explore\.http_parser'.*explore\.http_parsers\?$"),
        ("latncy", r"latency\?.*bench list --scenarios"),
        ("x" * 3000 + ".yaml", "notebook 'xxx"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_ones(name, pattern):
    with pytest.raises(UsageError, match=pattern) as error:
        scenarios.chosen(name)
    assert "\n" not in str(error.value)


def test_a_file_of_your_own_is_a_scenario_too(tmp_path):
    (tmp_path / "latency.mine.yaml").write_text("payload_bytes: [7]\n")
    (tmp_path / "mine.yaml").write_text("payload_bytes: [7]\n")
    scenario = scenarios.chosen(str(tmp_path / "latency.mine.yaml"))
    assert (scenario.name, scenario.notebook.stem) == ("latency.mine", "latency")
    assert scenario.parameters == {"payload_bytes": [7]}
    with pytest.raises(UsageError, match=r"mine\.yaml.*NOTEBOOK"):
        scenarios.chosen(str(tmp_path / "mine.yaml"))


@pytest.mark.parametrize("content", [b"", b"[1, 2]", b"7: 8", b"{", b"\xff\xfe\xfa", b"[" * 1500, b"a: &a [*a"])
def test_a_file_without_parameters_is_refused(content, tmp_path):
    (tmp_path / "latency.mine.yaml").write_bytes(content)
    with pytest.raises(DataError, match=r"latency\.mine\.yaml") as error:
        scenarios.chosen(str(tmp_path / "latency.mine.yaml"))
    assert "\n" not in str(error.value)


def test_parameters_on_the_command_line_override_the_scenarios(executed, monkeypatch):
    happened = []
    monkeypatch.setattr(unattended, "_execute_one", lambda subject, show: happened.append(subject) or subject.notebook)
    executed("latency.quick-lecture", starts="3")
    assert [one.parameters for one in happened] == [{"transport": "ipc", "starts": "3"}]
    with pytest.raises(UsageError, match=r"latency\.ipynb.*'window'.*window_s\?"):
        executed("latency.quick-lecture", window="0.1")


@pytest.mark.slow
def test_notebook_and_figure_of_a_scenario_bear_its_name(executed):
    output = executed("explore.http_parsers", cases=LOOPBACK, profile="smoke")
    names = {"explore.http_parsers.ipynb", "explore.http_parsers.svg", "explore.http_parsers.png"}
    assert {file.name for folder in (paths.executed(), paths.figures()) for file in folder.iterdir()} == names
    assert all(name in output for name in names)
    run = stored.all_runs()[-1]
    assert {(case.system, case.callers) for case in run.plan().cases} == {("loopback", 1)}
    text = papermilling.outputs(paths.executed() / "explore.http_parsers.ipynb")
    assert "explore.http_parsers.svg" in text
    assert f"run explore.http_parsers -p source {run.id}" in figure_text(
        str(paths.figures() / "explore.http_parsers.png")
    )
    output = executed("explore", source=run.id)
    assert "explore.png" in output and "explore.http_parsers" not in output and len(stored.all_runs()) == 1
    assert (paths.figures() / "explore.svg").read_bytes() == (paths.figures() / "explore.http_parsers.svg").read_bytes()


def test_a_run_named_by_its_path_is_found_from_the_kernels_folder(executed, monkeypatch, tmp_path):
    happened = []
    monkeypatch.setattr(unattended, "_execute_one", lambda subject, show: happened.append(subject) or subject.notebook)
    stored.keep(stored.find("reference/nodelay"), tmp_path / "kept")
    monkeypatch.chdir(tmp_path)
    executed("nodelay", source="kept")
    assert [one.parameters for one in happened] == [{"source": str(tmp_path / "kept")}]


def test_first_it_says_that_nothing_is_measured_and_why_and_whose_run_follows(executed, monkeypatch):
    monkeypatch.setattr(trace, "why_not", lambda: "the tracer is off: mount it")
    monkeypatch.setattr(unattended, "_execute_one", lambda subject, show: subject.notebook)
    model = stored.find("reference/anatomy.counts").manifest()["machine"]["cpu_model"]
    for parameters, why in (({}, "the tracer is off: mount it"), ({"source": "reference"}, "source is reference")):
        first, second, *_ = executed("anatomy.counts", **parameters).splitlines()
        assert first == f"anatomy.counts: nothing is measured here: {why}"
        assert "data/reference/anatomy.counts, of " in second and second.endswith(f", {model}")
    _, second, *_ = executed("latency.quick-lecture", source="reference", system="x", starts="7").splitlines()
    assert "data/reference/latency (the scenario has none of its own)" in second and second.endswith(
        "starts, system and transport"
    )
    assert executed("latency.quick-lecture").startswith("1 notebook: ")


def test_the_reference_of_a_scenario_is_its_own_stored_run(monkeypatch):
    own = ROOT / "data" / "reference" / "anatomy.counts"
    monkeypatch.setenv(paths.FIGURE_NAME, "anatomy.counts")
    assert notebook.measure("anatomy", source="reference").folder.path == own
    monkeypatch.setattr(trace, "why_not", lambda: "the tracer is off: mount it")
    assert notebook.measure("anatomy").folder.path == own
    monkeypatch.setenv(paths.FIGURE_NAME, "anatomy.another")
    assert notebook.measure("anatomy").folder.path == own.with_name("anatomy")


def test_all_scenarios_are_listed_with_what_they_show():
    shown = scenarios.listed()
    for file in FILE.parent.iterdir():
        assert f"{file.stem}\n  {file.read_text('utf-8').splitlines()[0][2:]}" in shown
