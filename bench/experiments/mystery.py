"""mystery.ipynb: servers with one fault each, and one without: their times, gains, growth and the kernel's counters."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from bench.analysis.quantiles import quantile
from bench.grammar import P50, RATE, Cdf, Claim, Contrast, Level, Lines, Ratios, Table, chosen, fewest, most
from bench.grammar.axes import (
    GREY,
    SYSTEM_COLOURS,
    EmptyError,
    curve,
    end_to_end,
    log_axis,
    look,
    name_rows,
    needed,
    separate_rows,
    ticks_at,
    write_beside,
)
from bench.grammar.sweep import Bytes, Count, ManyBytes, as_sweep
from bench.measurement.validation.amount import Amount
from bench.measurement.validation.cases import instrument, placement_of
from bench.plan import parameters
from bench.plan.case import Case
from bench.run.frames import Run, numbered

TITLE = "Which fault does each server have?"
BOXES = ("a", "b", "c", "d", "e", "f", "sound")
CALLS = 60  # at most, of a case that varies the payload


@as_sweep(class_s=0.25)  # short: what is wrong with a box is no matter of five per cent
def sweep(
    amount: Amount,
    box: object = "all",
    callers: Count = 4,
    payload_bytes: Bytes = 100,
    sizes: ManyBytes = (6000, 12_000, 48_000),
    placement: object = "free",
) -> Iterator[Case]:
    """Yield for each box one caller, several callers, and one caller with larger payloads; the sound box always."""
    placement = placement_of(placement)
    for name in dict.fromkeys([*parameters.names(box, "box", BOXES), "sound"]):
        for count in dict.fromkeys((1, callers)):
            yield Case("mystery", "tcp", payload_bytes, {"box": name}, placement, callers=count)
        for size in sizes:
            if size != payload_bytes:
                yield Case("mystery", "tcp", size, {"box": name}, placement, max_calls=CALLS)
    yield instrument(payload_bytes, placement)


LONE = {"callers": 1, "is_short": False}  # and the smallest payload
BY_PAYLOAD = {"callers": 1}
SERVER_CPU = "server_cpu_us_per_call"


def box_of(run: Run, case: int) -> str:
    """Return how a box is called: a to f, or sound."""
    return str(run.case(case).options["box"])


gain = Contrast(RATE, of={"callers": lambda count: count > 1}, over=LONE, by=("box",))
longer, dearer = (
    Contrast(name, of=most("payload_bytes"), over=fewest("payload_bytes"), by=("box",), where=BY_PAYLOAD)
    for name in (P50, SERVER_CPU)
)

gain_of_sound = replace(gain, where={"box": "sound"})

answer = (Level(P50, LONE), gain)
claims = (Claim("without a fault several callers make more calls per second than one", gain_of_sound, above=1),)


FAULTY = LONE | {"box": lambda box: box != "sound"}
curves = Cdf("Distribution of the RTT, one caller", colour_by="box", dash="system", where=FAULTY, label=box_of)


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT for each box, one caller; that of the sound one as a broad pale line."""
    curves(run, axes)
    (sound,) = chosen(run, {**LONE, "box": "sound"})
    colour = look(chosen(run, LONE).index(sound)).colour  # as in the other panels
    curve(axes, run.distribution_us(sound), f"sound, n = {run.count(sound):,}", (*to_rgb(colour), 0.4), width=7)


def by_callers(run: Run, axes: Axes) -> None:
    """Draw the calls per second of several callers divided by those of one, for each box."""
    most_callers = max(run.case(case).callers for case in chosen(run, {}))
    Ratios(f"Calls per second, {most_callers} callers divided by 1", (gain,), label=box_of)(run, axes)


def in_order(run: Run, axes: Axes) -> None:
    """Draw the RTT of every call against time: the starts of all boxes, end to end."""
    lone = chosen(run, LONE)
    for case, start, begin in end_to_end(run, lone):
        calls, colour = run.calls.of_start(start), look(lone.index(case)).colour
        axes.plot(begin + calls.t_send_ns / 1e9, calls.rtt_ns / 1e3, ".", ms=2.5, mew=0, alpha=0.6, color=colour)
    for index, case in enumerate(lone):
        axes.plot([], [], "o", ms=5, color=look(index).colour, label=box_of(run, case))
    log_axis(axes.yaxis)
    axes.set_xlabel("time [s]: the starts of each box, end to end")
    axes.set_ylabel("RTT")
    axes.set_title("Every call, one caller")


