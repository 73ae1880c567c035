"""Sentences and tables computed from what a class submitted."""

import math
from collections.abc import Callable

import pandas as pd
from scipy import special

from bench.classroom.forest import weights
from bench.classroom.merging import DEPENDS, FEW, HOLDS, MACHINE, NOTHING, Claim, Room
from bench.classroom.pooling import LEAST_MACHINES
from bench.classroom.ratios import counted, few
from bench.comparing import DIFFERENT, QUANTITIES
from bench.intervals import Interval
from bench.outcomes import PASS
from bench.params import listed
from bench.units import duration, quantity


def conclusion(room: Room) -> str:
    """Say which claims hold on every machine, and what the data do not carry."""
    if not room.claims:
        return "**No conclusion.** No submission could be used: the table of what was not used says why."
    lines = [f"- {_said(claim, room.unit)}" for claim in room.claims if claim.verdict != FEW]
    if more := len(room.claims) - len(lines):
        which = f"{more} more claims" if lines else counted(more, "claim")
        lines.append(f"- Of {which}, told by fewer than {LEAST_MACHINES} {room.unit}s, nothing is concluded.")
    return "\n".join([*_limits(room, max(claim.machines for claim in room.claims)), "", *lines])


def _limits(room: Room, most: int) -> list[str]:
    """Say what follows for machines from how many there are, and from what a row is."""
    found = []
    if most < LEAST_MACHINES:
        found.append(
            f"**Nothing is concluded about machines**: no claim is told by more than {counted(most, 'machine')}, and "
            f"{LEAST_MACHINES} are needed."
        )
    if room.unit != MACHINE:
        found.append(
            "A row is one placement on one machine. Rows of the same machine tell how far a claim holds from placement "
            "to placement; of other machines they tell nothing, and no machine is predicted from them."
        )
    return found


def _said(claim: Claim, unit: str) -> str:
    middle, low, high = (math.exp(value) for value in (claim.pool.middle, claim.pool.low, claim.pool.high))
    return (
        f"**{claim.label}**, {QUANTITIES[claim.quantity][0]}: {_verdict(claim, unit)}; pooled {middle:.2f} times raw "
        f"sockets' ({low:.2f} to {high:.2f})"
        + ("." if claim.predicted is None else f"; one more machine: {_ends(claim.predicted)}.")
    )


def _ends(ends: tuple[float, float]) -> str:
    return f"{math.exp(ends[0]):.2g} to {math.exp(ends[1]):.2g}"


def _verdict(claim: Claim, unit: str) -> str:
    """Return in words whether a claim holds in every row, and in which it does not."""
    above = [row for row, ratio in claim.rows.items() if ratio.verdict == DIFFERENT and ratio.effect.middle > 0]
    below = [row for row, ratio in claim.rows.items() if ratio.verdict == DIFFERENT and ratio.effect.middle < 0]
    others = [row for row in claim.rows if row not in above and row not in below]
    told = [f"{word} on {listed(rows)}" for word, rows in (("higher", above), ("lower", below)) if rows]
    told += [f"not told apart from 1 on {listed(others)}"] if others else []
    count = len(claim.rows)
    return {
        HOLDS: f"**{'higher' if above else 'lower'} on every {unit}** ({count} of {count})",
        NOTHING: f"**no practical difference on any {unit}** ({count})",
        DEPENDS: f"**depends on the {unit}**: {', '.join(told)}",
    }.get(claim.verdict, f"not decided on every {unit}: {', '.join(told)}")


