"""Occasions of one plan: what is kept of a run, predictions, tiers, and whether they hold elsewhere."""

import math

import pytest
from handmade import handmade, in_turns
from occasions import HERE, drawn, occasion

from bench.analysis import acceptance, replication
from bench.analysis.replication import RTT_RATIO, Machine
from bench.errors import DataError
from bench.plan.case import Case


def test_overview_compares_with_raw_sockets_over_the_same_transport_under_the_same_placement():
    cases = [
        Case(name, transport, placement=placement, clients=clients)
        for name, transport in (("sockets", "ipc"), ("zeromq", "ipc"), ("http_stdlib", "tcp"))
        for placement, clients in (("same", 1), ("split", 1), ("split", 2))
    ] + [Case("sockets", "tcp", placement="same"), Case("sockets", "ipc")]  # the last: a twin
    run = handmade(cases, [10, 20, 30, 40, 60, 70, 90, 95, 99, 30, 10], notebook="overview", calls=60)
    kept = replication.of_run(run)
    found = {(row.measured.words, row.quantity): row for row in replication.rows([kept])}
    assert math.exp(found["zeromq ipc same", RTT_RATIO].prediction.middle) == pytest.approx(4, rel=1e-3)
    assert math.exp(found["zeromq ipc split", RTT_RATIO].prediction.middle) == pytest.approx(3, rel=1e-3)
    assert math.exp(found["http_stdlib tcp same", RTT_RATIO].prediction.middle) == pytest.approx(3, rel=1e-3)
    assert ("http_stdlib tcp split", RTT_RATIO) not in found  # its baseline was not measured
    assert ("sockets ipc same", RTT_RATIO) not in found
    assert found["zeromq ipc split 2 clients", "calls/s"].measured.over == "zeromq ipc split"
    assert found["zeromq ipc same", RTT_RATIO].estimates[0].blocks == 6
    assert kept.machine.machine_id == "0" and kept.dirty is False and len(kept.rows) == len(cases)
    run.folder.update(finished=False)
    with pytest.raises(DataError):
        replication.of_run(type(run)(run.folder))


def test_compare_has_one_ratio_and_others_divide_by_their_first_case():
    two, three = [Case("zeromq", "ipc"), Case("zeromq", "tcp")], [Case("sockets", "ipc"), *2 * [Case("nng", "ipc")]]
    three[2] = Case("nng", "tcp")
    for notebook, cases, wanted in (("compare", [two[0], *two], 1), ("latency", three, 2)):
        run = handmade(cases, [10, 10, 15], notebook=notebook, calls=60)
        rtt = [row for row in replication.rows([replication.of_run(run)]) if row.quantity == RTT_RATIO]
        assert len(rtt) == wanted
        assert math.exp(rtt[-1].estimates[0].ln) == pytest.approx(1.5, rel=1e-3)


def test_a_ratio_that_some_occasions_lack_is_predicted_from_the_others():
    occasions = [occasion(number, {"nng": 1.0} | ({"rpyc": 2.0} if number else {})) for number in range(4)]
    nng, _, rpyc, _ = replication.rows(occasions)
    assert nng.prediction.k == 4 and rpyc.prediction.k == 3 and rpyc.estimates[0] is None
    assert replication.table(occasions).loc["rpyc ipc split", "#1"].tolist() == ["", ""]


def test_a_new_occasion_lies_inside_its_prediction_and_another_level_does_not():
    truths = {f"s{number}": number / 5 for number in range(25)}
    published = drawn(1, 5, truths, tau=0.05)
    holds = replication.against(published, drawn(2, 1, truths, tau=0.05)[0])
    assert holds.share >= replication.HOLDS and holds.inside + len(holds.outside) == 50
    moved = replication.against(published, occasion(9, {name: ln + 1 for name, ln in truths.items()}))
    assert moved.share == 0 and "does not hold" in replication.against_text(moved, published[0])
    assert moved.order_share > replication.HOLDS  # all ratios are larger, and the systems in the same order
    reverse = replication.against(published, occasion(9, {name: -ln for name, ln in truths.items()}))
    assert reverse.order_share < 0.1 and len(reverse.reversed) > 200
    assert math.isnan(replication.against(published[:2], published[3]).share)  # two occasions predict nothing


