"""overview.ipynb: every system beside raw sockets: RTT, CPU time, and what a second client adds."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from bench import systems
from bench.analysis.comparison import effect
from bench.contract import GROUPS
from bench.errors import BenchError, SystemFileError, UsageError
from bench.grammar import CPU, P50, RATE, Absent, Claim, Contrast, CpuBars, Panel, Table, chosen, over_starts, way_of
from bench.grammar.axes import (
    GREY,
    MOST_CURVES,
    SMALL,
    Distribution,
    Look,
    draw_cdfs,
    hollow,
    log_axis,
    look,
    name_rows,
    range_row,
    ratio_text,
    times_of,
    write_beside,
)
from bench.grammar.borrowed import shown
from bench.grammar.panels import Drawn
from bench.grammar.quantities import cpu_share
from bench.grammar.sweep import Bytes, Flag, as_sweep
from bench.grammar.table import level, ratio_with_ends
from bench.measurement.validation.amount import InTurns
from bench.measurement.validation.cases import SELF_TEST_SYSTEMS, SLOW_S, absent_of, chosen_systems, instrument
from bench.measurement.validation.message_support import carries, usual_options
from bench.measurement.validation.support import encrypted_transports, encryption
from bench.plan import parameters
from bench.plan.case import BASELINE, MOST_BYTES, Case
from bench.plan.labels import placed_as
from bench.run.frames import Run, once_per_run
from bench.text import duration, listed, quantity, quoted

TITLE = "How much does each RPC system add to a raw socket?"
MOST_PAIRED = 12  # systems whose second client is measured too, unless it is asked for
MOST_ANSWERS = 4  # RPC systems that the answer lists; of more the fastest and the slowest
SHOWN = tuple(name for name in GROUPS if name != "instrument")
NATIVE = "sockets_c"  # raw sockets by system calls alone, from C++
NO_RPC = (BASELINE, NATIVE, "pipes", *SELF_TEST_SYSTEMS)  # the operating system's streams of bytes, and self-tests
WORDS = {"direct": "direct", "http": "HTTP", "broker": "brokered", "native": "native"}
OTHERS = "others"
GROUP_WORDS = (*(WORDS[name] for name in GROUPS if name in WORDS), OTHERS)  # in the order of a legend
ROWS, EACH = 18, 0.3  # rows that fit into the usual height of a figure, and inches of each further one
APART = 0.17  # of a row: one client above, two below


@as_sweep(omits=("placement",), in_common=("transport", "placement"), blocks_s=140.0)  # about fifteen blocks of all
def sweep(
    amount: InTurns,
    system: object = "all",
    groups: object = "all",
    two_clients: object = "auto",
    payload_bytes: Bytes = 1000,
    tls: Flag = False,
    message: object = "bytes",
) -> Iterator[Case | Absent]:
    """Yield every installed system by its shortest way between two processes: one client, and then two.

    Of ``all`` systems those in ``groups`` are measured. One whose servers take seconds to start is measured if it is
    named. Two clients are compared with one client under the placement of parallel work: one factor at a time; with
    ``two_clients`` auto that is left out where more than ``MOST_PAIRED`` systems are measured, to take no longer.
    With ``tls`` all are encrypted, and systems that cannot encrypt are left out; likewise with a ``message``.
    hosts: see ``bench.plan.hosts``; all systems are then measured over tcp, and those without it are left out.
    In slices raw sockets are measured twice: their ratio to themselves is the noise of the other ratios.
    """
    asked = list(_asked(system, groups))
    absent = absent_of(asked) | _too_small(asked, payload_bytes)
    yield from (Absent(name, reason) for name, reason in absent.items())
    named = [name for name in dict.fromkeys([*asked, BASELINE]) if name not in absent and name not in SELF_TEST_SYSTEMS]
    between, alone, parallel = amount.there, amount.chosen_placement(), amount.chosen_placement(is_parallel=True)
    kind = parameters.text(message, "message")
    offered = {name: _way(name, tls, is_far=bool(between)) for name in named if carries(name, kind)}
    ways = {name: way for name, way in offered.items() if way is not None}
    paired = _is_paired(two_clients, len(ways))
    shared: dict[str, Any] = {"message": kind, "hosts": between}
    cases: list[Case] = []
    for name, (transport, options) in ways.items():
        options = options | usual_options(name, kind)
        cases.append(Case(name, transport, payload_bytes, options, alone, **shared))
        if paired and parallel != alone:
            cases.append(Case(name, transport, payload_bytes, options, parallel, **shared))
        if paired:
            cases.append(Case(name, transport, payload_bytes, options, parallel, clients=2, **shared))
    if any(case.transport == "tcp" for case in cases) and not between:
        places = dict.fromkeys([alone, parallel] if paired else [alone])
        cases += [
            Case(BASELINE, "tcp", payload_bytes, {"tls": tls}, placement, **shared) for placement in places
        ]  # for its ratios
    if amount.slice_s and not between:
        cases += [case for case in cases if case.system == BASELINE and case.clients == 1][:1]  # the A/A ratio's twin
    yield from cases
    yield instrument(payload_bytes, alone, between)


def _asked(system: object, groups: object) -> Iterator[str]:
    """Yield the systems that are asked for."""
    names = chosen_systems(system)
    if parameters.literal(system) == "all":
        wanted = parameters.names(groups, "group", SHOWN)
        yield from (name for name in names if _is_in(name, wanted))
    elif parameters.literal(groups) != "all":
        raise UsageError("groups choose among all systems: give system all, or no groups")
    else:
        yield from names


def _is_in(name: str, groups: list[str]) -> bool:
    """Return whether a system is in some groups and starts fast; one whose file cannot be read says so later."""
    try:
        return systems.group(name) in groups and systems.constant(name, "START_S", 0.0) <= SLOW_S
    except SystemFileError:
        return True


def _too_small(names: list[str], size: int) -> dict[str, str]:
    """Return the systems that do not carry a payload, each with its limit."""
    too_small = {}
    for name in names:
        try:
            largest = systems.constant(name, "LARGEST_BYTES", MOST_BYTES)
        except SystemFileError:
            continue
        if largest < size:
            too_small[name] = f"payload of {size:,} B: it carries {largest:,} B at most"
    return too_small


def _is_paired(two_clients: object, count: int) -> bool:
    """Return whether a second client is measured: as asked, or for few systems."""
    if parameters.literal(two_clients) == "auto":
        return count <= MOST_PAIRED
    try:
        return parameters.flag(two_clients, "two_clients")
    except UsageError:
        raise UsageError(f"two_clients must be true, false or auto, not {quoted(two_clients)}") from None


def _way(name: str, encrypted: bool, is_far: bool = False) -> tuple[str, dict[str, Any]] | None:
    """Return a system's shortest transport between two processes, and its options; None if it cannot encrypt.

    Between machines it is tcp; None for a system without it.
    """
    option = encryption(name) if encrypted else None
    if encrypted and option is None:
        return None
    offered = encrypted_transports(name) if encrypted else systems.constant(name, "TRANSPORTS")
    if is_far and "tcp" not in offered:
        return None
    return "ipc" if "ipc" in offered and not is_far else "tcp", {option: True} if option else {}


def ranked(run: Run, among: Sequence[int]) -> list[int]:
    """Choose each system's case with one client, placed as one client is by default; the shortest RTT first."""
    firsts: dict[str, int] = {}
    for case in among:
        if run.case(case).clients == 1 and pd.notna(run.cases.loc[case, P50]):
            firsts.setdefault(run.case(case).system, case)
    return sorted(firsts.values(), key=lambda case: float(run.cases.loc[case, P50]))


