"""streaming.ipynb: streams of replies by how many run at once, and the origin's choice of a stack, factor by factor."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import pandas as pd
from matplotlib.axes import Axes

from bench import stats, systems
from bench.analysis.comparison import values
from bench.analysis.stream_schedules import (
    at_common,
    behind_at_common,
    common,
    delayed_ack_stalls,
    has_p90,
    is_behind,
    kept,
    late_words,
    lateness,
    paced,
    services,
    unevenness,
    unpaced,
    with_first,
)
from bench.errors import UsageError
from bench.experiments.published import VLLM
from bench.grammar import CPU, MESSAGES, RATE, Claim, Contrast, Level, Rows, fewest, most
from bench.grammar.axes import (
    GREY,
    ROLE_COLOURS,
    SYSTEM_COLOURS,
    Look,
    band_words,
    cpu_bars,
    draw_spreads,
    interval_row,
    log_axis,
    look,
    name_rows,
    needed,
    ratio_axis,
    ratio_text,
    ticks_at,
    write_beside,
)
from bench.grammar.choose import Chooser
from bench.grammar.sweep import Options, OwnEngine, as_sweep
from bench.measurement.validation import support
from bench.measurement.validation.amount import Placed
from bench.measurement.validation.cases import absent_of, chosen_systems
from bench.plan import parameters
from bench.plan import replies as limits
from bench.plan.case import MOST_STREAMS, Case
from bench.plan.plan import Plan
from bench.run.frames import Run, number_of, numbered
from bench.run.reply_stream_times import FIRST, LOAD, column
from bench.stats.intervals import Interval, paired_shift
from bench.text import counted, duration, listed, quantity

TITLE = "When does the first reply of a stream arrive, and how evenly do the others follow?"
SYSTEMS = ("sockets", "zeromq", "grpc_sync", "grpc_aio", "http_aiohttp", "wamp_crossbar")
STREAMS = {"full": (1, 10, 100, 1000)}  # paced streams at once, by profile; many take long to connect
FEW_STREAMS = (1, 100)  # of the other profiles
SHARED = ("grpc_sync", "grpc_aio")  # one channel carries all streams of a process, as their users do
TOGETHER = 2  # streams follow each other in a window: they begin spread over the first, and all run in the second
STACKS = (  # of the origin's question, one factor at a time: system, transport, options
    *(("grpc_aio", transport, {"serialization": "protobuf"}) for transport in ("tcp", "ipc")),
    *(("zeromq", "tcp", {"token_codec": codec}) for codec in ("bytes", "pickle", "protobuf")),
    ("zeromq", "ipc", {"token_codec": "protobuf"}),
)


def counts(value: object, what: str) -> list[int]:
    """Return numbers of streams; none for 0."""
    if parameters.literal(value) in (0, [0], ()):
        return []
    return parameters.positives(value, what, MOST_STREAMS)


Streams = Annotated[Any, counts]


@as_sweep()
def sweep(
    amount: Placed,
    system: object = "all",
    transport: object = "tcp",
    streams: object = "auto",
    unpaced_streams: Streams = (10,),
    origin_streams: Streams = 100,
    gap_us: object = 20_000,
    replies: object = 10,
    reply_bytes: object = 50,
    payload_bytes: object = 2000,
    options: Options = "",
    engine: OwnEngine = "library",
) -> Plan:
    """Plan paced streams by how many run at once, unpaced ones, and the stacks of the origin; 0 streams leave them out.

    Of a user's service the streams are as its file describes them, by the same numbers at once. ``streams`` auto are as
    many as the profile has time for. ``options`` are those of the one system that is asked for. engine: of users'
    services, and of raw sockets.
    """
    names = list(SYSTEMS) if parameters.as_list(system) == ["all"] else chosen_systems(system)
    transport_name = parameters.one_name(transport, "transport", ("ipc", "tcp"))
    if options and len(names) != 1:
        raise UsageError("options apply to one system: name it, as in -p system http_aiohttp")
    absent = absent_of(names)
    every: dict[str, Any] = {
        "payload_bytes": parameters.count(payload_bytes, "payload_bytes", 1_000_000),
        "placement": amount.chosen_placement(is_parallel=True),
        "load": LOAD,
        "engine": engine,
    }
    shared = every | {
        "replies": parameters.count(replies, "replies", limits.MOST_REPLIES),
        "reply_bytes": parameters.count(reply_bytes, "reply_bytes", limits.MOST_REPLY_BYTES),
    }
    gap = parameters.count(gap_us, "gap_us", 10_000_000)
    if parameters.literal(streams) == "auto":
        streams = STREAMS.get(amount.profile, FEW_STREAMS)
    at_once = counts(streams, "streams")
    if not [*at_once, *unpaced_streams, *origin_streams]:
        raise UsageError("nothing to measure: give a number in streams, unpaced_streams or origin_streams")
    present = [name for name in names if name not in absent]
    here = [name for name in present if not systems.service_of(name)]
    system_options = {name: ({"connections": "shared"} if name in SHARED else {}) | options for name in here}
    cases = [
        Case(name, transport_name, options=system_options[name], callers=n, gap_us=pause_us, **shared)
        for numbers, pause_us in ((at_once, gap), (unpaced_streams, 0))
        for name in here
        for n in numbers
    ]
    for name in present:
        if name not in here:  # a user's service says itself what it sends and when
            (only,) = systems.constant(name, "TRANSPORTS")
            cases += [Case(name, only, callers=n, **every) for n in at_once]
    for n in origin_streams:
        measured = [support.checked(case) for case in cases]
        stacks = [
            Case(name, way, options=({"connections": "shared"} if name in SHARED else {}) | more, callers=n, gap_us=gap,
                 **shared)
            for name, way, more in STACKS if name in here
        ]  # fmt: skip
        cases += [case for case in stacks if support.checked(case) not in measured]
    planned = amount.plan("streaming", cases, absent)
    if parameters.literal(amount.window_s) is not None:
        return planned
    longest_s = max((case.stream_s for case in planned.cases), default=0.0)
    return replace(planned, window_s=max(planned.window_s, TOGETHER * longest_s))


UNEVEN, GAP, LARGE_GAP = column("uneven", 0.9), column("gap", 0.5), column("gap", 0.99)
COMPARED = {FIRST: "time to first message", UNEVEN: "unevenness of the gaps (p90)", CPU: "CPU time per message"}


def among_rows(rows_of: Callable[[Run], pd.DataFrame]) -> Chooser:
    """Choose the cases of some rows of ``Run.cases``."""
    return lambda run, among: [number_of(case) for case in rows_of(run).index]


def with_fewest(run: Run) -> pd.DataFrame:
    """Return the rows with the fewest streams at once, of those whose first message is of interest."""
    rows = with_first(run)
    return rows[rows["callers"] == rows["callers"].min()]


def without_schedule(run: Run) -> pd.DataFrame:
    """Return the rows of users' services, or those that are not paced where no case is."""
    return services(run) if len(services(run)) or len(paced(run)) else unpaced(run)


