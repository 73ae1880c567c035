"""fanin.ipynb: its plan, and what its figure and its sentences say of runs whose answers are known."""

import numpy as np
import pytest
from drawings import legend
from handmade import in_order, recorded, usual
from matplotlib.figure import Figure

from bench.analysis.resources import cpu_over_starts
from bench.errors import UsageError
from bench.experiments import panels, registry, sentences, tables
from bench.experiments.claims import AGAINST
from bench.experiments.fanin import figure, findings, text
from bench.experiments.fanin.plan import parts
from bench.experiments.sentences import limit_of
from bench.plan.case import Case
from bench.run.start_record import StartRecord

DIRECT = [Case("sockets", "tcp", 100), Case("sockets", "tcp", 100, clients=2, callers=2)]
BROKERED = [Case("wamp_crossbar", "tcp", 100), Case("wamp_crossbar", "tcp", 100, clients=2, callers=2)]


def by_hand(cases, rtt_us, starts=6, calls=400, cpus=("0", "1", "2")):
    """Return a run in which each caller of case c takes rtt_us[c]; of wamp_crossbar a router takes 30 us of CPU time.

    Client and server take 10 and 20 us per call; each start is slower by its number in per cent.
    """

    def record(start, block, index):
        case = cases[index]
        rtt = np.full(calls, round(1000 * rtt_us[index] * (1 + block / 100)), "i8")
        callers = case.clients * case.callers
        total = calls * callers
        known = usual(total, float(rtt.sum()) / 1e9, client_cpus=cpus[0], server_cpus=cpus[1])
        if case.system == "wamp_crossbar":
            known |= {"router_cpu_ns": 30_000 * total, "router_cpus": cpus[2]}
        return StartRecord(known, calls=[in_order(rtt)] * callers)

    return recorded("fanin", cases, record, starts)


@pytest.fixture
def run():
    """Direct: 100 us, then 120 us with four clients; through a router: 300 us, then 400 us."""
    return by_hand([*DIRECT, *BROKERED], [100, 120, 300, 400])


@pytest.mark.parametrize(("rtt_us", "ratio"), [([100, 120, 600], 0.5), ([100, 120, 200], None)])
def test_a_highest_rate_of_fewer_clients_is_compared_with_that_of_the_most(rtt_us, ratio):
    cases = [*DIRECT, Case("sockets", "tcp", 100, clients=2, callers=5)]
    run = by_hand(cases, rtt_us)
    found = findings.peak(run, "sockets")
    assert found is None if ratio is None else found.value == pytest.approx(ratio)
    assert (str(found) in text.growths(run)) == (found is not None)


def test_the_plan_spreads_clients_evenly_over_processes():
    assert [parts(count, 4) for count in (1, 2, 6, 7, 64)] == [1, 2, 3, 1, 4]
    plan = registry.plan("fanin", system="[sockets, zeromq]", clients="[64, 1, 6]", processes=4)
    shapes = [(case.clients, case.callers) for case in plan.cases if case.system == "zeromq"]
    assert shapes == [(1, 1), (3, 2), (4, 16)] and plan.cases[-1].system == "loopback"


def test_options_are_those_of_their_system():
    given = "{zeromq: {copy: false}}"
    plan = registry.plan("fanin", system="[sockets, zeromq]", clients=2, options=given)
    assert [case.options.get("copy") for case in plan.cases] == [None, False, None]


def test_by_default_the_brokers_without_a_program_of_debian_are_measured_zenoh_through_its_router(monkeypatch):
    from bench.validation import cases

    debian = dict.fromkeys(["redis", "nats", "rabbitmq", "mqtt"], "install it")
    monkeypatch.setattr(cases, "why_absent", debian.get)
    plan = registry.plan("fanin")
    assert list(dict.fromkeys(case.system for case in plan.cases))[:-1] == ["sockets", "wamp_crossbar", "zenoh"]
    assert {case.options["router"] for case in plan.cases if case.system == "zenoh"} == {True}
    assert plan.absent == debian
    plan = registry.plan("fanin", system="zenoh", options="{zenoh: {router: false}}")
    assert {case.options["router"] for case in plan.cases if case.system == "zenoh"} == {False}


def test_options_of_another_system_are_refused():
    with pytest.raises(UsageError, match=r"options 'redis'.*sockets"):
        registry.plan("fanin", system="sockets", options="{redis: {pipelining: true}}")


