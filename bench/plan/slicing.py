"""Slices: cases whose processes live at once take turns, so that each is measured in the same state of the machine."""

from collections.abc import Container, Sequence
from itertools import groupby
from random import Random
from typing import NamedTuple

from bench.plan.case import BASELINE, MOST_CLIENTS, Case

WARM_UP = 0  # the number of rounds that warm up
WARM_UPS = 2  # such rounds: in their first slice or two fresh processes are up to 5 % faster than later
MOST = 8  # cases whose processes live at once
MOST_SLICE_MS = 1000
STRETCH = 3  # slices in a row of the case that is measured alone; the last one counts
IN_COMMON = ("transport", "payload_bytes", "placement")  # of cases that are compared with each other


class Turn(NamedTuple):
    """One slice: the round it belongs to (None: the case has several slices in a row), and its case's place."""

    round: int | None
    place: int


def turns(cases: int, rounds: int, block: int, seed: int) -> list[Turn]:
    """Return the slices of a block in their order.

    Two rounds to warm up, then rounds in which each case has one slice: an order drawn at random is followed by its
    reverse (ABBA), which cancels a linear drift. At the end one case has several in a row, another one each time; with
    few cases in some blocks only, as these slices tell nothing about a ratio.
    """
    chance, order = Random(f"{seed} {block}"), list(range(cases))
    first = chance.sample(order, cases)
    made = [Turn(WARM_UP, index) for index in (*first, *first[::-1])]
    for number in range(1, rounds + 1):
        order = order[::-1] if number % 2 == 0 else chance.sample(order, cases)
        made += [Turn(number, index) for index in order]
    number, is_another = divmod(block, blocks_per_stretch(cases))
    return made if is_another else made + [Turn(None, number % cases)] * STRETCH


def blocks_per_stretch(cases: int) -> int:
    """Return how many blocks there are for each one in which a case is measured alone."""
    return max(1, MOST // cases)


def can_take_turns(case: Case) -> bool:
    """Return whether a case can be measured in slices: a closed loop at one level, all of it on this machine.

    Others are measured in starts of their own.
    """
    is_plain = case.load == "closed" and not (case.calls_per_connection or case.outstanding > 1 or case.large_bytes)
    is_plain = is_plain and case.callers <= MOST_CLIENTS  # a slice is too short for a call of each of more
    is_whole = not (case.is_short or case.generator or case.fresh_router)
    return is_plain and is_whole and not case.hosts


def groups(cases: Sequence[Case], in_common: Sequence[str] = IN_COMMON, apart: Container[int] = ()) -> list[list[int]]:
    """Return the places of the cases that take turns, in groups of at most ``MOST``; none of fewer than two cases.

    If there are more cases, they are divided into families, whose cases have the same values of the factors
    ``in_common``. The first case of a family, of raw sockets if they are there, is in each of its groups: the others
    are compared with it. Cases of one system stay together if they fit. apart: the places of cases that take no turns
    although they could.
    """
    together = [index for index, case in enumerate(cases) if can_take_turns(case) and index not in apart]
    if len(together) <= MOST:
        return [together] if len(together) > 1 else []
    families: dict[object, list[int]] = {}
    for index in together:
        families.setdefault(tuple(cases[index].factor(name) for name in in_common), []).append(index)
    made: list[list[int]] = []
    for family in sorted(families.values(), key=len, reverse=True):
        base, *others = sorted(family, key=lambda index: (cases[index].system != BASELINE, index))
        for part in _divided(cases, others):
            _join(made, [base, *part])
    return [group for group in made if len(group) > 1]


def _divided(cases: Sequence[Case], others: Sequence[int]) -> list[list[int]]:
    """Return the cases of a family without its first one in parts for one group each, at least one part."""
    parts: list[list[int]] = [[]]
    for _, of_system in groupby(others, key=lambda index: cases[index].system):
        rest = list(of_system)
        if len(rest) + len(parts[-1]) > MOST - 1 >= len(rest):
            parts.append([])
        while rest:
            room = MOST - 1 - len(parts[-1])
            parts[-1] += rest[:room]
            if rest := rest[room:]:
                parts.append([])
    return parts


def _join(made: list[list[int]], group: list[int]) -> None:
    """Add a group to those that are made: to one that has room for all of it, or as a new one."""
    for other in made:
        if len(other) + len(group) <= MOST and not set(other) & set(group):
            other += group
            return
    made.append(group)
