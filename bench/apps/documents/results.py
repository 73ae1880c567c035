"""docs/results.md: the reference run of `overview` as a table: round trips, rates and their limit, CPU time by role."""

import math

from bench.analysis import checks, comparison
from bench.analysis.quantiles import CALLS, quantile
from bench.analysis.resources import Resource, full, resources
from bench.apps.documents.blocks import table
from bench.apps.teaching.expected import reference
from bench.experiments.overview.findings import group_of, ranked, rates
from bench.run.frames import ROLES, Run, numbered
from bench.stats.intervals import Interval
from bench.text import duration, listed, quantity

STAR = "\\*"
BASELINES = ("sockets", "sockets_c")  # raw sockets in Python and in C++: no RPC library
HEAD = [
    *("system", "group", "transport", "median RTT", "p99 RTT", "calls/s, 1 client", "calls/s, 2 clients", "gain"),
    *("limit with 2 clients", "CPU per call: client + server (+ router)"),
]


def results() -> str:
    """Return the table of all systems in the order of their round trips, its machine and caveats, and larger calls."""
    run = reference("overview")
    rows = [cells(run, case) for case, _ in systems(run)]
    return "\n\n".join([table(HEAD, rows), caveats(run), other_size(reference("latency"))])


def other_size(run: Run) -> str:
    """Return the median RTT of each case of a run of another payload size, its placement, and its trust card."""
    first, cases = run.case(0), [case for case in run.numbers if run.case(case).system != "loopback"]
    each = listed(f"`{run.case(case).system}` {run.case(case).transport} {spread(run, case, 0.5)}" for case in cases)
    return (
        f"Median RTT of {first.payload_bytes:,} B (`latency`, placement `{first.placement}`): {each}. Trust card: "
        f"{checks.tally(run)}. This is another run, at another time: compare cases within a run only."
    )


def systems(run: Run) -> list[tuple[int, str]]:
    """Return the case with one client and the name of each system, the shortest median RTT first."""
    return [(case, str(row["system"])) for case, row in numbered(ranked(run))]


def cells(run: Run, case: int) -> list[str]:
    """Return one system's cells, as ``HEAD`` names them; ``case`` is the one whose round trips are shown."""
    of = run.case(case)
    one, two = (run.first(system=of.system, clients=n, placement=parallel(run)) for n in (1, 2))
    times_of = [spread(run, case, p) for p in (0.5, 0.99)]
    return [f"`{of.system}`", group_of(run, case), of.transport, *times_of, *_rates(run, one, two), cpu(run, case)]


def _rates(run: Run, one: int | None, two: int | None) -> list[str]:
    """Return the calls per second with one client and with two, their ratio, and the limit with two."""
    alone = quantity(run.cases.loc[one, "rate_per_s"]) if one is not None else "n/a"
    if one is None or two is None:
        return [alone, "n/a", "n/a", "n/a"]
    found, gain = resources(run, two), comparison.effect(run, one, two, "rate_per_s")
    most = quantity(run.cases.loc[two, "rate_per_s"])
    return [alone, f"{'' if is_capacity(found) else '≥ '}{most}", times(gain), limit(found)]


def parallel(run: Run) -> str:
    """Return the placement of parallel clients."""
    found = rates(run)["placement"]
    return str(found.iloc[0]) if len(found) else run.case(0).placement


def spread(run: Run, case: int, p: float) -> str:
    """Return a quantile with its 95 % interval; a star where it is of all calls, since single starts have too few."""
    found = quantile(run, case, p)
    if not found.over:
        return "n/a"
    star = STAR if found.over == CALLS else ""
    return f"{duration(found.value)}{star}{ends(found.value, found.low, found.high)}"


def ends(value: float, low: float, high: float) -> str:
    """Return the ends of an interval of durations in us, as " [13.9, 24.4]": the unit of the value is not repeated."""
    if low != low or high != high:
        return ""
    unit = duration(value).split()[1]
    return f" [{', '.join(duration(one).removesuffix(f' {unit}') for one in (low, high))}]"


def times(ratio: Interval) -> str:
    """Return a ratio with its interval, as "× 1.53 [1.41, 1.62]", with a no-break space."""
    if math.isnan(ratio.middle):
        return "× n/a"
    return f"×\u00a0{ratio.middle:.2f}" + (f" [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio.low == ratio.low else "")


def is_capacity(found: list[Resource]) -> bool:
    """Return whether a rate is the server's capacity: it was saturated, and the clients were not."""
    busy = [role for one in full(found) for role in one.roles]
    return ("server" in busy or "router" in busy) and "client" not in busy


def limit(found: list[Resource]) -> str:
    """Return which resource was saturated, or that none was, with the utilization of each."""
    loads, busy = listed(f"{_short(one)} {one.busy:.0%}" for one in found), full(found)
    if len(found) == len(busy) == 1:
        return f"**{loads}**"
    return f"**{listed(map(_short, busy))}** ({loads})" if busy else f"none saturated ({loads})"


def _short(one: Resource) -> str:
    """Return a resource's name without the words that all of them share: "server" for "the server's CPU"."""
    return (
        "server thread" if one.is_thread else " + ".join("clients" if role == "client" else role for role in one.roles)
    )


def cpu(run: Run, case: int) -> str:
    """Return the CPU time per call of each role that uses some, and their sum."""
    each = [float(run.cases.loc[case, f"{role}_cpu_us_per_call"]) for role in ROLES]
    known = [one for one in each if one == one and one > 0]
    return f"{' + '.join(duration(one) for one in known)} = {duration(sum(known))}"


def machine(run: Run) -> str:
    """Return one sentence: payload, machine, date, and which clients are no Python programs."""
    found, python = run.manifest["machine"], run.manifest["versions"]["python"]
    where = f"{'virtual ' if found['virtual'] else ''}machine with {found['cpus_allowed']} CPUs"
    where += f" ({found['cpu_model']}), {found['system']} {found['kernel'].split('-')[0]}, Python {python}"
    sizes = listed(f"{size:,}" for size in sorted({case.payload_bytes for case in run.plan.cases}))
    native = [f"`{system}`" for case, system in systems(run) if group_of(run, case) == "native"]
    but = f" (of {listed(native)}: C or C++)" if native else ""
    return f"{sizes} B echoed on a {where}, {run.manifest['created'][:10]}; clients are Python programs{but}."


def caveats(run: Run) -> str:
    """Return the machine, what was measured, how many checks the run passed, and how the cells are meant."""
    lines = [
        f"{machine(run)} Client and server share the machine: no network is between them. Trust card: "
        f"{checks.tally(run)}.",
        f"{run.plan.starts} starts of each case. Brackets: 95 % intervals, of RTTs the range over the starts."
        f"{_star(run)} RTT and CPU: one client on one CPU with its server. Rates: placement `{parallel(run)}`. Gain: "
        "the rate of two clients over that of one.",
        "≥: the server was not the limit, so its capacity is at least this. CPU time is a mean per call; it can exceed "
        "the median RTT (slow calls, work after the reply, other threads).",
    ]
    return "\n\n".join(lines)


def _star(run: Run) -> str:
    """Return what the star means, where there is one."""
    if not any(STAR in spread(run, case, 0.99) for case, _ in systems(run)):
        return ""
    few = f"one {run.plan.window_s:g} s start has too few for p99"
    return f" {STAR}: of all calls together, because {few}; without brackets too few independent ones for an interval."