def test_a_router_tells_brokered_systems_from_direct_ones(run):
    assert findings.systems(run) == ["sockets", "wamp_crossbar"] and findings.direct(run) == "sockets"
    assert findings.brokers(run) == ["wamp_crossbar"]
    assert [findings.most(run, name) for name in findings.systems(run)] == [1, 3]


def test_detour_growth_delay_and_the_broker_s_share(run):
    assert findings.detour(run, "wamp_crossbar").value == pytest.approx(3, rel=1e-3)
    assert findings.detour(run, "sockets") is None
    assert findings.growth(run, "sockets").value == pytest.approx(4 / 1.2, rel=1e-3)
    assert findings.growth(run, "wamp_crossbar").value == pytest.approx(3, rel=1e-3)
    assert findings.delay(run, "wamp_crossbar").value == pytest.approx(4 / 3, rel=1e-3)
    assert cpu_over_starts(run, 2).middle == pytest.approx(60) and findings.broker_share(run, 2) == pytest.approx(0.5)
    assert cpu_over_starts(run, 0).middle == pytest.approx(30) and findings.broker_share(run, 0) == 0
    assert [round(one.value, 2) for one in findings.ratios(run)] == [3.0, 3.33, 1.2, 3.0, 1.33]
    assert len(tables.ratios(run)) == 5


def test_the_sentences_hold_these_numbers(run):
    said = text.conclusion(run)
    assert all(fact in said for fact in ("308 µs", "60.0 µs", "50%", *map(str, findings.ratios(run))))


def test_the_limit_is_named(run):
    busy = by_hand(BROKERED, [60, 120])  # 4 calls every 120 us, 30 us of the router each
    (line,) = [line for line in text.growths(busy).splitlines() if line.startswith("- ")]
    assert " 4 clients" in line and limit_of(busy, 1).names in line
    assert [one.roles for one in limit_of(busy, 1).saturated] == [("router",)]
    assert not limit_of(run, 3).saturated


def test_other_numbers_of_clients_have_no_detour():
    uneven = by_hand([DIRECT[0], BROKERED[1]], [100, 400])
    assert findings.detour(uneven, "wamp_crossbar") is None and findings.growth(uneven, "sockets") is None
    assert " times " not in text.conclusion(uneven)


def test_the_legend_of_roles_names_those_that_are_drawn(run):
    def named(of_run):
        return legend(panels.panel(of_run, "busy").axes[0])[:-1]

    assert named(run) == ["clients", "server", "broker"]
    assert named(by_hand(DIRECT, [100, 120])) == ["clients", "server"]
    assert named(by_hand(BROKERED, [60, 120], cpus=("0", "1", "1")))[-1] == "CPU that server and broker share"


def test_a_cpu_that_server_and_broker_share_has_a_marker_at_the_sum_of_both():
    shared = by_hand(BROKERED, [60, 120], cpus=("0", "1", "1"))  # 4 calls every 120 us, 50 us of both each
    drawn = panels.panel(shared, "busy").axes[0]
    (sum_of_both,) = [line for line in drawn.get_lines() if line.get_marker() == "*"]
    (limit,) = limit_of(shared, 1).saturated
    assert sum_of_both.get_xdata() == pytest.approx([limit.busy], rel=0.02) and limit.busy > 1


def test_what_is_said_first_is_about_the_most_clients(run):
    first = sentences.with_interval(text.conclusion(run))
    assert " 4 clients" in first and str(findings.growth(run, "sockets")) in first


def test_every_panel_draws_every_run(run):
    for each in (run, by_hand(DIRECT, [100, 120]), by_hand(BROKERED[:1], [300])):
        for panel in figure.PANELS:
            drawn = panels.panel(each, panel.__name__)
            assert isinstance(drawn, Figure) and drawn.axes[0].get_title(loc="left")
        assert text.conclusion(each)
    assert "`python -m bench list`" in text.detours(by_hand(DIRECT, [100, 120]))


def test_a_broker_that_is_faster_and_clients_that_make_fewer_calls_contradict_what_is_claimed():
    faster = by_hand([*DIRECT, *BROKERED], [100, 120, 50, 400])
    assert text.detours(faster).startswith(AGAINST)
    fewer = by_hand([*DIRECT, *BROKERED], [100, 500, 300, 400])
    assert AGAINST not in text.detours(fewer) and text.growths(fewer).startswith(AGAINST)
