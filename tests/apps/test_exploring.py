"""The page of explore.ipynb without a browser: inputs, commands, measuring and stopping, results that pile up."""

import shlex
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from conftest import children, wait_for
from handmade import handmade, in_turns
from papermill.cli import _resolve_type

from bench import systems
from bench.apps.exploring import axis, command, inputs
from bench.apps.exploring.axis import Shown
from bench.apps.exploring.choice import Choice
from bench.apps.exploring.measuring import Measurement
from bench.apps.exploring.result_set import Result, collect
from bench.apps.exploring.screen import Page
from bench.errors import UsageError
from bench.experiments.explore import ratio_of, rows
from bench.grammar import figure as panels
from bench.grammar.experiment import experiment
from bench.plan.case import Case
from bench.run import stored
from bench.stats.intervals import Interval

pytestmark = pytest.mark.slow

NOTHING = {"profile": "class", "starts": None, "window_s": None, "seed": 1}


def plan(*cases, starts=2, window_s=0.05):
    return experiment("explore").plan(cases=list(cases), starts=starts, window_s=window_s)


@pytest.mark.parametrize("name", systems.names())
def test_every_option_of_every_system_has_an_input_that_holds_its_default(name):
    options = systems.load(name).Options
    made = inputs.of_options(options)
    assert {option: each.value for option, each in made.items()} == vars(options())
    for option, each in made.items():
        assert each.tooltip, (name, option)


def test_a_new_system_appears_by_itself_and_one_that_is_missing_is_explained(with_systems):
    with_systems()
    choice = Choice(lambda: None)
    assert {"faulty", "absent"} <= set(choice.system.options)
    choice.system.value = "faulty"
    assert "fault" in choice.options and choice.transport.options == systems.constant("faulty", "TRANSPORTS")
    choice.system.value = "absent"
    assert "python -m pip install a-library-that-is-not-installed" in choice.failure


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
    assert changes[-1]["message"] == "items" and experiment("explore").plan(cases=[changes[-1]])
    choice.message.value = "bytes"
    choice.load.value = "closed"
    choice.renewed.value = 5
    assert (changes[-1]["calls_per_connection"], "message" in changes[-1]) == (5, False)
    choice.load.value = "open"
    assert "calls_per_connection" not in changes[-1]
    choice.placement.value = "free"
    assert experiment("explore").plan(cases=[changes[-1]]).cases[0].placement == "free"


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
    parameters = {name: _resolve_type(value) for name, value in zip(words[1::3], words[2::3], strict=True)}
    assert words[::3] == ["-p"] * len(parameters)
    made = experiment("explore").plan(**parameters)
    assert made.cases == experiment("explore").plan(cases=CASES).cases and (made.starts, made.window_s) == (4, 0.25)
    assert [experiment("explore").plan(cases=[command.spelled(case)]).cases for case in made.cases] == [
        (case,) for case in made.cases
    ]


@pytest.mark.parametrize(
    ("cases", "text"), [("[{system: sockets, rat: 5}]", r"'rat'.*rate\?"), ("[{transport: ipc}]", "system")]
)
def test_a_wrong_case_is_refused_with_what_there_is(cases, text):
    with pytest.raises(UsageError, match=text):
        experiment("explore").plan(cases=cases)


def measured(measured_plan, on_block):
    """Return the measurement of a plan, once it has ended."""
    ended = threading.Event()
    measurement = Measurement(measured_plan, print, on_block, lambda measurement: ended.set())
    measurement.start()
    assert ended.wait(30)
    return measurement


SOCKETS = [{"system": "sockets"}, {"system": "sockets", "transport": "tcp"}]


def test_a_measurement_in_turns_shows_ratios_between_its_blocks():
    seen = []
    measurement = measured(plan(*SOCKETS, starts=6, window_s=0.1), lambda now: seen.append(
        (now.blocks, {*now.ratios()}, len(now.medians_us(0)), now.state)))  # fmt: skip
    assert not measurement.error and measurement.blocks == 6 and measurement.run.manifest["finished"]
    assert seen[0][:3] == (1, {(0, 1)}, 1) and "Block 1 of 6" in seen[0][3]
    assert measurement.ratios()[0, 1].has_ends and "6 of 6 blocks" in measurement.ending


def test_a_measurement_that_is_stopped_keeps_its_blocks_and_leaves_no_process(private_parent):
    first, ended, before = threading.Event(), threading.Event(), children()
    sockets_plan = plan(*SOCKETS, starts=5, window_s=1)
    measurement = Measurement(sockets_plan, print, lambda now: first.set(), lambda measurement: ended.set())
    measurement.start()
    assert first.wait(30) and wait_for(lambda: children() - before)
    measurement.stop()
    assert ended.wait(10) and measurement.is_stopped and not measurement.error
    assert not children() - before and not list(private_parent.glob("roundtrip-*"))
    assert 0 < len(measurement.run.ledger) < 10 and not measurement.run.manifest["finished"]
    assert stored.unfinished(sockets_plan).path == measurement.run.folder.path


