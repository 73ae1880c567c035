"""anatomy.ipynb: where the time of one call goes, from traces of the kernel's scheduler and of system calls."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from bench import systems
from bench.analysis import anatomy
from bench.analysis.anatomy import ROWS, Count, Row, Slow, row_words
from bench.analysis.call_path import KERNEL, OTHER, OUTSIDE, USER, WAKING, Part
from bench.analysis.turns import outlasted
from bench.errors import UsageError
from bench.grammar import P50, Claim, Contrast, Estimand, Estimate, Level, Quantity, over_starts
from bench.grammar.axes import SMALL, EmptyError, name_rows, needed, stacked_bar, write_beside
from bench.grammar.choose import chosen
from bench.grammar.sweep import Bytes, Options, Systems, as_sweep
from bench.grammar.table import as_table, ratio_with_ends
from bench.measurement import trace
from bench.measurement.validation.amount import InTurns
from bench.measurement.validation.cases import transports
from bench.plan.case import BASELINE, Case
from bench.plan.labels import labels
from bench.run.frames import Run, once_per_run
from bench.text import duration, quantity

TITLE = "Where does the time of one call go?"
WAY = ("system", "transport", "payload_bytes", "placement")
TRACED: dict[str, object] = {"traced": True}
UNTRACED = {"traced": False}
COLOURS = {  # of each role: user code, the kernel
    "client": ("#1f5f8b", "#a9cbe0"),
    "server": ("#a8501f", "#eac3a3"),
    "router": ("#6d2f56", "#d3aec6"),
    "controller": ("#6b6b2f", "#d6d6a6"),
}
LEAST_SHOWN = 0.003  # of a bar: a row that is less everywhere is not drawn
LEAST_CODE = 0.1  # of a role's user code: a file whose code is less of it everywhere is not listed
LEAST_SAMPLES = 30  # of a role: of fewer no shares are shown
LEAST_WRITTEN = 0.13  # of the axis: a part that is narrower has no number in it
SEEN_BESIDE = 1.02  # times the work on the path: more of it is seen beside the path
MOST_NAMED = 3  # rows of a case that the answer names
LEAST_COUNT = 0.05  # per call: what is rarer belongs to no call


@as_sweep(omits=("hosts", "until_width"), in_common=WAY, blocks_s=24)
def sweep(
    amount: InTurns,
    system: Systems = "[zeromq, grpc_sync]",
    transport: object = "tcp",
    payload_bytes: Bytes = 100,
    options: Options = "",
) -> Iterator[Case]:
    """Yield the round trips of some systems, and of raw sockets over the same transports, traced and not traced."""
    if not amount.slice_s:
        raise UsageError("calls are traced in slices: give slice_ms above 0")
    placement = amount.chosen_placement()
    ways = [
        (name, transport_name)
        for name in system
        for transport_name in transports(name, transport, "")
        if transport_name != "inproc"
    ]
    floors = [] if all(map(systems.service_of, system)) else [(BASELINE, transport_name) for _, transport_name in ways]
    for name, transport_name in dict.fromkeys([*floors, *ways]):
        if transport_name in systems.constant(name, "TRANSPORTS"):
            own_options = options if name in system else {}
            yield from (
                Case(name, transport_name, payload_bytes, own_options, placement, traced=traced)
                for traced in (False, True)
            )


def why_not(**asked: Any) -> str | None:
    """Return why calls cannot be traced here, None if they can."""
    return trace.why_not()


def of_row(row: Row | None, words: str) -> Quantity:
    """Return a row of the breakdown, or the whole RTT of the same calls, as a quantity."""
    return Quantity(words, duration, "", partial(anatomy.typical_us, row=row))


def per_cent(value: float, *, like: float | None = None) -> str:
    """Return a share in words."""
    return f"{quantity(value)} %"


def _share_of(run: Run, case: int, what: str) -> "pd.Series[float]":
    rows = [row for row in ROWS if row[1] == what]
    total = sum(anatomy.typical_us(run, case, row) for row in rows)
    return 100 * total / anatomy.typical_us(run, case)


TIME = "time [µs], mean of the middle half of the calls and starts"
TYPICAL_RTT = of_row(None, "mean RTT of the typical calls")
USER_CODE = Quantity("share of user code in the RTT", per_cent, "", partial(_share_of, what=USER))


def is_library(name: str) -> bool:
    """Return whether a system is neither raw sockets nor an instrument; a stored run may name others than are here."""
    return name != BASELINE and not (name in systems.names() and systems.group(name) == "instrument")


NOT_FLOOR = TRACED | {"system": lambda name: name != BASELINE}
LIBRARIES = TRACED | {"system": is_library}


def options_of(case: Case) -> str:
    """Return the options of a case's system in words: two cases may differ in nothing else."""
    return str(case.options)


