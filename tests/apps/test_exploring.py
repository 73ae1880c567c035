"""The page of explore.ipynb without a browser: inputs, commands, measuring and stopping, results that pile up."""

import os
import shlex
import threading

import ipywidgets as widgets
import numpy as np
import pytest
from conftest import descendants, wait_for
from papermill.cli import _resolve_type

from bench import systems
from bench.apps.exploring import command, inputs, showing
from bench.apps.exploring.choice import Choice
from bench.apps.exploring.measuring import Measurement
from bench.apps.exploring.result_set import Result, collect
from bench.apps.exploring.screen import Page
from bench.errors import UsageError
from bench.experiments import panels, registry
from bench.experiments.explore.findings import Row, rows
from bench.experiments.explore.text import sentences
from bench.measurement import runner
from bench.plan.case import Case
from bench.run import stored
from bench.run.frames import Run
from bench.stats.intervals import Interval
from bench.validation.profiles import make_plan

pytestmark = pytest.mark.slow

NOTHING = {"profile": "class", "starts": None, "window_s": None, "seed": 1}


def plan(*cases, starts=2, window_s=0.05):
    return registry.plan("explore", cases=list(cases), starts=starts, window_s=window_s)


def measured(*cases, **amount):
    return Run(runner.run(plan(*cases, **amount)))


@pytest.mark.parametrize("name", systems.names())
def test_every_option_of_every_system_has_an_input_that_holds_its_default(name):
    if missing := systems.missing(name):
        pytest.skip(str(missing))
    options = systems.load(name).Options
    made = inputs.of(options)
    assert {option: each.value for option, each in made.items()} == vars(options())
    for option, each in made.items():
        assert each.tooltip, (name, option)


def test_the_kind_of_an_option_decides_its_input():
    made = inputs.of(systems.load("http_aiohttp").Options)
    assert isinstance(made["pin"], widgets.Checkbox) and isinstance(made["workers"], widgets.BoundedIntText)
    assert made["resource"].options == tuple((name, name) for name in ("echo", "bytes", "json", "static"))
    assert [value for _, value in inputs.of(systems.load("sockets").Options)["writes"].options] == [1, 2]


def test_a_new_system_appears_by_itself_and_one_that_is_missing_is_explained(with_systems):
    with_systems()
    choice = Choice(lambda: None)
    assert {"faulty", "absent"} <= set(choice.system.options)
    choice.system.value = "faulty"
    assert "fault" in choice.options and choice.transport.options == systems.constant("faulty", "TRANSPORTS")
    choice.system.value = "absent"
    assert "python -m pip install a-library-that-is-not-installed" in choice.failure


def test_a_message_can_be_chosen_where_it_is_carried():
    choice = Choice(lambda: None)
    choice.system.value = "sockets"
    choice.message.value = "tree"
    assert choice.message.layout.display is None and choice.spelled()["message"] == "tree"
    choice.system.value = "oracle"
    assert choice.message.layout.display == "none" and "message" not in choice.spelled()


def test_what_is_typed_while_a_system_is_being_chosen_is_kept():
    choice, sent = Choice(lambda: None), []
    before = choice.box.children
    assert choice.clients in before
    choice.transport.send_state = lambda key: sent.append({*key})
    choice.system.value, choice.load.value = "sockets", "open"
    assert choice.box.children == before and choice.rate.layout.display is None
    assert [keys for keys in sent if "index" in keys] == [{"_options_labels", "index"}]


def test_what_is_chosen_is_spelled_without_defaults():
    changes = []
    choice = Choice(lambda: changes.append(choice.spelled()))
    choice.system.value = "sockets"
    assert changes[-1] == {"system": "sockets", "transport": "ipc", "payload_bytes": 1000}
    choice.options["writes"].value = 2
    choice.load.value = "open"
    assert changes[-1]["options"] == {"writes": 2} and changes[-1]["rate"] == 500 and changes[-1]["clients"] == 8
    choice.message.value = "items"
    assert changes[-1]["message"] == "items" and registry.plan("explore", cases=[changes[-1]])
    choice.message.value = "bytes"
    choice.load.value = "closed"
    choice.renewed.value = 5
    assert (changes[-1]["calls_per_connection"], "message" in changes[-1]) == (5, False)
    choice.load.value = "open"
    assert "calls_per_connection" not in changes[-1]
    choice.placement.value = "free"
    assert registry.plan("explore", cases=[changes[-1]]).cases[0].placement == "free"