def letters(text, pairs):
    """Return tiers of letters that can be ordered unless they are one of some pairs."""
    return ["".join(tier) for tier in replication.tiers(text, lambda a, b: a + b not in pairs.split())]


def test_a_tier_begins_with_an_item_that_the_first_of_the_one_before_is_before():
    assert letters("abc", "") == ["a", "b", "c"]
    assert letters("abc", "ab bc") == ["ab", "c"]  # b and c cannot be ordered either: their ranks overlap
    assert letters("abcd", "ab cd") == ["ab", "cd"]
    assert letters("abcd", "ab ac ad") == ["abcd"]
    assert letters("", "") == []


def test_a_rank_counts_those_that_are_ordered_before_and_behind():
    def ranks(text, pairs):
        return replication.ranks(text, lambda a, b: a < b and a + b not in pairs.split())

    assert ranks("abc", "") == [(1, 1), (2, 2), (3, 3)]
    assert ranks("abc", "ab bc") == [(1, 2), (1, 3), (2, 3)]
    assert ranks("abc", "ab ac bc") == [(1, 3)] * 3


def test_systems_that_a_new_occasion_can_reverse_share_a_tier():
    truths = {"a": 0.05, "b": 0.1, "c": 1.0, "d": 1.02, "e": 3.0}
    occasions = drawn(3, 6, truths, tau=0.05)
    tiers = replication.in_tiers(replication.rows(occasions), "ipc", "split")
    assert [[row.system for row in tier] for tier in tiers] == [["sockets", "a", "b"], ["c", "d"], ["e"]]
    assert replication.in_tiers(replication.rows(occasions), "tcp", "split") == []
    assert len(replication.in_tiers(replication.rows(occasions[:2]), "ipc", "split")) == 1  # no prediction, no order


def test_what_all_systems_share_on_an_occasion_does_not_blur_their_order():
    """A slow occasion doubles all ratios: their own predictions are wide, and that of their ratio is not."""
    occasions = [occasion(number, {"a": number / 2, "b": number / 2 + 0.2}) for number in range(5)]
    first, _, second, _ = replication.rows(occasions)
    assert first.prediction.high > second.prediction.low and first.order(second).low > 0
    tiers = replication.in_tiers([first, second], "ipc", "split")
    assert [[row.system for row in tier] for tier in tiers] == [["sockets", "a", "b"]]  # which sockets cannot be


def test_a_new_occasion_finds_systems_within_their_ranks():
    truths, inside, count, widest = {f"s{number}": 0.25 * number for number in range(8)}, 0, 0, 0
    for seed in range(40):
        *known, new = drawn(seed, 4, truths, tau=0.04)
        measured = {row.case["system"]: row.ratios[RTT_RATIO].ln if row.over else 0.0 for row in new.rows}
        ordered = replication.in_order(replication.rows(known), "ipc", "split")
        by_rtt = sorted(measured, key=measured.get)
        for row, (best, worst) in zip(ordered, replication.ranks(ordered, replication.is_before), strict=True):
            inside += best <= by_rtt.index(row.system) + 1 <= worst
            count, widest = count + 1, max(widest, worst - best)
    assert count == 40 * 9 and inside / count > 0.95 and widest < 8


def on_two_machines(here, there):
    """Return three occasions on each of two machines, with these ln of ratios."""
    other = Machine("2", "Intel", 2, "Linux", "6")
    return [
        occasion(number, {name: ln + number / 100 for name, ln in ratios.items()}, machine=machine)
        for ratios, machine in ((here, HERE), (there, other))
        for number in range(3)
    ]


