"""Sentences of messages.ipynb: the serializer or the transport, and from which size on."""

import math

from bench.experiments.messages import findings
from bench.experiments.messages.findings import DOMINANT, LITTLE
from bench.grammar.contrast import P50, ratio
from bench.run.frames import Run
from bench.text import capitalized, duration, listed, paragraphs, quantity


def answer(run: Run) -> str:
    """Return the smallest and the largest ratio of calls with the message to those with opaque bytes."""
    compared = {case: findings.of_message(run, base, case) for base, case in findings.by_system(run)}
    ratios = {case: of for case, of in compared.items() if of is not None}
    if not ratios:
        return paragraphs(best(run)) or systems(run)
    ends = dict.fromkeys(choose(ratios, key=lambda case: ratios[case].value) for choose in (min, max))
    takes = " to ".join(
        f"{ratios[case].words} times (**{run.case(case).system}, {findings.codec(run, case)}**, "
        f"{ratios[case].range}{ratios[case].doubt})"
        for case in ends
    )
    return f"With {_message(run)}, a call takes {'from ' * (len(ends) > 1)}{takes} as long as one with opaque bytes."


def _message(run: Run) -> str:
    of = run.case(findings.by_system(run)[0][1])
    return f"the message {of.message} ({quantity(findings.middle(run), 'B')} as JSON)"


def conclusion(run: Run) -> str:
    """Return the codec's share of the calls, what another codec changes, and the sizes at which the codec dominates."""
    return paragraphs(systems(run), best(run), sizes(run))


def systems(run: Run) -> str:
    """Return, for each system, the codec's share of the call and the call's ratio to one with opaque bytes."""
    lines = [_system(run, base, case) for base, case in findings.by_system(run)]
    if not lines:
        return ""
    title = f"Calls with {_message(run)}. Times and shares are medians over the starts:"
    if any(findings.split(run, case).share.high > 1 for case in run.numbers if findings.is_message(run, case)):
        lines.append(ABOVE_ALL)
    return "\n".join([title, *lines])


ABOVE_ALL = (
    "\nA share above 100 %, here or in the table: in that start the codec took longer, timed alone, than the calls "
    "that contain it, as happens where the machine's speed changes in between. The median over the starts counts."
)


def _system(run: Run, base: int | None, case: int) -> str:
    split, compared = findings.split(run, case), findings.of_message(run, base, case)
    against = (
        f". A call of **{run.case(case).system}** takes {compared} as long as one with opaque bytes" if compared else ""
    )
    if compared is not None and compared.interval.low <= 1 <= compared.interval.high:
        against += " (not distinguishable)"
    of_share = split.share
    share = of_share.words("{:.0%}".format, f"starts from {of_share.low:.0%} to {of_share.high:.0%}")
    return (
        f"- **{run.case(case).system}, {findings.codec(run, case)}**: {split.rtt.words(duration)}, of which the codec "
        f"takes {split.client.words(duration)} in the client and {split.server.words(duration)} in the server: "
        f"{share}{against}."
    )


def best(run: Run) -> str:
    """Return which codec is fastest over the carrier, what it saves, and which part is the larger one."""
    cases = findings.by_codec(run)
    if not cases:
        return ""
    first, last = cases[0], cases[-1]
    fast = findings.split(run, first)
    codec_us = fast.client.middle + fast.server.middle
    text = (
        f"Over {findings.carrier(run)}, the fastest codec is "
        f"**{findings.codec(run, first)}**: codec {duration(codec_us)}, everything else {duration(fast.rest_us)}."
    )
    if last == first:
        return text
    slow = findings.split(run, last)
    part = "the codec" if slow.share.middle > DOMINANT else "everything else"
    there, back = findings.encoded_bytes(run, last)
    few, less = findings.encoded_bytes(run, first)
    return (
        f"{text} With **{findings.codec(run, last)}**, whose median RTT is the largest{_alike(run, last)}, "
        f"{part} is the larger part ({slow.share.middle:.0%} codec), and the median RTT is "
        f"{ratio(run, first, last, P50)} as long. Encoded, request and reply take {quantity(there + back, 'B')} "
        f"with {findings.codec(run, last)} and {quantity(few + less, 'B')} with {findings.codec(run, first)}."
    )


def _alike(run: Run, last: int) -> str:
    """Return the codecs whose median RTT is not distinguishable from the largest one; "" if there are none."""
    rest = [case for case in findings.by_codec(run) if case != last]
    alike = [findings.codec(run, case) for case in rest if not ratio(run, case, last, P50).is_certain]
    return f" (not distinguishable from {listed(alike)})" if alike else ""


def sizes(run: Run) -> str:
    """Return at which sizes each codec takes little of the call, and from which size on it takes most of it."""
    sweeps = {name: cases for name, cases in findings.sweeps(run).items() if len(cases) > 1}
    return "\n".join(f"- {_sizes(run, name, cases)}" for name, cases in sweeps.items())


def _sizes(run: Run, name: str, cases: list[int]) -> str:
    shares = [findings.split(run, case).share.middle for case in cases]
    least, most = run.case(cases[0]).payload_bytes, run.case(cases[-1]).payload_bytes
    ends = f"{shares[0]:.0%} of the call at {quantity(least, 'B')}, {shares[-1]:.0%} at {quantity(most, 'B')}"
    said = [_crossing(run, cases, shares, level, words) for level, words in ((LITTLE, "a tenth"), (DOMINANT, "half"))]
    rest = [duration(findings.split(run, case).rest_us) for case in (cases[0], cases[-1])]
    others = f"everything else takes {rest[0]} at the smallest size and {rest[1]} at the largest"
    return f"**{name}** takes {ends}: {listed(said)}. {capitalized(others)}."


def _crossing(run: Run, cases: list[int], shares: list[float], level: float, words: str) -> str:
    at = findings.crossing_bytes(run, cases, level)
    if math.isnan(at):
        return f"{words} or {'more' if min(shares) > level else 'less'} at every size"
    return f"{words} of the call at about {quantity(at, 'B')}"
