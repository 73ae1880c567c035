"""The check of the hosts' clocks passes where instants can be compared, and names the host where they cannot."""

import pandas as pd
import pytest

from bench.analysis import clocks
from bench.analysis.card import CAUTION, INVALID, PASS
from bench.stats.clock_offsets import ClockReading

SECOND = 10**9


def hosts(*rows):
    """Rows of the table: (start, host, offset, bound, later offset, later bound), the readings a second apart."""
    names = ("start", "host", "offset_ns", "bound_ns", "after_offset_ns", "after_bound_ns")
    return pd.DataFrame(rows, columns=names).assign(at_ns=-1000, after_at_ns=SECOND - 1000)


def agreement(*rows, window_s=1.0):
    table = hosts(*rows)
    return clocks.agreement(table, pd.Series(window_s, index=table["start"].unique()))


CONDUCTOR = (0, "here", 0, 0, 0, 0)


def test_clocks_that_are_known_well_pass_with_the_largest_bound_and_drift_by_host():
    found = agreement(
        CONDUCTOR,
        (0, "one", 50_000_000, 20_000, 50_003_000, 18_000),
        (1, "two", 10 * SECOND, 9000, 10 * SECOND - 12_000, 30_000),
    )
    assert found.verdict == PASS and found.name == "clocks" and not found.advice
    assert found.found == (
        "instants of two hosts agree within 42.0 us, 0.00% of the window; the largest bound of a clock's offset is "
        "30.0 us (host two), the largest drift -12.0 ppm, known within 39.0 ppm (host two); a duration "
        "between two hosts is known within 10% from 420 us on"
    )


def test_two_hosts_are_as_far_apart_as_both_are_from_the_conductor():
    rows = [CONDUCTOR, (0, "one", 0, 5000, 0, 5000), (0, "two", 0, 3000, 1000, 3000), (0, "three", 0, 1, 0, 1)]
    assert clocks.apart_ns(clocks.known(hosts(*rows))) == {0: 9000}  # 5,000 and 1,000 + 3,000
    assert clocks.apart_ns(clocks.known(hosts(*rows[:2]))) == {0: 5000}


def test_a_host_with_two_roles_counts_once():
    one = (0, "one", 0, 5000, 0, 5000)
    assert clocks.known(hosts(one, one)) == [
        clocks.Known(0, "one", ClockReading(0, 5000, -1000), ClockReading(0, 5000, SECOND - 1000))
    ]


@pytest.mark.parametrize(("bound_ns", "verdict"), [(1_000_000, PASS), (1_000_001, CAUTION)])
def test_a_window_whose_edges_are_not_known_within_one_per_cent_is_a_caution(bound_ns, verdict):
    found = agreement(CONDUCTOR, (0, "one", 0, bound_ns, 0, bound_ns), window_s=0.1)
    assert found.verdict == verdict and "1.00% of the window" in found.found and "(host one)" in found.found
    assert ("longer windows" in found.advice) == (verdict == CAUTION)
    assert agreement(CONDUCTOR, (0, "one", 0, bound_ns, 0, bound_ns), window_s=1.0).verdict == PASS


@pytest.mark.parametrize("step_ns", [SECOND, -SECOND])
def test_a_clock_that_was_set_in_the_window_is_invalid(step_ns):
    fine = (0, "one", 0, 5000, 400_000, 5000)  # 400 ppm: a bad clock, but a clock
    found = agreement(CONDUCTOR, fine, (3, "two", 7, 5000, 7 + step_ns, 5000))
    assert found.verdict == INVALID and found.advice
    assert found.found == f"the clock of host two was set by {step_ns // 10**6:+,}.0 ms in the window of start 3"
    assert agreement(CONDUCTOR, fine).verdict == PASS
