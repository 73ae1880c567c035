"""Which cases of a run: by factors, by the largest or smallest of something, or by a function of the run."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.grammar.quantities import factor_or_quantity
from bench.plan.case import Case
from bench.run.frames import Run

Factor = str | Callable[[Case], object]
"""A field, property or option of a case by its name, or a function of the case."""
Chooser = Mapping[Any, object] | Callable[[Run, Sequence[int]], Sequence[int]]
"""Factors with their values, or with a function that says which values are meant; or a function of cases."""


def factor(case: Case, name: Factor) -> Any:
    """Return a factor of a case; None of an option that its system lacks."""
    return name(case) if callable(name) else case.factor(name)


def chosen(run: Run, choose: Chooser, among: Sequence[int] | None = None) -> list[int]:
    """Return the chosen ones of some cases; ``among`` None: of all but loopback."""
    if among is None:
        among = [case for case in run.numbers if run.case(case).system != "loopback"]
    if not isinstance(choose, Mapping):
        return list(choose(run, among))
    return [case for case in among if all(_has(factor(run.case(case), name), choose[name]) for name in choose)]


def _has(value: object, wanted: Any) -> bool:
    return bool(wanted(value)) if callable(wanted) else bool(value == wanted)


def everything(run: Run, among: Sequence[int]) -> list[int]:
    """Choose every measured case, the instrument itself too."""
    return list(run.numbers)


def most(name: str) -> Chooser:
    """Choose the case with the largest value of a factor or quantity; of equal ones the first."""
    return lambda run, among: _extreme(run, among, name, max)


def fewest(name: str) -> Chooser:
    """Choose the case with the smallest value of a factor or quantity; of equal ones the first."""
    return lambda run, among: _extreme(run, among, name, min)


def _extreme(run: Run, among: Sequence[int], name: str, choose: Callable[..., int]) -> list[int]:
    values = {case: factor_or_quantity(run, case, name) for case in among}
    known = [case for case in among if not math.isnan(values[case])]
    return [choose(known, key=values.__getitem__)] if known else []


def each(key: Factor, *chooses: Chooser) -> Chooser:
    """Apply each chooser to the cases of each value of a factor; list each case once."""
    return lambda run, among: [
        case
        for _, part in alike(run, among, (key,))
        for case in dict.fromkeys(case for choose in chooses for case in chosen(run, choose, part))
    ]


def alike(run: Run, cases: Sequence[int], factors: Sequence[Factor]) -> list[tuple[tuple[Any, ...], list[int]]]:
    """Return the cases that have the same values of some factors, with these values, in the order of the first."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for case in cases:
        groups.setdefault(tuple(factor(run.case(case), name) for name in factors), []).append(case)
    return list(groups.items())
