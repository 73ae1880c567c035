"""Sentences of streaming.ipynb: the first message, the gaps, where a reply is late, and the origin's choice."""

import pandas as pd

from bench import stats
from bench.analysis.resources import cpu_over_starts
from bench.experiments.published import VLLM
from bench.experiments.streaming import findings
from bench.experiments.streaming.findings import FIRST, GAP, LARGE_GAP, QUANTITIES, Step
from bench.grammar.contrast import ratio
from bench.run.frames import Run, number_of, numbered
from bench.text import counted, duration, listed, paragraphs, quantity

HALF = 0.5  # share of the sum of both medians
NAGLE = "Nagle's algorithm with delayed ACKs"


def conclusion(run: Run) -> str:
    """Return what arrives first and how evenly, where replies are late, and what the origin's choice changes."""
    return paragraphs(arrival(run), where(run), unpaced(run), origin(run))


def answer(run: Run) -> str:
    """Return when the first message arrives, how evenly the others follow, and the origin's ratio beside this run's."""
    return paragraphs(_first(run), _gaps(run), _both_ratios(run)) or unpaced(run)


def arrival(run: Run) -> str:
    """Return the time to first message and the gaps, against the number of streams."""
    return paragraphs(
        _first(run), _longer(run), _gaps(run), _schedule(run), _held(run, findings.paced(run)), _services(run)
    )


def _streams(count: int | None) -> str:
    return f"{count or 0:,} stream{'s' * (count != 1)}"


def _first(run: Run) -> str:
    cases = findings.with_first(run)
    if cases.empty:
        return ""
    few = cases[cases["callers"] == cases["callers"].min()].sort_values(FIRST)
    low, high = number_of(few.index[0]), number_of(few.index[-1])
    first, last = (run.over_starts(case, FIRST).words(duration) for case in (low, high))
    at = f"With {_streams(int(few['callers'].iloc[0]))}, the"
    if len(few) == 1:
        return f"{at} median time to first message is {first} with {run.case(low).system}."
    of = ratio(run, low, high, FIRST)
    return (
        f"{at} median time to first message is {first} with {run.case(low).system}, the smallest, and {last} with "
        f"{run.case(high).system}, the largest. The largest divided by the smallest is {of.words} "
        f"({of.range}){of.doubt}."
    )


def _longer(run: Run) -> str:
    """Return which systems' first message takes longer with fewer streams, which no queue of streams explains."""
    return " ".join(
        f"With {run.case(of.other).system}, the first message takes longer with "
        f"{_streams(run.case(of.other).callers)} than with {run.case(of.base).callers:,}: {of}."
        for of in findings.longer_with_fewest(run)
    )


def _schedule(run: Run) -> str:
    cases, kept = findings.paced(run), findings.kept(run)
    if cases.empty:
        return ""
    gap = duration(float(cases["gap_us"].iloc[0]))
    lines = [
        f"A message is due every {gap} in each stream. A case is on schedule if at most {findings.MOST_OVERDUE:.0%} of "
        "its messages come more than one gap late (median over starts). By the number of streams:"
    ]
    for system, rows in cases.groupby("system", sort=False):
        on_schedule = kept[kept["system"] == system]
        late = rows[[findings.is_behind(row) for _, row in rows.iterrows()]]
        nagle = [findings.held(run, number_of(case)) is not None for case in late.index]
        waits = [not of for of in nagle]
        parts = [
            f"on schedule at {_counts(on_schedule)}" if len(on_schedule) else "",
            f"held back by **{NAGLE}** at {_counts(late[nagle])}" if any(nagle) else "",
            f"**behind schedule** at {_counts(late[waits])}" if any(waits) else "",
        ]
        lines.append(f"- {system}: {listed(filter(None, parts))}")
    return "\n".join(lines)


def _counts(cases: pd.DataFrame) -> str:
    return listed(f"{count:,}" for count in sorted(cases["callers"]))


