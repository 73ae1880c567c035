"""Sentences and tables computed from what a class submitted."""

import math

import pandas as pd
from scipy import special

from bench.analysis.card import Tally
from bench.analysis.comparison import DIFFERENT, QUANTITIES
from bench.apps.classroom.merging import DEPENDS, FEW, HOLDS, MACHINE, NOTHING, Claim, Room
from bench.stats.meta_analysis import LEAST_MACHINES, spoken, times
from bench.text import counted, few, listed


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
    few_machines = f"no claim is told by more than {counted(most, 'machine')}, and {LEAST_MACHINES} are needed"
    rows = "Rows of one machine tell how far a claim holds from placement to placement, and nothing of other machines."
    scarce = [f"**Nothing is concluded about machines**: {few_machines}."] * (most < LEAST_MACHINES)
    return scarce + [rows] * (room.unit != MACHINE)


def _said(claim: Claim, unit: str) -> str:
    """Say whether a claim holds in every row or in which it does not, the pool, and where one more would lie."""
    above = [row for row, ratio in claim.rows.items() if ratio.verdict == DIFFERENT and ratio.effect.middle > 0]
    below = [row for row, ratio in claim.rows.items() if ratio.verdict == DIFFERENT and ratio.effect.middle < 0]
    others = [row for row in claim.rows if row not in above and row not in below]
    sides = {"higher on": above, "lower on": below, "not told apart from 1 on": others}
    where = ", ".join(f"{words} {listed(rows)}" for words, rows in sides.items() if rows)
    verdict = {
        HOLDS: f"**{'higher' if above else 'lower'} on every {unit}** ({len(claim.rows)} of {len(claim.rows)})",
        NOTHING: f"**no practical difference on any {unit}** ({len(claim.rows)})",
        DEPENDS: f"**depends on the {unit}**: {where}",
    }.get(claim.verdict, f"not decided on every {unit}: {where}")
    more = f"; one more machine: {spoken(*claim.predicted)}" if claim.predicted else ""
    return f"**{claim.label}**, {QUANTITIES[claim.quantity][0]}: {verdict}; pooled {_pooled(claim)}{more}."


def _pooled(claim: Claim) -> str:
    ends = f" ({spoken(claim.pool.low, claim.pool.high)})" if claim.pool.k >= LEAST_MACHINES else ""
    return f"{times(claim.pool.middle):.2f} times raw sockets'{ends}"


def heterogeneity(room: Room) -> str:
    """Say how much the rows of the chosen claim differ beyond chance, and where one more machine would lie."""
    claim, unit = room.chosen, room.unit
    if claim is None or claim.pool.k < 2:
        return f"With fewer than two {unit}s nothing can be said of how they differ."
    found, chance = claim.pool, max(1e-9, special.chdtrc(claim.pool.k - 1, claim.pool.q))
    ahead = f"One more machine: **{spoken(*claim.predicted)}** with 95 %" if claim.predicted else "None is foretold"
    return (
        f"Between the {found.k} {unit}s: Q = {found.q:.1f}, where {found.k - 1} is expected of equal ones (by chance "
        f"at most {chance:.1g}). I² = {found.i2:.0%} of the variance is not chance inside them. τ² = {found.tau2:.3g}: "
        f"true ratios lie a factor of {times(math.sqrt(found.tau2)):.2f} around the middle. {ahead}."
    )


def submissions(room: Room) -> pd.DataFrame:
    """Return one row for each run that passed every test: whose, from which zip, on what, how good."""
    rows = [
        {"file": run.file, "run": run.id, "starts": len(run.starts), **run.facts}
        | {"checks": f"{Tally(run.checks).passed}/{len(run.checks)}"}
        for run in room.runs
    ]
    return pd.DataFrame(rows).set_index("machine_id") if rows else pd.DataFrame()


def refusals(room: Room) -> pd.DataFrame:
    """Return what is not used and why; equal parts of several zips, refused for the same reason, in one row."""
    refused: dict[tuple[str, str], list[str]] = {}
    for one in room.refusals:
        refused.setdefault((one.what, one.reason), []).append(one.file)
    rows = [{"file": few(files), "not used": what, "because": why} for (what, why), files in refused.items()]
    return pd.DataFrame(rows).set_index("file") if rows else pd.DataFrame()


def claims(room: Room) -> pd.DataFrame:
    """Return one row for each claim: its pool, its heterogeneity, its verdict."""
    rows = []
    for claim in room.claims:
        entry = {"claim": claim.label, "quantity": QUANTITIES[claim.quantity][0], f"{room.unit}s": len(claim.rows)}
        entry |= {"pooled": _pooled(claim), "one more machine": spoken(*claim.predicted) if claim.predicted else ""}
        spread = {"τ²": f"{claim.pool.tau2:.3g}", "I²": f"{claim.pool.i2:.0%}", "Q": f"{claim.pool.q:.1f}"}
        entry |= spread if claim.pool.k > 1 else dict.fromkeys(spread, "")
        rows.append(entry | {"verdict": claim.verdict})
    return pd.DataFrame(rows).set_index("claim") if rows else pd.DataFrame()
