"""The origins' numbers beside a run's: found by their factors, converted honestly, related as the origins did."""

import pytest
from handmade import reference

from bench.experiments import origins
from bench.experiments.origins import Relation, Replica
from bench.experiments.published import Number, numbers
from bench.plan.case import Case
from bench.stats import Spread


def test_every_published_number_has_its_replica():
    run = reference("origins")
    replicas = {replica.number.name: replica for replica in origins.replicas(run)}
    assert list(replicas) == [number.name for number in numbers(workers=2)]
    halved = replicas["ZeroMQ, 1 kB there and back, ipc"]
    assert halved.number.theirs == (91.0, 91.0) and halved.number.unit == "us"
    assert halved.here.middle == pytest.approx(run.starts_of(halved.case)["mean_rtt_us"].median())
    assert run.case(halved.case).factor("transport") == "ipc" and run.case(halved.case).load == "closed"
    assert replicas["gRPC, 100 calls by 2 clients"].theirs == pytest.approx(2413.92)
    assert all(0 < replica.here.low <= replica.here.middle <= replica.here.high for replica in replicas.values())


@pytest.mark.parametrize(("unit", "theirs"), [("us", (100, 100)), ("us", (50, 150)), ("1/s", (25, 25))])
def test_faster_is_more_per_second_and_less_time(unit, theirs):
    number = Number("", "", unit, theirs, Case("sockets", "tcp"), "")
    assert Replica(number, 0, Spread(50.0, 40.0, 60.0)).speed == 2


def test_conclusions_divide_within_one_origin_and_only_those_of_paired_starts_have_an_interval():
    shown = {relation.conclusion: relation for relation in origins.relations(reference("origins"))}
    assert list(shown) == list(origins.CONCLUSIONS)
    assert shown["ZeroMQ time: tcp / inproc"].theirs == pytest.approx(61.4 / 23.4)
    assert shown["gRPC rate, 100 calls by each client: two clients / one"].theirs == pytest.approx(2413.92 / 1251.64)
    assert [name for name, relation in shown.items() if not relation.is_paired] == [
        "XML-RPC time: HTTP / packet stream"
    ]
    assert all(
        relation.here.low > 1 or relation.here.high < 1
        for relation in shown.values()
        if relation.verdict == origins.REPRODUCED
    )


@pytest.mark.parametrize(
    ("theirs", "low", "high", "verdict"),
    [
        (2.0, 1.5, 2.2, origins.REPRODUCED),
        (2.0, 1.9997, 2.0003, origins.REPRODUCED),
        (1.93, 1.45, 1.94, origins.REPRODUCED),
        (3.18, 1.91, 3.17, origins.SAME_DIRECTION),  # within a factor of 1.5, and yet not the same
        (9.8, 1.2, 1.9, origins.SAME_DIRECTION),
        (0.5, 0.6, 0.8, origins.SAME_DIRECTION),
        (9.8, 0.5, 0.9, origins.OPPOSITE),
        (1.35, 0.87, 1.4, origins.UNDECIDED),
    ],
)
def test_a_ratio_is_reproduced_only_where_its_interval_holds_the_published_one_and_not_1(theirs, low, high, verdict):
    relation = Relation("", "", theirs, Spread((low * high) ** 0.5, low, high))
    assert relation.verdict == verdict
