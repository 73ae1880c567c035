"""What docs/hosts.md says of the conductor's cost is computed from what was measured, and holds of exact numbers."""

import json

import pytest
from conftest import ROOT

from selfcheck import hosts_cost

pytestmark = pytest.mark.slow

STARTS = [
    {"hosts": n, "collect": 2.0 + 5 * n, hosts_cost.WHOLE: 10.0 + 8 * n} for n in (2, 8, 32, 64) for _ in range(2)
]
FOUND = {
    "measured": "2026-01-02",
    "machine": {"cpu": "some CPU", "cpus": 2, "python": "3.11.7"},
    "calls": 5000,
    "starts": STARTS,
    "large": {"hosts": 8, "calls": 200_000, "ms": [255.0, 256.0, 9000.0]},
    "real": {"hosts": 2, "ms": [240.0, 250.0, 900.0]},
}


def test_a_line_without_deviations_is_found_and_predicts_exactly():
    table, basis, real, limit = hosts_cost.described(FOUND)
    assert [*table.loc["collect"]] == ["2.0", "5.00", "5.00 to 5.00", "0.50 s (0.50 to 0.50)", "5.00 s (5.00 to 5.00)"]
    assert all(fact in basis for fact in ("8 starts", "2, 8, 32 and 64 hosts", "5,000 calls", "2 CPUs", "some CPU"))
    assert all(fact in real for fact in ("2 hosts", "0.25 s", "0.24 to 0.90 s", "0.03 s"))
    # the first limit is where samples take as long as orders: 25.6 MB in 256 ms; 8 ms are worth 800 kB, 50,000 calls
    assert all(fact in limit for fact in ("100 MB/s", "3 starts", "50.0 k calls"))


def test_the_stored_parts_of_a_start_add_up():
    lines = hosts_cost.lines_of(json.loads((ROOT / hosts_cost.FILE).read_text("utf-8"))["starts"])
    parts = [line for name, line in lines.items() if name not in (hosts_cost.WHOLE, hosts_cost.CPU)]
    assert sum(line.each.middle for line in parts) == pytest.approx(lines[hosts_cost.WHOLE].each.middle, rel=1e-3)
