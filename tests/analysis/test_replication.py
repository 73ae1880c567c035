"""Occasions of one plan: what is kept of a run, forecasts of another occasion or machine, ranks, and their scores."""

import math

import msgspec
import numpy as np
import pytest
from handmade import handmade, in_turns
from occasions import occasion

from bench.analysis import acceptance, occasions, published, replication
from bench.analysis.occasions import RTT_RATIO, Machine
from bench.errors import DataError
from bench.plan.case import Case


def test_overview_compares_with_raw_sockets_over_the_same_transport_under_the_same_placement():
    cases = [
        Case(name, transport, placement=placement, clients=clients)
        for name, transport in (("sockets", "ipc"), ("zeromq", "ipc"), ("http_stdlib", "tcp"))
        for placement, clients in (("same", 1), ("split", 1), ("split", 2))
    ] + [Case("sockets", "tcp", placement="same"), Case("sockets", "ipc")]  # the last: a twin
    run = handmade(cases, [10, 20, 30, 40, 60, 70, 90, 95, 99, 30, 10], notebook="overview", calls=60)
    kept = occasions.of_run(run)
    rows = {(row.measured.words, row.quantity): row for row in replication.rows([kept])}
    assert math.exp(rows["zeromq ipc on one CPU", RTT_RATIO].middle) == pytest.approx(4, rel=1e-3)
    assert math.exp(rows["zeromq ipc on separate CPUs", RTT_RATIO].middle) == pytest.approx(3, rel=1e-3)
    assert math.exp(rows["http_stdlib tcp on one CPU", RTT_RATIO].middle) == pytest.approx(3, rel=1e-3)
    assert ("http_stdlib tcp on separate CPUs", RTT_RATIO) not in rows  # its baseline was not measured
    assert ("sockets ipc on one CPU", RTT_RATIO) not in rows
    assert rows["zeromq ipc on separate CPUs 2 clients", "calls/s"].measured.over == "zeromq ipc on separate CPUs"
    assert rows["zeromq ipc on one CPU", RTT_RATIO].estimates[0].blocks == 6
    assert kept.machine.machine_id == "0" and kept.dirty is False and len(kept.rows) == len(cases)
    run.folder.update(finished=False)
    with pytest.raises(DataError):
        occasions.of_run(type(run)(run.folder))


def test_compare_has_one_ratio_and_others_divide_by_their_first_case():
    two, three = [Case("zeromq", "ipc"), Case("zeromq", "tcp")], [Case("sockets", "ipc"), *2 * [Case("nng", "ipc")]]
    three[2] = Case("nng", "tcp")
    for notebook, cases, wanted in (("compare", [two[0], *two], 1), ("latency", three, 2)):
        run = handmade(cases, [10, 10, 15], notebook=notebook, calls=60)
        rtt = [row for row in replication.rows([occasions.of_run(run)]) if row.quantity == RTT_RATIO]
        assert len(rtt) == wanted
        assert math.exp(rtt[-1].estimates[0].ln) == pytest.approx(1.5, rel=1e-3)


MACHINES = [Machine(str(number), f"kind {number}", 2, "Linux", "6") for number in range(6)]


def on_machines(truths, count, between, within=0.02, each=3, seed=1):
    """Return occasions on some machines: ln ratios vary by ``between`` machines, and by ``within`` occasions of one."""
    random, made = np.random.default_rng(seed), []
    for machine in MACHINES[:count]:
        levels = {name: ln + between * random.normal() for name, ln in truths.items()}
        for _ in range(each):
            ratios = {name: ln + within * random.normal() for name, ln in levels.items()}
            made.append(occasion(len(made), ratios, machine=machine))
    return made


def test_a_ratio_is_the_mean_of_each_machine_and_its_ends_are_those_of_machines():
    rows = replication.rows(on_machines({"a": 1.0}, 2, between=0, within=0))
    row = rows[0]
    assert row.on == {0: 1.0, 1: 1.0} and row.middle == 1.0 and row.ends == (1.0, 1.0)
    elsewhere = occasion(2, {"a": 5.0}, machine=MACHINES[3])
    far = replication.rows([occasion(0, {"a": 1.0}), occasion(1, {"a": 2.0}), elsewhere])[0]
    assert far.on == {0: 1.5, 1: 5.0} and far.ends == (1.5, 5.0)
    assert published.ratio_text(far) == "4.48 to 148"


def test_a_machine_of_one_name_whose_sockets_take_another_time_is_another_machine():
    one, other = occasion(0, {"a": 1.0}), occasion(1, {"a": 2.0})
    assert replication.machine_numbers([one, other]) == (0, 0)
    slower = msgspec.structs.replace(other, rows=[msgspec.structs.replace(row, p50_us=26.0) for row in other.rows])
    assert replication.machine_numbers([one, slower, other]) == (0, 1, 0)
    assert replication.machine_numbers([one, occasion(1, {"a": 2.0}, machine=MACHINES[2])]) == (0, 1)


