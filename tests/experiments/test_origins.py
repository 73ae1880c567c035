"""The origins' numbers beside a run's: found by their factors, converted honestly, related as the origins did."""

import math

import pytest
from handmade import reference

from bench.errors import UsageError
from bench.experiments import registry
from bench.experiments.origins import findings, text
from bench.experiments.origins.findings import Replica
from bench.measurement import runner
from bench.run.frames import Run
from bench.stats import Spread


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("ROUNDTRIP_RUNS", str(tmp_path_factory.mktemp("runs")))
    plan = registry.plan("origins", origin="[zeromq, grpc]", profile="smoke", window_s=0.05)
    yield Run(runner.run(plan))
    patch.undo()


@pytest.mark.slow
def test_every_published_number_of_an_origin_has_its_replica(run):
    found = {one.name: one for one in findings.replicas(run)}
    assert len(found) == 3 + 4 + 3
    halved = found["ZeroMQ, 1 kB there and back, ipc"]
    assert halved.theirs == (91.0, 91.0) and halved.unit == "us"
    mean_us = run.starts.loc[run.starts["transport"] == "ipc", "mean_rtt_us"]
    assert halved.here.middle == pytest.approx(mean_us.median())
    assert found["gRPC, 100 calls by 2 clients"].theirs[0] == pytest.approx(2413.92)
    assert all(0 < one.here.low <= one.here.middle <= one.here.high for one in found.values())


def test_faster_is_more_per_second_and_less_time():
    here = Spread(50.0, 40.0, 60.0)
    assert Replica("", "", "us", (100, 100), here).ratio == 2
    assert Replica("", "", "us", (50, 150), here).ratio == 2
    assert Replica("", "", "1/s", (25, 25), here).ratio == 2


@pytest.mark.slow
def test_relations_divide_within_one_origin(run):
    known = {one.claim: one for one in findings.relations(run)}
    assert set(known) == {"ZeroMQ time: tcp / inproc", "ZeroMQ time: tcp / ipc", "ZeroMQ rate: 100 B / 100,000 B",
                          "gRPC rate: two clients / one"}  # fmt: skip
    assert known["ZeroMQ time: tcp / inproc"].theirs == pytest.approx(61.4 / 23.4)
    assert known["gRPC rate: two clients / one"].theirs == pytest.approx(2413.92 / 1251.64)
    for one in known.values():
        assert one.here.low <= one.here.middle <= one.here.high and not math.isnan(one.here.middle)


def test_only_a_ratio_of_paired_starts_has_an_interval():
    run = reference("origins")
    shown = {relation.claim: relation for relation in findings.relations(run)}
    assert shown["gRPC rate: two clients / one"].is_paired
    assert not shown["XML-RPC time: HTTP / packet stream"].is_paired


def test_a_ratio_whose_interval_contains_1_is_not_called_reproduced():
    relations = findings.relations(reference("origins"))
    lines = text.conclusion(reference("origins")).splitlines()
    assert sum(line[2:].partition(":")[0] in findings.VERDICTS for line in lines) == len(relations)
    assert all(one.here.low > 1 or one.here.high < 1 for one in relations if one.verdict == findings.REPRODUCED)


@pytest.mark.parametrize(
    ("theirs", "low", "high", "verdict"),
    [
        (2.0, 1.5, 2.2, findings.REPRODUCED),
        (2.0, 1.9997, 2.0003, findings.REPRODUCED),
        (1.93, 1.45, 1.94, findings.REPRODUCED),
        (3.18, 1.91, 3.17, findings.SAME_DIRECTION),  # within a factor of 1.5, and yet not the same
        (9.8, 1.2, 1.9, findings.SAME_DIRECTION),
        (0.5, 0.6, 0.8, findings.SAME_DIRECTION),
        (9.8, 0.5, 0.9, findings.OPPOSITE),
        (1.35, 0.87, 1.4, findings.UNDECIDED),
    ],
)
def test_a_ratio_is_reproduced_only_where_its_interval_holds_the_published_one_and_not_1(theirs, low, high, verdict):
    relation = findings.Relation("", "", theirs, Spread((low * high) ** 0.5, low, high))
    assert relation.verdict == verdict


@pytest.mark.parametrize("off", [1.1, 5.0])
def test_whether_ratios_carry_over_better_than_numbers_is_said_of_the_run(off, monkeypatch):
    run = reference("origins")
    monkeypatch.setattr(text, "carried_over", lambda run: (2.0, off))
    assert ("no better" in text.carried(run)) == (off > 2)


def test_of_an_origin_all_that_is_installed_is_measured(monkeypatch):
    from bench.validation import cases

    monkeypatch.setattr(cases, "why_absent", lambda name: "install it" if name == "xmlrpc_c" else None)
    plan = registry.plan("origins", origin="xmlrpc_c")
    assert plan.absent == {"xmlrpc_c": "install it"}
    assert [case.system for case in plan.cases] == ["xmlrpc_pstream", "xmlrpc_pstream", "loopback"]
    monkeypatch.setattr(cases, "why_absent", lambda name: "install it")
    with pytest.raises(UsageError, match="install it"):
        registry.plan("origins", origin="wamp")


def test_an_origin_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(UsageError, match=r"'corba'.*wamp, scaleup, zeromq, xmlrpc_c, grpc"):
        registry.plan("origins", origin="corba")
