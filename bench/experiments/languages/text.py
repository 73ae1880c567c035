"""Sentences of languages.ipynb: how much of the time per call is Python's, on which side, and what limits the rate."""

import math

from bench.experiments.languages import findings
from bench.experiments.languages.findings import Cross
from bench.experiments.sentences import AT_LEAST, absent, limit_of
from bench.grammar.contrast import confidence, times
from bench.run.frames import Run
from bench.stats import Text, across_starts
from bench.stats.intervals import Interval
from bench.text import duration, in_bytes, listed, paragraphs, quantity

RATIOS = (
    "A ratio, or a share, is the Hodges-Lehmann estimate over the blocks, and can differ from the ratio of the two "
    "medians shown."
)
NATIVE = {"client": "with a client in C++ alone", "server": "with a server in C++ alone", "native": "with both in C++"}


def conclusion(run: Run) -> str:
    """Return what part of the time per call is Python's, by side, and what a side in C++ does to the throughput."""
    said = (servers(run),) if findings.servers(run) else (left(run), throughput(run))
    return paragraphs(*said, "\n".join(absent(run)).strip())


def servers(run: Run) -> str:
    """Return of each server the calls per second of several callers, its CPU time per call, and its memory."""
    lines = []
    for of in findings.servers(run):
        if of.callers == 1:
            continue
        shown: dict[str, Text] = {findings.RATE: quantity, findings.CPU["server"]: duration, findings.MEMORY: in_bytes}
        rate, cpu_us, memory = (run.over_starts(of.case, name).words(text) for name, text in shown.items())
        limit = limit_of(run, of.case)
        is_least = limit.saturated and limit.capacity == AT_LEAST
        line = f"- **{of.name}**: {'at least ' * bool(is_least)}{rate} calls per second with {of.callers} connections"
        line += f" (saturated: {limit.names})" if is_least else ""
        if of.case != of.first:
            ratio = times(findings.ratio(run, of, findings.RATE))
            line += f", {ratio} the rate of {run.case(of.first).system}"
        lines.append(f"{line}. Each call takes {cpu_us} of the server's CPU time; its processes hold {memory}.")
    return "\n".join(lines)


def left(run: Run) -> str:
    """Return for each system the share of the round trip that is left without Python, and each side's share."""
    crosses = findings.single(run)
    lines = [_left(run, cross) for cross in crosses]
    alike = dict.fromkeys(cross.system for cross in crosses if cross.system not in findings.OTHER_LIBRARY)
    bound = (
        f"With {listed(alike)} both languages use the same native library or system calls. As far as their "
        "versions are equal, no change to the Python code can remove what is left there."
        if alike
        else ""
    )
    return paragraphs("\n".join(lines), bound)


def _left(run: Run, cross: Cross) -> str:
    share = findings.remaining(run, cross)
    before, after = (_median(run, case) for case in (cross.python, cross.native))
    most = " (not distinguishable from all of it)" if share.high >= 1 else ""
    return (
        f"- **{cross.name}**: with both sides in C++, {_percent(share)} of the median round trip is left{most}: "
        f"{after} instead of {before}. {_side(run, cross, 'client')}. {_side(run, cross, 'server')}."
    )


def _side(run: Run, cross: Cross, which: str) -> str:
    """Say what a side in C++ changes; where the interval holds 0, that it is not distinguishable."""
    share = findings.removed(run, cross, which)
    words = f"A {which} in C++ alone"
    if share.low <= 0 <= share.high:
        low, high = (f"{100 * end:.0f}" for end in (share.low, share.high))
        return f"{words} makes no distinguishable difference (it removes {low} to {high} %, 95 % CI)"
    if share.middle < 0:
        return f"{words} makes it {times(findings.remaining(run, cross, which))} as long"
    return f"{words} removes {_percent(share)}"


def cpu(run: Run) -> str:
    """Return the CPU time per call of each role in both languages."""
    lines = []
    for cross in findings.single(run):
        parts = []
        for role in findings.CPU:
            both = [
                across_starts(findings.cpu_us(run, case, role)).words(duration)
                for case in (cross.python, getattr(cross, role))
            ]
            ratio = times(findings.cpu_ratio(run, cross, role))
            parts.append(f"The {role} takes {both[0]} in Python and {both[1]} in C++, {ratio} as much.")
        lines.append(f"- **{cross.name}**: {' '.join(parts)}")
    return "\n".join(["CPU time per call:", *lines]) if lines else ""


def throughput(run: Run) -> str:
    """Return for each system what each side, made in C++, does to the calls per second of several callers."""
    lines = []
    for cross in findings.several(run):
        gains = [(which, findings.rate_gain(run, cross, which)) for which in NATIVE]
        parts = [f"{times(gain)} as high {NATIVE[which]}{_verdict(gain)}" for which, gain in gains]
        rate = run.over_starts(cross.python, findings.RATE).words(quantity)
        lines.append(
            f"- **{cross.name}**, {cross.callers} callers in one process: {rate} calls per second with both sides in "
            f"Python. The rate is {', '.join(parts[:-1])}, and {parts[-1]}.{_helps_more(run, cross)} "
            f"CPU utilization with both sides in Python: {limit_of(run, cross.python).utilization}."
        )
    return paragraphs("\n".join(lines), RATIOS if lines else "")


def _verdict(gain: Interval) -> str:
    """Say of the rate with a side in C++ that it is lower, or that it is not distinguishable."""
    if gain.has_ends and not gain.excludes(1):
        return " (not distinguishable)"
    return " (a lower rate)" if gain.high < 1 else ""


def _helps_more(run: Run, cross: Cross) -> str:
    """Name the side whose exchange alone helps, and more than the other's, and say what the other's does."""
    ratio = findings.server_over_client(run, cross)
    side = "server" if ratio.low > 1 else "client" if ratio.high < 1 else ""
    if not side or not findings.rate_gain(run, cross, side).low > 1:
        return ""
    other = "client" if side == "server" else "server"
    gain = findings.rate_gain(run, cross, other)
    does = (
        "helps as well"
        if gain.low > 1
        else "lowers the rate"
        if gain.high < 1
        else "makes no distinguishable difference"
    )
    return f" A {side} in C++ alone helps more than a {other} in C++ alone, which {does}."


def _percent(share: Interval) -> str:
    """Return a share with its interval, in percent."""
    if math.isnan(share.middle):
        return "an unknown share"
    if not share.has_ends:
        return f"{100 * share.middle:.0f} % ({confidence(share)})"
    return f"{100 * share.middle:.0f} % (95 % CI {100 * share.low:.0f} to {100 * share.high:.0f})"


def _median(run: Run, case: int) -> str:
    return run.over_starts(case, findings.RTT).words(duration)
