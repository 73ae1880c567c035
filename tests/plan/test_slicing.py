"""Slices: the order of the turns of a block, and which cases take turns."""

from collections import Counter
from dataclasses import replace

import pytest

from bench.grammar.experiment import experiment
from bench.measurement.validation.cases import why_absent
from bench.measurement.validation.plan_time import LEAST_BLOCKS, described
from bench.plan import slicing
from bench.plan.case import Case
from bench.plan.plan import Plan

SOCKETS = Case("sockets", "ipc")


def test_each_case_has_one_slice_in_each_round_and_each_order_is_followed_by_its_reverse() -> None:
    made = slicing.turns(cases=3, rounds=6, block=4, seed=1)
    rounds = {number: [turn.place for turn in made if turn.round == number] for number in range(7)}
    assert rounds[0][:3] == rounds[0][:2:-1]  # to warm up: an order and its reverse
    assert all(sorted(places) == [0, 1, 2] for places in (rounds.pop(0)[:3], *rounds.values()))
    assert all(rounds[number + 1] == rounds[number][::-1] for number in (1, 3, 5))
    assert [turn.round for turn in made] == [0] * 6 + [n for n in range(1, 7) for _ in range(3)] + [None] * 3


def test_orders_differ_between_pairs_and_blocks_and_are_fixed_by_the_seed() -> None:
    first = [[turn.place for turn in slicing.turns(4, 8, block, 1)] for block in range(20)]
    assert first == [[turn.place for turn in slicing.turns(4, 8, block, 1)] for block in range(20)]
    assert len({tuple(order) for order in first}) > 15


def test_each_case_is_alone_in_its_turn() -> None:
    last = [slicing.turns(3, 2, block, 1)[-1] for block in range(18)]
    assert Counter(turn.place for turn in last if turn.round is None) == {0: 3, 1: 3, 2: 3}
    assert all(slicing.turns(8, 2, block, 1)[-1] == (None, block % 8) for block in range(18))


def test_loads_that_need_a_window_of_their_own_take_no_turns() -> None:
    cases = [SOCKETS, replace(SOCKETS, load="open", offered_per_s=100.0), replace(SOCKETS, max_calls=100)]
    cases += [replace(SOCKETS, engine="wire", callers=count) for count in (256, 257)]
    assert [slicing.can_take_turns(case) for case in cases] == [True, False, False, True, False]


def test_more_cases_than_can_live_at_once_are_in_groups_with_their_baseline() -> None:
    systems = ["zeromq", "sockets", "nng", "redis", "http_stdlib", "grpc_sync", "pyro5", "thrift", "rpyc"]
    cases = [Case(system, transport) for transport in ("tcp", "ipc") for system in systems]
    groups = slicing.groups(cases)
    assert set().union(*groups) == set(range(18)) and all(len(group) <= slicing.MOST for group in groups)
    for group in groups:
        transports = {cases[place].transport for place in group}
        assert {cases[place].transport for place in group if cases[place].system == "sockets"} == transports
    assert slicing.groups(cases[:1]) == [] and slicing.groups(cases[:8]) == [list(range(8))]


def test_cases_that_are_compared_with_each_other_share_a_group():
    cases = [Case(name, "tcp", size) for name in ("sockets", "zeromq", "nng", "redis", "rpyc") for size in (1, 2, 3)]
    pairs = [Case(name, "tcp", clients=count) for name in "abcdefghi" for count in (1, 2)]
    for all_of, groups in (
        (cases, slicing.groups(cases, ("system",))),
        (pairs, slicing.groups(pairs)),  # beside their baseline
    ):
        for place, case in enumerate(all_of):
            of_system = {other for other, its in enumerate(all_of) if its.system == case.system}
            assert any(of_system <= set(group) for group in groups if place in group)
    assert all(0 in group for group in slicing.groups(pairs))


def test_a_system_that_works_while_it_sleeps_has_starts_of_its_own(tmp_path, with_systems):
    (tmp_path / "polling.py").write_text(
        '"""Polling: awake."""\nfrom dataclasses import dataclass\nTRANSPORTS = ("ipc",)\nREQUIRES = ()\n'
        "AWAKE = True\n@dataclass(frozen=True)\nclass Options:\n    pass\n"
        "def serve(binding, options, announce): ...\nclass Client: ...\n"
    )
    with_systems(tmp_path)
    plan = experiment("latency").plan(system="[zeromq, polling]", transport="ipc")
    apart = {plan.cases[place].system for place in plan.apart}
    assert apart == {"polling", "loopback"} and "1 case in starts" in described(plan)


@pytest.mark.parametrize("notebook", ["overview", "latency", "messages", "languages", "tls", "placement"])
def test_the_default_plans_take_turns_where_their_cases_can(notebook):
    if notebook == "languages" and (reason := why_absent("sockets_c")):  # its servers are compiled
        pytest.skip(reason)
    plan = experiment(notebook).plan()
    assert plan.starts >= LEAST_BLOCKS and plan.slice_s == 0.02
    assert all(not slicing.can_take_turns(plan.cases[place]) for place in plan.apart)
    assert Plan.from_dict(plan.as_dict()) == plan
    assert not experiment(notebook).plan(slice_ms=0).groups


def test_raw_sockets_are_measured_twice_in_one_group_of_an_overview():
    plan = experiment("overview").plan(two_clients=True)
    twins = [place for place, case in enumerate(plan.cases) if plan.cases.index(case) < place]
    (group,) = [group for group in plan.groups if set(twins) & set(group)]
    assert [plan.cases[place].system for place in twins] == ["sockets"]
    assert plan.cases.index(plan.cases[twins[0]]) in group
    for group in plan.groups:
        ways = {(plan.cases[place].transport, plan.cases[place].placement) for place in group}
        assert ways == {
            (case.transport, case.placement) for case in map(plan.cases.__getitem__, group) if case.system == "sockets"
        }