probe_effect = Contrast(P50, of=TRACED, over=UNTRACED, by=(*WAY, options_of))


def whole_times(run: Run) -> list[Estimate]:
    """Return the mean RTT of each traced case, and as its ends the shares of its longest rows."""
    estimates = []
    for case in chosen(run, shown):
        us, whole_us = rows_us(run, case), rtt_us(run, case)
        longest = sorted(us, key=us.__getitem__, reverse=True)[:MOST_NAMED]
        shares = "; ".join(f"{row_words(row)} {100 * us[row] / whole_us:.0f} %" for row in longest)
        spread = over_starts(run, case, TYPICAL_RTT)
        estimates.append(Estimate(name_of(run, case), spread, duration(whole_us), shares, cases=(case,)))
    return estimates


contrasts = (probe_effect,)
answer = (Estimand(TYPICAL_RTT.words, whole_times), probe_effect)
claims = (
    Claim(
        "a library spends more than half of a round trip in user code, not in the kernel",
        Level(USER_CODE, LIBRARIES),
        above=50,
        unit="%",
    ),
    Claim(
        "tracing makes the median RTT at most 1.5 times as long",
        probe_effect,
        at_most=1.5,
    ),
)


def colour_of(row: Row) -> str:
    """Return the colour of a row: user code dark, the kernel pale, in the hue of the role."""
    role, what = row
    if what in (USER, KERNEL):
        return COLOURS[role][what == KERNEL]
    return {WAKING: "#f3dc8c", OTHER: "#4d4d4d", OUTSIDE: "#d9d9d9"}[what]


def legend_words(row: Row) -> str:
    """Return a row in words as legends have it: all waking in one colour."""
    return "waking" if row[1] == WAKING else row_words(row)


def is_dark(row: Row) -> bool:
    """Return whether words on a row's colour are white."""
    return row[1] in (USER, OTHER)