def others(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the ranked cases of all systems but raw sockets."""
    return [case for case in chosen(run, ranked) if case in among and run.case(case).system != BASELINE]


def rpc_systems(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the ranked cases of RPC systems."""
    return [case for case in others(run, among) if run.case(case).system not in NO_RPC]


def answering(run: Run, among: Sequence[int]) -> list[int]:
    """Choose all RPC systems, or of many those with the shortest and with the longest RTT."""
    cases = rpc_systems(run, among)
    return cases if len(cases) <= MOST_ANSWERS else [cases[0], cases[-1]]


ALIKE, ONE_CLIENT, SOCKETS = ("transport", "placement"), {"clients": 1}, {"system": BASELINE}
over_sockets = Contrast(P50, of=others, over=SOCKETS, by=ALIKE, where=ONE_CLIENT)
added = Contrast(P50, of=rpc_systems, over=SOCKETS, by=ALIKE, where=ONE_CLIENT)
gain = Contrast(RATE, of={"clients": 2}, over=ONE_CLIENT, by=("system", *ALIKE))
native = Contrast(RATE, of={"system": NATIVE}, over=SOCKETS, by=ALIKE, where={"clients": 1, "placement": "split"})

contrasts = (over_sockets, gain)
answer = (Contrast(P50, of=answering, over=SOCKETS, by=ALIKE, where=ONE_CLIENT),)
claims = (
    Claim("an RPC system adds time to raw sockets over the same transport", added, above=1),
    Claim("two clients make at most twice the calls per second of one", gain, at_most=2),
    Claim("with a CPU for each side, raw sockets make more calls per second in C++ than in Python", native, above=1),
)


def group_of(run: Run, case: int) -> str:
    """Return the words for the group that the file of a case's system names.

    Where that file is not here, "brokered" if the CPU time of a router was measured, else "others".
    """
    try:
        return WORDS.get(systems.group(run.case(case).system), OTHERS)
    except BenchError:
        has_router = run.starts_of(case)["router_cpu_us_per_call"].notna().any()
        return WORDS["broker"] if has_router else OTHERS


def baseline_of(run: Run, number: int) -> int | None:
    """Return raw sockets' case over a case's transport and under its placement, or None if it was not measured."""
    case = run.case(number)
    return run.whole.first(system=BASELINE, clients=1, transport=case.transport, placement=case.placement)


def with_baselines(run: Run, among: Sequence[int]) -> list[int]:
    """Choose each system's case, and the raw sockets' by which it is divided."""
    cases = ranked(run, among)
    bases = {baseline_of(run, case) for case in cases}
    both = [case for case in among if case in cases or case in bases]
    return sorted(both, key=lambda case: float(run.cases.loc[case, P50]))


@once_per_run
def subjects(run: Run) -> list[tuple[Drawn, Look]]:
    """Return the systems that are drawn, the shortest RTT first, with their look: of many systems that of the group."""
    drawn = Panel("", where=ranked, label=way_of).drawn(run)
    of_groups = groups(run)
    return [
        (subject, of_groups.get(group_of(subject.run, subject.case), look(index)))
        for index, subject in enumerate(drawn)
    ]


def groups(run: Run) -> dict[str, Look]:
    """Return the look of each group of systems, where there are too many systems for a look each."""
    drawn = [group_of(part, case) for part in shown(run) for case in chosen(part, ranked)]
    names = [name for name in GROUP_WORDS if name in drawn]
    return {name: look(index) for index, name in enumerate(names)} if len(drawn) > MOST_CURVES else {}


def height(run: Run) -> float:
    """Return how many inches the whole figure is to be taller than usual, so that its rows can be read."""
    return 2 * EACH * max(0, len(subjects(run)) - ROWS)


def name_systems(run: Run, axes: Axes) -> None:
    """Name the systems on the vertical axis, and the looks of their groups."""
    name_rows(axes, [subject.name for subject, _ in subjects(run)], SMALL)
    for name, (colour, marker) in groups(run).items():
        axes.plot([], [], marker, ms=6, color=colour, label=name)


def layers(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each system, and in words its ratio to that of raw sockets over the same transport."""
    bases = set()
    for y, (subject, drawn) in enumerate(subjects(run)):
        bases |= {baseline_of(run, subject.case)} if subject.run is run else set()
        values = subject.run.starts_of(subject.case)[P50]
        more = above(subject.run, subject.case)
        range_row(axes, y, values, drawn, duration, more=more, is_hollow=subject.is_hollow)
    dashed = sorted((run.cases.loc[base, P50], run.case(base).transport) for base in bases if base is not None)
    for rtt_us, _ in dashed:
        axes.axvline(rtt_us, color=GREY, lw=1, ls="--")
    name_systems(run, axes)
    log_axis(axes.xaxis)
    words = f"; dashed: raw sockets, {listed(transport for _, transport in dashed)}" if dashed else ""
    axes.set_xlabel(f"one client, median RTT of each start{words}")
    axes.set_title(f"Median RTT{_placed(run)}; × raw sockets [95 % CI]")


def _placed(run: Run) -> str:
    """Return the placement of the cases that are drawn, for a title."""
    subject, _ = subjects(run)[0]
    return f" {placed_as(subject.run.case(subject.case))}"


def above(run: Run, case: int) -> str:
    """Return the ratio of a case's median RTT to that of raw sockets over the same transport, if it was measured."""
    base = baseline_of(run, case)
    if run.case(case).system == BASELINE:
        return "  baseline"
    return (
        f"  (no baseline over {run.case(case).transport})"
        if base is None
        else f"  {ratio_text(effect(run, base, case, P50))}"
    )


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of every system, one client; of many systems three quantiles each."""
    draw_cdfs(axes, [
        Distribution(
            subject.name,
            times_of(subject.run, subject.case),
            drawn,
            "--" if subject.is_hollow else "-",
            subject.is_hollow,
        )
        for subject, drawn in subjects(run)
    ])  # fmt: skip
    if groups(run):
        name_systems(run, axes)
    axes.set_title(f"Distribution of the RTT{_placed(run)}")


def two_clients(run: Run, axes: Axes) -> None:
    """Draw the throughput of each system with one client and with two; bars: range over starts."""
    ratios = [(part, ratio) for part in shown(run) for ratio in gain.ratios(part)]
    places = {subject.run.case(subject.case).system: (y, drawn) for y, (subject, drawn) in enumerate(subjects(run))}
    for part, ratio in ratios:
        y, (colour, marker) = places[part.case(ratio.other).system]
        single, double = (over_starts(part, case, RATE) for case in (ratio.base, ratio.other))
        with hollow(axes, part is not run):
            axes.plot([single.middle, double.middle], [y - APART, y + APART], color=colour, lw=1.2)
            for spread, at in ((single, y - APART), (double, y + APART)):
                axes.plot([spread.low, spread.high], [at, at], color=colour, lw=4, alpha=0.3, solid_capstyle="round")
            axes.plot(double.middle, y + APART, marker, ms=6, color=colour)
        with hollow(axes):
            axes.plot(single.middle, y - APART, marker, ms=6, color=colour)
        write_beside(axes, y, f"{double.words(quantity)}  {ratio_text(ratio.interval)}")
    if ratios:
        axes.plot([], [], "o", ms=6, color=GREY, mfc="white", mew=1.6, label="one client (above)")
        axes.plot([], [], "o", ms=6, color=GREY, label="two clients (below)")
        axes.set_xlabel("calls per second (closed loop); bar: range over starts")
        part, first = ratios[0]
        axes.set_title(f"Two clients {placed_as(part.case(first.base))}: calls/s; × one [95 % CI]")
    else:
        for y, (subject, drawn) in enumerate(subjects(run)):
            values = subject.run.starts_of(subject.case)[RATE]
            range_row(axes, y, values, drawn, quantity, is_hollow=subject.is_hollow)
        axes.set_xlabel("calls per second of each start, one client (closed loop)")
        axes.set_title("Throughput, one client")
    name_systems(run, axes)
    log_axis(axes.xaxis, quantity)


def over_raw_sockets(run: Run, case: int) -> str:
    """Return the median RTT of a case over that of raw sockets over the same transport."""
    base = baseline_of(run, case)
    return "not measured" if base is None else ratio_with_ends(effect(run, base, case, P50))


def on_separate_cpus(run: Run, case: int) -> str:
    """Return the median RTT of the same client and server on separate CPUs."""
    of_case = run.case(case)
    split = run.first(system=of_case.system, transport=of_case.transport, placement="split", clients=1)
    return "not measured" if split is None else level(run, split, P50)


panels = {
    "layers": layers,
    "cost": CpuBars("CPU time per call, by role", where=ranked, label=way_of),
    "distribution": distribution,
    "two_clients": two_clients,
}
tables = {
    "systems": Table(
        {
            "group": group_of,
            "median RTT [range over starts]": P50,
            "the same, on separate CPUs (`split`)": on_separate_cpus,
            "divided by raw sockets' [95 % CI]": over_raw_sockets,
            "CPU time per call [range over starts]": CPU,
            "CPU time / mean RTT": cpu_share,
        },
        with_baselines,
        way_of,
    )
}
