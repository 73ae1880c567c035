"""languages.ipynb: client and server exchanged one at a time, Python or native; or servers in other languages.

Every share is a ratio of two cases, by block: the time with one side exchanged, or both, over that with both in Python.
Each is measured on its own, so what the two sides remove need not add up to what both remove.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from bench import systems
from bench.analysis.comparison import effect
from bench.analysis.limits import AT_LEAST, limit_of
from bench.errors import SystemFileError, UsageError
from bench.grammar import (
    P50,
    RATE,
    Absent,
    Claim,
    Contrast,
    Ratio,
    Table,
    alike,
    chosen,
    over_starts,
    way_of,
)
from bench.grammar.axes import (
    GREY,
    ROLE_COLOURS,
    ROLE_HATCHES,
    Look,
    hollow,
    interval_row,
    log_axis,
    look,
    name_rows,
    needed,
    range_row,
    ratio_text,
    separate_rows,
    stacked_bar,
    write_beside,
)
from bench.grammar.borrowed import marked, shown
from bench.grammar.choose import Chooser
from bench.grammar.contrast import ratio
from bench.grammar.quantities import quantity_of
from bench.grammar.sweep import Bytes, Count, Sweep
from bench.grammar.table import level, ratio_with_ends
from bench.measurement.validation.amount import InTurns
from bench.measurement.validation.cases import (
    absent_of,
    chosen_systems,
    instrument,
    transports,
    why_absent,
)
from bench.plan import parameters, paths
from bench.plan.case import Case
from bench.plan.labels import LANGUAGES
from bench.plan.plan import Plan
from bench.run.frames import Run
from bench.stats.intervals import Interval
from bench.text import counted, duration

TITLE = "How much of it is Python?"
TITLE_OF_SERVERS = "What does the server's language cost?"
TWINS = ("sockets_c", "zeromq_c", "grpc_cpp", "xmlrpc_c")
SERVICES = "services"  # the folder of the servers in other languages; their messages have BYTES
BYTES = 100
BESIDE: dict[str, dict[str, Any]] = {  # gRPC in Python, with which the others are compared, and in C++
    "grpc_sync": {},
    "grpc_cpp": {"client": "python", "server": "c"},
}
SIDES = (("python", "python"), ("c", "python"), ("python", "c"), ("c", "c"))  # client and server
MARKERS = dict(zip(SIDES, "o<>D", strict=True))
ROLES = ("client", "server")
PYTHON, CLIENT, SERVER, NATIVE = ({"client": client, "server": server} for client, server in SIDES)
WAY = ("system", "transport", "callers")
CLIENT_CPU, SERVER_CPU, MEMORY = "client_cpu_us_per_call", "server_cpu_us_per_call", "server_rss_bytes"


def of_servers(servers: object) -> bool:
    """Return whether servers are asked for, in place of systems with a native twin."""
    return parameters.as_list(servers) != ["none"]


def why_not(system: object = "all", servers: object = "none", **asked: Any) -> str | None:
    """Return the remedy where no system with a twin is installed and none is named, else None."""
    absent = {} if of_servers(servers) else absent_of([*TWINS])
    if parameters.as_list(system) != ["all"] or len(absent) < len(TWINS):
        return None
    return f"no system with a native twin is installed; {next(iter(absent.values()))}"


def cases(
    amount: InTurns,
    system: object = "all",
    transport: object = "tcp",
    payload_bytes: Bytes = 100,
    callers: Count = 4,
    servers: object = "none",
) -> Iterator[Case | Absent]:
    """Yield each system with either side in either language: one caller, and several callers in one client process.

    Round trips are those of one caller; calls per second those of several, under the placement of parallel work.
    servers: "all" or a list, to measure these servers instead, loaded by the engine wire: of the folder ``services``,
    or any system that has that engine; all are compared with the first one.
    """
    if callers < 2:
        raise UsageError("callers must be 2 or more: one caller is measured in any case")
    loads = (1, amount.chosen_placement()), (callers, amount.chosen_placement(is_parallel=True))
    if of_servers(servers):
        yield from _of_servers(servers, payload_bytes, loads)
    else:
        yield from _of_twins(system, transport, payload_bytes, loads)
    yield instrument(payload_bytes, amount.chosen_placement())


Loads = Sequence[tuple[int, str]]


def _of_twins(system: object, transport: object, size: int, loads: Loads) -> Iterator[Case | Absent]:
    asked = parameters.as_list(transport)
    for name in parameters.names(system, "system", TWINS):
        provided = systems.constant(name, "TRANSPORTS")
        is_reached = asked == ["all"] or any(transport_name in asked for transport_name in provided)
        if parameters.as_list(system) == ["all"] and not is_reached:
            yield Absent(name, f"{name} is reached by {' or '.join(provided)} only")
            continue
        for transport_name in transports(name, transport, None):
            for count, placement in loads:
                for client, server in SIDES:
                    yield Case(
                        name, transport_name, size, {"client": client, "server": server}, placement, callers=count
                    )


def _of_servers(servers: object, size: int, loads: Loads) -> Iterator[Case | Absent]:
    """Yield each server with one caller and with several, each caller with a connection of its own."""
    if size != BYTES:
        raise UsageError(f"the messages of {SERVICES}/ have {BYTES} bytes: leave payload_bytes at {BYTES}")
    folder = paths.home() / SERVICES
    files = {file.stem: str(file) for file in sorted(folder.glob("*/*.yaml")) if file.stem == file.parent.name}
    asked = parameters.as_list(servers)
    for name in chosen_systems(
        [files.get(str(server), server) for server in ([*BESIDE, *files] if asked == ["all"] else asked)]
    ):
        if why := _why_absent(name):
            yield Absent(name, why)
            continue
        for count, placement in loads:
            yield Case(name, "tcp", size, BESIDE.get(name, {}), placement, callers=count, engine="wire")


def _why_absent(name: str) -> str | None:
    """Return the remedy for a server that cannot be measured, or be built, here."""
    try:
        return why_absent(name)
    except SystemFileError as reason:
        return str(reason)


class LanguagesSweep(Sweep):
    """A sweep that is not in slices where servers are loaded: they compile while they run, and warm up each time."""

    def plan(self, notebook: str, arguments: Mapping[str, Any]) -> Plan:
        """Return the validated plan of some parameters."""
        changed = {"slice_ms": 0} if of_servers(arguments.get("servers", "none")) else {}
        return super().plan(notebook, {**arguments, **changed})


sweep = LanguagesSweep(cases, skips_missing=True, omits=("hosts",), in_common=WAY)


def crosses(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases of a system, transport and number of callers of which all four combinations were measured."""
    twins = [case for case in among if run.case(case).system in TWINS]
    whole = [group for _, group in alike(run, twins, WAY) if {sides(run, case) for case in group} == {*SIDES}]
    return [case for group in whole for case in sorted(group, key=lambda case: SIDES.index(sides(run, case)))]