def test_collected_results_are_a_run_that_draws_the_same():
    one = handmade([Case("sockets", "ipc"), Case("sockets", "ipc", 10)], [20, 15], starts=2, notebook="explore")
    paced = Case("zeromq", "ipc", load="open", offered_per_s=400.0, clients=2)
    two = handmade([paced], [30], starts=3, scheduled=5000, notebook="explore")
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


def test_a_whole_run_needs_no_copy_and_results_that_took_turns_keep_their_ratio_when_one_is_taken_away():
    cases = [Case("sockets", "ipc"), Case("sockets", "tcp"), Case("zeromq", "ipc")]
    run = in_turns([10, 15, 20], cases=cases, rounds=2, calls=40, notebook="explore")
    assert collect([Result(run, case) for case in range(3)]) is run
    part = collect([Result(run, 2), Result(run, 1)])
    before, after = ratio_of(run, 2, 1), ratio_of(part, 0, 1)
    assert part is not run and after == before and after.has_ends


@pytest.fixture
def page(monkeypatch):
    """Return the page as it is shown, without anybody who looks."""
    monkeypatch.setattr("bench.apps.exploring.screen.display", lambda *shown: None)
    made = Page("measure", NOTHING | {"starts": 2, "window_s": 0.05})
    yield made
    made.stop()
    for thread in threading.enumerate():
        if thread.name in ("drawing", "systems"):
            while thread.ident is None:  # it is being started
                time.sleep(0.001)
            thread.join(30)


def run_to_the_end(page):
    page._run.click()
    assert wait_for(lambda: page._measurement is None and not page._run.disabled, 30)


def names(page):
    return [entry.row.name for entry in page._entries]


def test_a_stored_example_opens_the_page_and_is_replaced_by_results_of_one_run(page, tmp_path):
    assert page._is_example and len(page._entries) > 1 and "Example" in page._heading.value
    page._choice.system.value = "sockets"
    run_to_the_end(page)
    assert names(page) == ["sockets ipc"] and "Measured here" in page._heading.value
    page._choice.transport.value = "tcp"
    run_to_the_end(page)
    assert names(page) == ["sockets ipc", "sockets tcp"] and len({entry.result.run.id for entry in page._entries}) == 1
    assert "divided by that of <b>sockets ipc</b>" in page._below.value
    assert page._commands.value.count("transport: ") >= 2 and "papermill explore.ipynb" in page._commands.value
    page._save.click()
    assert wait_for(lambda: "explore.svg" in page._status.value, 30)
    assert (tmp_path / "figures" / "explore.svg").is_file()
    page._rows.children[0].children[1].click()
    assert names(page) == ["sockets tcp"]
    page._choice.load.value = "open"  # it takes no turns, and what does is not measured again
    run_to_the_end(page)
    assert len(names(page)) == 2 and len({entry.result.run.id for entry in page._entries}) == 2
    assert page._commands.value.count("papermill explore.ipynb") == 4  # two, each with its button
    page._forget.click()
    assert page._entries == [] and page._save.disabled and len(stored.all_runs()) == 3


def test_a_case_that_fails_between_others_is_named_and_the_results_before_stay(page, with_systems):
    page._choice.system.value = "sockets"
    run_to_the_end(page)
    with_systems()
    failing = experiment("explore").plan(cases=[{"system": "sockets"}, {"system": "faulty", "transport": "tcp",
                            "options": {"fault": "dies_at_once"}}], **page._amount)  # fmt: skip
    page._plan = lambda: failing
    run_to_the_end(page)
    assert "faulty over tcp" in page._error.value and names(page) == ["sockets ipc"]


def shown(*ratios):
    """Return a base of 10 us, and a row with each ratio to it."""
    rows = [Shown(f"<{place}>", np.full(9, 10 * each.middle), each) for place, each in enumerate(ratios)]
    return [Shown("base", np.full(9, 10.0), axis.BASE if rows else None), *rows]


def test_a_row_has_its_numbers_and_an_error_no_markup():
    rows = shown(Interval(1.031, 1.012, 1.05))
    on = axis.axis(rows)
    drawn = axis.drawn(rows[1], 1, on)
    assert all(part in drawn for part in ("1.03 [1.01, 1.05]", "10.3 µs", "&lt;0&gt;", "rt-bar"))
    assert "rt-bar" not in axis.drawn(rows[0], 0, on) and "overloaded" in axis.drawn(
        replace(rows[1], over="overloaded"), 1, on
    )
    assert "took no turns" in axis.drawn(replace(rows[1], ratio=None), 1, on)


def test_an_error_is_shown_and_nothing_is_measured(page, with_systems):
    page._choice.transport.value = "inproc"
    page._choice.clients.value = 2
    shown = page._error.value
    assert "inproc" in shown and page._commands.value == ""
    page._run.click()
    assert page._measurement is None and page._error.value == shown
    assert not stored.all_runs()