CASES = [
    {"system": "xmlrpc_stdlib", "transport": "tcp", "payload_bytes": 1, "options": {"tls": True}},
    {"system": "sockets", "transport": "tcp", "payload_bytes": 9, "clients": 3, "placement": "free"},
    {"system": "sockets", "transport": "ipc", "payload_bytes": 100, "rate": 300, "clients": 4},
    {"system": "sockets", "transport": "ipc", "payload_bytes": 500, "message": "items"},
    {"system": "grpc_sync", "transport": "tcp", "payload_bytes": 1, "calls_per_connection": 3},
]


def test_a_command_measures_the_cases_that_it_was_made_from():
    line = command.measuring(CASES, {"starts": 4, "window_s": 0.25})
    program, source, target, *words = shlex.split(line)
    assert (program, source, target) == ("papermill", "explore.ipynb", "out.ipynb")
    given = {name: _resolve_type(value) for name, value in zip(words[1::3], words[2::3], strict=True)}
    assert words[::3] == ["-p"] * len(given)
    made = registry.plan("explore", **given)
    assert made.cases == registry.plan("explore", cases=CASES).cases and (made.starts, made.window_s) == (4, 0.25)


def test_a_case_is_spelled_as_it_was_given():
    for case in CASES:
        (made,) = registry.plan("explore", cases=[case]).cases
        assert registry.plan("explore", cases=[command.spelled(made)]).cases == (made,)


@pytest.mark.parametrize(
    ("cases", "text"),
    [
        ("[{system: sockets, rat: 5}]", r"'rat'.*rate\?"),
        ("[]", "cases"),
        ("[{transport: ipc}]", "system"),
        ("[{system: zeromq, transport: inproc, clients: 2}]", "inproc"),
    ],
)
def test_a_wrong_case_is_refused_with_what_there_is(cases, text):
    with pytest.raises(UsageError, match=text):
        registry.plan("explore", cases=cases)


def finished(measurement, seconds=30):
    measurement.start()
    assert measurement.wait(seconds)
    return measurement


def test_a_measurement_shows_each_start_when_it_is_on_disk():
    said, seen = [], []
    of = plan({"system": "sockets"}, starts=3, window_s=0.3)
    measurement = Measurement(of, lambda *told: said.append(told), lambda run: seen.append(len(run.ledger)), print)
    assert not finished(measurement).error and seen == [1, 2, 3]
    assert measurement.run.manifest["finished"] and len(measurement.run.ledger) == 3
    assert any("2 of 3" in text for text, _ in said)
    shares = [share for _, share in said]
    assert shares == sorted(shares) and shares[0] >= 0 and shares[-1] <= 1


def test_a_measurement_that_is_stopped_keeps_its_starts_and_leaves_no_process(private_parent):
    first, ended, before = threading.Event(), threading.Event(), set(descendants(os.getpid()))
    of = plan({"system": "sockets"}, starts=5, window_s=1)
    measurement = Measurement(of, lambda *told: None, lambda run: first.set(), lambda measurement: ended.set())
    measurement.start()
    assert first.wait(30) and wait_for(lambda: set(descendants(os.getpid())) - before)
    measurement.stop()
    assert ended.wait(10) and measurement.is_stopped and not measurement.error
    assert not set(descendants(os.getpid())) - before and not list(private_parent.glob("roundtrip-*"))
    assert 0 < len(measurement.run.ledger) < 5 and not measurement.run.manifest["finished"]
    assert stored.unfinished(of).path == measurement.run.folder.path


def test_a_measurement_that_fails_is_one_line(with_systems):
    with_systems()
    of = make_plan("explore", [Case("faulty", "tcp", 100, {"fault": "dies_at_once"})], starts=1, window_s=0.1)
    measurement = finished(Measurement(of, lambda *told: None, lambda run: None, lambda measurement: None))
    assert "status 7" in measurement.error and "\n" not in showing.error(measurement.error)
    assert measurement.run is None and not measurement.is_stopped