COUNTERS = {  # of the kernel: their columns of the ledger, markers and colours
    "TCP segments sent": ("tcp_segments_out", "o", SYSTEM_COLOURS[0]),
    "TCP connections opened": ("tcp_connections", "s", SYSTEM_COLOURS[2]),
    "delayed ACKs": ("tcp_delayed_acks", "D", SYSTEM_COLOURS[3]),
}


def per_call(run: Run, case: int, column: str) -> float:
    """Return a counter of the kernel per call: the median over the starts of a case; NaN where it is not known."""
    starts = run.starts_of(case)
    return float((starts[column] / starts["calls"]).median())


def counters(run: Run, axes: Axes) -> None:
    """Draw the kernel's TCP counters per call, one caller: median over starts."""
    lone = chosen(run, LONE)
    if run.starts[[column for column, *_ in COUNTERS.values()]].isna().all(axis=None):
        raise EmptyError("this kernel does not report these counters: see the reference run")
    for dy, (words, (column, marker, colour)) in zip((-0.3, 0.0, 0.3), COUNTERS.items(), strict=True):
        values = [per_call(run, case, column) for case in lone]  # many are 0
        axes.plot(values, np.arange(len(lone)) + dy, marker, ms=6, color=colour, label=words)
    axes.set_xscale("symlog", linthresh=0.1)
    axes.set_xlim(left=-0.02)
    ticks = (0, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100)
    ticks_at(axes.xaxis, [tick for tick in ticks if tick <= max(1, axes.get_xlim()[1])])
    name_rows(axes, [box_of(run, case) for case in lone])
    axes.yaxis.grid(False)
    separate_rows(axes, np.arange(1, len(lone)) - 0.5)
    axes.set_xlabel("count per call (whole machine), median over starts\nlinear below 0.1, logarithmic above")
    axes.set_title("TCP counters of the kernel, per call")


def by_worker(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start of one caller, marked by the process that answered most of its calls."""
    lone = chosen(run, LONE)
    answered = needed(run.starts.dropna(subset="server_worker_calls"), "which process answered is not reported")
    for y, case in enumerate(lone):
        colour = look(y).colour
        for _, start in numbered(answered[answered["case"] == case]):
            shares = json.loads(start["server_worker_calls"])
            most_calls = int(np.argmax(shares))
            face = "white" if most_calls else colour
            axes.plot(start[P50], y, "os"[most_calls % 2], ms=9, mec=colour, mew=1.6, mfc=face, alpha=0.85)
        write_beside(axes, y, f"{len(shares)} process{'es' if len(shares) > 1 else ''}")
    axes.plot([], [], "o", ms=9, color=GREY, label="answered by the first process, or most of it")
    axes.plot([], [], "s", ms=9, mec=GREY, mfc="white", mew=1.6, label="answered by the second")
    name_rows(axes, [box_of(run, case) for case in lone])
    log_axis(axes.xaxis)
    axes.set_xlabel("median RTT of each start")
    axes.set_title("Median RTT by answering process, one caller")


panels = {
    "distribution": distribution,
    "by_callers": by_callers,
    "by_payload": Lines(
        "Median RTT by payload, one caller", P50, "payload_bytes", by=("box",), where=BY_PAYLOAD, label=box_of
    ),
    "counters": counters,
    "in_order": in_order,
    "cpu": Lines(
        "Server CPU time per call, one caller",
        SERVER_CPU,
        "payload_bytes",
        by=("box",),
        where=BY_PAYLOAD,
        label=box_of,
    ),
    "by_worker": by_worker,
}


def counted(words: str) -> Callable[[Run, int], str]:
    """Return the column of a counter of the kernel, per call."""

    def column(run: Run, case: int) -> str:
        value = per_call(run, case, COUNTERS[words][0])
        return "not known" if math.isnan(value) else f"{value:.2f}"

    return column


def of_box(contrast: Contrast) -> Callable[[Run, int], str]:
    """Return the column of a contrast: its ratio for the box of a case."""

    def column(run: Run, case: int) -> str:
        return next(
            (str(ratio) for ratio in contrast.ratios(run) if box_of(run, ratio.other) == box_of(run, case)), "n/a"
        )

    return column


tables = {
    "symptoms": Table(
        {
            "median RTT [range over starts]": P50,
            "p99": lambda run, case: str(quantile(run, case, 0.99)),
            "calls/s of several callers divided by those of one": of_box(gain),
            "largest payload divided by smallest, median RTT": of_box(longer),
            "the same, server CPU time per call": of_box(dearer),
            **{f"{words} per call": counted(words) for words in COUNTERS},
        },
        where=LONE,
    )
}
