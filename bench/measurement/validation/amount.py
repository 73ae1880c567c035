"""The parameters that notebooks share: how much is measured, on which CPUs, and by which machines.

A sweep takes one of these classes as ``amount``, and declares only its own parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

from bench.errors import UsageError
from bench.measurement.validation.cases import INSTRUMENT, placement_of
from bench.measurement.validation.profiles import PROFILES, in_slices, make_plan
from bench.plan import hosts, parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.plan.slicing import IN_COMMON, MOST_SLICE_MS


@dataclass(frozen=True)
class Amount:
    """How much is measured, and in which order."""

    profile: str = "class"  # how much to measure: smoke, class or full
    starts: object = None  # starts per case (repetitions with fresh processes), instead of the profile's
    window_s: object = None  # seconds measured in each start, instead of the profile's
    seed: object = 1  # order of the cases, arrivals, and bytes of the payloads

    def __post_init__(self) -> None:
        """Refuse a profile that is no text: plans look it up by name."""
        parameters.text(self.profile, "profile")

    def plan(
        self, notebook: str, cases: Sequence[Case], absent: dict[str, str] | None = None, class_s: float | None = None
    ) -> Plan:
        """Return the validated plan; ``class_s``: the longest window in the profile class, in seconds.

        UsageError if all systems are absent.
        """
        if absent and all(case.system == INSTRUMENT for case in cases):
            raise UsageError("; ".join(absent.values()))
        plan = make_plan(notebook, cases, self.profile, self.starts, self.window_s, self.seed, absent)
        if class_s is None or self.profile != "class" or parameters.literal(self.window_s) is not None:
            return plan
        return replace(plan, window_s=min(plan.window_s, class_s))

    def window_s_of(self, cases: Sequence[Case]) -> float:
        """Return the window of a plan of these cases, in seconds: for cases that freeze at a share of it."""
        return make_plan("", cases, self.profile, self.starts, self.window_s).window_s

    def chance(self) -> Random:
        """Return random numbers that the seed fixes."""
        return Random(parameters.count(self.seed, "seed", 2**31))


@dataclass(frozen=True)
class Placed(Amount):
    """How much is measured, and on which CPUs."""

    placement: object = "default"  # which CPUs: same, split, free; default: same for one caller, else split

    def chosen_placement(self, is_parallel: bool = False) -> str:
        """Return the placement asked for; the default is that of one caller, or of parallel work."""
        return placement_of(self.placement, is_parallel)


@dataclass(frozen=True)
class OnHosts(Placed):
    """How much is measured, on which CPUs, and by which machines."""

    hosts: object = ""  # other machines: a scheduler (tcp://HOST:8786, tls://...) or a YAML file of roles

    @cached_property
    def there(self) -> dict[str, Any]:
        """The hosts asked for, as ``Case.hosts`` holds them; {} for this machine."""
        return hosts.asked(self.hosts)

    def chosen_placement(self, is_parallel: bool = False) -> str:
        """Return the placement asked for; on other machines the default is free."""
        return placement_of(self.placement, is_parallel, self.there)


@dataclass(frozen=True)
class InTurns(OnHosts):
    """How much is measured, on which CPUs, by which machines, and in slices of which length."""

    slice_ms: object = 20  # the cases live at once and take turns of so many ms; 0: starts follow each other
    until_width: object = ""  # stop once every ratio is known within this, such as 2%; the starts are then the most

    def plan(
        self,
        notebook: str,
        cases: Sequence[Case],
        absent: dict[str, str] | None = None,
        class_s: float | None = None,
        in_common: Sequence[str] = IN_COMMON,
        blocks_s: float = PROFILES["class"].blocks_s,
    ) -> Plan:
        """Return the validated plan; in slices where at least two cases can take turns.

        in_common: see ``Sweep``. blocks_s: how long all blocks take in the profile class, in seconds.
        """
        plan = super().plan(notebook, cases, absent, class_s)
        seconds = blocks_s if self.profile == "class" else PROFILES[self.profile].blocks_s
        until_width = parameters.percent(self.until_width, "until_width") if self.until_width else 0.0
        plan = in_slices(plan, self.slice_s, self.starts, self.window_s, in_common, seconds)
        return replace(plan, until_width=until_width)

    @property
    def slice_s(self) -> float:
        """The length of a slice in seconds; 0 where starts follow each other."""
        return parameters.count(self.slice_ms, "slice_ms", MOST_SLICE_MS, least=0) / 1e3
