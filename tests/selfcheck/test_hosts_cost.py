"""What docs/hosts.md says of the conductor's cost is computed from what was measured, and holds of exact numbers."""

import json

import pytest
from conftest import ROOT

from selfcheck import hosts_cost

pytestmark = pytest.mark.slow


def test_the_stored_parts_of_a_start_add_up():
    lines = hosts_cost.lines_of(json.loads((ROOT / hosts_cost.FILE).read_text("utf-8"))["starts"])
    parts = [line for name, line in lines.items() if name not in (hosts_cost.WHOLE, hosts_cost.CPU)]
    assert sum(line.each.middle for line in parts) == pytest.approx(lines[hosts_cost.WHOLE].each.middle, rel=1e-3)
