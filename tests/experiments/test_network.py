"""network.ipynb: its plan, and what its figure, sentences and table say of runs whose answers are known."""

import re

import numpy as np
import pytest
from handmade import in_order, recorded, usual
from matplotlib.figure import Figure

from bench.apps.teaching import questions
from bench.errors import UsageError
from bench.experiments import panels, registry, tables
from bench.experiments.network import figure, findings, text
from bench.measurement.hosts import namespaces as measurable
from bench.plan.case import Case
from bench.plan.namespaces import hosts
from bench.run.start_record import StartRecord

TWO_WRITES = {"client_nodelay": False, "server_nodelay": False, "writes": 2}
BOTH = TWO_WRITES | {"client_nodelay": True, "server_nodelay": True}


def case(system, size, link=None, **more):
    """Return a case over loopback (None), the veth pair (0), or the veth pair of so many Mbit/s."""
    return Case(system, "tcp", size, hosts={} if link is None else hosts(link), **more)


SYSTEMS = [  # case, RTT in us, delayed ACKs per call
    (case("sockets", 1000), 20, 0),
    (case("zeromq", 1000), 60, 0),
    (case("sockets", 1000, 0), 30, 0),
    (case("zeromq", 1000, 0), 72, 0),
    (case("sockets", 100_000), 100, 0),
    (case("zeromq", 100_000), 150, 0),
    (case("sockets", 100_000, 100), 16_800, 0),
    (case("zeromq", 100_000, 100), 16_800, 0),
]
SWEEP = [
    (case("sockets", 100_000, 0), 120, 0),
    (case("sockets", 1000, 100), 80, 0),
    (case("sockets", 1000, 10), 800, 0),
]
STALLS = [
    (case("sockets", 100, None, options=BOTH, max_calls=60), 30, 0),
    (case("sockets", 100, None, options=TWO_WRITES, max_calls=60), 88_000, 2),
    (case("sockets", 66_000, None, options=TWO_WRITES, max_calls=60), 140, 0),
    (case("sockets", 100, 0, options=TWO_WRITES, max_calls=60), 88_000, 2),
    (case("sockets", 1500, 0, options=TWO_WRITES, max_calls=60), 150, 0),
]


def by_hand(known, starts=6, calls=40):
    """Return a run in which calls of a case take its RTT; each start is slower by its number in per cent."""

    def record(start, block, index):
        _, rtt_us, acks = known[index]
        rtt = np.full(calls, round(1000 * rtt_us * (1 + block / 100)), "i8")
        ledger = usual(calls, float(rtt.sum()) / 1e9, server_cpus="0", tcp_delayed_acks=acks * calls)
        return StartRecord(ledger, calls=[in_order(rtt)])

    return recorded("network", [case for case, _, _ in known], record, starts)


@pytest.fixture
def run():
    return by_hand(SYSTEMS + SWEEP + STALLS)


def test_the_plan_changes_the_link_alone():
    plan = registry.plan("network", system="[sockets, zeromq]", rates_mbit="[100, 10]", placement="free")
    compared = [(one.system, one.payload_bytes, one.hosts) for one in plan.cases[:8]]
    links = [(1000, {}), (1000, hosts()), (100_000, {}), (100_000, hosts(100))]
    assert compared == [(name, size, link) for size, link in links for name in ("sockets", "zeromq")]
    swept = [(one.payload_bytes, one.hosts) for one in plan.cases if one.hosts and not one.is_short]
    assert {size for size, link in swept if link == hosts(10)} == {1000, 10_000, 100_000}
    assert len({repr(one) for one in plan.cases}) == len(plan.cases)
    assert {one.placement for one in plan.cases} == {"free"} and {one.transport for one in plan.cases} == {
        "tcp",
        "inproc",
    }
    held = [one for one in plan.cases if one.options.get("writes") == 2 and not one.options["client_nodelay"]]
    assert [(one.payload_bytes, one.hosts) for one in held] == [
        (size, link) for link in ({}, hosts()) for size in (100, 1400, 1500, 40_000, 66_000)
    ]


def test_without_a_limited_link_the_large_payload_is_measured_over_the_unlimited_one():
    plan = registry.plan("network", system="sockets", rates_mbit="[]")
    assert {str(one.hosts) for one in plan.cases} == {"{}", str(hosts())}


def test_hosts_add_the_link_between_machines_and_do_without_a_veth_pair_where_none_can_be_made(monkeypatch):
    given = {"system": "[sockets, zeromq]", "hosts": "tcp://10.1.1.1:8786"}
    monkeypatch.setattr(measurable, "why_not", lambda: "run as root")
    assert registry.why_not("network") == "run as root" and registry.why_not("network", **given) is None
    plan = registry.plan("network", **given)
    assert plan.absent == {"veth pair": "run as root"}
    far = [(one.system, one.payload_bytes, one.placement) for one in plan.cases if one.hosts]
    assert far == [(name, size, "free") for size in (1000, 100_000) for name in ("sockets", "zeromq")]
    monkeypatch.setattr(measurable, "why_not", lambda: None)
    assert {findings.link(one) for one in registry.plan("network", **given).cases} == {
        *("loopback", "veth", "veth 10 Mbit/s", "veth 100 Mbit/s", "hosts")
    }


def test_the_large_payload_is_larger():
    with pytest.raises(UsageError, match=r"^large_bytes .*payload_bytes \(1,000 B\)"):
        registry.plan("network", system="sockets", payload_bytes=1000, large_bytes=1000)