def heterogeneity(room: Room) -> str:
    """Say how much the rows of the chosen claim differ beyond chance, and where one more machine would lie."""
    claim = room.chosen
    if claim is None or claim.pool.k < 2:
        return f"With fewer than two {room.unit}s nothing can be said of how they differ."
    found, unit = claim.pool, room.unit
    chance = float(special.chdtrc(found.k - 1, found.q))
    text = (
        f"Between the {found.k} {unit}s: Q = {found.q:.1f}, where {found.k - 1} is expected of equal ones (chance "
        f"{_chance(chance)}); I² = {found.i2:.0%} of the variance is not chance inside them; τ² = {found.tau2:.3g}: "
        f"true ratios lie a factor of {math.exp(math.sqrt(found.tau2)):.2f} around the middle."
    )
    if claim.predicted is None:
        why = f"at least {LEAST_MACHINES} machines, each a row, are needed"
        return f"{text} Where one more machine would lie is not said: {why}."
    low, high = map(math.exp, claim.predicted)
    return f"{text} On one more such machine the ratio would lie between **{low:.2g} and {high:.2g}** with 95 %."


def _chance(p: float) -> str:
    return f"{p:.2g}" if p >= 1e-4 else "below 0.0001"


def submissions(room: Room) -> pd.DataFrame:
    """Return one row for each run that is used, at least in part: whose, of when, on what."""
    rows = []
    for run in room.runs:
        told, about = run.manifest, run.manifest.machine
        passed = sum(verdict == PASS for verdict in told.checks.values())
        rows.append(
            {
                "machine": told.machine_id,
                "file": run.file,
                "run": told.id,
                "CPU": about["cpu_model"],
                "CPUs": about["cpus_allowed"],
                "virtual": {True: "yes", False: "no"}.get(about["virtual"], "not known"),
                "system": f"{about['system']} {about['kernel']}",
                "starts": len(run.starts),
                "checks passed": f"{passed}/{len(told.checks)}",
            }
        )
    return _table(rows, "machine")


def refusals(room: Room) -> pd.DataFrame:
    """Return what is not used and why; equal parts of several zips, refused for the same reason, in one row."""
    told: dict[tuple[str, str], list[str]] = {}
    for one in room.refusals:
        told.setdefault((one.what, one.reason), []).append(one.file)
    return _table(
        [{"file": few(files), "not used": what, "because": why} for (what, why), files in told.items()], "file"
    )


def rows(room: Room) -> pd.DataFrame:
    """Return one row for each machine or placement of the chosen claim: its ratio, weight and baseline."""
    if room.chosen is None:
        return pd.DataFrame()
    text: Callable[[float], str] = quantity if room.chosen.quantity == "rate_per_s" else duration
    found = [
        {
            room.unit: row,
            "ratio": _interval(ratio.effect),
            "standard error of ln": f"{ratio.error:.3f}",
            "weight": f"{weight:.0%}",
            "starts": len(ratio.floor),
            "raw sockets": text(float(pd.Series(ratio.floor).median())),
            "verdict": ratio.verdict,
        }
        for (row, ratio), weight in zip(room.chosen.rows.items(), weights(room.chosen), strict=True)
    ]
    return _table(found, room.unit)


def claims(room: Room) -> pd.DataFrame:
    """Return one row for each claim: its pool, its heterogeneity, its verdict."""
    found = []
    for claim in room.claims:
        pool, is_small = claim.pool, claim.pool.k < LEAST_MACHINES
        ends = Interval(pool.middle, pool.low, pool.high, 0.95)
        found.append(
            {
                "claim": claim.label,
                "quantity": QUANTITIES[claim.quantity][0],
                f"{room.unit}s": len(claim.rows),
                "ratio": f"{math.exp(pool.middle):.2f}" if is_small else _interval(ends),
                "one more machine": _ends(claim.predicted) if claim.predicted else "",
                "τ²": "" if pool.k < 2 else f"{pool.tau2:.3g}",
                "I²": "" if pool.k < 2 else f"{pool.i2:.0%}",
                "Q": "" if pool.k < 2 else f"{pool.q:.1f}",
                "verdict": claim.verdict,
            }
        )
    return _table(found, "claim")


def _interval(found: Interval) -> str:
    return f"{math.exp(found.middle):.2f} [{math.exp(found.low):.2f}, {math.exp(found.high):.2f}]"


def _table(found: list[dict[str, object]], index: str) -> pd.DataFrame:
    return pd.DataFrame(found).set_index(index) if found else pd.DataFrame()
