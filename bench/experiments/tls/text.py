"""Sentences of tls.ipynb: what encryption adds to a connection, to a call and to a byte, and to CPU time."""

import math

from bench.experiments.sentences import limit_of
from bench.experiments.tls import findings
from bench.experiments.tls.findings import Pair, name, pairs
from bench.grammar.contrast import confidence, times
from bench.run.frames import Run
from bench.stats import across_starts
from bench.stats.intervals import Interval
from bench.text import duration, in_bytes, paragraphs, quantity


def conclusion(run: Run) -> str:
    """Return what encryption costs each system: per connection, per call, per kilobyte, and in CPU time."""
    return paragraphs(added(run), handshakes(run), load(run))


def added(run: Run) -> str:
    """Return what encryption adds in each system: to a connection, to a call and to a kilobyte."""
    lines, smallest = [], in_bytes(findings.sizes(run)[0])
    for pair in pairs(run):
        costs = findings.added(run, pair.plain, pair.encrypted)
        lines.append(
            f"- **{name(run, pair)}**: {findings.protocol(run, pair)} adds {_time(costs.handshake)} to each new "
            f"connection, {_time(costs.call)} to a call of {smallest}, and {_time(costs.byte)} to each kB of payload"
            f"{_worth(costs)}."
        )
    return "\n".join(lines)


def _worth(costs: findings.Added) -> str:
    """Say how many calls cost as much encryption as one handshake, where both are known."""
    if not (costs.handshake.low > 0 and costs.call.low > 0):
        return ""
    calls = quantity(costs.handshake.middle / costs.call.middle)
    return f". One handshake costs as much as the encryption of {calls} such calls"


def handshakes(run: Run) -> str:
    """Return how encryption changes the time to the first reply, and what a resumed session changes."""
    lines = []
    for pair in pairs(run):
        plain, encrypted = (across_starts(findings.connect_us(run, case)).words(duration) for case in pair[:2])
        again = findings.resumed_ratio(run, pair)
        words = f" With a resumed session it is {times(again)} as long as with a new one." if again else ""
        if again and again.low <= 1 <= again.high:
            words = f" A resumed session makes no difference that is distinguishable ({confidence(again)})."
        lines.append(
            f"- **{name(run, pair)}**: from opening a connection to its first reply {plain} without encryption "
            f"and {encrypted} with it, {times(findings.connect_ratio(run, pair))} as long.{words}"
        )
    return "\n".join(lines)


def load(run: Run) -> str:
    """Return how encryption changes the RTT and the CPU time of calls on an open connection.

    Of the smallest and the largest payload, and of the one with the largest ratio of RTTs.
    """
    sizes = findings.sizes(run)
    lines = []
    for pair in pairs(run):
        rtt = {size: findings.call_ratio(run, pair, size) for size in sizes}
        largest = max(sizes, key=lambda size: rtt[size].middle)
        shown = [
            f" With {in_bytes(size)}, the RTT is {times(rtt[size])} as long and the CPU time {_cpu(run, pair, size)}."
            for size in sorted({sizes[0], largest, sizes[-1]})
        ]
        lines.append(
            f"- **{name(run, pair)}**, calls on an open connection, encrypted divided by not encrypted.{''.join(shown)}"
        )
    return "\n".join(lines)


def computation(run: Run) -> str:
    """Say of the largest payload whether what encryption adds to a call is CPU time, and what else it can be."""
    largest = findings.sizes(run)[-1]
    lines = []
    for pair in pairs(run):
        said = _computed(findings.computed(run, pair, largest), _share_a_cpu(run, pair))
        lines.append(f"- **{name(run, pair)}**: {said}{_busy(run, pair, largest)}")
    head = f"CPU time that encryption adds to a call of {in_bytes(largest)}, divided by what it adds to the round trip:"
    return "\n".join([head, *lines])


def _share_a_cpu(run: Run, pair: Pair) -> bool:
    return run.case(pair.encrypted).placement == "same"


def _computed(share: Interval, is_one_cpu: bool) -> str:
    if not share.has_ends:
        return "not known (fewer than six blocks in which encryption adds to both)."
    if not share.excludes(1):
        return f"{times(share)}, not distinguishable from 1: the added time is computation, as far as this run shows."
    if share.high < 1:
        return f"{times(share)}: the rest of the added time is not CPU time of either side; its cause is not measured."
    elsewhere = (
        "or on two CPUs at the same time" if not is_one_cpu else "or in the slower calls, which the median leaves out"
    )
    return f"{times(share)}: part of this work is outside the round trip, {elsewhere}."


def _busy(run: Run, pair: Pair, payload_bytes: int) -> str:
    """Return how busy the CPUs are in the encrypted calls: what is saturated does not wait."""
    case = findings.calling(run, pair.encrypted, payload_bytes)
    return "" if case is None else f" Utilization: {limit_of(run, case).utilization}."


def _cpu(run: Run, pair: Pair, payload_bytes: int) -> str:
    ratio = findings.cpu_ratio(run, pair, payload_bytes)
    return "not known" if math.isnan(ratio.middle) else times(ratio)


def _time(interval: Interval) -> str:
    """Return an added time with its interval; where that contains 0, what it is at most."""
    if not interval.has_ends:
        return f"{duration(interval.middle)} (no 95 % CI from fewer than six blocks)"
    if interval.low <= 0:
        return "nothing" if interval.high <= 0 else f"at most {duration(interval.high)} (not distinguishable from 0)"
    return "{} (95 % CI {} to {})".format(duration(interval.middle), *interval.ends(duration))
