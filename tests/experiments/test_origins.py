"""The origins' numbers beside a run's: found by their factors, converted honestly, related as the origins did."""

import math

import pytest
from handmade import handmade, noisy, reference

from bench.errors import UsageError
from bench.experiments import origins
from bench.experiments.origins import Relation, Replica
from bench.experiments.published import Number
from bench.grammar.claim import CONTRADICTED, HOLDS, UNDECIDED
from bench.grammar.experiment import experiment
from bench.measurement import runner
from bench.plan.case import Case
from bench.run.frames import Run
from bench.stats import Spread


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("ROUNDTRIP_RUNS", str(tmp_path_factory.mktemp("runs")))
    plan = experiment("origins").plan(origin="[zeromq, grpc]", profile="smoke", window_s=0.05)
    yield Run(runner.run(plan))
    patch.undo()


@pytest.mark.slow
def test_every_published_number_of_an_origin_has_its_replica(run):
    found = {one.number.name: one for one in origins.replicas(run)}
    assert len(found) == 3 + 4 + 3
    halved = found["ZeroMQ, 1 kB there and back, ipc"]
    assert halved.number.theirs == (91.0, 91.0) and halved.number.unit == "us"
    mean_us = run.starts.loc[run.starts["transport"] == "ipc", "mean_rtt_us"]
    assert halved.here.middle == pytest.approx(mean_us.median())
    assert found["gRPC, 100 calls by 2 clients"].theirs == pytest.approx(2413.92)
    assert all(0 < one.here.low <= one.here.middle <= one.here.high for one in found.values())


@pytest.mark.parametrize(("unit", "theirs"), [("us", (100, 100)), ("us", (50, 150)), ("1/s", (25, 25))])
def test_faster_is_more_per_second_and_less_time(unit, theirs):
    number = Number("", "", unit, theirs, Case("sockets", "tcp"), "")
    assert Replica(number, 0, Spread(50.0, 40.0, 60.0)).speed == 2


@pytest.mark.slow
def test_relations_divide_within_one_origin(run):
    known = {one.conclusion: one for one in origins.relations(run)}
    assert set(known) == {"ZeroMQ time: tcp / inproc", "ZeroMQ time: tcp / ipc", "ZeroMQ rate: 100 B / 100,000 B",
                          "gRPC rate: two clients / one"}  # fmt: skip
    assert known["ZeroMQ time: tcp / inproc"].theirs == pytest.approx(61.4 / 23.4)
    assert known["gRPC rate: two clients / one"].theirs == pytest.approx(2413.92 / 1251.64)
    for one in known.values():
        assert one.here.low <= one.here.middle <= one.here.high and not math.isnan(one.here.middle)


def test_only_a_ratio_of_paired_starts_has_an_interval():
    run = reference("origins")
    shown = {relation.conclusion: relation for relation in origins.relations(run)}
    assert shown["gRPC rate: two clients / one"].is_paired
    assert not shown["XML-RPC time: HTTP / packet stream"].is_paired


def test_a_ratio_whose_interval_contains_1_is_not_called_reproduced():
    relations = origins.relations(reference("origins"))
    assert len(relations) == len(origins.CONCLUSIONS)
    assert all(one.here.low > 1 or one.here.high < 1 for one in relations if one.verdict == origins.REPRODUCED)


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


@pytest.mark.parametrize(
    ("tcp_us", "verdict", "note"), [(200, HOLDS, ""), (100, UNDECIDED, "contains 1"), (50, CONTRADICTED, "other side")]
)
def test_a_direction_that_is_not_the_published_one_is_said_and_drawn(tcp_us, verdict, note):
    cases = [Case("zeromq", by) for by in ("ipc", "tcp")]
    run = handmade(cases, [100, tcp_us], notebook="origins", shape=noisy)
    assert origins.claims[0].verdict(run) == verdict
    (relation,) = origins.relations(run)
    assert note in origins.NOTES.get(relation.verdict, "")


def test_numbers_and_ratios_differ_by_their_median_factors():
    run = handmade([Case("zeromq", by) for by in ("ipc", "tcp")], [91, 91], notebook="origins")
    carried = origins.carried(run)
    off = [1.03, 123 / 91 / 1.03]  # a start adds its number in %
    assert float(carried["median factor"].iloc[0]) == pytest.approx((off[0] * off[1]) ** 0.5, rel=0.05)
    assert float(carried["median factor"].iloc[1]) == pytest.approx(61.4 / 45.5, rel=0.05)


def test_of_an_origin_all_that_is_installed_is_measured(monkeypatch):
    from bench.validation import cases

    monkeypatch.setattr(cases, "why_absent", lambda name: "install it" if name == "xmlrpc_c" else None)
    plan = experiment("origins").plan(origin="xmlrpc_c")
    assert plan.absent == {"xmlrpc_c": "install it"}
    assert [case.system for case in plan.cases] == ["xmlrpc_pstream", "xmlrpc_pstream", "loopback"]
    monkeypatch.setattr(cases, "why_absent", lambda name: "install it")
    with pytest.raises(UsageError, match="install it"):
        experiment("origins").plan(origin="wamp")


def test_an_origin_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(UsageError, match=r"'corba'.*wamp, scaleup, zeromq, xmlrpc_c, grpc"):
        experiment("origins").plan(origin="corba")
