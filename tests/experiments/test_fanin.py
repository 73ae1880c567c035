"""fanin.ipynb: its plan, and what it finds in runs whose answers are known."""

import numpy as np
import pytest
from handmade import in_order, recorded, usual

from bench.analysis.limits import limit_of
from bench.experiments import fanin
from bench.grammar.experiment import experiment
from bench.measurement.validation import cases as valid
from bench.plan.case import Case
from bench.run.start_record import StartRecord

DIRECT = [Case("sockets", "tcp", 100), Case("sockets", "tcp", 100, clients=2, callers=2)]
BROKERED = [Case("wamp_crossbar", "tcp", 100), Case("wamp_crossbar", "tcp", 100, clients=2, callers=2)]


def by_hand(cases, rtt_us, starts=6, calls=400):
    """Return a run in which each caller of case c takes rtt_us[c]; of wamp_crossbar a router takes 30 us of CPU time.

    Client and server take 10 and 20 us per call; each start is slower by its number in per cent.
    """

    def record(start, block, index):
        case = cases[index]
        rtt = np.full(calls, round(1000 * rtt_us[index] * (1 + block / 100)), "i8")
        callers = case.clients * case.callers
        total = calls * callers
        known = usual(total, float(rtt.sum()) / 1e9, client_cpus="0", server_cpus="1")
        if case.system == "wamp_crossbar":
            known |= {"router_cpu_ns": 30_000 * total, "router_cpus": "2"}
        return StartRecord(known, calls=[in_order(rtt)] * callers)

    return recorded("fanin", cases, record, starts)


@pytest.fixture
def run():
    """Direct: 100 us, then 120 us with four clients; through a router: 300 us, then 400 us."""
    return by_hand([*DIRECT, *BROKERED], [100, 120, 300, 400])


def test_the_plan_spreads_clients_evenly_over_processes():
    plan = experiment("fanin").plan(system="[sockets, zeromq]", clients="[64, 7, 6, 2, 1]", processes=4)
    shapes = [(case.clients, case.callers) for case in plan.cases if case.system == "zeromq"]
    assert shapes == [(1, 1), (2, 1), (3, 2), (1, 7), (4, 16)] and plan.cases[-1].system == "loopback"


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
