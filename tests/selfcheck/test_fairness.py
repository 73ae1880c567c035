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
from selfcheck import fairness, keeping

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


def measured_pair(system: str, ratio: float, spread: float):
    """Return what a measured pair would be: the alternative takes twice as long."""
    part = {
        "system": system, "transport": "tcp", "payload_bytes": 1000, "options": {"rpc": "stream", "tls": False},
        "default": {"rpc": "unary", "tls": True}, "p50_us": [100.0, 200.0],
        "cpu_us": {"client": [60.0, 90.0], "router": [20.0, 20.0], "server": [20.0, 50.0]},
    }  # fmt: skip
    return part, [seen(name, ratio, spread) for name in fairness.COLUMNS]


def test_the_table_has_ratios_shares_and_verdicts_that_allow_for_the_number_of_pairs(tmp_path, monkeypatch):
    judged = fairness.with_verdicts(
        [measured_pair("grpc_sync", 2.0, 0.1), *(measured_pair("nats", 1.1, 0.3) for _ in range(20))]
    )
    verdicts = [one["p50 RTT"]["verdict"] for one in judged]
    assert verdicts[0] == "different" and set(verdicts[1:]) == {"inconclusive"}
    table = fairness.rows_of(judged[:1])
    row = table.iloc[0]
    assert row["default"] == "`{rpc: unary, tls: true}`" and row["alternative"] == "`{rpc: stream, tls: false}`"
    assert row["p50 RTT, alternative divided by default"].startswith("2.00 [1.")
    assert row["client's share of the CPU time, default; alternative"] == "60%; 56%"
    monkeypatch.setattr(fairness.paths, "home", lambda: tmp_path)
    assert fairness.table() is None
    (tmp_path / "docs").mkdir()
    keeping.write(fairness.FILE, blocks=fairness.BLOCKS, found=judged)
    kept, how = fairness.table()
    assert len(kept) == 21 and f"{fairness.BLOCKS} blocks" in how
