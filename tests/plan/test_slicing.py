"""Slices: the order of the turns of a block, and which cases take turns."""

from collections import Counter
from dataclasses import replace

from bench.plan import slicing
from bench.plan.case import Case

SOCKETS = Case("sockets", "ipc")


def test_each_case_has_one_slice_in_each_round_and_each_order_is_followed_by_its_reverse() -> None:
    made = slicing.turns(cases=3, rounds=6, block=4, seed=1)
    rounds = {number: [turn.place for turn in made if turn.round == number] for number in range(7)}
    assert all(sorted(places) == [0, 1, 2] for places in rounds.values())
    assert all(rounds[number + 1] == rounds[number][::-1] for number in (1, 3, 5))
    assert [turn.round for turn in made] == [0] * 3 + [n for n in range(1, 7) for _ in range(3)] + [None] * 3


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
    assert [slicing.can_take_turns(case) for case in cases] == [True, False, False]


def test_more_cases_than_can_live_at_once_are_in_groups_with_their_baseline() -> None:
    systems = ["zeromq", "sockets", "nng", "redis", "http_stdlib", "grpc_sync", "pyro5", "thrift", "rpyc"]
    cases = [Case(system, transport) for transport in ("tcp", "ipc") for system in systems]
    groups = slicing.groups(cases)
    assert set().union(*groups) == set(range(18)) and all(len(group) <= slicing.MOST for group in groups)
    for group in groups:
        transports = {cases[place].transport for place in group}
        assert {cases[place].transport for place in group if cases[place].system == "sockets"} == transports
    assert slicing.groups(cases[:1]) == [] and slicing.groups(cases[:8]) == [list(range(8))]
