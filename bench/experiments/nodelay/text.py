"""What the figure of stalls by Nagle's algorithm and delayed ACKs says."""

import numpy as np

from bench.experiments.nodelay.findings import DELAY_S, Combination, combinations
from bench.experiments.published import XMLRPC_C
from bench.run.frames import Run
from bench.text import duration, paragraphs, plain, quantity


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
            f"only the server does, {slow['neither']} calls/s if neither does"
        )
    return "\n".join(lines)


def predicted(run: Run) -> str:
    """Say how far rates are from 1/(k 40 ms), and what the kernel counted."""
    held = [combination for combination in combinations(run) if combination.stalls]
    if not held:
        return ""
    ratios = [combination.rate_per_s / _rate(run, combination) for combination in held]
    counted = []
    for combination in held:
        starts = run.starts_of(combination.case)
        counted.append(float((starts["tcp_delayed_acks"] / starts["calls"]).median()) / combination.stalls)
    kernel = (
        f" The kernel counted {np.nanmedian(counted):.2f} delayed ACKs per predicted stall."
        if np.isfinite(counted).any()
        else ""
    )
    slower = float(np.median(ratios))
    return (
        f"The predicted rate is 1/(k × {plain(duration(DELAY_S * 1e6))}) for k stalls per call. The measured stall "
        f"takes {slower * DELAY_S * 1e3:.1f} ms (median over the cases): predicted rates are {slower:.2f} times the "
        f"measured ones.{kernel}"
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
    here = {of.sides: run.over_starts(of.case, "rate_per_s").words("{:.0f}".format) for of in two_writes}
    return (
        f"The origin measured {theirs['one side']} calls/s with TCP_NODELAY on one side and {theirs['both sides']} "
        f"calls/s on neither; the same packet stream makes {here['client only']} and {here['neither']} calls/s "
        f"here. One side over neither is {theirs['one side'] / theirs['both sides']:.2f} there and "
        f"{rate['client only'] / rate['neither']:.2f} here (ratios of medians). A call with one stall took "
        f"{1e3 / theirs['one side']:.0f} ms there and {1e3 / rate['client only']:.0f} ms here."
    )
