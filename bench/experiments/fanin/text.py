"""Sentences of fanin.ipynb: what many clients gain, what ends the growth, and how long a brokered call takes."""

from bench.analysis.resources import cpu_over_starts
from bench.experiments.case_ratios import P50, RATE
from bench.experiments.claims import above, judged, with_verdict
from bench.experiments.fanin.findings import (
    best,
    broker_share,
    brokers,
    delay,
    detour,
    direct,
    fewest,
    growth,
    peak,
    systems,
)
from bench.experiments.sentences import limit_of
from bench.run.frames import Run
from bench.text import duration, paragraphs, quantity


def conclusion(run: Run) -> str:
    """Say how each system grows with the clients, and what limits it; then how long a call through a broker takes."""
    return paragraphs(growths(run), detours(run))


def detours(run: Run) -> str:
    """Say how long a call through each broker takes, compared with a direct one, and the broker's share of its CPU."""
    base = direct(run)
    if not brokers(run):
        return "No broker was measured: `python -m bench list` says how to install one."
    lines = []
    for name in brokers(run):
        case, ratio = fewest(run, name), detour(run, name)
        text = (
            f"- **{name}**: with {_clients(run, case)} the median RTT is {run.over_starts(case, P50).words(duration)}"
        )
        text += f", {ratio} as long as directly ({base})." if ratio else "."
        share = broker_share(run, case)
        lines.append(
            f"{text} CPU time per call: {cpu_over_starts(run, case).words(duration)}, of which the broker {share:.0%}."
        )
    found = {name: above(of) for name in brokers(run) if (of := detour(run, name))}
    both = f"A ratio to {base} contains the broker and the client library that it needs." if found else ""
    claim = f"a call through a broker takes longer than a direct one with {base}"
    return with_verdict(judged(claim, found), "\n".join(lines), both)


def growths(run: Run) -> str:
    """Say for each system how calls per second and RTT change from the fewest clients to the most, and the limit."""
    lines = []
    for name in systems(run):
        rate, rtt, top = growth(run, name), delay(run, name), best(run, name)
        limit = limit_of(run, top)
        text = f"- **{name}**:"
        if rate is not None and rtt is not None:
            text += (
                f" {_clients(run, rate.other)} make {rate} the calls per second of {_clients(run, rate.base)}, with a "
                f"median RTT {rtt} as long."
            )
        highest = run.over_starts(top, RATE).words(quantity)
        text += f" {'The' if rate else 'the'} highest rate is {highest} calls/s, with {_clients(run, top)}."
        if (after := peak(run, name)) is not None:
            text += f" With {_clients(run, after.other)} it is {after} that{after.doubt}."
        lines.append(f"{text} {limit.sentence} (CPU utilization: {limit.utilization}).")
    found = {name: above(of) for name in systems(run) if (of := growth(run, name))}
    claim = "the most clients make more calls per second than the fewest"
    return with_verdict(judged(claim, found), "\n".join(lines))


def _clients(run: Run, case: int) -> str:
    count = run.case(case).under_way
    return f"{count} client{'s' if count > 1 else ''}"
