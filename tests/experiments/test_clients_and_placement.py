"""clients.ipynb and placement.ipynb: what their claims say of runs whose answers are known."""

from dataclasses import replace

import pytest
from handmade import handmade, measured, noisy, reference

from bench.analysis import prediction
from bench.experiments import clients, placement
from bench.grammar.claim import CONTRADICTED, HOLDS, UNDECIDED
from bench.grammar.experiment import experiment
from bench.plan.case import Case

GROWN = [Case("zeromq", "tcp", clients=count, placement="split") for count in (1, 2, 4)]
BURSTS = [replace(case, max_calls=100 * case.clients) for case in GROWN[:2]]
BUSIEST, CEILING, CPUS, SECOND = clients.claims


@pytest.mark.parametrize(
    ("client_us", "server_us", "verdict"),
    [
        ((30, 40, 49), (60, 40, 25), CONTRADICTED),
        ((30, 25, 20), (60, 55, 49), HOLDS),
        ((30, 45, 48), (60, 55, 48), UNDECIDED),
    ],
    ids=["the clients are the busiest", "the server is", "both are"],
)
def test_one_client_predicts_which_resource_is_the_busiest(client_us, server_us, verdict):
    run = measured("clients", GROWN, (100, 60, 50), client_us, server_us)
    assert BUSIEST.verdict(run) == verdict and BUSIEST.verdicts(run)[-1].estimate.subject == "4 clients"


@pytest.mark.parametrize(
    ("each_us", "cpu_us", "ceiling", "within_ceiling", "within_cpus"),
    [
        ((100, 60, 50), (30, 30, 30), 100 / 80, CONTRADICTED, UNDECIDED),  # calls become cheaper
        ((100, 90, 85), (30, 30, 30), 100 / 80, HOLDS, HOLDS),
        ((100, 50, 25), (10, 10, 10), 100 / 80, CONTRADICTED, CONTRADICTED),
    ],
)
def test_the_gain_is_compared_with_the_ceiling_and_with_the_cpus(each_us, cpu_us, ceiling, within_ceiling, within_cpus):
    run = measured("clients", GROWN, each_us, cpu_us, (80, 50, 40))
    assert prediction.ceiling(run) == pytest.approx(ceiling, rel=0.03) and prediction.cpus(run) == 2
    assert (CEILING.verdict(run), CPUS.verdict(run)) == (within_ceiling, within_cpus)


@pytest.mark.parametrize(("two_us", "verdict"), [(40, CONTRADICTED), (60, HOLDS), (50, UNDECIDED)])
def test_two_clients_make_at_most_twice_the_calls_of_one(two_us, verdict):
    run = measured("clients", GROWN + BURSTS, (100, two_us, 30, 100, 90), [9] * 5, [9] * 5)
    assert SECOND.verdict(run) == verdict
    assert clients.second.ratios(run)[0].value == pytest.approx(100 / two_us, rel=0.02)
    assert [ratio.base for ratio in experiment("clients").ratios(run)] == [3, 0, 0]


def test_a_gain_that_was_not_measured_is_absent():
    run = handmade([Case("grpc_sync", "tcp")], [100], notebook="clients")
    assert not experiment("clients").ratios(run) and experiment("clients").tables["predictions"](run).shape[0] == 1


def test_the_origin_s_rates_are_added_up_only_for_its_one_measurement():
    *_, two = experiment("clients").lines(reference("clients")).splitlines()
    assert two.count("=") == 1 and "1,206.19 + 1,207.73 = 2,413.92" in two


PLACED = [Case("zeromq", "ipc", placement=layout) for layout in ("same", "split", "free")]


@pytest.mark.parametrize(
    ("rtt_us", "verdict"),
    [((100, 50, 60), CONTRADICTED), ((50, 100, 60), HOLDS), ((50, 50, 60), UNDECIDED)],
    ids=["two CPUs are faster", "one is", "no difference"],
)
def test_placement_says_whether_one_cpu_is_fastest(rtt_us, verdict):
    run = handmade(PLACED, rtt_us, notebook="placement", shape=noisy)
    assert placement.claims[0].verdict(run) == verdict


def test_placement_says_whether_one_cpu_costs_less_cpu_time():
    dearer = measured("placement", PLACED, (100, 100, 100), (9, 5, 6), (9, 5, 6))
    assert placement.claims[1].verdict(dearer) == CONTRADICTED
