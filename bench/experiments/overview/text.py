"""Sentences of overview.ipynb: each system compared with raw sockets, CPU time per call, and a second client."""

import pandas as pd

from bench.analysis.resources import cpu_over_starts
from bench.experiments.doubling import doubled, parts, waiting
from bench.experiments.overview.findings import (
    FLOOR,
    NATIVE,
    P50,
    cpu_share,
    extremes,
    group_of,
    grouped,
    native_baseline,
    over_sockets,
    ranked,
    rates,
    unsteady,
)
from bench.experiments.sentences import absent, why_not_more
from bench.grammar.contrast import beside_medians
from bench.run.frames import Run, number_of, numbered
from bench.text import duration, listed, paragraphs, percent_beside, quantity

MOST_LINES = 12  # one line for each of so many systems; of more, some of each group
OF_EACH_GROUP = 3
ASKED = (FLOOR, "grpc_sync", "wamp_crossbar")


def conclusion(run: Run) -> str:
    """Return the span of the ratios to raw sockets, each system's RTT and CPU time, and the gain of a second client."""
    cases, shown = ranked(run), _in_words(run)
    rest = [f"The other {len(cases) - len(shown)} systems are in the tables."] if len(shown) < len(cases) else []
    lines = [
        f"- **{row['system']}** ({group_of(run, case)}, {row['transport']}): "
        f"median RTT {run.over_starts(case, P50).words(duration)}{_compared(run, case)}, "
        f"{cpu_over_starts(run, case).words(duration)} CPU time per call{_unsteady(run, case, ' (', ')')}"
        for case, row in numbered(cases)
        if case in shown
    ]
    said = [over_sockets(run, case) for case, row in numbered(cases) if row["system"] != FLOOR]
    rest += [words] if (words := beside_medians(run, said)) else []
    text = "\n".join([*lines, "", *rest, f"{cpu(run)} {_second_client(run)}", *absent(run)])
    return paragraphs(span(run), text)


def span(run: Run) -> str:
    """Return the smallest and the largest ratio of an RPC system's median RTT to that of raw sockets; "" of none."""
    ends = [
        f"{ratio.words} times (**{run.case(ratio.other).system}**, {ratio.range}{ratio.doubt}"
        f"{_unsteady(run, ratio.other, ', ')})"
        for ratio in extremes(run)
    ]
    if not ends:
        return ""
    of = f"RPC systems is from {ends[0]} to {ends[1]}" if len(ends) > 1 else f"the RPC system is {ends[0]}"
    return f"The median RTT of {of} that of raw sockets over the same transport."


def _unsteady(run: Run, case: int, before: str, after: str = "") -> str:
    return f"{before}most starts did not reach steady state{after}" if case in unsteady(run) else ""


def _in_words(run: Run) -> set[int]:
    """Return the cases that have a line: all of few; of many the fastest of each group and those of the questions."""
    rows = grouped(run)
    if len(rows) <= MOST_LINES:
        return set(map(number_of, rows.index))
    named = pd.concat([rows.groupby("group").head(OF_EACH_GROUP), rows[rows["system"].isin(ASKED)]])
    return set(map(number_of, named.index))


def _compared(run: Run, case: int) -> str:
    of = run.case(case)
    if of.system == FLOOR:
        return " (the baseline)"
    ratio = over_sockets(run, case)
    if ratio is None:
        return f" (raw sockets over {of.transport} were not measured)"
    return f", {ratio} that of raw sockets over {of.transport}"


def cpu(run: Run) -> str:
    """Return the CPU time per call divided by the mean RTT, and for how many systems that is below 100 % or above it.

    A ratio above 1 has several possible causes, which a run does not distinguish.
    """
    share = cpu_share(run).dropna()
    if share.empty:
        return ""
    systems = run.cases.loc[share.index, "system"]
    waits, over = systems[share < 1], systems[share > 1]
    low, high = (percent_beside(end, 1) for end in (share.min(), share.max()))
    text = f"The CPU time per call over all roles divided by the mean RTT is {low} to {high}."
    if len(waits):
        text += f" It is below 100% for {_named(waits, len(systems))}."
    if len(over):
        text += f" It is above 100% for {_named(over, len(systems))}."
    if len(run.stored_slices):
        text += " The CPU time also counts the first calls of each slice. RTT and rate leave them out."
    elif len(over):
        text += " The CPU time also counts work between a reply and the next request."
    return text


def _named(some: "pd.Series[str]", of: int) -> str:
    """Return the names of some systems, or of many how many they are."""
    return listed(some) if of <= MOST_LINES else f"{len(some)} of {of} systems"


def _second_client(run: Run) -> str:
    both = rates(run).sort_values("gain")
    if both.empty:
        return "A second client was not measured: give `-p two_clients true`, or a group (`-p groups broker`)."
    least, most = both.index[0], both.index[-1]
    gain = both.loc[most, "ratio"]
    text = f"The gain of a second client (placement `{both['placement'].iloc[0]}`) is "
    if least == most:
        return " ".join(filter(None, [f"{text}{_gain(run, most)}.", doubled(run, gain), why_not_more(run, gain.other)]))
    text += f"largest for {_gain(run, most)}, and smallest for {_gain(run, least)}."
    return " ".join(filter(None, [text, doubled(run, gain), native(run)]))


def native(run: Run) -> str:
    """Say where the native baseline is slower than the one in Python, and which part of its calls is longer."""
    found = native_baseline(run)
    if found is None or not found.interval.high < 1:
        return ""
    return (
        f"With one client and a CPU each side **{NATIVE}** makes fewer calls/s than {FLOOR}, {found} as many. "
        f"{parts(waiting(run, found.base, found.other), FLOOR, NATIVE)} The cost of waking an idle CPU may be the "
        "reason; how deeply it sleeps is not recorded."
    )


def _gain(run: Run, system: str) -> str:
    gain = rates(run).loc[system, "ratio"]
    one, two = (run.over_starts(case, gain.name).words(quantity) for case in (gain.base, gain.other))
    return f"**{system}**: {gain}{gain.doubt} (median rates: {one} and {two} calls/s)"
