"""Bounds and mean value analysis, against cases with exact answers; and what a run predicts from one client."""

import numpy as np
import pytest
from handmade import handmade, reference

from bench.analysis.prediction import capacity_at, predict
from bench.analysis.resources import resources
from bench.plan.case import Case
from bench.stats.queueing import Demand, bounds, delay, mva


def test_one_caller_gives_its_own_rate_back():
    for demands in ([Demand(3), Demand(4)], [Demand(3, 2), Demand(4, 5)]):
        assert mva(10, 2, demands, 1)[0] == pytest.approx(1 / 12)


def test_two_balanced_stations_without_delay_have_a_closed_form():
    n = np.arange(1, 9)
    assert mva(10, 0, [Demand(5), Demand(5)], 8) == pytest.approx(n / (5 * (n + 1)))  # N / (D (N + M - 1)), M = 2


def test_the_recursion_by_hand():
    rates = mva(9, 0, [Demand(5), Demand(4)], 2)
    assert rates[1] == pytest.approx(2 / (5 * (1 + 5 / 9) + 4 * (1 + 4 / 9)))


def test_many_callers_reach_the_slowest_resource_and_never_pass_it():
    rates = mva(100, 0, [Demand(20), Demand(10)], 200)
    assert np.all(np.diff(rates) >= -1e-15) and rates[-1] == pytest.approx(1 / 20)
    assert np.all(rates <= bounds(100, 0, [Demand(20), Demand(10)], np.arange(1, 201)) + 1e-12)


def test_several_servers_carry_several_times_as_much():
    assert mva(100, 0, [Demand(20, 4)], 400)[-1] == pytest.approx(4 / 20)
    assert bounds(100, 0, [Demand(20, 4)], [3])[0] == pytest.approx(3 / 100)


def test_work_beside_the_call_bounds_but_does_not_lengthen_it():
    demands = [Demand(8), Demand(7)]
    assert delay(10, demands) == -5
    rates = mva(10, 0, demands, 50)
    assert rates[0] == pytest.approx(1 / 10) and rates[-1] == pytest.approx(1 / 8)


def grown(**ledger):
    cases = [Case("zeromq", "tcp", clients=n, placement="split") for n in (1, 2, 4)]
    return handmade(cases, [100, 100, 100], notebook="clients", **ledger)


def test_a_run_predicts_from_its_one_client_starts():
    model = predict(grown())  # made by hand: RTT 100 us and more, client 10 us, server 20 us of CPU
    assert "server" in model.limit and list(model.clients) == [1, 2, 3, 4]
    assert model.asymptote[3] == pytest.approx(4e6 / 105, rel=0.03)
    assert model.rate[0] == pytest.approx(1e6 / 105, rel=0.03) and model.rate[3] < model.asymptote[3]
    assert np.all(model.rate_low <= model.rate) and np.all(model.rate <= model.rate_high)
    assert model.rtt_us[0] == pytest.approx(105, rel=0.03)


def test_the_capacity_at_a_load_follows_from_the_cpu_time_measured_there():
    run = grown()  # client 10 us, server 20 us of CPU time per call, on two CPUs
    assert capacity_at(run, 0)[1] == pytest.approx(50_000)
    shared = grown(client_cpus="1")
    assert capacity_at(shared, 2)[1] == pytest.approx(1e6 / 30)


WHOLE = [number for number, case in enumerate(reference("clients").plan.cases) if not case.is_short]


@pytest.mark.parametrize("case", WHOLE)
def test_no_measured_rate_exceeds_the_capacity_at_its_own_load(case):
    run = reference("clients")
    assert run.cases.loc[case, "rate_per_s"] <= 1.05 * capacity_at(run, case)[1]  # the warm-up costs CPU time, too


def test_nothing_is_predicted_from_a_server_that_cannot_be_seen():
    assert predict(grown(server_cpu_ns=None)) is None


def test_resources_are_the_cpus_that_roles_share():
    (clients, server) = resources(grown(), 0)
    assert (clients.roles, server.roles) == (("client",), ("server",))
    assert clients.busy == pytest.approx(10 / 105, rel=0.05) and server.demand_us.tolist() == [20.0] * 6
    (both,) = resources(grown(client_cpus="1"), 0)
    assert both.roles == ("client", "server") and both.demand_us[0] == 30
    all_cpus, thread = resources(grown(client_cpus=None, server_cpus=None), 0)
    assert all_cpus.cpus == 2 and thread.is_thread and thread.demand_us[0] == 20
    routed = resources(grown(router_cpu_ns=250_000_000, controller_cpu_ns=0, router_cpus="1"), 0)
    assert [one.roles for one in routed] == [("client",), ("server", "router", "controller")]
    assert routed[1].demand_us[0] == 70
