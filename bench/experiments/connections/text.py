"""Sentences of connections.ipynb: what new connections cost, what depth gives, what a large call does to small ones."""

import math
from collections.abc import Mapping

from bench.experiments.claims import AGAINST, above, judged, with_verdict
from bench.experiments.connections.findings import (
    MOST_DIFFERENT,
    Beside,
    beside,
    blocking,
    blocks,
    churn,
    cpu_per_call_us,
    deepening,
    depth,
    difference,
    large_calls,
    persistence,
    persistent_over,
    time_per_call_us,
)
from bench.experiments.sentences import limit_of
from bench.grammar.contrast import P50, RATE, Ratio
from bench.run.frames import Run, number_of
from bench.stats import across_starts
from bench.text import duration, listed, paragraphs, percent_beside, quantity


def conclusion(run: Run) -> str:
    """Say what new connections cost, what more calls under way give, and what a large call does to small ones."""
    return paragraphs(renewal(run), depths(run), head_of_line(run))


def renewal(run: Run) -> str:
    """Say what a call costs over new connections and over a persistent one, and where the run contradicts the formula.

    The formula: time per call is a call's own time plus the cost of a connection divided by its calls.
    """
    rows = churn(run)
    lines = []
    for system, cases in rows.groupby("system", sort=False):
        ratio = persistence(run, str(system))
        if ratio is None:
            continue
        calls = run.case(ratio.base).calls_per_connection
        often = "A new connection for each call" if calls == 1 else f"A new connection after {calls:,} calls"
        lines.append(
            f"- **{system}**: {often} takes {_cost(run, ratio.base)}, a persistent one {_cost(run, ratio.other)}: "
            f"{ratio} as many calls per second."
        )
        first = cases["p50_first_us"].dropna()
        if len(first):
            opening = run.over_starts(number_of(first.index[0]), "p50_first_us")
            lines[-1] += f" Opening and first call: {opening.words(duration, 'median')}."
        lines[-1] += _renewed_less_often(run, ratio)
    found = persistent_over(run)
    verdicts = [
        judged(
            f"a persistent connection makes more calls per second than {_renewed(calls)}",
            {name: above(one) for name, one in by_system.items()},
        )
        for calls, by_system in found.items()
    ]
    against = [verdict for verdict in verdicts if verdict.startswith(AGAINST)]
    others = [verdict for verdict in verdicts if not verdict.startswith(AGAINST)]
    return paragraphs(_formula(found), *against, "\n".join(lines), *others)


def _renewed(calls: int) -> str:
    return "a new connection for each call" if calls == 1 else f"one renewed after every {calls:,} calls"


def _renewed_less_often(run: Run, most: Ratio) -> str:
    """Return the ratios of a persistent connection to those that are renewed less often than the most renewed one."""
    of = run.case(most.base)
    said = [
        f"{by_system[of.system]} those of {_renewed(calls)}"
        for calls, by_system in persistent_over(run).items()
        if calls > of.calls_per_connection and of.system in by_system
    ]
    return f" The persistent one's calls per second are {listed(said)}." if said else ""


def _formula(found: Mapping[int, Mapping[str, Ratio]]) -> str:
    """Return where the run contradicts that calls only share the cost of their connection; empty if nowhere."""
    slower = dict.fromkeys(name for one in found.values() for name, ratio in one.items() if above(ratio) is False)
    if not slower:
        return ""
    claim = "time per call is a call's own time plus the cost of a connection divided by its calls"
    return (
        f"{judged(claim, dict.fromkeys(slower, False))} A persistent connection is slower there than a renewed one, so "
        "the formula gives a negative cost of a connection. The run does not show the cause. Both cases run the same "
        "timed loop on the same CPUs."
    )


def _cost(run: Run, case: int) -> str:
    time, cpu = (across_starts(of(run, case)) for of in (time_per_call_us, cpu_per_call_us))
    return f"{time.words(duration)} per call ({cpu.values(duration)} of CPU time)"


def depths(run: Run) -> str:
    """Say for each system how throughput and median RTT grow with the calls under way, and what limits the rate."""
    lines = []
    for system in depth(run)["system"].drop_duplicates():
        rate, rtt = deepening(run, system, RATE), deepening(run, system, P50)
        if rate is None or rtt is None:
            continue
        few, many = (run.case(case).outstanding for case in (rate.base, rate.other))
        lines.append(
            f"- **{system}**: {many} calls under way make {rate} the calls per second of {few}, with a median RTT "
            f"{rtt} as long. {_limit(run, rate.other)}"
        )
    found = {system: above(deepening(run, system, RATE)) for system in depth(run)["system"].drop_duplicates()}
    few, many = depth(run)["outstanding"].min(), depth(run)["outstanding"].max()
    claim = f"{many} calls under way, the most measured, make more calls per second than {few}, the fewest"
    return with_verdict(judged(claim, found), "\n".join(lines))


def _limit(run: Run, case: int) -> str:
    limit = limit_of(run, case)
    return f"CPU utilization: {limit.utilization}. {limit.sentence}."


def head_of_line(run: Run) -> str:
    """Say whether sharing a connection with large calls makes small ones longer, and how long they take."""
    found = {system.system: blocks(run, system) for system in beside(run)}
    claim = "small calls take longer on the connection of a large call than on their own (head-of-line blocking)"
    return with_verdict(judged(claim, found), "\n".join(_blocked(run, system) for system in beside(run)))


def _blocked(run: Run, system: Beside) -> str:
    large = quantity(run.case(system.same).large_bytes, "B")
    cases = {
        "alone": system.alone,
        f"on one connection with calls of {large}": system.same,
        "on a connection of their own": system.own,
    }
    shown = [
        f"{run.over_starts(case, P50).words(duration)} {words}" for words, case in cases.items() if case is not None
    ]
    text = f"- **{system.system}**: the median RTT of small calls is {listed(shown)}."
    if system.own is None:
        return text
    answered = [large_calls(run, case) for case in (system.same, system.own)]
    text += f" Large calls answered: {answered[0]:,} on the shared connection and {answered[1]:,} on another."
    ratio = blocking(run, system)
    if ratio is None:
        return f"{text} With none on the shared connection, its small calls show nothing about sharing."
    text += f" Shared divided by not shared: {ratio}{ratio.doubt}."
    if ratio.is_certain and (apart := difference(run, system)) > MOST_DIFFERENT:
        text += (
            f" The ratio is {'above' if above(ratio) else 'below'} 1, but it does not decide on head-of-line blocking: "
            f"the numbers of large calls differ by {percent_beside(apart, MOST_DIFFERENT)}, which is more than "
            f"{MOST_DIFFERENT:.0%}."
        )
    return text


def ports(run: Run) -> str:
    """Say how many connections the kernel counted for each call, and how many sockets a window left in TIME_WAIT."""
    lines = []
    rows = churn(run)
    for case in rows.index[rows["calls_per_connection"] > 0]:
        row = run.cases.loc[case]
        if math.isnan(row["opened_per_call"]):
            continue
        if run.case(number_of(case)).transport != "tcp" or run.case(number_of(case)).calls_per_connection != 1:
            continue
        opened = run.over_starts(number_of(case), "opened_per_call").words("{:.2f}".format)
        left = run.over_starts(number_of(case), "tcp_time_wait").words("{:,.0f}".format)
        lines.append(
            f"- **{row['system']}**: {opened} TCP connections per call, and {left} more sockets in TIME_WAIT after a "
            f"window of {run.plan.window_s:g} s."
        )
    return "\n".join(lines) or "No TCP connections were renewed at each call, or the kernel's counters are not known."