def shown(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the traced cases whose calls are explained."""
    return [case for case in among if run.case(case).traced and len(anatomy.breakdown(run, case))]


def name_of(run: Run, case: int) -> str:
    """Return the label of a traced case among those that are traced."""
    traced = run.find(traced=True)
    return labels(tuple(map(run.case, traced)))[traced.index(case)]


def bars(run: Run, axes: Axes, *, as_share: bool) -> None:
    """Draw a bar for each traced case, made of the rows of its breakdown, in us or in per cent of the RTT."""
    cases = needed(chosen(run, shown), outlasted(run) or "no call was traced")
    breakdowns = breakdowns_us(run, cases)
    longest = max(sum(us.values()) for us in breakdowns.values())
    for y, (case, us) in enumerate(breakdowns.items()):
        draw_bar(axes, y, us, None if as_share else longest)
        write_beside(axes, y, f"RTT {duration(rtt_us(run, case))}")
    name_rows(axes, [name_of(run, case) for case in cases])
    axes.set_xlim(0, 100 if as_share else 1.02 * longest)
    axes.set_xlabel("share of the RTT [%]" if as_share else TIME)
    axes.set_title("The same, as shares of each RTT" if as_share else "Where the time of one call goes")


@once_per_run
def rows_us(run: Run, case: int, request: int | None = None) -> dict[Row, float]:
    """Return each row of a traced case's breakdown, typical calls (of a request) of typical starts, in us."""
    return middle_half({row: anatomy.typical_us(run, case, row, request) for row in ROWS})


def rtt_us(run: Run, case: int) -> float:
    """Return the mean RTT of the same calls, in us: the sum of the rows."""
    return sum(rows_us(run, case).values())


def columns_us(run: Run, cases: Sequence[int]) -> dict[str, dict[Row, float]]:
    """Return the breakdowns of traced cases in us by name: of all calls, and of each request of a service's several."""
    columns = {}
    for case in cases:
        name = name_of(run, case)
        columns[name] = rows_us(run, case)
        for request, number in anatomy.requests(run, case).items():
            columns[f"{name}, {request}"] = rows_us(run, case, number)
    return columns


def middle_half(rows: Mapping[Row, "pd.Series[float]"]) -> dict[Row, float]:
    """Return the mean of each row over the middle half of the starts, by the sum of their rows.

    Medians of rows would not add up to a median of sums; these means add up to the mean of the sums.
    """
    sums = pd.concat(list(rows.values()), axis=1).sum(axis=1)
    middle = (len(sums) + 1) / 2
    is_typical = (sums.rank(method="first") - middle).abs() <= len(sums) / 4
    return {row: float(us[is_typical].mean()) for row, us in rows.items()}


def breakdowns_us(run: Run, cases: Sequence[int]) -> dict[int, dict[Row, float]]:
    """Return the breakdowns of traced cases in us, without the rows that are too small everywhere to be seen."""
    every = {case: rows_us(run, case) for case in cases}
    rows = [row for row in ROWS if any(us[row] > LEAST_SHOWN * sum(us.values()) for us in every.values())]
    return {case: {row: us[row] for row in rows} for case, us in every.items()}


def draw_bar(axes: Axes, y: float, us: Mapping[Row, float], longest_us: float | None = None) -> None:
    """Draw a breakdown as one bar, with numbers in the parts that have room.

    longest_us: where an axis in us ends; without it the bar shows shares in per cent.
    """
    scale, longest = (100 / sum(us.values()), 100.0) if longest_us is None else (1.0, longest_us)
    stacked_bar(axes, y, ((legend_words(row), time_us * scale, colour_of(row), "") for row, time_us in us.items()))
    for (row, time_us), end in zip(
        us.items(), itertools.accumulate(time_us * scale for time_us in us.values()), strict=True
    ):
        if time_us * scale > LEAST_WRITTEN * longest:
            words = f"{time_us * scale:.0f} %" if longest_us is None else duration(time_us)
            axes.text(end - time_us * scale / 2, y, words, ha="center", va="center", fontsize=SMALL,
                      color="white" if is_dark(row) else "black")  # fmt: skip


def first_library(run: Run) -> int | None:
    """Return the traced case that is drawn call by call: the last one, which is no baseline."""
    cases = chosen(run, shown)
    return cases[-1] if cases else None


def in_time(run: Run, axes: Axes, *, share: float, title: str) -> None:
    """Draw one call in time: what each role did, on the path as broad bars, beside it as thin ones."""
    case = first_library(run)
    call = anatomy.call_nearest(run, case, share) if case is not None else None
    if case is None or call is None or call.parts is None:
        raise EmptyError(outlasted(run) or "no call was traced")
    roles = anatomy.roles_of(run, case)
    lanes = {role: y for y, role in enumerate(roles)} | {"": len(roles)}
    ran = list(anatomy.running(run, call))
    for part in ran:
        left = (part.begin_ns - call.sent_ns) / 1e3
        axes.barh(
            lanes[part.role], part.ns / 1e3, left=left, height=0.28, lw=0, color=colour_of((part.role, part.what))
        )
    before: Part | None = None
    for part in call.parts:
        left, width = (part.begin_ns - call.sent_ns) / 1e3, part.ns / 1e3
        colour = colour_of((part.role, part.what))
        axes.barh(lanes[part.role], width, left=left, height=0.62, lw=0, color=colour,
                  label=legend_words((part.role, part.what)))  # fmt: skip
        if before is not None and before.role != part.role:
            axes.annotate("", (left, lanes[part.role]), (left, lanes[before.role]),
                          arrowprops={"arrowstyle": "->", "color": "black", "lw": 1})  # fmt: skip
        before = part
    names = [*roles, "others"] if any(not part.role for part in call.parts) else roles
    name_rows(axes, names)
    axes.set_xlim(0, call.rtt_ns / 1e3)
    on_path_ns = sum(part.ns for part in call.parts if part.what in (USER, KERNEL))
    beside = "; thin bars: work beside it" if sum(part.ns for part in ran) > SEEN_BESIDE * on_path_ns else ""
    axes.set_xlabel(f"time since sending [µs]; RTT {duration(call.rtt_ns / 1e3)}; arrow: next step{beside}")
    axes.set_title(f"{title}: {name_of(run, case)}")


panels = {
    "breakdown": partial(bars, as_share=False),
    "breakdown_shares": partial(bars, as_share=True),
    "typical_call": partial(in_time, share=0.5, title="A call near the median"),
    "slow_call": partial(in_time, share=0.995, title="A slow call, near the p99.5"),
}


def height(run: Run) -> float:
    """Return how many inches the figure is taller than usual."""
    return max(0.0, 0.5 * (len(chosen(run, shown)) - 4))


@as_table("row")
def rows_table(run: Run) -> Iterator[Mapping[str, object]]:
    """Yield each row of the breakdowns with its time in every traced case, then their sums and the RTT.

    Of a service with several requests each has a column: the middle half of all calls is that of the commonest one.
    """
    cases = chosen(run, shown)
    columns = columns_us(run, cases)
    for row in ROWS:
        if any(us[row] for us in columns.values()):
            yield {"row": row_words(row)} | {name: duration(us[row]) if us[row] else "" for name, us in columns.items()}
    yield {"row": "mean RTT of the middle half of the calls"} | {
        name: duration(sum(us.values())) for name, us in columns.items()
    }
    yield {"row": "calls explained"} | {
        name_of(run, case): f"{100 * anatomy.explained_share(run, case):.1f} %" for case in cases
    }
    yield {"row": "traced / not traced"} | {
        name_of(run, ratio.other): ratio_with_ends(ratio.interval) for ratio in probe_effect.ratios(run)
    }


@as_table("row")
def added_table(run: Run) -> Iterator[Mapping[str, object]]:
    """Yield by how much each row of a library is longer than that of raw sockets over the same transport."""
    cases = {case: floor for case in chosen(run, NOT_FLOOR) if (floor := _floor_of(run, case)) is not None}
    breakdowns = {case: rows_us(run, case) for case in {*cases, *cases.values()}}
    whole = {case: rtt_us(run, case) - rtt_us(run, floor) for case, floor in cases.items()}
    for row in (*ROWS, None):
        rows = ROWS if row is None else (row,)
        more = {
            case: sum(breakdowns[case][term] - breakdowns[floor][term] for term in rows)
            for case, floor in cases.items()
        }
        if any(abs(more[case]) > LEAST_SHOWN * whole[case] for case in cases):
            yield {"row": row_words(row) if row else "RTT"} | {
                name_of(run, case): f"{plus(more[case])} ({100 * more[case] / whole[case]:.0f} %)" if more[case] else ""
                for case in cases
            }


def _floor_of(run: Run, case: int) -> int | None:
    """Return the traced case of raw sockets that a case is compared with, None if there is none."""
    alike = {name: run.case(case).factor(name) for name in WAY[1:]}
    return run.first(**alike, system=BASELINE, traced=True)


def plus(us: float) -> str:
    """Return a difference of times with its sign."""
    return f"{'-' if us < 0 else '+'}{duration(abs(us))}"


@as_table("row")
def slow_table(run: Run) -> Iterator[Mapping[str, object]]:
    """Yield the rows in which the slowest 1 % of the traced calls are longer than typical ones, the largest first.

    Of a service with several requests also of each that has enough calls. Calls that another process made slow are
    left out, and counted.
    """
    for case in chosen(run, shown):
        requests = anatomy.requests(run, case)
        names = run.calls.requests if requests else ()
        yield from _slow_rows(name_of(run, case), anatomy.slow(run, case), names)
        for request, number in requests.items():
            yield from _slow_rows(f"{name_of(run, case)}, {request}", anatomy.slow(run, case, number))


def _slow_rows(name: str, calls: Slow | None, requests: Sequence[str] = ()) -> Iterator[dict[str, object]]:
    """Yield the three rows that differ most; requests: names of those whose slow calls are counted one by one."""
    if calls is None:
        return
    typical_us, slow_us = (rows.mean(numeric_only=True) / 1e3 for rows in (calls.usual, calls.rows))
    more = slow_us - typical_us
    made = Counter(requests[number] for number in calls.rows["request"]) if requests else {}
    count = ", ".join(f"{times} {request}" for request, times in made.items()) or len(calls.rows)
    for row in sorted(ROWS, key=more.__getitem__, reverse=True)[:3]:
        yield {
            "row": f"{name}: {row_words(row)}",
            "typical": duration(typical_us[row]),
            "slowest": duration(slow_us[row]),
            "share of the difference of the RTT": f"{100 * more[row] / more['rtt_ns']:.0f} %",
            "slow calls": count,
            "left out: another process ran": len(calls.interrupted),
        }


@as_table("row")
def levels_table(run: Run) -> Iterator[Mapping[str, object]]:
    """Yield the rows in which the slower starts of a case differ from the faster ones, where it has two levels."""
    for case in chosen(run, shown):
        if levels := anatomy.by_level(run, case):
            fast, slower = levels
            more = (slower - fast).sort_values(ascending=False)
            for row in more.index[:3]:
                yield {
                    "row": f"{name_of(run, case)}: {row_words(row)}",
                    "faster starts": duration(fast[row]),
                    "slower starts": duration(slower[row]),
                    "share of the difference of the RTT": f"{100 * more[row] / more.sum():.0f} %",
                }


@as_table("system call")
def kernel_table(run: Run) -> Iterator[Mapping[str, object]]:
    """Yield the time that typical calls spend in each system call on their path."""
    times_by_case = {case: anatomy.kernel_us(run, case) for case in chosen(run, shown)}
    names = sorted({name for times_us in times_by_case.values() for name in times_us})
    for role, name in names:
        values = {case: times_us.get((role, name), 0.0) for case, times_us in times_by_case.items()}
        if any(us > LEAST_SHOWN * rtt_us(run, case) for case, us in values.items()):
            yield {"system call": f"{role}, {name}"} | {
                name_of(run, case): duration(us) if us else "" for case, us in values.items()
            }


@as_table("user code")
def user_table(run: Run) -> Iterator[Mapping[str, object]]:
    """Yield how the user code of each role is divided among the files of programs and libraries, and the samples."""
    cases = chosen(run, shown)
    samples = {case: anatomy.user_samples(run, case) for case in cases}
    for role in dict.fromkeys(role for role, what in ROWS if what == USER):
        in_all = {case: sum(times for (owner, _), times in samples[case].items() if owner == role) for case in cases}
        enough = [case for case in cases if in_all[case] >= LEAST_SAMPLES]
        shares = {
            case: {name: times / in_all[case] for (owner, name), times in samples[case].items() if owner == role}
            for case in enough
        }
        names = dict.fromkeys(name for own in shares.values() for name in own)
        largest = {name: max(own.get(name, 0.0) for own in shares.values()) for name in names}
        for name in sorted(largest, key=largest.__getitem__, reverse=True):
            if largest[name] >= LEAST_CODE:
                yield {"user code": f"{role}, {name}"} | {
                    name_of(run, case): _of_user_code(rows_us(run, case)[role, USER], shares[case].get(name, 0.0))
                    for case in enough
                }
        if enough:
            yield {"user code": f"{role}, samples"} | {name_of(run, case): f"{in_all[case]:,}" for case in enough}


def _of_user_code(us: float, share: float) -> str:
    return f"{duration(us * share)} ({100 * share:.0f} %)" if share else ""


@as_table("per call")
def counts_table(run: Run) -> Iterator[Mapping[str, object]]:
    """Yield how often each thing happens per call: a whole number alone is exact, another mean has its range."""
    counts_by_case = {
        case: {(count.role, count.what): count for count in anatomy.counts(run, case)} for case in chosen(run, shown)
    }
    for role, what in sorted({key for counts in counts_by_case.values() for key in counts}):
        row = {case: counts.get((role, what)) for case, counts in counts_by_case.items()}
        if any(count is not None and count.mean >= LEAST_COUNT for count in row.values()):
            yield {"per call": f"{role}: {what}"} | {
                name_of(run, case): count.words if count else "" for case, count in row.items()
            }


@as_table("system")
def totals_table(run: Run) -> Iterator[Mapping[str, object]]:
    """Yield what each case does per call in all, the fewest system calls first; a whole number is exact."""
    rows = []
    for case in chosen(run, TRACED):
        counts_by_role: dict[str, list[Count]] = {}
        for count in anatomy.counts(run, case):
            counts_by_role.setdefault(count.role, []).append(count)
        all_counts = [count for counts in counts_by_role.values() for count in counts]  # role by role
        calls = {
            role: [count for count in counts if count.what not in NO_SYSTEM_CALLS]
            for role, counts in counts_by_role.items()
        }
        sent = {count.role: count.words for count in all_counts if count.what == anatomy.SENT_BYTES}
        every = [count for counts in calls.values() for count in counts]
        sleeps = [count for count in all_counts if count.what == anatomy.SLEEPS]
        row = {"system": name_of(run, case), "system calls": in_all(every)}
        row |= {f"{role}: system calls": in_all(counts) for role, counts in sorted(calls.items())}
        row |= {f"{role}: bytes sent": sent.get(role, "") for role in ("client", "server")}
        rows.append((sum(count.mean for count in every), row | {"sleeps": in_all(sleeps)}))
    yield from (row for _, row in sorted(rows, key=lambda row: row[0]))


NO_SYSTEM_CALLS = (anatomy.SENT_BYTES, anatomy.SLEEPS, anatomy.PREEMPTED)


def in_all(counts: Sequence[Count]) -> str:
    """Return the sum of counts per call: a whole number if each that is not rare is exact."""
    is_exact = all(count.is_exact for count in counts if count.mean >= LEAST_COUNT)
    if is_exact:
        return f"{sum(count.mean for count in counts if count.is_exact):.0f}"
    return f"{sum(count.mean for count in counts):.1f}"


tables = {
    "breakdown": rows_table,
    "added": added_table,
    "user": user_table,
    "kernel": kernel_table,
    "slow": slow_table,
    "levels": levels_table,
    "counts": counts_table,
    "totals": totals_table,
}
