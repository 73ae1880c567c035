"""What docs/hosts.md says of the conductor's cost is computed from what was measured, and holds of exact numbers."""

import json

import pytest
from conftest import ROOT

from bench.apps.documents import conducting

pytestmark = pytest.mark.slow

STARTS = [
    {"hosts": n, "collect": 2.0 + 5 * n, conducting.WHOLE: 10.0 + 8 * n} for n in (2, 8, 32, 64) for _ in range(2)
]
FOUND = {
    "measured": "2026-01-02",
    "machine": {"cpu": "some CPU", "cpus": 2, "python": "3.11.7"},
    "calls": 5000,
    "starts": STARTS,
    "large": {"hosts": 8, "calls": 200_000, "ms": [255.0, 256.0, 9000.0]},
}


def test_a_line_without_deviations_is_found_and_predicts_exactly():
    text = conducting.described(FOUND)
    assert "| collect | 2.0 | 5.00 | 5.00 to 5.00 | 0.50 s (0.50 to 0.50) | 5.00 s (5.00 to 5.00) |" in text
    assert "| in all | 10.0 | 8.00 | 8.00 to 8.00 | 0.81 s (0.81 to 0.81) | 8.01 s (8.01 to 8.01) |" in text
    assert all(fact in text for fact in ("8 starts", "2, 8, 32 and 64 hosts", "5,000 calls", "2 CPUs", "some CPU"))


def test_the_first_limit_is_where_samples_take_as_long_as_orders():
    limit = conducting.described(FOUND).rpartition("\n\n")[2]  # 25.6 MB in 256 ms; 8 ms are worth 800 kB, 50,000 calls
    assert all(fact in limit for fact in ("100 MB/s", "3 starts", "50.0 k calls"))


def test_what_is_stored_has_all_that_is_quoted():
    found = json.loads((ROOT / conducting.FILE).read_text("utf-8"))
    lines = dict(conducting.lines_of(found["starts"]))
    assert {one["hosts"] for one in found["starts"]} == {2, 8, 32, 64}
    parts = [line for name, line in lines.items() if name not in (conducting.WHOLE, conducting.CPU)]
    assert sum(line.each.middle for line in parts) == pytest.approx(lines[conducting.WHOLE].each.middle, rel=1e-3)
    assert conducting.cost() == conducting.described(found)
