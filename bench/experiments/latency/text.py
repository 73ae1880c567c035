"""Sentences of latency.ipynb: round trips, compared with raw sockets and with the instrument; CPU time per call."""

import math

import pandas as pd

from bench.analysis.quantiles import quantile
from bench.analysis.resources import cpu_over_starts
from bench.experiments.claims import above, judged
from bench.experiments.latency.findings import ratios
from bench.experiments.sentences import P50, with_range
from bench.run.frames import Run, number_of, numbered
from bench.text import duration, listed, paragraphs, quantity

DROPPED = " It also counts the first calls of each slice, which are slower, and which the RTT and the rate leave out."


def conclusion(run: Run) -> str:
    """Return the median RTT of each system, its ratio to raw sockets, and the instrument's overhead."""
    cases, compared = run.cases.dropna(subset=P50), {ratio.other: ratio for ratio in ratios(run)}
    sentences = []
    for case, row in numbered(cases[~cases["system"].isin(["sockets", "loopback"])]):
        text = f"The median RTT of **{row['label']}** is {with_range(run, case, P50)}"
        if ratio := compared.get(case):
            base = run.over_starts(ratio.base, P50).words(duration)
            text += f", {ratio} that of raw sockets over {run.case(ratio.base).transport} ({base})"
        sentences.append(text + ".")
    return paragraphs(_faster(run), " ".join([*sentences, _instrument(run, cases), _tail(run)]))


def _faster(run: Run) -> str:
    """Return which systems are faster than raw sockets in Python, so that their libraries add no time to them."""
    found = {run.labels[ratio.other]: above(ratio) for ratio in ratios(run)}
    return judged("a library adds time to a round trip over raw sockets", found) if False in found.values() else ""


def _instrument(run: Run, cases: pd.DataFrame) -> str:
    own, rest = cases[cases["system"] == "loopback"], cases[cases["system"] != "loopback"]
    if own.empty or rest.empty:
        return ""
    overhead, words = own[P50].iloc[0], run.over_starts(number_of(own.index[0]), P50).words(duration)
    return (
        f"The instrument overhead (`loopback`) is {words} per call: {overhead / rest[P50].min():.1%} of "
        "the shortest median RTT."
    )


def _tail(run: Run) -> str:
    """Return the case with the largest ratio of p99.9 to median, and that ratio: of the numbers in the table."""
    cases = [case for case in run.numbers if run.case(case).system != "loopback"]
    tails = {case: quantile(run, case, 0.999).value / quantile(run, case, 0.5).value for case in cases}
    measured = {case: ratio for case, ratio in tails.items() if not math.isnan(ratio)}
    if not measured:
        return ""
    worst = max(measured, key=lambda case: measured[case])
    return f"The largest ratio of p99.9 to median is {quantity(measured[worst])}, for {run.labels[worst]}."


def cpu(run: Run) -> str:
    """Return the CPU time per call over all roles, compared with the mean RTT."""
    cases = run.cases.dropna(subset=[P50, "server_cpu_us_per_call"])
    cases = cases[cases["load"] == "closed"]
    used = {case: (cpu_over_starts(run, case), run.over_starts(case, "mean_rtt_us")) for case, _ in numbered(cases)}
    share = {case: cpu_us.middle / rtt_us.middle for case, (cpu_us, rtt_us) in used.items()}
    lines = [
        f"- {run.labels[case]}: {cpu_us.words(duration)} CPU time per call, {rtt_us.words(duration)} mean RTT, "
        f"a ratio of {share[case]:.2f}"
        for case, (cpu_us, rtt_us) in used.items()
    ]
    text = "\n".join(lines)
    if over := [run.labels[case] for case in used if round(share[case], 2) > 1]:
        which = "all of them" if len(over) == len(lines) else listed(over)
        text += (
            f"\n\nFor {which} the CPU time per call exceeds the RTT. The RTT ends with the reply. The CPU time counts "
            "all work, also the server's after its reply has left, the client's between a reply and its next request, "
            f"and that of the libraries' other threads.{DROPPED if len(run.stored_slices) else ''}"
        )
    if run.cases["target"].any():
        text += "\n\nThe CPU time of a server that was not started here cannot be measured: it is left blank, not zero."
    return text.strip()
