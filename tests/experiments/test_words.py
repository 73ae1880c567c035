"""What a rate says of the server, and what CPU time says of a round trip: sentences from runs made by hand."""

import math
import re

import pytest
from handmade import handmade

from bench.analysis import limits
from bench.analysis.resources import resources
from bench.grammar import result_tables
from bench.plan.case import Case
from bench.stats import Spread
from bench.stats.intervals import Interval
from bench.text import duration, factor, quantity, ratio_ends


def limited(client, server, placement="split"):
    """Return a run whose clients and server were busy for these shares of their CPUs."""
    known = {"client_cpu_ns": int(client * 0.51e9), "server_cpu_ns": server and int(server * 0.51e9)}
    known |= {"client_cpus": "1"} if placement == "same" else {}
    return handmade([Case("zeromq", "tcp", clients=2, placement=placement)], [100], notebook="throughput", **known)


@pytest.mark.parametrize(
    ("busy", "roles", "capacity"),
    [
        ((0.97, 0.5), [("client",)], limits.AT_LEAST),
        ((0.4, 0.97), [("server",)], limits.EXACTLY),  # the server alone is saturated
        ((0.96, 0.97), [("client",), ("server",)], limits.AT_LEAST),
        ((0.5, 0.46, "same"), [("client", "server")], limits.AT_LEAST),
        ((0.3, 0.3), [], limits.AT_LEAST),
        ((0.3, None), [], limits.UNKNOWN),
    ],
)
def test_a_rate_is_the_servers_capacity_only_if_the_server_alone_is_saturated(busy, roles, capacity):
    run = limited(*busy)
    limit = limits.limit_of(run, 0)
    assert [one.roles for one in limit.saturated] == roles and limit.capacity == capacity
    (row,) = result_tables.limits(run).to_dict("records")
    rate_text, _, saturated = row.values()
    begins = {limits.EXACTLY: r"[\d.]+ k \[", limits.AT_LEAST: r"at least [\d.]+ k \["}
    assert re.match(begins.get(capacity, capacity), rate_text)
    assert saturated == (limit.names if capacity != limits.UNKNOWN else capacity)


def test_the_utilization_of_a_role_is_its_share_of_its_cpus():
    assert [one.busy for one in resources(limited(0.97, 0.5), 0)] == pytest.approx([0.97, 0.5], abs=0.04)


@pytest.mark.parametrize(
    ("value", "text"), [(0.127, "0.13"), (1.94, "1.9"), (18.2, "18"), (104, "104"), (2150, "2,150")]
)
def test_a_factor_is_no_power_of_ten(value, text):
    assert factor(value) == text


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0.0705, "70.5 ns"),
        (99.95, "100 µs"),
        (1500, "1.50 ms"),
        (2.5e6, "2.50 s"),
        (-1980, "-1.98 ms"),
    ],
)
def test_durations(us, text):
    assert duration(us) == text


@pytest.mark.parametrize(
    ("value", "text"), [(950, "950"), (1000, "1.00 k"), (37_093, "37.1 k"), (1.2e6, "1.20 M"), (0, "0.00")]
)
def test_quantities(value, text):
    assert quantity(value) == text


@pytest.mark.parametrize(
    ("text", "middle", "low", "high", "shown"),
    [
        (duration, 1500, 588, 2.5e6, "1.50 ms [0.588 ms, 2,500 ms]"),
        (duration, 12, -1, 30, "12.0 µs [-1.00 µs, 30.0 µs]"),
        (quantity, 999.9, 998, 1002, "1.00 k [0.998 k, 1.00 k]"),
    ],
)
def test_the_ends_of_an_interval_have_the_unit_of_its_value_and_three_digits(text, middle, low, high, shown):
    for interval in (Spread(middle, low, high), Interval(middle, low, high)):
        assert "{} [{}, {}]".format(text(middle), *interval.ends(text)) == shown


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((10.6, 9.4, 11.9), ("10.6", "9.40", "11.9")),
        ((1.0004, 0.9952, 1.0061), ("1.000", "0.995", "1.006")),
        ((1.139, 1.134, 1.146), ("1.14", "1.13", "1.15")),
        ((2.0, 1.9977, 2.0007), ("2.000", "1.998", "2.001")),
        ((2.0, 2.0 - 1e-9, 2.0 + 1e-9), ("2.00", "2.00", "2.00")),
        ((1.1261, 1.00096, 1.19106), ("1.126", "1.001", "1.191")),
        ((353.2, 352.9, 353.4), ("353.2", "352.9", "353.4")),
        ((1353.2, 120.4, 2001), ("1,350", "120", "2,000")),
        ((2.0, math.nan, math.nan), ("2.00", "n/a", "n/a")),
    ],
)
def test_ratios_have_three_digits_and_more_only_where_an_end_would_read_as_the_ratio_or_as_one(ends, shown):
    assert ratio_ends(*ends) == shown
