"""What the figure of stalls by Nagle's algorithm and delayed ACKs says."""

import math

import numpy as np

from bench.experiments.nodelay.findings import DELAY_S, TOLERANCE, Combination, combinations, delayed_acks
from bench.experiments.published import XMLRPC_C
from bench.run.frames import Run
from bench.text import duration, few, paragraphs, plain, quantity


def answer(run: Run) -> str:
    """Say how long a stall is, and what the stalls do to each system."""
    held = _held(run)
    added = f"A stall takes {_stall_ms(run, held):.1f} ms (median over the cases)." if held else ""
    return paragraphs(added, _systems(run))


def conclusion(run: Run) -> str:
    """Say what the stalls do to each system, how good the prediction is, and how the origin's numbers compare."""
    return paragraphs(predicted(run), systems(run))


def systems(run: Run) -> str:
    """Say what the stalls do to each system, and how the origin's numbers compare."""
    return paragraphs(_systems(run), _origin(run))


def _rate(run: Run, combination: Combination) -> float:
    return float(run.cases.loc[combination.case, "rate_per_s"])


def _systems(run: Run) -> str:
    lines = []
    for system in dict.fromkeys(combination.system for combination in combinations(run)):
        two_writes = [
            combination for combination in combinations(run) if combination.system == system and combination.writes == 2
        ]
        rate = {of.sides: run.over_starts(of.case, "rate_per_s") for of in two_writes}
        slow = {sides: spread.words("{:.3g}".format) for sides, spread in rate.items()}
        lines.append(
            f"- **{system}**, two writes per message: {rate['both'].words(quantity)} calls/s if both sides set "
            f"TCP_NODELAY, {slow['client only']} calls/s if only the client does, {slow['server only']} calls/s if "
            f"only the server does, {slow['neither']} calls/s if neither does."
        )
    return "\n".join(lines)


def predicted(run: Run) -> str:
    """Say how far rates are from 1/(k 40 ms), and what the kernel counted."""
    held = _held(run)
    if not held:
        return ""
    stall_ms = _stall_ms(run, held)
    return (
        f"{_counted(run, held)}The predicted rate is 1/(k × {plain(duration(DELAY_S * 1e6))}) for k stalls per call. "
        f"The measured stall takes {stall_ms:.1f} ms (median over the cases): predicted rates are "
        f"{stall_ms / DELAY_S / 1e3:.2f} times the measured ones."
    )


def _held(run: Run) -> list[Combination]:
    """Return the combinations that should stall."""
    return [combination for combination in combinations(run) if combination.stalls]


def _stall_ms(run: Run, held: list[Combination]) -> float:
    """Return the median length of a stall over some combinations, from their rates."""
    return float(np.median([combination.rate_per_s / _rate(run, combination) for combination in held])) * DELAY_S * 1e3


def first_calls(run: Run) -> str:
    """Say whether the first call of a connection stalled, where later ones do; the kernel need not delay its ACKs."""
    held = _held(run)
    if not held:
        return ""
    first_ms = [float(run.starts_of(of.case)["first_rtt_ns"].median()) / 1e6 for of in held]
    stalled = sum(ms > DELAY_S * 1e3 / 2 for ms in first_ms)
    spans = " to ".join(dict.fromkeys(duration(1e3 * end) for end in (min(first_ms), max(first_ms))))
    return (
        f"The first call stalled in {stalled} of the {len(held)} combinations whose later calls should stall: it takes "
        f"{spans} (medians over the starts)."
    )


def _counted(run: Run, held: list[Combination]) -> str:
    """Say whether the kernel counted the stalls that were predicted, in each combination."""
    counted = {of: acks for of in held if not math.isnan(acks := delayed_acks(run, of) / of.stalls)}
    if not counted:
        return ""
    other = [of for of, acks in counted.items() if abs(acks - 1) > TOLERANCE]
    if other:
        names = few([f"{of.system}, TCP_NODELAY on {of.sides}: {counted[of]:.2f}" for of in other])
        return (
            f"**The prediction of stalls fails in {len(other)} of {len(counted)} combinations**: not one delayed ACK "
            f"per predicted stall was counted, but other numbers ({names}). "
        )
    return (
        f"The kernel counted {np.median(list(counted.values())):.2f} delayed ACKs per predicted stall, and within "
        f"{TOLERANCE:.0%} of 1 in all {len(counted)} combinations: the stalls are those predicted. "
    )


def _origin(run: Run) -> str:
    theirs = XMLRPC_C["calls_per_s_held"]
    two_writes = [
        combination
        for combination in combinations(run)
        if combination.system == "xmlrpc_pstream" and combination.writes == 2
    ]
    if not two_writes:
        return ""
    rate = {combination.sides: _rate(run, combination) for combination in two_writes}
    here = {of.sides: run.over_starts(of.case, "rate_per_s").words("{:.3g}".format) for of in two_writes}
    return (
        f"The origin measured {theirs['one side']} calls/s with TCP_NODELAY on one side and {theirs['both sides']} "
        f"calls/s on neither. The same packet stream makes {here['client only']} and {here['neither']} calls/s "
        f"here. One side over neither is {theirs['one side'] / theirs['both sides']:.2f} there and "
        f"{rate['client only'] / rate['neither']:.2f} here (ratios of medians). A call with one stall took "
        f"{1e3 / theirs['one side']:.0f} ms there and {1e3 / rate['client only']:.0f} ms here."
    )
