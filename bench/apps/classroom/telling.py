"""Sentences and tables computed from what a class submitted."""

import math
from collections.abc import Iterator

from scipy import special

from bench.analysis.comparison import DIFFERENT, QUANTITIES
from bench.analysis.trust_card import Tally
from bench.apps.classroom.merging import DEPENDS, FEW, HOLDS, NOTHING, SIMULATED_SOURCE, Claim, Room
from bench.apps.classroom.ratios import spoken, times
from bench.grammar.table import as_table
from bench.stats.meta_analysis import LEAST_MACHINES
from bench.text import capitalized, counted, few, listed

LEAST_P = 1e-9  # a smaller one is called smaller
SHOWN = 16  # hexadecimal digits of a digest: enough to compare by eye


def conclusion(room: Room) -> str:
    """Say which claims hold on every machine, and what cannot be concluded."""
    if not room.claims:
        why = " The table of what was not used says why." * bool(room.refusals)
        return f"**No conclusion.** {room.counts}.{why}"
    lines = [f"- {_sentence(claim)}" for claim in room.claims if claim.verdict != FEW]
    if more := len(room.claims) - len(lines):
        which = f"{more} more claims" if lines else counted(more, "claim")
        lines.append(f"- {capitalized(which)} of fewer than {LEAST_MACHINES} machines: nothing is concluded.")
    limits = _limits(room, max(len(claim.rows) for claim in room.claims))
    return "\n".join([f"{room.counts}.", "", *limits, "", *lines])


def _limits(room: Room, maximum: int) -> list[str]:
    """Say what cannot be concluded from so few machines, or from simulated ones."""
    few_machines = f"no claim has more than {counted(maximum, 'machine')}, and {LEAST_MACHINES} are needed"
    generated = "**These machines are simulated**: their numbers are generated, and show nothing of real machines."
    made_up = [generated] * (room.source == SIMULATED_SOURCE)
    scarce = [f"**Nothing is concluded about machines**: {few_machines}."] * (maximum < LEAST_MACHINES)
    return made_up + scarce


def _sentence(claim: Claim) -> str:
    """Say whether a claim holds on every machine, the pooled ratio, and where one more machine is expected."""
    above = [row for row, ratio in claim.rows.items() if ratio.verdict == DIFFERENT and ratio.effect.middle > 0]
    below = [row for row, ratio in claim.rows.items() if ratio.verdict == DIFFERENT and ratio.effect.middle < 0]
    others = [row for row in claim.rows if row not in above and row not in below]
    sides = {"higher on": above, "lower on": below, "not distinguishable from 1 on": others}
    directions = ", ".join(f"{words} {listed(rows)}" for words, rows in sides.items() if rows)
    verdict = {
        HOLDS: f"**{'higher' if above else 'lower'} on every machine** ({len(claim.rows)} of {len(claim.rows)})",
        NOTHING: f"**no practical difference on any machine** ({len(claim.rows)})",
        DEPENDS: f"**depends on the machine**: {directions}",
    }.get(claim.verdict, f"not decided on every machine: {directions}")
    more = f" One more machine: {spoken(*claim.pool.predicted)}." if claim.pool.predicted else ""
    return f"**{claim.label}**, {QUANTITIES[claim.quantity][0]}: {verdict}. Pooled: {_pooled(claim)}.{more}"


def _pooled(claim: Claim) -> str:
    ends = f" ({spoken(claim.pool.low, claim.pool.high)})" if claim.pool.k >= LEAST_MACHINES else ""
    return f"{times(claim.pool.middle):.2f} times raw sockets{ends}"


def heterogeneity(room: Room) -> str:
    """Say how heterogeneous the machines of the chosen claim are, and where one more machine is expected."""
    claim = room.chosen
    if claim is None or claim.pool.k < 2:
        return "Heterogeneity needs two machines or more."
    pool, chance = claim.pool, special.chdtrc(claim.pool.k - 1, claim.pool.q)
    p = f"p = {chance:.1g}" if chance >= LEAST_P else f"p < {LEAST_P:g}"
    ahead = f"95 % prediction interval of one more machine: **{spoken(*pool.predicted)}**" if pool.predicted else ""
    return (
        f"Q of {pool.k} machines is {pool.q:.1f} ({pool.k - 1} is expected if their true ratios are equal, {p}). "
        f"I² is {pool.i2:.0%}: this share of the variance is between machines. τ² is {pool.tau2:.3g}: the standard "
        f"deviation of the true ratios is a factor of {times(math.sqrt(pool.tau2)):.2f}. "
        f"{ahead or 'No prediction for other machines'}."
    )


@as_table("machine_id")
def submissions(room: Room) -> Iterator[dict[str, object]]:
    """Yield one row for each accepted run: its machine, file, number of starts, checks passed, and its digest.

    The digest is the beginning of the one that `python -m bench show RUN` prints where the run was measured.
    """
    for run in room.runs:
        yield {"file": run.file, "name": run.name or "none", "run": run.id, "starts": len(run.starts), **run.facts} | {
            "checks": str(Tally(run.checks)),
            "digest": run.run_digest[:SHOWN] or "none",
        }


@as_table("file")
def refusals(room: Room) -> Iterator[dict[str, object]]:
    """Yield what is not used and why; equal parts of several files, refused for the same reason, in one row."""
    refused: dict[tuple[str, str], list[str]] = {}
    for refusal in room.refusals:
        refused.setdefault((refusal.what, refusal.reason), []).append(refusal.file)
    for (what, why), files in refused.items():
        yield {"file": few(files), "not used": what, "because": why}


@as_table("claim")
def claims(room: Room) -> Iterator[dict[str, object]]:
    """Yield one row for each claim: its pool, its heterogeneity, its verdict."""
    for claim in room.claims:
        pool = claim.pool
        spread = {"τ²": f"{pool.tau2:.3g}", "I²": f"{pool.i2:.0%}", "Q": f"{pool.q:.1f}"}
        yield {
            "claim": claim.label,
            "quantity": QUANTITIES[claim.quantity][0],
            "machines": len(claim.rows),
            "pooled": _pooled(claim),
            "one more machine": spoken(*pool.predicted) if pool.predicted else "",
            **(spread if pool.k > 1 else dict.fromkeys(spread, "")),
            "verdict": claim.verdict,
        }
