"""A lie is caught by the check that names it, of which an honest generator is free; what goes wrong is named."""

import contextlib
import sys
from dataclasses import replace
from pathlib import Path

import lying_generator
import psutil
import pytest
from certifying import having, sections

from certify import generator_file, running
from certify.check import HELD, NOT_DECIDED, NOT_HELD
from certify.scenarios import scenarios

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FILE = """
name: lying
loads: [closed, open]
command: [{python}, {program}, "{{url}}", --connections, "{{connections}}", --duration, "{{duration}}", --rate, "{{rate}}", "--lie={lie}"]
install: make lying
says:
  requests: {{json: requests}}
  rate: {{json: rate, unit: 1/s}}
  p50: {{json: times.p50, unit: ms}}
  p90: {{json: times.p90, unit: ms}}
  p99: {{json: times.p99, unit: ms}}
  max: {{json: max, unit: ms}}
  errors: {{json: errors}}
  duration: {{json: duration, unit: s}}
percentiles: From when a request was due to its reply.
"""  # noqa: E501
SHORT = {scenario.name: scenario for scenario in scenarios(seconds=14)}
FREEZE = replace(SHORT["freeze"], duration_s=6)  # in two seconds a busy machine can leave other parts of them empty too
CAUGHT = {  # where, and the checks that name it
    "drops-slow": (SHORT["many"], {"p99", "max"}),
    "averages-parts": (next(each for each in scenarios() if each.name == "freeze"), {"p99"}),
    "late-clock": (SHORT["half-load"], {"requests", "window-reported"}),
    "closes-loop": (FREEZE, {"open-in-freeze"}),
    "whole-ms": (SHORT["half-load"], {"resolution"}),
    "one-connection": (SHORT["many"], {"connections"}),
    "planned-rate": (SHORT["overload"], {"rate-reported", "requests"}),
}
NAMED = {
    "hangs": (SHORT["single"], {"exit"}),
    "other-format": (SHORT["single"], {"report"}),
    "fails-with-0": (SHORT["single"], {"report", "arrivals"}),
    "sends-fewer": (SHORT["half-load"], {"rate-delivered"}),
    "stops-early": (SHORT["half-load"], {"window"}),
}


def observed(folder, scenario, lie=""):
    file = folder / "lying.yaml"
    program = Path(lying_generator.__file__)
    file.write_text(FILE.format(python=sys.executable, program=program, lie=lie), "utf-8")
    (section,) = sections(generator_file.load(str(file)), scenario)
    return section


def is_once(found):
    """Return whether it is so in one of three tries: a busy machine delays a generator, and the front."""
    return any(found() for _ in range(3))


def test_all_lies_and_faults_are_tried():
    assert set(CAUGHT) == set(lying_generator.LIES) and set(NAMED) == set(lying_generator.FAULTS)


@pytest.mark.parametrize("lie", lying_generator.LIES)
def test_a_lie_is_caught_by_the_checks_that_name_it(tmp_path, lie):
    scenario, names = CAUGHT[lie]
    assert is_once(lambda: names <= having(observed(tmp_path, scenario, lie), NOT_HELD))


@pytest.mark.parametrize("scenario", dict.fromkeys(where for where, _ in CAUGHT.values()), ids=lambda each: each.name)
def test_no_check_that_names_a_lie_names_the_honest_generator(tmp_path, scenario):
    names = set().union(*(names for where, names in CAUGHT.values() if where == scenario))
    assert is_once(lambda: names <= having(observed(tmp_path, scenario), HELD, NOT_DECIDED))


@pytest.mark.parametrize("fault", lying_generator.FAULTS)
def test_what_goes_wrong_is_named_and_nothing_is_left_running(tmp_path, monkeypatch, fault):
    if fault == "hangs":
        monkeypatch.setattr(running, "GRACE_S", 5.0)
    scenario, names = NAMED[fault]
    section = observed(tmp_path, scenario, fault)
    assert names <= having(section, NOT_HELD)
    if fault == "hangs":
        with contextlib.suppress(psutil.NoSuchProcess):
            assert psutil.Process(int(section.seen.ended.stderr)).status() == psutil.STATUS_ZOMBIE


def test_the_honest_generator_reports_what_the_front_recorded(tmp_path):
    section = observed(tmp_path, SHORT["open-errors"])
    assert {"exit", "report", "requests", "errors"} <= having(section, HELD)