def test_where_no_namespace_can_be_made_the_reason_is_said(monkeypatch):
    measurable.why_not.cache_clear()
    monkeypatch.setattr(measurable, "_lacking", lambda status: ["CAP_SYS_ADMIN"])
    assert "CAP_SYS_ADMIN" in str(registry.why_not("network", system="sockets"))
    measurable.why_not.cache_clear()


def test_links_and_the_conditions_of_all_systems(run):
    assert findings.links(run) == ["loopback", "veth", "veth 100 Mbit/s", "veth 10 Mbit/s"]
    assert [(one.link, one.payload_bytes) for one in findings.conditions(run)] == [
        ("loopback", 1000), ("veth", 1000), ("loopback", 100_000), ("veth 100 Mbit/s", 100_000),
    ]  # fmt: skip
    assert findings.conditions(run)[1].cases == {"sockets": 2, "zeromq": 3}


def test_what_the_veth_pair_adds(run):
    sockets, zeromq = findings.added(run)
    assert (sockets.value, zeromq.value) == (pytest.approx(1.5, rel=1e-3), pytest.approx(1.2, rel=1e-3))
    assert findings.added_us(run, zeromq).median() == pytest.approx(12.3, rel=1e-2)
    assert findings.added_to(run, "zeromq") == zeromq and findings.added_to(run, "nats") is None
    assert re.search(r"\*\*zeromq\*\*: .*61\.5 µs.*73\.8 µs.*1\.20 times.*12\.3 µs", text.links(run))


def test_hosts_are_compared_with_loopback():
    far = {"hosts": {"scheduler": "tcp://10.1.1.1:8786"}, "placement": "free"}
    run = by_hand(
        [*SYSTEMS[:2], *((Case(name, "tcp", 1000, **far), us, 0) for name, us in (("sockets", 80), ("zeromq", 120)))]
    )
    assert [one.value for one in findings.added(run, findings.FAR)] == [pytest.approx(4), pytest.approx(2)]
    assert re.search(r"20\.5 µs.*82\.0 µs.*4\.00 times", text.links(run))
    assert [one.other.link for one in findings.orders(run)] == ["hosts"]


def test_the_law_of_the_bandwidth(run):
    slow, small, large = findings.transfers(run)
    assert (slow.law_us, small.law_us, large.law_us) == (1600, 160, 16_000)
    assert large.packets_us == pytest.approx(2 * 8 * (100_000 + 70 * 66) / 100)
    assert findings.over_law(run, large) == pytest.approx(1.05 * 1.025, rel=1e-3)
    said = text.bandwidths(run)
    facts = ("100 kB", "17.2 ms", "1.08 times", "0.51 times", "1.00 kB", "16.0 ms", "16.7 ms")
    assert re.search(r"\*\*100 Mbit/s\*\*.*" + ".*".join(map(re.escape, facts)), said)


def test_pairs_of_systems_keep_their_order_reverse_it_or_are_no_longer_distinguishable(run):
    veth, limited = findings.orders(run)
    assert (veth.same, veth.reversed, veth.unclear) == ((("sockets", "zeromq"),), (), ())
    assert (limited.same, limited.unclear) == ((), (("sockets", "zeromq"),))
    other = by_hand([*SYSTEMS[:2], (SYSTEMS[2][0], 90, 0), SYSTEMS[3]])
    assert findings.orders(other)[0].reversed == (("sockets", "zeromq"),)
    assert re.search(r"\b0 .*\b1 .*sockets / zeromq", text.order(other))
    assert findings.limited(run, "zeromq").value == pytest.approx(1)
    assert findings.limited(other, "zeromq") is None


def test_the_stall_ends_at_a_full_segment(run):
    assert [(one.link, one.payload_bytes, one.stalls) for one in findings.stalls(run)] == [
        ("loopback", 100, 0), ("loopback", 100, 2), ("loopback", 66_000, 0), ("veth", 100, 2), ("veth", 1500, 0),
    ]  # fmt: skip
    assert set(findings.acks_per_call(run, findings.stalls(run)[1])) == {2.0}
    said = text.stall(run)
    assert re.search(r"\b100 B .*90\.2 ms.*2\.00.*1,500 B .*154 µs.*1,448 B", said)


def test_the_table_ranks_the_systems_under_each_condition(run):
    shown = tables.ranking(run)
    assert list(shown.index) == ["loopback", "veth", "loopback", "veth 100 Mbit/s"]
    assert shown.iloc[0]["sockets"] == "1. 20.5 µs" and shown.iloc[0]["zeromq"].startswith("2. 3.00 times")
    assert len(tables.ratios(run)) == 2 + 4


def test_the_questions_are_answered(run):
    asked = {one.name: one for one in questions.ALL if one.notebook == "network"}
    assert questions.measured(run, asked["network q1"])[0] == pytest.approx(1.5, rel=1e-3)
    assert questions.measured(run, asked["network q2"]) is None  # gRPC was not measured


def test_every_panel_draws_every_run(run):
    known = [SYSTEMS, [SYSTEMS[0], SYSTEMS[2]], SWEEP, STALLS]
    for each in (run, *(by_hand(one) for one in known)):
        for panel in (*figure.PANELS, figure.delayed_acks):
            drawn = panels.panel(each, panel.__name__)
            assert isinstance(drawn, Figure) and drawn.axes[0].get_title(loc="left")
        assert text.conclusion(each)
