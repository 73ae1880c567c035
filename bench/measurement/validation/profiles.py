"""Profiles: default numbers of starts and windows; and the plan made from a profile and cases."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench import systems
from bench.errors import UsageError
from bench.measurement.validation import plan_time, support
from bench.plan import parameters, slicing
from bench.plan.case import Case
from bench.plan.plan import Plan

LEAST_WINDOW_S = 0.01


@dataclass(frozen=True)
class Profile:
    """Default amount of measuring: starts of each case, and the window of each start.

    The window shrinks from ``window_s`` down to ``least_window_s`` where the cases would otherwise take
    more than ``measuring_s`` in all. blocks_s: how long the blocks of slices take in all.
    """

    starts: int
    window_s: float
    least_window_s: float
    measuring_s: float
    blocks_s: float


PROFILES = {
    "smoke": Profile(starts=2, window_s=0.1, least_window_s=0.1, measuring_s=5, blocks_s=2),
    "class": Profile(starts=6, window_s=1.0, least_window_s=0.2, measuring_s=36, blocks_s=52),
    "full": Profile(starts=12, window_s=5.0, least_window_s=2.0, measuring_s=1200, blocks_s=600),
}


ROUNDS = 4  # slices of each case in a block: many short blocks average out more than few long ones


def usual_window_s(profile: Profile, starts: int, cases: Sequence[Case]) -> float:
    """Return the window of a profile for so many starts of these cases, in seconds."""
    share = profile.measuring_s / (starts * sum(not case.is_short for case in cases) or 1)
    return round(min(profile.window_s, max(profile.least_window_s, share)), 2)


def make_plan(
    notebook: str,
    cases: Sequence[Case],
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
    absent: dict[str, str] | None = None,
) -> Plan:
    """Return a validated plan; ``starts`` and ``window_s`` override the profile's."""
    cases = [support.checked(case) for case in cases]
    profile = parameters.one_name(profile, "profile", list(PROFILES))
    usual = PROFILES[profile]
    starts = usual.starts if starts is None else parameters.count(starts, "starts", 1000)
    if window_s is None:
        window_s = usual_window_s(usual, starts, cases)
    else:
        window_s = parameters.positive(window_s, "window_s", 3600, whole=False)
        if window_s < LEAST_WINDOW_S:
            raise UsageError(f"window_s must be at least {LEAST_WINDOW_S} s: shorter windows hold too few calls")
    order = parameters.count(seed, "seed", 2**31)
    return Plan(notebook, tuple(cases), starts, window_s, order, profile, absent or {})


def takes_turns(case: Case) -> bool:
    """Return whether a case is measured in slices where others are: it can be, and its system sleeps meanwhile."""
    return slicing.can_take_turns(case) and not systems.constant(case.system, "AWAKE", False)


def in_slices(
    plan: Plan,
    slice_s: float,
    starts: object = None,
    window_s: object = None,
    in_common: Sequence[str] = slicing.IN_COMMON,
    seconds: float = PROFILES["class"].blocks_s,
) -> Plan:
    """Return a plan whose cases take turns in slices; as it is where fewer than two cases can.

    Without ``window_s`` each case has ``ROUNDS`` slices in a block; without ``starts`` there are as many blocks as
    ``seconds`` have time for. Cases of a system that works while it sleeps have starts of their own: its file says so
    by ``AWAKE``. in_common: see ``slicing.groups``.
    """
    apart = {index for index, case in enumerate(plan.cases) if not takes_turns(case)}
    groups = slicing.groups(plan.cases, in_common, apart) if slice_s else []
    if not groups:
        return plan
    length_s = ROUNDS * slice_s if parameters.literal(window_s) is None else plan.window_s
    sliced = replace(plan, slice_s=slice_s, window_s=length_s, groups=tuple(map(tuple, groups)))
    if parameters.literal(starts) is not None:
        return sliced
    return replace(sliced, starts=plan_time.blocks_in(sliced, seconds))