@pytest.mark.parametrize("count", [3, 6])
def test_a_new_machine_is_within_the_reach_that_held_out_machines_had(count):
    truths, inside = {f"s{number}": number / 5 for number in range(20)}, []
    for seed in range(20):
        *known, new = on_machines(truths, count + 1 if count < 6 else 6, between=0.25, each=1, seed=seed)
        inside.append(replication.score(known, new).coverage)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_another_occasion_of_a_machine_is_within_the_pooled_spread_of_occasions():
    truths, scores = {f"s{number}": number / 5 for number in range(20)}, []
    for seed in range(20):
        *known, new = on_machines(truths, 3, between=0.25, within=0.03, each=4, seed=seed)
        scores.append(replication.score(known, new))
    assert all(score.is_known for score in scores)
    assert np.mean([score.coverage for score in scores]) == pytest.approx(0.97, abs=0.02)
    assert np.median([score.factor for score in scores]) < math.exp(3 * 0.03)


def test_one_occasion_alone_forecasts_nothing_and_no_occasion_forecasts_itself():
    one = occasion(0, {"a": 1.0, "b": 2.0})
    assert replication.score([one], occasion(1, {"a": 1.0, "b": 2.0})).count == 0
    known = [*(occasion(number, {"a": 1.0 + number / 100}) for number in range(3)), occasion(3, {"a": 3.0})]
    assert replication.score(known, known[3]).coverage == 0


def test_a_machine_that_differs_and_orders_that_change_are_said():
    truths = {f"s{number}": float(number) for number in range(6)}
    known = on_machines(truths, 3, between=0.1)
    same = replication.score(known, occasion(20, truths, machine=MACHINES[5]))
    assert not same.is_known and same.kept == same.pairs and same.coverage >= 0.9
    moved = occasion(21, {name: 5 - ln for name, ln in truths.items()}, machine=MACHINES[4])
    score = replication.score(known, moved)
    assert score.coverage < 0.5 and score.kept < 0.5 * score.pairs
    text = published.score_text(score, moved)
    assert (
        "reversed: s0 ipc on separate CPUs was published as faster than s5 ipc on separate CPUs" in text
        and "outside: s0" in text
    )


def test_systems_have_ranks_that_another_machine_keeps():
    truths, inside = {f"s{number}": 0.3 * number for number in range(8)}, []
    for seed in range(60):
        *known, new = on_machines(truths, 4, between=0.2, each=1, seed=seed)
        measured = {row.case["system"]: row.ratios[RTT_RATIO].ln if row.over else 0.0 for row in new.rows}
        by_rtt = sorted(measured, key=measured.get)
        order = replication.Order(replication.ordered(replication.rows(known), "ipc"))
        ranks = {row.system: rank for row, rank in zip(order.rows, order.ranks, strict=True)}
        inside.append([best <= by_rtt.index(name) + 1 <= worst for name, (best, worst) in ranks.items()])
        assert max(worst - best for best, worst in ranks.values()) < 8
    assert np.mean(inside) >= 0.97


def test_forecasts_are_scored_in_the_order_of_time():
    occasions = on_machines({f"s{number}": number / 5 for number in range(10)}, 3, between=0.2)
    in_time = [score for _, score in replication.each_score(occasions[::-1])]
    known, new = (replication.total(score for score in in_time if score.is_known is kind) for kind in (True, False))
    assert known.count > new.count > 0 and known.factor < new.factor
    assert replication.total(replication.left_out(occasions)).count == 9 * 20
    table = published.scores(published.Published(occasions))
    assert len(table) == 3 and f"{known.inside:,} of {known.count:,}" in table.iloc[0, 0]


def test_what_a_reference_run_misses(monkeypatch):
    quiet = in_turns([10, 15], blocks=12)
    assert acceptance.misses(quiet) == [] and acceptance.aa_ratio(quiet) < 1e-3
    assert "8 blocks" in acceptance.misses(in_turns([10, 15]))[0]
    drifting = in_turns([10, 15], blocks=12, drift=0.02)  # each second round has the reverse order, but is later
    assert "A/A ratio" in acceptance.misses(drifting)[0]
    assert acceptance.misses(handmade([Case("sockets", "ipc")], [10], calls=60)) == []  # not in slices
    monkeypatch.setattr(acceptance, "speed_range", lambda run: 0.2)
    dirty = in_turns([10, 15], blocks=12)
    dirty.manifest["git"]["dirty"] = True
    assert acceptance.misses(dirty) == [acceptance.DIRTY, "the machine's speed varied by 20%, more than 5%"]