def test_collected_results_are_a_run_that_draws_the_same(tmp_path):
    one = measured({"system": "sockets"}, {"system": "sockets", "payload_bytes": 10})
    two = measured({"system": "zeromq", "rate": 400, "clients": 2}, starts=3, window_s=0.2)
    run = collect([Result(two, 0), Result(one, 1)])
    assert [case.system for case in run.plan.cases] == ["zeromq", "sockets"] and len(run.ledger) == 5
    assert run.manifest["collected"] == [two.id, one.id] and stored.find("latest").path == run.folder.path
    assert len(run.samples) == len(two.samples) + len(one.samples[one.samples["case"] == 1])
    again, before = (each.samples.loc[each.samples["case"] == 1, "rtt_ns"].to_numpy() for each in (run, one))
    assert (again == before).all()
    drawn = rows(run)
    assert [row.paced for row in drawn] == [True, False] and [len(row.medians) for row in drawn] == [3, 2]
    assert panels.save(run)[1].stat().st_size > 50_000
    assert panels.provenance(run)["Description"].startswith(f"run={run.id} ")


def test_a_whole_run_needs_no_copy():
    run = measured({"system": "sockets"}, {"system": "loopback", "transport": "inproc"})
    assert collect([Result(run, 0), Result(run, 1)]) is run
    assert collect([Result(run, 1)]) is not run


def test_sentences_decide_by_the_interval_of_the_ratio():
    def row(name, *medians):
        nothing = np.empty(0)
        return Row(name, False, np.array(medians), nothing, nothing, nothing, 0, ())

    few = sentences([row("slow", 20.0, 22.0), row("quick", 9.6, 10.4)])
    facts = ("**quick**", "10.0 µs", "9.60 µs to 10.4 µs", "**slow**", "2.10 times")
    assert [few.index(fact) for fact in facts] == sorted(few.index(fact) for fact in facts)
    quick, near = row("quick", 9, 10, 11, 9.5, 10.5, 10), row("near", 9.1, 10.1, 11.1, 9.6, 10.6, 10.1)
    unpaired = sentences([quick, near])  # six starts of each, whose ranges overlap
    assert "1.01 times" in unpaired and "not distinguishable" in unpaired
    paired = sentences([quick, near], {("quick", "near"): Interval(1.01, 1.005, 1.015, 0.95)})
    assert "1.01 times" in paired and "1.00 to 1.01" in paired and "not distinguishable" not in paired
    assert sentences([]) == ""


@pytest.fixture
def page(monkeypatch):
    """Return the page as it is shown, without anybody who looks."""
    monkeypatch.setattr("bench.apps.exploring.screen.display", lambda *shown: None)
    made = Page("measure", NOTHING | {"starts": 2, "window_s": 0.05})
    yield made
    made.stop()


def run_to_the_end(page):
    page._run.click()
    assert wait_for(lambda: page._measurement is None and not page._run.disabled, 30)


def test_results_pile_up_are_forgotten_and_saved(page, tmp_path):
    page._choice.system.value = "sockets"
    run_to_the_end(page)
    page._choice.transport.value = "tcp"
    run_to_the_end(page)
    assert [entry.row.name for entry in page._entries] == ["sockets ipc", "sockets tcp"]
    assert "papermill explore.ipynb out.ipynb -p cases" in page._commands.value
    page._save.click()
    assert wait_for(lambda: "explore.svg" in page._status.value, 30)
    assert (tmp_path / "figures" / "explore.svg").is_file()
    page._list.children[0].children[1].click()
    assert [entry.row.name for entry in page._entries] == ["sockets tcp"]
    page._forget.click()
    assert page._entries == [] and page._save.disabled and len(stored.all_runs()) == 3


def test_an_error_is_shown_and_nothing_is_measured(page, with_systems):
    page._choice.transport.value = "inproc"
    page._choice.clients.value = 2
    shown = page._error.value
    assert "inproc" in shown and page._commands.value == ""
    page._run.click()
    assert page._measurement is None and page._error.value == shown
    assert not stored.all_runs()
