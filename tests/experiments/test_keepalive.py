"""Connections reused and new: pairs, differences by block, the kernel's counters, and one real call of each."""

import re
import sys

import pytest
from handmade import handmade

from bench.errors import UsageError
from bench.experiments import registry
from bench.experiments.keepalive import findings, text
from bench.experiments.keepalive.plan import WAYS
from bench.measurement.start import measure
from bench.plan.case import Case

REUSED, NEW = Case("xmlrpc_stdlib", "tcp", 100, {"http": "1.1"}), Case("xmlrpc_stdlib", "tcp", 100, {"http": "1.0"})


def test_pairs_differ_in_the_connection_alone():
    run = handmade([REUSED, NEW, Case("xmlrpc_stdlib", "ipc", 100, {"http": "1.1"})], [100, 150, 90], calls=100)
    (pair,) = findings.pairs(run)
    assert (pair.name, pair.reused, pair.new) == ("xmlrpc_stdlib tcp", 0, 1)


def test_differences_are_taken_by_block():
    run = handmade([REUSED, NEW], [100, 150], calls=100, starts=3)
    found = findings.differences(run, findings.pairs(run)[0], "p50_rtt_us")
    assert found.to_list() == pytest.approx([50, 50.5, 51], rel=1e-3) and found.index.to_list() == [0, 1, 2]
    said = text.cost(handmade([REUSED, NEW], [100, 150], calls=100))
    assert "**xmlrpc_stdlib tcp**" in said and "1.50 times" in said and " less" not in said
    assert " less" in text.cost(handmade([REUSED, NEW], [150, 100], calls=100))


def test_connections_per_call_are_the_kernel_s_count_where_there_is_one():
    run = handmade([REUSED, NEW], [100, 150], calls=100, tcp_connections=200, tcp_time_waits=50)
    assert set(findings.per_call(run, 0, "tcp_connections")) == {2.0}
    assert re.search(r"\b2\.00 .*\b2\.00 .*\b0\.50 ", text.kernel(run))
    assert text.kernel(handmade([REUSED, NEW], [100, 150], calls=100)) == ""
    assert findings.longest_rate_per_s() == pytest.approx(470.53, abs=0.01)


@pytest.mark.parametrize("system", WAYS)
@pytest.mark.skipif(sys.platform != "linux", reason="the counters are Linux's")
def test_the_kernel_counts_a_connection_for_each_call_that_keeps_none(system):
    new = measure(Case(system, "tcp", 100, WAYS[system][1], max_calls=20), 5.0, 1).ledger
    assert new["calls"] == 20 and new["tcp_connections"] >= 20 and new["tcp_time_waits"] >= 0


def test_only_systems_that_can_do_both_are_planned():
    with pytest.raises(UsageError, match=r"'zeromq'.*xmlrpc_stdlib, http_aiohttp"):
        registry.plan("keepalive", system="zeromq")
    plan = registry.plan("keepalive", transport="tcp")
    assert [one.options.get("http") for one in plan.cases if one.system == "xmlrpc_stdlib"] == ["1.1", "1.0"]
    assert [one.options.get("keep_alive") for one in plan.cases if one.system == "http_aiohttp"] == [True, False]
