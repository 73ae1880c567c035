"""network.ipynb: systems over loopback and a veth pair, limited links by payload, and Nagle's stall."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from matplotlib.axes import Axes

from bench.analysis.links import FAR, LOOPBACK, SEGMENT, VETH, link, rate_mbit, transfer_us, with_headers_us
from bench.analysis.stalls import DELAY_S, stalls
from bench.errors import UsageError
from bench.experiments.nodelay import ACKS, CALLS, HELD, draw_acks, sides
from bench.grammar import (
    P50,
    Absent,
    Bytes,
    Claim,
    Contrast,
    Estimand,
    Estimate,
    Level,
    ManyBytes,
    Rows,
    Systems,
    Table,
    alike,
    as_sweep,
    chosen,
    distinct,
    over_starts,
)
from bench.grammar.axes import (
    EmptyError,
    Look,
    band,
    dashed_level,
    draw_spreads,
    interval_row,
    log_axis,
    look,
    name_rows,
    needed,
    payload_axis,
    ratio_axis,
    ratio_text,
    separate_rows,
)
from bench.grammar.contrast import estimate_of, ratio
from bench.grammar.table import as_table
from bench.measurement.hosts import namespaces as measurable
from bench.measurement.validation.amount import OnHosts
from bench.measurement.validation.cases import absent_of, instrument, one_transport
from bench.plan import hosts as far_hosts
from bench.plan import namespaces, parameters
from bench.plan.case import BASELINE, Case
from bench.run.frames import Run, once_per_run
from bench.text import duration, in_bytes, plain

TITLE = "What does the network add?"
STALL_BYTES = 100  # payload of the calls with one write or two: far less than any segment


def rates(rates_mbit: object, name: str) -> list[int]:
    """Return the bandwidths of the limited links in Mbit/s, the lowest first; none of an empty list."""
    if parameters.as_list(rates_mbit) == []:
        return []
    return sorted(parameters.positives(rates_mbit, name, namespaces.MOST_MBIT))


@as_sweep()
def sweep(
    amount: OnHosts,
    system: Systems = ("sockets", "zeromq", "grpc_sync", "http_aiohttp"),
    payload_bytes: Bytes = 1000,
    large_bytes: Bytes = 100_000,
    rates_mbit: Annotated[Any, rates] = (10, 100),
    sizes: ManyBytes = (1000, 10_000, 100_000),
    stall_sizes: ManyBytes = (1400, 1500, 40_000, 66_000),
) -> Iterator[Case | Absent]:
    """Yield three groups of cases. Every link is of this machine, so that only the link differs; ``hosts`` adds others.

    Systems, small payload: over loopback and over a veth pair. Large payload: over loopback and the fastest limited
    link. Raw sockets by payload over the unlimited link and each limited one. Raw sockets with two writes per message,
    with and without TCP_NODELAY, and by payload without it, over loopback and over the unlimited link. Systems, both
    payloads: between the machines of ``hosts``, if any; the veth pair is then left out where none can be made.
    """
    absent = absent_of([name for name in system if one_transport(name, "tcp")])
    present = [name for name in system if name not in absent]
    if not present:
        raise UsageError(" ".join(absent.values()))
    if payload_bytes >= large_bytes:
        raise UsageError(
            f"large_bytes must be more than payload_bytes ({payload_bytes:,} B): the link's bandwidth shows there"
        )
    placement, far = amount.chosen_placement(), amount.there
    if far and (reason := measurable.why_not()):
        absent["veth pair"] = reason
    unlimited, limited = namespaces.hosts(), [namespaces.hosts(rate) for rate in rates_mbit]
    links = [
        (payload_bytes, {}),
        (payload_bytes, unlimited),
        (large_bytes, {}),
        (large_bytes, [unlimited, *limited][-1]),
    ]
    cases = [Case(name, "tcp", size, placement=placement, hosts=hosts) for size, hosts in links for name in present]
    cases += [
        Case(BASELINE, "tcp", size, placement=placement, hosts=hosts)
        for hosts in (unlimited, *limited)
        for size in sizes
    ]
    both = HELD | {"client_nodelay": True, "server_nodelay": True}
    held = [(HELD, size) for size in dict.fromkeys([STALL_BYTES, *stall_sizes])]
    cases += [
        Case(BASELINE, "tcp", size, options, placement, hosts=hosts, max_calls=CALLS)
        for hosts in ({}, unlimited)
        for options, size in [(both, STALL_BYTES), *held]
    ]
    yield from itertools.starmap(Absent, absent.items())
    yield from (case for case in distinct(cases) if not (case.hosts and "veth pair" in absent))
    if far:
        for size, name in itertools.product((payload_bytes, large_bytes), present):
            yield Case(name, "tcp", size, placement="free", hosts=far)
    yield instrument(payload_bytes, placement)


def why_not(hosts: object = "", **asked: Any) -> str | None:
    """Return why no veth pair can be made here, if no other machines are asked for either; else None."""
    return None if far_hosts.asked(hosts) else measurable.why_not()


WHOLE = {"load": "closed", "is_short": False, "writes": lambda writes: writes in (None, 1)}
CONDITION = ("payload_bytes", link)


@once_per_run
def links(run: Run) -> list[str]:
    """Return the links that were measured, each once: loopback first, then the wider ones."""
    bandwidths = {link(run.case(case)): rate_mbit(run.case(case)) or float("inf") for case in chosen(run, WHOLE)}
    return sorted(bandwidths, key=lambda name: (name != LOOPBACK, -bandwidths[name]))


def compared(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases of the links and payloads under which every system was measured.

    The smaller payload first, then loopback; the systems in the plan's order.
    """
    local = chosen(run, WHOLE | {link: LOOPBACK})
    systems = list(dict.fromkeys(run.case(case).system for case in local))
    sizes = {run.case(case).payload_bytes for case in local}
    cases = chosen(run, WHOLE | {"system": systems.__contains__, "payload_bytes": sizes.__contains__})
    cases_by_condition = {}
    for (size, name), group in alike(run, cases, CONDITION):
        by_system = {run.case(case).system: case for case in reversed(group)}  # of each the first
        if len(by_system) == len(systems):
            cases_by_condition[size, links(run).index(name)] = [by_system[system] for system in systems]
    return [case for condition in sorted(cases_by_condition) for case in cases_by_condition[condition]]