def _held(run: Run, cases: pd.DataFrame, where: str = "") -> str:
    """Return for each case that TCP held back how long nothing arrived, and what the kernel counted."""
    lines = []
    for case, row in numbered(cases):
        if of := findings.held(run, case):
            lines.append(
                f"- {row['system']}, {_streams(int(row['callers']))}: {counted(round(of.silences), 'silence')} of "
                f"{duration(of.silence_us)} and {counted(round(of.delayed_acks), 'delayed ACK')} per start"
            )
    if not lines:
        return ""
    head = (
        f"{where}{NAGLE}: no CPU was saturated, and the kernel counted at least one delayed ACK for each silence, in "
        "which no message of any stream arrived (medians over the starts):"
    )
    return "\n".join([head, *lines])


def unpaced(run: Run) -> str:
    """Return the highest rate without pauses, and which rates are those of delayed ACKs rather than of a stack."""
    cases = findings.unpaced(run)
    if cases.empty:
        return ""
    best = cases.loc[cases["rate_per_s"].idxmax()]
    rate = run.over_starts(number_of(best.name), "rate_per_s").words(quantity)
    text = f"Without pauses the highest rate is {rate} messages/s, with {best['system']}."
    return paragraphs(text, _held(run, cases, "Without pauses, "))


def _services(run: Run) -> str:
    """Return for each number of streams of a user's service its first message, its gaps, its rate and its cost."""
    lines = []
    for case, row in numbered(findings.services(run)):
        large = row[LARGE_GAP]
        parts = [
            f"time to first message {run.over_starts(case, FIRST).words(duration)}",
            f"gap {duration(row[GAP])}" + (f" (p99 {duration(large)})" if large == large else ""),
            f"{run.over_starts(case, 'rate_per_s').words(quantity)} messages/s",
            f"CPU time per message {_cpu(run, case)}",
        ]
        lines.append(f"- {row['system']}, {_streams(int(row['callers']))}: {', '.join(parts)}")
    return "\n".join(["Medians of a service's streams:", *lines]) if lines else ""


def _gaps(run: Run) -> str:
    if findings.paced(run).empty:
        return ""
    rows = findings.at_common(run)
    if rows.empty:
        return "At no number of streams are most systems on schedule."
    rows = rows[[findings.has_p90(run, number_of(case), "uneven") for case in rows.index]]
    if rows.empty:
        return ""
    off = {row["system"]: stats.quantile(findings.unevenness(run, case), 0.9) for case, row in numbered(rows)}
    even, uneven = min(off, key=off.__getitem__), max(off, key=off.__getitem__)
    text = (
        f"At {_streams(findings.common(run))}, nine of ten gaps are within {duration(off[even])} of the planned gap "
        f"with {even}"
    )
    if even != uneven:
        text += f", the smallest such distance, and within {duration(off[uneven])} with {uneven}, the largest"
    return f"{text}.{_left_out(run)}"


def _left_out(run: Run) -> str:
    """Return a sentence that names the systems that are left out at the number of ``common``, or nothing."""
    behind = findings.behind_at_common(run)
    return f" Left out, {findings.late(run, behind)}: {listed(behind['system'])}." if len(behind) else ""


def where(run: Run) -> str:
    """Return where replies are late, and what a message costs in CPU time."""
    return paragraphs(_where(run), _cost(run))


def _where(run: Run) -> str:
    rows = findings.at_common(run)
    if rows.empty:
        return ""
    lines, timed = [f"Where a reply is late at {_streams(findings.common(run))} (medians):"], []
    for case, row in numbered(rows):
        lateness = findings.lateness(run, case)
        timed += [row["system"]] if lateness.pacing_share > HALF else []
        lines.append(
            f"- {row['system']}: {duration(lateness.pacing[0])} at the server's timer and "
            f"{duration(lateness.transit[0])} from there to the client (timer: "
            f"{lateness.pacing_share:.0%} of the sum)"
        )
    said = f"The timer is the larger part with {listed(timed)}." if timed else "The timer is the larger part with none."
    return "\n".join(lines) + f"\n\n{said}{_left_out(run)}"


def _cost(run: Run) -> str:
    rows = findings.at_common(run)
    if rows.empty:
        return ""
    spent = {number_of(case): cpu_over_starts(run, number_of(case)) for case in rows.index}
    low, high = (choose(spent, key=lambda case: spent[case].middle) for choose in (min, max))
    least, most = (spent[case].values(duration) for case in (low, high))
    if len(spent) == 1:
        return f"A message costs {least} CPU time, of all roles, with {run.case(low).system}.{_left_out(run)}"
    return (
        f"The smallest CPU time per message, of all roles, is {least}, with {run.case(low).system}, and the largest is "
        f"{most}, with {run.case(high).system}.{_left_out(run)}"
    )