def origin_streams_of(run: Run) -> int | None:
    """Return how many streams at once the origin's stacks have: as many as the case of ZeroMQ with pickle."""
    return max((run.case(case).callers for case in run.find(system="zeromq", token_codec="pickle")), default=None)


def of_origin(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the paced cases with as many streams at once as the origin's stacks have."""
    cases = run.find(load=LOAD, callers=origin_streams_of(run))
    return [case for case in cases if run.case(case).gap_us > 0]


GRPC = {"system": "grpc_aio", "serialization": "protobuf", "transport": "tcp"}
PROTOBUF, PICKLE, BYTES = (
    {"system": "zeromq", "token_codec": codec, "transport": "tcp"} for codec in ("protobuf", "pickle", "bytes")
)
CHANGES: dict[str, tuple[dict[str, str], dict[str, str]]] = {  # of the origin's choice: before, after
    "gRPC instead of ZeroMQ": (PROTOBUF, GRPC),
    "protobuf instead of pickle": (PICKLE, PROTOBUF),
    "pickle instead of bytes": (BYTES, PICKLE),
    "ZeroMQ: ipc instead of tcp": (PROTOBUF, PROTOBUF | {"transport": "ipc"}),
    "gRPC: ipc instead of tcp": (GRPC, GRPC | {"transport": "ipc"}),
}
steps = {
    (change, name): Contrast(name, of=after, over=before, where=of_origin)
    for change, (before, after) in CHANGES.items()
    for name in COMPARED
}
stack, stack_cpu = (steps["gRPC instead of ZeroMQ", name] for name in (FIRST, CPU))
BASE, OTHERS = {"system": "sockets"}, {"system": lambda name: name != "sockets"}
over_sockets = Contrast(FIRST, of=OTHERS, over=BASE, where=among_rows(at_common))
over_sockets_with_fewest = Contrast(FIRST, of=OTHERS, over=BASE, where=among_rows(with_fewest))
with_more = Contrast(FIRST, of=fewest("callers"), over=most("callers"), by=("system",), where=among_rows(paced))
uneven_gaps = Contrast(UNEVEN, of=OTHERS, over=BASE, where=among_rows(at_common))

contrasts = (over_sockets, over_sockets_with_fewest, *steps.values(), with_more)
answer = (
    over_sockets_with_fewest,
    uneven_gaps,
    stack,
    *(Level(name, among_rows(without_schedule)) for name in (FIRST, GAP, LARGE_GAP, RATE, CPU)),
)
claims = (
    Claim("with the fewest streams the first message comes at least as early as with the most", with_more, at_most=1),
    Claim("as in the origin's table, the first message takes longer with gRPC than with ZeroMQ", stack, above=1),
)

PACING, TRANSIT = Look(ROLE_COLOURS["router"], "s"), Look(SYSTEM_COLOURS[0], "o")
LEAST_US = 1.0  # a deviation that is drawn on the logarithmic axis, at least
NOT_ON_SCHEDULE = "no number of streams at which most systems are on schedule"
PER_MESSAGE = "CPU time per message [µs], by role; bar, right: median of the starts' totals; line: range"
WIDE = 0.16  # of a bar of gaps, in decades of the number of streams


def look_of(run: Run, system: object) -> Look:
    """Return the look of a system."""
    index = list(dict.fromkeys(case.system for case in run.plan.cases)).index(str(system))
    return look(index)


def dot(axes: Axes, x: float, y: float, drawn: Look, row: "pd.Series[float]") -> None:
    """Draw the value of a case: hollow if it is behind schedule."""
    face = "white" if is_behind(row) else drawn.colour
    axes.plot(x, y, drawn.marker, ms=6.5, color=drawn.colour, mfc=face, mew=1.4, zorder=3)


def streams_axis(run: Run, axes: Axes, cases: pd.DataFrame) -> None:
    """Make the horizontal axis one of streams at once, and say what hollow means."""
    if label := late_words(run, cases):
        system = next(row["system"] for _, row in cases.iterrows() if is_behind(row))
        hollow: dict[str, Any] = {"color": GREY, "mfc": "white", "mew": 1.4, "label": f"hollow: {label}"}
        axes.plot([], [], look_of(run, system).marker, ls="", **hollow)
    axes.set_xscale("log")
    axes.margins(x=0.1)
    ticks_at(axes.xaxis, sorted(cases["callers"].unique()))
    log_axis(axes.yaxis)
    how = "at once" if cases["rate_per_s"].notna().all() else "begun one after another"
    axes.set_xlabel(f"streams of one client process, {how}")


def first(run: Run, axes: Axes) -> None:
    """Draw the median time to first message against the number of streams at once; hollow: behind schedule."""
    cases = needed(with_first(run), "no paced streams in this run")
    by_streams(run, axes, cases, FIRST)
    for case, row in numbered(cases):
        spread = run.over_starts(case, FIRST)
        for value in spread.levels or (spread.middle,) if is_behind(row) else ():
            dot(axes, row["callers"], value, look_of(run, row["system"]), row)
    streams_axis(run, axes, cases)
    axes.set_ylabel(f"median; {band_words(run.over_starts(case, FIRST) for case in cases.index)}")
    axes.set_title("Time to first message")


def gaps(run: Run, axes: Axes) -> None:
    """Draw how far gaps between messages are from the plan, median to p90, against the number of streams at once.

    Of users' services, whose plan is not known, the gaps themselves.
    """
    cases = paced(run)
    if cases.empty:
        return gaps_of_services(run, axes)
    names, without = list(cases["system"].unique()), False
    for case, row in numbered(cases):
        off_us, drawn = unevenness(run, case), look_of(run, row["system"])
        if len(off_us):
            offset = names.index(row["system"]) - (len(names) - 1) / 2
            x = row["callers"] * 10 ** (WIDE * offset * 0.8)
            middle, high = (max(LEAST_US, stats.quantile(off_us, p)) for p in (0.5, 0.9))
            if has_p90(run, case, "uneven"):
                axes.plot([x, x], [middle, high], color=drawn.colour, lw=4, alpha=0.45, solid_capstyle="round")
            else:
                without = True
            dot(axes, x, middle, drawn, row)
    for name in names:
        colour, marker = look_of(run, name)
        axes.plot([], [], f"{marker}-", color=colour, lw=1.8, label=name)
    streams_axis(run, axes, cases)
    axes.set_ylabel("|gap - planned gap|")
    if without:
        axes.set_xlabel(f"{axes.get_xlabel()}\nno bar: too few messages in a start for a p90")
    axes.set_title("Unevenness of the gaps: median to p90")
    return None


def by_streams(run: Run, axes: Axes, cases: pd.DataFrame, name: str, words: str = "", line: str = "-") -> None:
    """Draw a quantity of each system against the number of streams at once."""
    for system, unordered in cases.groupby("system", sort=False):
        rows = unordered.sort_values("callers")
        spreads = [run.over_starts(case, name) for case, _ in numbered(rows)]
        draw_spreads(axes, rows["callers"], spreads, look_of(run, system), f"{system}{words}", line)


def gaps_of_services(run: Run, axes: Axes) -> None:
    """Draw the gaps between messages of users' services, median and p99, against the number of streams at once."""
    cases = needed(services(run), "no paced streams in this run")
    for name, line, words in ((GAP, "-", ", median"), (LARGE_GAP, "--", ", p99")):
        by_streams(run, axes, cases, name, words, line)
    streams_axis(run, axes, cases)
    axes.set_ylabel("gap between two messages")
    axes.set_title("Gaps between messages (band: range over starts)")


def rates_of_services(run: Run, axes: Axes) -> None:
    """Draw the messages per second of users' services against the number of streams at once."""
    by_streams(run, axes, services(run), RATE)
    streams_axis(run, axes, services(run))
    log_axis(axes.yaxis, quantity)
    axes.set_ylabel("messages per second")
    axes.set_title("Messages per second (band: range over starts)")


def left_out(run: Run) -> str:
    """Return which systems a panel leaves out, and why."""
    behind = behind_at_common(run)
    return f"\nleft out, {late_words(run, behind)}: {listed(behind['system'])}" if len(behind) else ""


def late(run: Run, axes: Axes) -> None:
    """Draw where a reply is late, at the server's timer and from there to the client: median (marker) to p90 (bar).

    Of users' services alone, which do not say when a reply was due, draw the messages per second.
    """
    if paced(run).empty and len(services(run)):
        return rates_of_services(run, axes)
    rows = needed(at_common(run), NOT_ON_SCHEDULE)
    for y, (case, _) in enumerate(numbered(rows)):
        delays = lateness(run, case)
        for dy, (median, p90), drawn, label in (
            (-0.17, delays.pacing, PACING, "server's timer: due until handed over"),
            (0.17, delays.transit, TRANSIT, "transit: handed over until received"),
        ):
            interval_row(axes, y + dy, Interval(median, median, p90), drawn, label=label)
        write_beside(axes, y, f"{duration(delays.pacing[0])} + {duration(delays.transit[0])}")
    log_axis(axes.xaxis)
    name_rows(axes, rows["system"])
    axes.set_xlabel(f"lateness: median (marker) to p90 (bar); beside: the two medians{left_out(run)}")
    axes.set_title(f"Where a reply is late, {counted(common(run) or 0, 'stream')}")


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per message by role, where most systems keep their schedule, or of users' services."""
    of_services = paced(run).empty and len(services(run)) > 0
    rows = needed(services(run) if of_services else at_common(run), NOT_ON_SCHEDULE)
    cpu_bars(run, axes, rows)
    name_rows(axes, rows["system"] if not of_services else [with_streams(run, case) for case, _ in numbered(rows)])
    axes.set_xlabel(PER_MESSAGE if of_services else f"{PER_MESSAGE}{left_out(run)}")
    at = "" if of_services else f", {counted(common(run) or 0, 'stream')}"
    axes.set_title(f"CPU time per message{at}")


def with_streams(run: Run, case: int) -> str:
    """Return the system of a case, and how many streams it has at once."""
    return f"{run.case(case).system}, {counted(run.case(case).callers, 'stream')}"


def origin(run: Run, axes: Axes) -> None:
    """Draw what each step of the origin's choice changes, one factor at a time: ratios with their 95 % intervals."""
    ratios = [(change, name, ratio) for (change, name), step in steps.items() for ratio in step.ratios(run)]
    needed(ratios, "the origin's stacks are not in this run (origin_streams 0, or other systems)")
    changes = list(dict.fromkeys(change for change, _, _ in ratios))
    for change, name, ratio in ratios:
        index = list(COMPARED).index(name)
        y, words = changes.index(change) + 0.24 * (index - 1), ratio_text(ratio.interval)
        interval_row(axes, y, ratio.interval, look(index), words, COMPARED[name])
    ratio_axis(axes)
    name_rows(axes, changes)
    axes.set_xlabel("ratio after / before the change; bar: 95 % CI")
    axes.set_title(f"The origin's choice, one factor at a time, {counted(origin_streams_of(run) or 0, 'stream')}")


panels = {
    "first": first,
    "gaps": gaps,
    "late": late,
    "cpu": cpu,
    "without_pauses": Rows("Streams without pauses", MESSAGES, where=among_rows(unpaced), label=with_streams),
    "origin": origin,
}


def framed(rows: dict[str, dict[str, str]], index: str) -> pd.DataFrame:
    """Return a table of texts by its rows; empty without any."""
    return pd.DataFrame.from_dict(rows, orient="index").fillna("").rename_axis(index) if rows else pd.DataFrame()


def schedules(run: Run) -> pd.DataFrame:
    """Return for each system the numbers of streams at which it is on schedule, held back by TCP, or behind."""
    on_schedule, rows = kept(run).index, dict[str, dict[str, list[int]]]()
    for case, row in numbered(paced(run)):
        late = "held back by delayed ACKs" if delayed_ack_stalls(run, case) else "behind"
        state = "on schedule" if case in on_schedule else late
        rows.setdefault(row["system"], {}).setdefault(f"{state}, numbers of streams", []).append(int(row["callers"]))
    return framed(
        {name: {state: listed(numbers) for state, numbers in states.items()} for name, states in rows.items()}, "system"
    )


def held_back(run: Run) -> pd.DataFrame:
    """Return for each case that TCP held back how long nothing arrived, and what the kernel counted in a start."""
    rows = {
        run.labels[case]: {
            "silences per start": f"{stalls.silences:.0f}",
            "length of a silence": duration(stalls.silence_us),
            "delayed ACKs per start": f"{stalls.delayed_acks:.0f}",
        }
        for case, _ in numbered(pd.concat([paced(run), unpaced(run)]))
        if (stalls := delayed_ack_stalls(run, case))
    }
    return framed(rows, "case")


def late_rows(run: Run) -> pd.DataFrame:
    """Return for each system where its replies are late, and how far gaps are from the plan, at ``common`` streams."""
    rows = {}
    for case, row in numbered(at_common(run)):
        delays, p90 = lateness(run, case), math.nan
        if has_p90(run, case, "uneven"):
            p90 = stats.quantile(unevenness(run, case), 0.9)
        rows[row["system"]] = {
            "late at the server's timer, median": duration(delays.pacing[0]),
            "from there to the client, median": duration(delays.transit[0]),
            "timer's share of both": f"{delays.pacing_share:.0%}",
            "p90 of the deviation from the planned gap, all starts": "n/a" if math.isnan(p90) else duration(p90),
        }
    return framed(rows, f"system, {counted(common(run) or 0, 'stream')}")


def step_rows(run: Run) -> pd.DataFrame:
    """Return the ratios of each step of the origin's choice, after over before."""
    rows: dict[str, dict[str, str]] = {}
    for (change, name), step in steps.items():
        for ratio in step.ratios(run):
            rows.setdefault(change, {})[COMPARED[name]] = f"{ratio.words} ({ratio.range}){ratio.doubt}"
    return framed(rows, f"change, {counted(origin_streams_of(run) or 0, 'stream')}")


def origin_rows(run: Run) -> pd.DataFrame:
    """Return gRPC's time to first message beside ZeroMQ's, here and in the origin's table of means with a model."""
    ttft_us = {name: 1e3 * ms for name, ms in VLLM["ttft_ms"].items()}
    grpc, zeromq = ttft_us["gRPC"], ttft_us["ZeroMQ + protobuf"]
    rows: dict[str, dict[str, str]] = {}
    for ratio in stack.ratios(run):
        theirs = {"with gRPC": duration(grpc), "with ZeroMQ": duration(zeromq), "ratio": quantity(grpc / zeromq)}
        medians = (run.over_starts(case, FIRST).words(duration) for case in (ratio.other, ratio.base))
        later = values(run, ratio.other, FIRST) - values(run, ratio.base, FIRST)
        minus = paired_shift(later.dropna().to_numpy(), run.confidence)
        ends = " (95 % CI {} to {})".format(*minus.ends(duration)) if minus.has_ends else ""
        here = {**dict(zip(theirs, medians, strict=False)), "ratio": f"{ratio.words} ({ratio.range})"}
        rows["the origin, mean, with a model"] = theirs | {"difference": duration(grpc - zeromq)}
        rows["here, median, a paced source"] = here | {"difference": f"{duration(minus.middle)}{ends}"}
    return framed(rows, "time to first message, both with protobuf over tcp")


tables = {
    "schedules": schedules,
    "held_back": held_back,
    "lateness": late_rows,
    "steps": step_rows,
    "origin": origin_rows,
}