def small(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the systems compared with the smaller payload."""
    cases = compared(run, among)
    return [case for case in cases if run.case(case).payload_bytes == run.case(cases[0]).payload_bytes]


added = Contrast(P50, of={link: VETH}, over={link: LOOPBACK}, by=("system",), where=small)
between_hosts = Contrast(P50, of={link: FAR}, over={link: LOOPBACK}, by=("system",), where=small)
others = Contrast(P50, of={}, over={}, by=CONDITION, where=compared)  # over the first system
limited = replace(others, of={rate_mbit: bool})


def same_order(run: Run) -> list[Estimate]:
    """Return of the pairs of systems that are distinguishable over loopback their ratios over each other link.

    The median RTT of the one that is slower over loopback, divided by that of the other one.
    """
    cases = {case: run.case(case) for case in chosen(run, compared)}
    local = {(case.system, case.payload_bytes): number for number, case in cases.items() if link(case) == LOOPBACK}
    estimates = []
    for (size, name), others in alike(run, list(cases), CONDITION):
        for pair in itertools.combinations(others, 2) if name != LOOPBACK else ():
            base, other = (local[cases[case].system, size] for case in pair)
            here = ratio(run, base, other, P50)
            fast, slow = pair if here.value > 1 else pair[::-1]
            estimates += [estimate_of(run, ratio(run, fast, slow, P50))] * here.is_certain
    return estimates


def large(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the baseline's cases of the largest payload, over each link."""
    cases = chosen(run, {"system": BASELINE}, compared(run, among))
    return [case for case in cases if run.case(case).payload_bytes == run.case(cases[-1]).payload_bytes]


def of_baseline(run: Run) -> list[Estimate]:
    """Return the median RTT of the baseline's large payload over each link."""
    return [replace(estimate, subject=link(run.case(estimate.cases[0]))) for estimate in Level(P50, large)(run)]


def by_system(contrast: Contrast) -> Callable[[Run], list[Estimate]]:
    """Return the estimates of a contrast, each under its system's name."""
    return lambda run: [replace(estimate, subject=run.case(estimate.cases[-1]).system) for estimate in contrast(run)]


def size_of(run: Run, case: int) -> str:
    """Return the payload of a case in words."""
    return in_bytes(run.case(case).payload_bytes)


def over_limited_link(run: Run) -> str:
    """Return what is compared over the limited link."""
    base = limited.ratios(run)[0].base
    return f"median RTT divided by that of {run.case(base).system}, {size_of(run, base)} over {link(run.case(base))}"


def large_calls(run: Run) -> str:
    """Return which calls of the baseline are compared over each link."""
    return f"median RTT of {BASELINE}, {size_of(run, chosen(run, large)[0])} there and back"


contrasts = (added, between_hosts, others)
answer = (
    Estimand(large_calls, of_baseline),
    Estimand(over_limited_link, by_system(limited)),
    Estimand("median RTT of the small payload, veth pair divided by loopback", by_system(added)),
    between_hosts,
)
claims = (
    Claim("the median RTT is longer over the veth pair than over loopback", added, above=1),
    Claim(
        "of two systems whose order over loopback is decided, the slower one is the slower one over another link, too",
        same_order,
        above=1,
    ),
)


def transfers(run: Run, among: Sequence[int]) -> list[int]:
    """Choose raw sockets over limited links, by bandwidth and payload."""
    cases = [case for case in chosen(run, WHOLE | {"system": "sockets"}) if rate_mbit(run.case(case))]
    return sorted(cases, key=lambda case: (rate_mbit(run.case(case)), run.case(case).payload_bytes))


def two_writes(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases with two writes per message, by link and payload."""
    cases = {case: run.case(case) for case in chosen(run, {"writes": 2})}
    return sorted(cases, key=lambda case: (link(cases[case]), cases[case].payload_bytes, stalls(cases[case])))


def look_of(run: Run, name: str) -> Look:
    """Return the colour and the marker of a link, the same in all panels."""
    index = links(run).index(name) if name in links(run) else len(links(run))
    return look(index)


def by_bandwidth(run: Run, axes: Axes) -> None:
    """Draw the median RTT of raw sockets against the payload over each link, and 2 × payload / bandwidth as a line."""
    axes.set_title("RTT by payload and bandwidth")
    cases = chosen(run, WHOLE | {"system": "sockets", "hosts": namespaces.is_asked})
    rows = run.cases.loc[cases].assign(link=[link(run.case(case)) for case in cases]).sort_values("payload_bytes")
    if rows["payload_bytes"].nunique() < 2:
        raise EmptyError("one payload only: give sizes")
    for name in [name for name in reversed(links(run)) if name in set(rows["link"])]:
        over_link, drawn = rows[rows["link"] == name], look_of(run, name)
        axes.plot(over_link["payload_bytes"], over_link[P50], drawn.marker, ms=7, color=drawn.colour, label=name)
        band(axes, over_link["payload_bytes"], over_link[f"{P50}_low"], over_link[f"{P50}_high"], drawn.colour)
        if rate := rate_mbit(case := run.case(int(over_link.index[0]))):
            ends = [int(rows["payload_bytes"].iloc[end]) for end in (0, -1)]
            law_us = [transfer_us(replace(case, payload_bytes=end)) for end in ends]
            label = f"2 × payload / ({namespaces.bandwidth(rate)})"
            axes.plot(ends, law_us, "--", color=drawn.colour, lw=1.5, label=label)
    payload_axis(axes, rows["payload_bytes"])
    log_axis(axes.yaxis)
    is_limited = any(rate_mbit(run.case(case)) for case in cases)
    below = "\npoints below the line: the shaper passes the first bytes at full speed" * is_limited
    axes.set_xlabel(f"payload of request and of reply, raw sockets{below}")
    axes.set_ylabel("median RTT; band: range over starts")


def stall(run: Run, axes: Axes) -> None:
    """Draw the median RTT with two writes per message against the payload, TCP_NODELAY on neither side, by link."""
    axes.set_title("Nagle's stall: RTT by payload")
    held = needed(chosen(run, HELD, chosen(run, two_writes)), "no case with two writes per message in this run")
    sizes = [run.case(case).payload_bytes for case in held]
    for (name,), cases in alike(run, held, (link,)):
        drawn = look_of(run, name)
        spreads = [over_starts(run, case, P50) for case in cases]
        draw_spreads(axes, [run.case(case).payload_bytes for case in cases], spreads, drawn, name)
        if min(sizes) < SEGMENT.get(name, 0) < max(sizes):
            label = f"{name}: segment of {SEGMENT[name]:,} B"
            axes.axvline(SEGMENT[name], color=drawn.colour, ls=":", lw=1.5, label=label)
    dashed_level(axes, 2 * DELAY_S * 1e6, f"2 × {plain(duration(DELAY_S * 1e6))}")
    log_axis(axes.xaxis, in_bytes)
    log_axis(axes.yaxis)
    axes.set_xlabel("payload; two writes, no TCP_NODELAY")
    axes.set_ylabel("median RTT; band: range over starts")


def delayed_acks(run: Run, axes: Axes) -> None:
    """Draw the delayed ACKs per call that the kernel counted on both sides of each link, and the predicted stalls."""
    cases = chosen(run, two_writes)
    draw_acks(run, axes, cases, lambda case: f"{words(case)}: {sides(case)}", lambda case: look_of(run, link(case)))


def words(case: Case) -> str:
    """Return the link and the payload of a case, short enough for the name of a row: "100 Mbit/s, 100 kB"."""
    return f"{link(case).removeprefix('veth ')}, {plain(in_bytes(case.payload_bytes))}"


def order(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each system over that of the first one, under each link and payload; bar: 95 % CI."""
    axes.set_title("Systems compared under each condition")
    ratios = [(run.case(quotient.other), quotient) for quotient in others.ratios(run)]
    needed(ratios, "one system only: give several")
    systems = list(dict.fromkeys(case.system for case, _ in ratios))
    rows = sorted(ratios, key=lambda row: systems.index(row[0].system))
    for y, (case, quotient) in enumerate(rows):
        interval_row(axes, y, quotient.interval, look_of(run, link(case)), ratio_text(quotient.interval))
    separate_rows(axes, [len(rows) // len(systems) * index - 0.5 for index in range(1, len(systems))])
    name_rows(axes, [f"{case.system}: {words(case)}" for case, _ in rows])
    ratio_axis(axes)
    axes.set_xlabel(f"median RTT divided by that of {run.case(rows[0][1].base).system}; bar: 95 % CI")


panels = {
    "round_trips": Rows(
        "Median RTT over each link", P50, link, where=small, label=lambda run, case: run.case(case).system
    ),
    "by_bandwidth": by_bandwidth,
    "order": order,
    "stall": stall,
    "delayed_acks": delayed_acks,
}


def height(run: Run) -> float:
    """Return how many inches the figure is taller than usual: for the rows of the systems."""
    return max(0.0, 0.22 * (len(others.ratios(run)) - 14))


@as_table("link")
def systems_compared(run: Run) -> Iterator[dict[str, str]]:
    """Yield for each link and payload the median RTT of the first system, and the ratio of each other one to it."""
    ratios = {quotient.other: str(quotient) for quotient in others.ratios(run)}
    for (size, name), cases in alike(run, chosen(run, compared), CONDITION):
        of_systems = {
            run.case(case).system: ratios.get(case) or over_starts(run, case, P50).words(duration) for case in cases
        }
        yield {"link": name, "payload": in_bytes(size), **of_systems}


def over_transfer(run: Run, case: int) -> str:
    """Return the median RTT over what the limited link needs."""
    return f"{over_starts(run, case, P50).middle / transfer_us(run.case(case)):.2f}"


tables = {
    "systems": systems_compared,
    "bandwidths": Table(
        {
            "link": lambda run, case: link(run.case(case)),
            "median RTT [range over starts]": P50,
            "2 × payload / bandwidth": lambda run, case: duration(transfer_us(run.case(case))),
            "with the headers of each segment": lambda run, case: duration(with_headers_us(run.case(case))),
            "RTT / (2 × payload / bandwidth)": over_transfer,
        },
        where=transfers,
    ),
    "stalls": Table(
        {
            "predicted stalls per call": lambda run, case: stalls(run.case(case)),
            "delayed ACKs per call [range over starts]": ACKS,
            "median RTT [range over starts]": P50,
        },
        where=two_writes,
    ),
}
