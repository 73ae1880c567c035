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

pytestmark = pytest.mark.slow

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
    "closes-loop": (FREEZE, {"open-in-freeze"}),
    "planned-rate": (SHORT["overload"], {"rate-reported", "requests"}),
}
NAMED = {
    "hangs": {"exit"},
    "fails-with-0": {"report", "arrivals"},
}


def observed(folder, scenario, lie=""):
    file = folder / "lying.yaml"
    program = Path(lying_generator.__file__)
    file.write_text(FILE.format(python=sys.executable, program=program, lie=lie), "utf-8")
    (section,) = sections(generator_file.load(str(file)), scenario)
    return section


def is_once(attempt):
    """Return whether it is so in one of three tries: a busy machine delays a generator, and the front."""
    return any(attempt() for _ in range(3))


@pytest.mark.parametrize("lie", lying_generator.LIES)
def test_a_lie_is_caught_by_the_checks_that_name_it_and_the_honest_generator_is_not(tmp_path, lie):
    scenario, names = CAUGHT[lie]
    assert is_once(lambda: names <= having(observed(tmp_path, scenario, lie), NOT_HELD))
    assert is_once(lambda: names <= having(observed(tmp_path, scenario), HELD, NOT_DECIDED))


@pytest.mark.parametrize("fault", lying_generator.FAULTS)
def test_what_goes_wrong_is_named_and_nothing_is_left_running(tmp_path, monkeypatch, fault):
    if fault == "hangs":
        monkeypatch.setattr(running, "GRACE_S", 5.0)
    section = observed(tmp_path, SHORT["single"], fault)
    assert NAMED[fault] <= having(section, NOT_HELD)
    if fault == "hangs":
        with contextlib.suppress(psutil.NoSuchProcess):
            assert psutil.Process(int(section.seen.ended.stderr)).status() == psutil.STATUS_ZOMBIE


def test_the_honest_generator_reports_what_the_front_recorded(tmp_path):
    section = observed(tmp_path, SHORT["open-errors"])
    assert {"exit", "report", "requests", "errors"} <= having(section, HELD)
