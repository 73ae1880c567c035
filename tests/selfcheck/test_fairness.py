"""docs/fairness.md: every system has its row, and what its differences cost is measured with cases that exist."""

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

from bench import systems
from bench.analysis.comparison import Evidence
from bench.measurement.validation.support import options_of
from bench.stats import intervals
from selfcheck import fairness

TEXT = (ROOT / "docs" / "fairness.md").read_text("utf-8")
OWN = [name for name in systems.names() if Path(systems.file_of(name)).is_relative_to(ROOT / "bench")]


def rows() -> dict[str, str]:
    """Return the rows of the table of all systems: by its name the text of each."""
    section = TEXT.partition("## Each system")[2].partition("## What the differences cost")[0]
    return dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", section, re.M))


def test_every_system_has_its_row():
    assert set(rows()) == {name for name in OWN if systems.group(name) != "instrument"}
    assert all(row.count("|") == 2 for row in rows().values())


@pytest.mark.parametrize("pair", fairness.PAIRS, ids=lambda pair: " ".join(pair.key))
def test_a_pair_compares_the_default_with_something_else(pair):
    kind = systems.load(pair.system).Options
    default = options_of(kind, {}, pair.system)
    assert all(default[name] != value for name, value in pair.options.items())
    a, again, b = fairness.planned(pair).cases
    assert a == again and a.options.items() <= default.items() and b.options == a.options | dict(pair.options)
    assert a.payload_bytes == b.payload_bytes == pair.payload_bytes


def seen(name: str, ratio: float, spread: float) -> Evidence:
    """What blocks say that lie at both sides of a ratio, about so far from it."""
    logs = np.log(ratio) + spread * np.linspace(-1, 1, 16)
    nothing = (np.nan, np.nan)
    return Evidence("case", name, intervals.paired(logs), lambda confidence: spread, 16, 0.95, nothing, True)


def measured_pair(ratio: float, spread: float):
    """Return what a measured pair would be."""
    return {}, [seen(name, ratio, spread) for name in fairness.COLUMNS]


def test_verdicts_allow_for_the_number_of_pairs():
    judged = fairness.with_verdicts([measured_pair(2.0, 0.1), *(measured_pair(1.1, 0.3) for _ in range(20))])
    verdicts = [one["median RTT"]["verdict"] for one in judged]
    assert verdicts[0] == "different" and set(verdicts[1:]) == {"inconclusive"}
