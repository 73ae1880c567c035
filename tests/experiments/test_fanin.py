"""fanin.ipynb: its plan, and what it finds in runs whose answers are known."""

import numpy as np
import pytest
from drawings import legend
from handmade import in_order, recorded, usual

from bench.analysis.limits import limit_of
from bench.errors import UsageError
from bench.experiments import fanin
from bench.grammar import figure
from bench.grammar.claim import CONTRADICTED, HOLDS
from bench.grammar.experiment import experiment
from bench.measurement.validation import cases as valid
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


@pytest.mark.parametrize(("rtt_us", "ratio"), [([100, 120, 600], [0.5]), ([100, 120, 200], [])])
def test_the_rate_of_the_most_clients_is_compared_with_a_higher_one(rtt_us, ratio):
    run = by_hand([*DIRECT, Case("sockets", "tcp", 100, clients=2, callers=5)], rtt_us)
    assert [case_ratio.value for case_ratio in fanin.decline.ratios(run)] == pytest.approx(ratio)


def test_the_plan_spreads_clients_evenly_over_processes():
    plan = experiment("fanin").plan(system="[sockets, zeromq]", clients="[64, 7, 6, 2, 1]", processes=4)
    shapes = [(case.clients, case.callers) for case in plan.cases if case.system == "zeromq"]
    assert shapes == [(1, 1), (2, 1), (3, 2), (1, 7), (4, 16)] and plan.cases[-1].system == "loopback"


def test_options_are_those_of_their_system():
    plan = experiment("fanin").plan(system="[sockets, zeromq]", clients=2, options="{zeromq: {copy: false}}")
    assert [case.options.get("copy") for case in plan.cases] == [None, False, None]
    with pytest.raises(UsageError, match=r"options 'redis'.*sockets"):
        experiment("fanin").plan(system="sockets", options="{redis: {pipelining: true}}")


def test_brokers_without_their_program_are_left_out_and_zenoh_has_its_router(monkeypatch):
    debian = dict.fromkeys(["redis", "nats", "rabbitmq", "mqtt"], "install it")
    monkeypatch.setattr(valid, "why_absent", debian.get)
    plan = experiment("fanin").plan()
    assert list(dict.fromkeys(case.system for case in plan.cases))[:-1] == ["sockets", "wamp_crossbar", "zenoh"]
    assert {case.options["router"] for case in plan.cases if case.system == "zenoh"} == {True}
    assert plan.absent == debian
    plan = experiment("fanin").plan(system="zenoh", options="{zenoh: {router: false}}")
    assert {case.options["router"] for case in plan.cases if case.system == "zenoh"} == {False}


def test_detour_growth_and_delay(run):
    assert [ratio.value for ratio in fanin.detour.ratios(run)] == [pytest.approx(3, rel=1e-3)]
    assert [ratio.value for ratio in fanin.growth.ratios(run)] == pytest.approx([4 / 1.2, 3], rel=1e-3)
    assert [ratio.value for ratio in fanin.delay.ratios(run)] == pytest.approx([1.2, 4 / 3], rel=1e-3)
    assert len(experiment("fanin").ratios(run)) == 5


def test_other_numbers_of_clients_have_no_detour():
    uneven = by_hand([DIRECT[0], BROKERED[1]], [100, 400])
    assert not experiment("fanin").ratios(uneven)


def test_the_limit_is_the_router_that_is_saturated(run):
    busy = by_hand(BROKERED, [60, 120])  # 4 calls every 120 us, 30 us of the router each
    assert [one.roles for one in limit_of(busy, 1).saturated] == [("router",)]
    assert not limit_of(run, 3).saturated


@pytest.mark.parametrize(
    ("cases", "cpus", "names"),
    [
        ([*DIRECT, *BROKERED], ("0", "1", "2"), ["clients", "server", "router"]),
        (DIRECT, ("0", "1", "2"), ["clients", "server"]),
        (BROKERED, ("0", "1", "1"), ["clients", "server", "router", "CPU that server and router share"]),
    ],
)
def test_the_legend_of_roles_names_those_that_are_drawn(cases, cpus, names):
    drawn = figure.panel(by_hand(cases, [60, 120, 60, 120][: len(cases)], cpus=cpus), "busy")
    assert legend(drawn.axes[0])[:-1] == names


def test_a_cpu_that_server_and_broker_share_has_a_marker_at_the_sum_of_both():
    shared = by_hand(BROKERED, [60, 120], cpus=("0", "1", "1"))  # 4 calls every 120 us, 50 us of both each
    (sum_of_both,) = [line for line in figure.panel(shared, "busy").axes[0].get_lines() if line.get_marker() == "*"]
    (limit,) = limit_of(shared, 1).saturated
    assert sum_of_both.get_xdata() == pytest.approx([limit.busy], rel=0.02) and limit.busy > 1


def test_a_broker_that_is_faster_and_clients_that_make_fewer_calls_contradict_what_is_claimed(run):
    assert [claim.verdict(run) for claim in fanin.claims] == [HOLDS, HOLDS]
    faster = by_hand([*DIRECT, *BROKERED], [100, 120, 50, 400])
    fewer = by_hand([*DIRECT, *BROKERED], [100, 500, 300, 400])
    assert [claim.verdict(faster) for claim in fanin.claims] == [CONTRADICTED, CONTRADICTED]
    assert [claim.verdict(fewer) for claim in fanin.claims] == [HOLDS, CONTRADICTED]
