"""network.ipynb: its plan, and what its figure, sentences and table say of runs whose answers are known."""

import pytest
from handmade import handmade

from bench.analysis.links import link
from bench.experiments import network
from bench.grammar.claim import CONTRADICTED, HOLDS, UNDECIDED
from bench.grammar.experiment import experiment
from bench.measurement.hosts import namespaces as measurable
from bench.plan.case import Case
from bench.plan.namespaces import hosts


def case(system, size, link=None, **more):
    """Return a case over loopback (None), the veth pair (0), or the veth pair of so many Mbit/s."""
    return Case(system, "tcp", size, hosts={} if link is None else hosts(link), **more)


SYSTEMS = [  # case, RTT in us
    (case("sockets", 1000), 20),
    (case("zeromq", 1000), 60),
    (case("sockets", 1000, 0), 30),
    (case("zeromq", 1000, 0), 72),
    (case("sockets", 100_000), 100),
    (case("zeromq", 100_000), 150),
    (case("sockets", 100_000, 100), 16_800),
    (case("zeromq", 100_000, 100), 16_800),
]


def by_hand(known):
    """Return a run in which calls of a case take its RTT; each start is slower by its number in per cent."""
    cases, rtt_us = zip(*known, strict=True)
    return handmade(cases, rtt_us, calls=40, notebook="network", server_cpus="0")


def test_the_plan_changes_the_link_alone():
    plan = experiment("network").plan(system="[sockets, zeromq]", rates_mbit="[100, 10]", placement="free")
    compared = [(one.system, one.payload_bytes, one.hosts) for one in plan.cases[:8]]
    links = [(1000, {}), (1000, hosts()), (100_000, {}), (100_000, hosts(100))]
    assert compared == [(name, size, link) for size, link in links for name in ("sockets", "zeromq")]
    swept = [(one.payload_bytes, one.hosts) for one in plan.cases if one.hosts and not one.is_short]
    assert {size for size, link in swept if link == hosts(10)} == {1000, 10_000, 100_000}
    assert len({repr(one) for one in plan.cases}) == len(plan.cases)
    held = [one for one in plan.cases if one.options.get("writes") == 2 and not one.options["client_nodelay"]]
    assert [(one.payload_bytes, one.hosts) for one in held] == [
        (size, link) for link in ({}, hosts()) for size in (100, 1400, 1500, 40_000, 66_000)
    ]


def test_hosts_add_the_link_between_machines_and_do_without_a_veth_pair_where_none_can_be_made(monkeypatch):
    parameters = {"system": "[sockets, zeromq]", "hosts": "tcp://10.1.1.1:8786"}
    monkeypatch.setattr(measurable, "why_not", lambda: "run as root")
    assert experiment("network").why_not() == "run as root" and experiment("network").why_not(**parameters) is None
    plan = experiment("network").plan(**parameters)
    assert plan.absent == {"veth pair": "run as root"}
    far = [(one.system, one.payload_bytes, one.placement) for one in plan.cases if one.hosts]
    assert far == [(name, size, "free") for size in (1000, 100_000) for name in ("sockets", "zeromq")]
    monkeypatch.setattr(measurable, "why_not", lambda: None)
    assert {link(one) for one in experiment("network").plan(**parameters).cases} == {
        *("loopback", "veth", "veth 10 Mbit/s", "veth 100 Mbit/s", "hosts")
    }


def test_where_no_namespace_can_be_made_the_reason_is_said(monkeypatch):
    measurable.why_not.cache_clear()
    monkeypatch.setattr(measurable, "_lacking", lambda status: ["CAP_SYS_ADMIN"])
    assert "CAP_SYS_ADMIN" in str(experiment("network").why_not(system="sockets"))
    measurable.why_not.cache_clear()


def test_hosts_are_compared_with_loopback():
    far = {"hosts": {"scheduler": "tcp://10.1.1.1:8786"}, "placement": "free"}
    run = by_hand(
        [*SYSTEMS[:2], *((Case(name, "tcp", 1000, **far), us) for name, us in (("sockets", 80), ("zeromq", 120)))]
    )
    assert [one.value for one in network.between_hosts.ratios(run)] == pytest.approx([4, 2], rel=1e-3)
    assert "82.0 µs" in experiment("network").answer(run) and len(network.same_order(run)) == 1


ORDER = network.claims[1]


def test_pairs_of_systems_keep_their_order_reverse_it_or_are_no_longer_distinguishable():
    run = by_hand(SYSTEMS)
    assert [verdict.word for verdict in ORDER.verdicts(run)] == [HOLDS, UNDECIDED]
    other = by_hand([*SYSTEMS[:2], (SYSTEMS[2][0], 90), SYSTEMS[3]])
    assert [verdict.word for verdict in ORDER.verdicts(other)] == [CONTRADICTED]
    (limited,) = network.limited.ratios(run)
    assert limited.value == pytest.approx(1) and network.limited.ratios(other) == []
