"""What an open load of minutes is found to do: the slope that was put into its times and its memory."""

from types import SimpleNamespace

import numpy as np
import pytest

from selfcheck import long_load
from selfcheck.long_load import MINUTE

MINUTES = 10.0


def record(late_us_a_minute=0.0, mb_a_minute=0.0):
    """Return the record of a load of two connections, 50 requests/s, with growth that is known."""
    random = np.random.default_rng(3)
    due = np.arange(0, MINUTES * MINUTE, 2e7)
    late_ns = random.exponential(20_000, len(due)) + 1e3 * late_us_a_minute * due / MINUTE
    times = np.stack([due + late_ns, due + late_ns + 100_000, due])
    read = np.arange(-1e9, MINUTES * MINUTE, 2e8)
    memory = (30 + mb_a_minute * read / MINUTE + random.normal(0, 0.01, len(read))) * 1e6
    rows = [{"role": "client", "t_ns": t, "rss_bytes": rss} for t, rss in zip(read, memory, strict=True)]
    rows += [{"role": "server", "t_ns": t, "rss_bytes": 1e9 * t} for t in read]
    return SimpleNamespace(calls=[times[:, ::2], times[:, 1::2]], tables={"load": rows})


@pytest.mark.parametrize(("late", "memory"), [(0.0, 0.0), (5.0, 0.0), (0.0, 0.5)])
def test_growth_that_is_there_is_found_and_no_other(late, memory):
    lines = {name: line for name, _, line in long_load.lines(record(late, memory), MINUTES)}
    for name, known in (("lateness, p99", late), ("response time, p50", late), ("client's memory", memory)):
        each = lines[name].each
        assert each.low <= known <= each.high and (each.low > 0) == (known > 0)
    assert lines["client's memory"].points == long_load.PARTS - 1