def _cpu(run: Run, case: int) -> str:
    parts = {role: run.over_starts(case, f"{role}_cpu_us_per_call") for role in ("client", "server", "router")}
    return listed(f"{us.values(duration)} ({role})" for role, us in parts.items() if us.middle > 0)


def origin(run: Run) -> str:
    """Return the origin's ratio beside this run's, and what each step of the origin's choice changes here."""
    both = findings.stack_ratio(run)
    steps = [step for step in findings.steps(run) if step.ratio is not both]
    if not steps:
        return ""
    late = [findings.stack_name(run, case) for case in findings.stacks(run) if findings.is_behind(run.cases.loc[case])]
    behind = f"Behind schedule, so that their times are not those of the stack alone: {listed(late)}." if late else ""
    count = _streams(findings.origin_streams(run))
    head = f"With a paced source in the model's place and one factor at a time, at {count}:"
    return paragraphs(_both_ratios(run), f"{head}\n\n{_steps(run, steps)}", behind, _difference(run))


def _both_ratios(run: Run) -> str:
    """Return the ratio of both stacks in time to first message, and the origin's."""
    if (of := findings.stack_ratio(run)) is None:
        return ""
    ttft = VLLM["ttft_ms"]
    return (
        f"With {_streams(findings.origin_streams(run))}, the median time to first message with gRPC divided by that "
        f"with ZeroMQ, both with protobuf over tcp, is {of.words} ({of.range}){of.doubt}. "
        f"In the origin's table the mean time to first token with gRPC is {ttft['gRPC']} ms and that with ZeroMQ "
        f"{ttft['ZeroMQ + protobuf']} ms: their ratio is {quantity(ttft['gRPC'] / ttft['ZeroMQ + protobuf'])}. Each of "
        "these two means is one measurement, with a model and its load."
    )


def _steps(run: Run, steps: list[Step]) -> str:
    """Return a line for each change that is distinguishable, and one that names all others."""
    lines = [_step(run, step) for step in steps if step.ratio.is_certain]
    others = [step for step in steps if not step.ratio.is_certain]
    equal = {change: [step.what for step in others if step.change == change] for change in
             dict.fromkeys(step.change for step in others)}  # fmt: skip
    said = ", ".join(f"{change} ({_whats(whats)})" for change, whats in equal.items())
    lines += [f"- Not distinguishable (the panel shows the intervals): {said}."] if said else []
    return "\n".join(lines)


def _step(run: Run, step: Step) -> str:
    """Return the ratio of a step with its conditions, after over before."""
    after, before = (findings.stack_name(run, case) for case in (step.ratio.other, step.ratio.base))
    what = f"median {step.what}" if step.ratio.name == FIRST else step.what
    return (
        f"- With {_streams(findings.origin_streams(run))}, the {what} with {after} divided by that with {before} is "
        f"{step.ratio.words} ({step.ratio.range})."
    )


def _whats(whats: list[str]) -> str:
    return "all three quantities" if len(whats) == len(QUANTITIES) else listed(whats)


def _difference(run: Run) -> str:
    """Return how much later gRPC's first message is, and its upper end beside the origin's difference."""
    here = findings.stack_difference_us(run)
    if here is None or not here.has_ends or here.high <= 0:
        return ""
    middle, low, high = (duration(us, like=here.middle) for us in (here.middle, here.low, here.high))
    doubt = "" if here.excludes(0) else ", not distinguishable"
    ttft = VLLM["ttft_ms"]
    theirs_us = 1e3 * (ttft["gRPC"] - ttft["ZeroMQ + protobuf"])
    return (
        f"The median time to first message with gRPC minus that with ZeroMQ is {middle} (95 % CI {low} to {high})"
        f"{doubt}. The upper end is {here.high / theirs_us:.1%} of the origin's difference, {duration(theirs_us)}, "
        "which includes the model, its queue, and the CPU time that both processes compete for."
    )
