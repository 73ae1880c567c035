"""A plan: the cases of an experiment, their number of starts and window; fixed before the first start."""

import hashlib
import itertools
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from bench.plan import slicing
from bench.plan.case import Case


@dataclass(frozen=True)
class Plan:
    """The cases of one experiment and how they are repeated.

    slice_s: 0: each start has a window of ``window_s`` of its own, one after another; else the processes of the cases
    of a group live at once and take turns in slices of this length, ``window_s`` in all for each case and block.
    groups: the places of the cases that take turns with each other; (): as ``slicing.groups`` makes them.
    until_width: measuring stops at the first of some looks at which every ratio that the notebook prints is known
    within this share of it; 0: after all starts.
    """

    notebook: str
    cases: tuple[Case, ...]
    starts: int
    window_s: float
    seed: int
    profile: str
    absent: dict[str, str] = field(default_factory=dict)  # systems that cannot be measured here: what to do
    slice_s: float = 0.0
    groups: tuple[tuple[int, ...], ...] = ()
    until_width: float = 0.0

    @property
    def hash8(self) -> str:
        """Eight hexadecimal digits that are equal for equal plans."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:8]

    def order(self) -> Iterator[tuple[int, int, int]]:
        """Yield (start, block, case index): every case once per block, in random order fixed by the seed."""
        for block, parts in self.blocks():
            yield from ((start, block, case) for part in parts for start, case in part)

    def blocks(self) -> Iterator[tuple[int, list[list[tuple[int, int]]]]]:
        """Yield each block with its parts in random order: (start, case index) of what is measured at once.

        That is one start, or all starts of a group whose cases take turns. The baseline is in each group.
        """
        chance, parts = random.Random(self.seed), self._parts
        for block in range(self.starts):
            chance.shuffle(parts)
            numbers = itertools.count(block * sum(map(len, parts)))
            yield block, [[(next(numbers), case) for case in part] for part in parts]

    def seed_of(self, block: int) -> int:
        """Return the seed of a block: its cases get the same payloads, arrivals and kinds of requests.

        With other ones in each case, two of equal speed would differ by the share of their slow requests.
        """
        return self.seed + block

    @property
    def _parts(self) -> list[list[int]]:
        return [*self._together, *([case] for case in self.apart)]

    @property
    def _together(self) -> list[list[int]]:
        """The groups whose cases take turns."""
        if not self.slice_s:
            return []
        return [list(group) for group in self.groups] or slicing.groups(self.cases)

    @property
    def apart(self) -> list[int]:
        """The places of the cases that take no turns: each of their starts has a window of its own."""
        return sorted(set(range(len(self.cases))).difference(*self._together))

    @property
    def all_starts(self) -> int:
        """How many starts the plan has in all."""
        return self.starts * sum(map(len, self._parts))

    @property
    def rounds(self) -> int:
        """How many slices each case has in a block: an even number, as each order is followed by its reverse."""
        return max(2, 2 * round(self.window_s / self.slice_s / 2)) if self.slice_s else 0

    @property
    def slices(self) -> str:
        """What a case measures in a block, in words; "" where no cases take turns."""
        return f"{self.rounds} slices of {1000 * self.slice_s:.3g} ms" if self.slice_s else ""

    @property
    def windows(self) -> str:
        """What each start measures that takes no turns, in words."""
        return f"windows of {self.window_s:g} s"

    @property
    def windows_apart(self) -> list[int]:
        """The places of the cases that measure such a window in a plan whose other cases take turns."""
        return [index for index in self.apart if self.slice_s and not self.cases[index].is_short]

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON holds it."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return the plan that a manifest, which was checked, holds. Its systems need not be installed."""
        groups = tuple(map(tuple, stored.get("groups", ())))
        return cls(**{**stored, "cases": tuple(map(Case.from_dict, stored["cases"])), "groups": groups})
