"""What several occasions of overview say together: systems in tiers, with the intervals of another occasion."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import pandas as pd

from bench.analysis.replication import (
    BASELINE,
    CPU_RATIO,
    RATE_RATIO,
    RTT_RATIO,
    Occasion,
    Row,
    in_order,
    in_tiers,
    is_before,
    ranks,
    ratio_text,
    rows,
)

APART, SHARED = "split", "same"  # a CPU each orders the tiers: nobody deploys client and server on one CPU
BASE = f"{BASELINE} (baseline)"
MOST_LINES = 15  # of a table that is read at a glance


@dataclass(frozen=True)
class Published:
    """The occasions behind the published tables."""

    occasions: Sequence[Occasion]

    @cached_property
    def rows(self) -> list[Row]:
        """All headline ratios."""
        return rows(self.occasions)

    @cached_property
    def tiers(self) -> dict[str, list[list[Row]]]:
        """The RTT ratios with a CPU each in tiers, by transport."""
        transports = dict.fromkeys(row.place[0] for row in self.rows if row.place[1:] == (APART, 1))
        return {transport: in_tiers(self.rows, transport, APART) for transport in transports}

    @cached_property
    def ranks(self) -> dict[tuple[str, str], tuple[int, int]]:
        """The best and the worst rank by RTT with a CPU each, by transport and system."""
        found = {}
        for transport in self.tiers:
            ordered = in_order(self.rows, transport, APART)
            for row, rank in zip(ordered, ranks(ordered, is_before), strict=True):
                found[transport, row.system] = rank
        return found

    @cached_property
    def systems(self) -> dict[str, int]:
        """The names of all systems, and on how many machines each was measured."""
        pairs = {(row.case["system"], one.machine.machine_id) for one in self.occasions for row in one.rows}
        return dict(sorted(Counter(system for system, _ in pairs).items()))

    def of(self, system: str, transport: str, placement: str, quantity: str) -> Row | None:
        """Return a ratio; None if no occasion has it."""
        wanted = (system, transport, placement, quantity)
        alike = ((row.system, *row.place[:2], row.quantity) == wanted for row in self.rows)
        return next((row for row, is_it in zip(self.rows, alike, strict=True) if is_it), None)

    def level_us(self, transport: str, placement: str) -> float:
        """Return the median RTT of raw sockets, one client, the median over the occasions; NaN if none has it."""
        of = (BASELINE, transport, placement, 1)
        found = [
            row.p50_us
            for occasion in self.occasions
            for row in occasion.rows
            if (row.case["system"], *Row(row, "", (), ()).place) == of and row.p50_us is not None
        ]
        return median(found) if found else math.nan

    @property
    def minutes(self) -> int:
        """About how long one occasion takes."""
        return max(1, math.ceil(median(occasion.minutes for occasion in self.occasions)))


APART_RTT = "median RTT, a CPU each (`split`)"
COLUMNS = {  # of a table: quantity and placement
    APART_RTT: (RTT_RATIO, APART),
    "median RTT, one CPU (`same`)": (RTT_RATIO, SHARED),
    "CPU time per call (`split`)": (CPU_RATIO, APART),
}


def by_tier(published: Published, most: int = MOST_LINES) -> pd.DataFrame:
    """Return a row for each tier: its systems, and their ratios to raw sockets over the same transport.

    Of more than so many rows the slowest tiers of the transport with most are in one row.
    """
    numbered = {
        transport: [((number, number), tier) for number, tier in enumerate(tiers, 1)]
        for transport, tiers in published.tiers.items()
    }
    while sum(map(len, numbered.values())) > max(most, len(numbered)):
        longest = max(numbered.values(), key=len)
        ((_, last), slowest), ((first, _), tier) = longest.pop(), longest.pop()
        longest.append(((first, last), [*tier, *slowest]))
    made = [
        {
            "tier": f"{transport} {first}{f' to {last}' * (last > first)}".replace(" ", "\N{NO-BREAK SPACE}"),
            "systems": ", ".join(map(_name, tier)),
            "ranks": _ranks(published, tier),
        }
        | {heading: _ratios(published, tier, *of) for heading, of in COLUMNS.items()}
        for transport, tiers in numbered.items()
        for (first, last), tier in tiers
    ]
    return pd.DataFrame(made).set_index("tier")


def by_system(published: Published, transport: str) -> pd.DataFrame:
    """Return a row for each system over a transport, by tier and predicted ratio."""
    columns = COLUMNS | {"CPU time per call (`same`)": (CPU_RATIO, SHARED)}
    made = [
        {"system": _name(row), "tier": str(number), "ranks": _ranks(published, [row])}
        | {heading: _ratios(published, [row], *of) for heading, of in columns.items()}
        for number, tier in enumerate(published.tiers[transport], 1)
        for row in tier
    ]
    return pd.DataFrame(made).set_index("system")


def gains(published: Published) -> pd.DataFrame:
    """Return calls per second of two clients over those of one for each system, the largest first."""
    found = [row for row in published.rows if row.quantity == RATE_RATIO]
    ordered = sorted(found, key=lambda row: row.prediction.middle, reverse=True)
    made = [
        {"system": row.system, "transport": row.place[0], "two clients / one": ratio_text(*row.predictions)}
        for row in ordered
    ]
    return pd.DataFrame(made).set_index("system") if made else pd.DataFrame()


def _name(row: Row) -> str:
    return f"`{row.system}`" if row.measured.over else BASE


def _ranks(published: Published, tier: Iterable[Row]) -> str:
    """Return the best and the worst rank that systems of a tier can have: "3 to 7", or "1"."""
    found = [published.ranks[row.place[0], row.system] for row in tier]
    best, worst = min(low for low, _ in found), max(high for _, high in found)
    return f"{best} to {worst}" if worst > best else str(best)


def _ratios(published: Published, tier: Iterable[Row], quantity: str, placement: str) -> str:
    """Return the ratios of a tier's systems by a quantity under a placement; 1 of the baseline alone."""
    asked = [published.of(row.system, row.place[0], placement, quantity) if row.measured.over else row for row in tier]
    found = [of for row in asked if row for of in row.predictions]
    is_baseline = [row.measured.over for row in asked if row] == [""]
    return "1" if is_baseline else ratio_text(*found) if found else "not measured"