def test_each_machine_is_predicted_by_its_own_occasions_and_the_outermost_ends_count():
    occasions = on_two_machines({"a": 1.0}, {"a": 2.0})
    row = replication.rows(occasions)[0]
    first, second = row.predictions
    assert (first.k, second.k) == (3, 3) and first.high < second.low
    assert first.middle == pytest.approx(1.01) and second.middle == pytest.approx(2.01)
    assert (row.prediction.low, row.prediction.high) == (first.low, second.high)
    few = replication.rows(occasions[:5])[0]  # two occasions of the other machine predict nothing
    assert [prediction.k for prediction in few.predictions] == [3]


def test_systems_are_ordered_only_where_all_machines_order_them_alike():
    occasions = on_two_machines({"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 2.0, "b": 1.0, "c": 4.0})
    tiers = replication.in_tiers(replication.rows(occasions), "ipc", "split")
    assert [[row.system for row in tier] for tier in tiers] == [["sockets"], ["a", "b"], ["c"]]
    alone = replication.in_tiers(replication.rows(occasions[:3]), "ipc", "split")
    assert [[row.system for row in tier] for tier in alone] == [["sockets"], ["a"], ["b"], ["c"]]


def test_what_one_machine_predicts_of_another_is_counted():
    found = replication.elsewhere(on_two_machines({"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 2.0, "b": 1.0, "c": 4.0}))
    assert found.order_share == pytest.approx(2 / 3) and found.share == 0  # a and b change their order
    assert replication.elsewhere(on_two_machines({"a": 1.0}, {"a": 1.0})).share == 1
    assert replication.elsewhere([occasion(number, {"a": 1.0}) for number in range(3)]) is None


def test_what_a_machine_predicts_of_its_own_last_occasion_is_counted():
    steady = [occasion(number, {"a": 1.0, "b": 2.0}) for number in range(4)]
    found = replication.later([*steady[1:], steady[0]])
    assert (found.order_share, found.share, found.is_here) == (1, 1, True)
    changed = [*steady[:3], occasion(4, {"a": 2.0, "b": 1.0})]
    assert (replication.later(changed).order_share, replication.later(changed).share) == (0, 0)
    assert "0% of the predicted orders" in replication.described(changed)
    assert replication.later(steady[:3]) is None and "predicted by" not in replication.described(steady[:3])


def test_an_occasion_does_not_predict_itself():
    occasions = [occasion(number, {"a": 1.0}) for number in range(3)] + [occasion(3, {"a": 3.0})]
    assert replication.against(occasions, occasions[3]).share == 0
    assert math.isnan(replication.against(occasions[:3], occasions[0]).share)  # two are left


def test_how_far_ratios_differ_between_machines_is_said():
    text = replication.elsewhere_text(on_two_machines({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.5, "b": 0.8, "c": 1.2}))
    assert f"{math.exp(0.2):.2f} in the median and {math.exp(0.5):.2f} at most" in text


def test_what_limits_a_prediction_is_said():
    other = Machine("2", "Intel", 4, "Linux", "6")
    here = [occasion(number, {"a": 1.0}) for number in range(3)]
    assert "hours apart" not in replication.described(here) and "Another machine" in replication.described(here)
    assert "3 occasions on 1 machine (AMD, 2 CPUs, Linux 6), 2026-11-01 to 2026-11-03" in replication.described(here)
    close = [occasion(number, {"a": 1.0}, hours=0) for number in range(3)]
    assert "hours apart" in replication.described(close)
    on_a_day = [occasion(number, {"a": 1.0}, hours=3) for number in range(3)]
    assert "within 6 hours" in replication.described(on_a_day) and "apart" not in replication.described(on_a_day)
    two = [*here, occasion(1, {"a": 1.0}, machine=other)]
    assert "2 machines" in replication.described(two) and "fewer than 3" in replication.described(two)
    assert "at least 3 occasions" in replication.described(here[:2])


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