def sides(run: Run, case: int) -> tuple[str, str]:
    """Return the languages of client and server."""
    return run.case(case).factor("client"), run.case(case).factor("server")


def single(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the combinations with one caller, whose round trips are compared."""
    return chosen(run, {"callers": 1}, crosses(run, among))


def several(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the combinations with several callers, whose calls per second are compared."""
    return chosen(run, {"callers": lambda count: count > 1}, crosses(run, among))


def native(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases with a native side."""
    return [case for case in among if sides(run, case) != SIDES[0]]


LOADED = {"engine": "wire", "callers": lambda count: count > 1}
ONE_CONNECTION = {"engine": "wire", "callers": 1}
both_native = Contrast(P50, of=NATIVE, over=PYTHON, by=WAY, where=single)
client_alone = Contrast(P50, of=CLIENT, over=PYTHON, by=WAY, where=single)
server_alone = Contrast(P50, of=SERVER, over=PYTHON, by=WAY, where=single)
client_cpu = Contrast(CLIENT_CPU, of=CLIENT, over=PYTHON, by=WAY, where=single)
server_cpu = Contrast(SERVER_CPU, of=SERVER, over=PYTHON, by=WAY, where=single)
rate_gain = Contrast(RATE, of=native, over=PYTHON, by=WAY, where=several)
server_over_client = Contrast(RATE, of=SERVER, over=CLIENT, by=WAY, where=several)
server_rates = Contrast(RATE, of={}, over={}, where=LOADED)
servers_rtt = Contrast(P50, of={}, over={}, where=ONE_CONNECTION)

answer = (both_native, server_rates)
claims = (
    Claim("the median RTT is shorter with a client in C++ alone", client_alone, at_most=1),
    Claim("the median RTT is shorter with a server in C++ alone", server_alone, at_most=1),
    Claim("a client takes less CPU time per call in C++", client_cpu, at_most=1),
    Claim("a server takes less CPU time per call in C++", server_cpu, at_most=1),
    Claim("several callers make more calls per second with one side or both in C++", rate_gain, above=1),
    Claim("several callers gain more from a server in C++ alone than from a client", server_over_client, above=1),
)


def compared(run: Run) -> Ratio:
    """Return the first ratio of two median round trips; of a run of one server that to itself."""
    ratios = [*both_native.ratios(run), *servers_rtt.ratios(run)]
    return ratios[0] if ratios else ratio(run, run.numbers[0], run.numbers[0], P50)


class Group(NamedTuple):
    """Cases that are drawn together, the first of which the others are compared with; the name of twins' system."""

    run: Run
    cases: list[int]
    name: str
    is_borrowed: bool

    def over_first(self, case: int, name: str = P50) -> Interval:
        """Return a quantity of a case over that of the first."""
        return effect(self.run, self.cases[0], case, name)


def groups(run: Run, chooser: Chooser) -> list[Group]:
    """Return the chosen cases of each system with a native twin, then those that are borrowed; servers as one."""
    if servers := [case for case in chosen(run, chooser) if run.case(case).engine == "wire"]:
        return [Group(run, servers, "", False)]
    return [
        Group(part, cases, marked(way_of(part, cases[0]), part is not run), part is not run)
        for part in shown(run)
        for _, cases in alike(part, chosen(part, chooser), WAY)
    ]


def name_groups(axes: Axes, drawn: Sequence[Group]) -> None:
    """Name the rows, those of twins below the name of their system; a line between systems."""
    rows = [[group.name] * bool(group.name) + [row_name(group.run, case) for case in group.cases] for group in drawn]
    name_rows(axes, itertools.chain(*rows))
    for y in itertools.accumulate(map(len, rows[:-1]), initial=0) if drawn[0].name else ():
        axes.get_yticklabels()[y].set_fontweight("bold")
        axes.axhline(y, color="white", lw=3, zorder=0.8)  # over the grid: this row is empty
        separate_rows(axes, [y - 0.5] * bool(y))


def row_name(run: Run, case: int) -> str:
    """Return the languages of client and server, or the system of a server that is loaded."""
    client, server = (LANGUAGES.get(language, "") for language in sides(run, case))
    return run.case(case).system if run.case(case).engine == "wire" else f"client {client}, server {server}"


def rows_of(drawn: Sequence[Group]) -> Iterator[tuple[int, Group, int, Look]]:
    """Yield the height of each row, its group, its case, and its look: of its system, or of a server's protocol."""
    y = 0
    for index, group in enumerate(drawn):
        y += bool(group.name)
        protocols = list(dict.fromkeys(protocol(group.run, case) for case in group.cases))
        for case in group.cases:
            own = look(protocols.index(protocol(group.run, case)))
            yield y, group, case, Look(look(index).colour, MARKERS[sides(group.run, case)]) if group.name else own
            y += 1


def protocol(run: Run, case: int) -> str:
    """Return the protocol of a server: the first part of its name."""
    return run.case(case).system.partition("_")[0]


def starts_of_each(name: str, chooser: Chooser, title: str) -> Callable[[Run, Axes], None]:
    """Return the panel of a quantity of each start, with its ratio to that of the first case of the group."""

    def draw(run: Run, axes: Axes) -> None:
        drawn, text = groups(run, chooser), quantity_of(name).text
        for y, group, case, with_look in rows_of(drawn):
            more = "" if case == group.cases[0] else f", {ratio_text(group.over_first(case, name))}"
            is_least = name == RATE and not group.name and limit_of(run, case).capacity == AT_LEAST
            more += " (at least)" * (is_least and run.case(case).callers > 1)
            values = group.run.starts_of(case)[name]
            range_row(axes, y, values, with_look, text, more=more, is_hollow=group.is_borrowed)
            if not group.name:
                axes.plot([], [], with_look.marker, ls="", color=with_look.colour, label=protocol(run, case))
        log_axis(axes.xaxis, text)
        name_groups(axes, drawn)
        base = "Python" if drawn[0].name else "the first"
        words = f"{quantity_of(name).words} of each start; line: median"
        axes.set_xlabel(f"{words}\n×: ratio, by block, to {base} [95 % CI]")
        callers = drawn[0].run.case(drawn[0].cases[0]).callers
        axes.set_title(f"{title}, {counted(callers, 'caller' if drawn[0].name else 'connection')}")

    return draw


SHARES = {"client in C++": Look(ROLE_COLOURS["client"], "<"), "server in C++": Look(ROLE_COLOURS["server"], ">"),
          "both in C++": Look(GREY, "D")}  # fmt: skip


def shares(run: Run, axes: Axes) -> None:
    """Draw which share of the RTT with both sides in Python is left if one side is native, or both."""
    drawn = groups(run, single)
    for y, group in enumerate(drawn):
        left = map(group.over_first, group.cases[1:])
        for dy, share, (words, part_look) in zip((-0.26, 0.0, 0.26), left, SHARES.items(), strict=True):
            with hollow(axes, group.is_borrowed):
                interval_row(axes, y + dy, share, part_look, f"{round(100 * share.middle)} %", words)
    name_rows(axes, [group.name for group in drawn])
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.set_xlabel("share of the RTT with both sides in Python; bar: 95 % CI")
    axes.set_title("RTT left with one side in C++, or both")


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client and server in either language, over that of both sides in Python."""
    drawn = groups(run, single)
    for y, group, case, _ in rows_of(drawn):
        spent, in_python = ({role: over_starts(group.run, number, f"{role}_cpu_us_per_call").middle for role in ROLES}
                            for number in (case, group.cases[0]))  # fmt: skip
        whole_us = sum(in_python.values())
        bars = [(role, us / whole_us, ROLE_COLOURS[role], ROLE_HATCHES[role]) for role, us in spent.items()]
        with hollow(axes, group.is_borrowed):
            write_beside(axes, y, duration(whole_us * stacked_bar(axes, y, bars)))
    name_groups(axes, drawn)
    axes.xaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.set_xlabel("CPU time over that of both sides in Python; median")
    axes.set_title("CPU time per call, by role")


def either(draw: Callable[[Run, Axes], None], draw_servers: Callable[[Run, Axes], None]) -> Callable[[Run, Axes], None]:
    """Return the panel that draws systems with a native twin, and servers of a run of these."""

    def panel(run: Run, axes: Axes) -> None:
        if run.find(engine="wire"):
            draw_servers(run, axes)
        else:
            needed(chosen(run, several), "no system with all four combinations in this run")
            draw(run, axes)

    return panel


def title(run: Run) -> str:
    """Return the question that a run answers."""
    return TITLE_OF_SERVERS if run.find(engine="wire") else TITLE


def height(run: Run) -> float:
    """Return how many inches the figure is taller than usual: for the rows of all systems."""
    return max(0.0, 0.36 * ((len(SIDES) + 1) * len(groups(run, single)) - 16))


def over_first(run: Run, case: int) -> str:
    """Return the calls per second of a server over those of the first."""
    return ratio_with_ends(effect(run, chosen(run, LOADED)[0], case, RATE))


def capacity(run: Run, case: int) -> str:
    """Return the calls per second of a server, which are at least its capacity, or it."""
    return f"{'at least ' * (limit_of(run, case).capacity == AT_LEAST)}{level(run, case, RATE)}"


def server_of(run: Run, case: int) -> str:
    """Return a server and its number of connections."""
    return f"{run.case(case).system}, {counted(run.case(case).callers, 'connection')}"


panels = {
    "medians": either(
        starts_of_each(P50, single, "Median RTT by language"),
        starts_of_each(RATE, ONE_CONNECTION, "Calls per second"),
    ),
    "shares": either(shares, starts_of_each(MEMORY, LOADED, "Server memory")),
    "cpu": either(cpu, starts_of_each(SERVER_CPU, LOADED, "Server CPU time per call")),
    "rates": either(
        starts_of_each(RATE, several, "Throughput, one client process"),
        starts_of_each(RATE, LOADED, "Calls per second"),
    ),
}
tables = {
    "servers": Table(
        {
            "calls/s [range over starts]": capacity,
            "divided by that of the first [95 % CI]": over_first,
            "saturated": lambda run, case: limit_of(run, case).names,
            "server CPU time per call [range over starts]": SERVER_CPU,
            "server memory [range over starts]": MEMORY,
        },
        LOADED,
        server_of,
    ),
}
