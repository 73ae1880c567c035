"""marginal.ipynb: whole client processes that make few calls and many, and what one more call costs."""

import itertools
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from matplotlib.axes import Axes

from bench.analysis.marginal_costs import (
    KINDS,
    costs,
    difference_us,
    of_hundred,
    phases_us,
    processes_us,
    spent,
    stopwatch_us,
)
from bench.errors import UsageError
from bench.experiments.published import XMLRPC_C
from bench.grammar import Claim, Contrast, Level, ManyBytes, Quantity, Systems, Table, as_sweep, over_starts
from bench.grammar.axes import (
    ROLE_COLOURS,
    SYSTEM_COLOURS,
    Look,
    interval_row,
    label_axis,
    log_axis,
    look,
    name_rows,
    stacked_bar,
    write_beside,
)
from bench.grammar.table import as_table, with_ends
from bench.measurement.validation.amount import Placed
from bench.measurement.validation.cases import transports
from bench.plan import parameters
from bench.plan.case import MOST_CALLS, Case
from bench.run.frames import Run
from bench.stats import across_starts
from bench.text import counted, duration, quantity

TITLE = "What does one more call cost a client process?"
VARIANTS = {"xmlrpc_c": ({"protocol": "http"}, {"protocol": "pstream"})}  # both of the origin
CPP_HTTP, CPP_STREAM = ({"system": "xmlrpc_c"} | options for options in VARIANTS["xmlrpc_c"])

Calls = Annotated[Any, lambda value, name: parameters.positives(value, name, MOST_CALLS)]


@as_sweep(skips_missing=True, omits=("window_s",))
def sweep(
    amount: Placed,
    system: Systems = ("xmlrpc_stdlib", "xmlrpc_pstream", "xmlrpc_c", "sockets"),
    transport: object = "tcp",
    calls: Calls = (1, 100, 300, 1000),
    payload_bytes: ManyBytes = (100, 10_000),
) -> Iterator[Case]:
    """Yield client processes with each number of calls of the smallest payload, in an order that the seed fixes.

    Larger payloads are sent by all numbers of calls but the fewest and the most. The whole set is one start of a case.
    """
    if len(set(calls)) < 2:
        raise UsageError("calls needs two numbers or more, such as [1, 100]: the cost of one more call is a difference")
    counts, sizes = sorted(set(calls)), sorted(set(payload_bytes))
    sessions = [(count, sizes[0]) for count in counts]
    sessions += [(count, size) for size in sizes[1:] for count in counts[1:-1] or counts[-1:]]
    amount.chance().shuffle(sessions)
    for name in system:
        for transport_name, options in itertools.product(transports(name, transport, ""), VARIANTS.get(name, ({},))):
            yield Case(
                name,
                transport_name,
                sizes[0],
                dict(options),
                amount.chosen_placement(),
                "session",
                sessions=tuple(sessions),
            )


CALL = Quantity("time per additional call", duration, values=lambda run, case: costs(run, case)["call"])
DIFFERENCE = Quantity("difference: a process with many calls - one with 1", duration, values=difference_us)
STOPWATCH = Quantity("timer inside the process", duration, values=stopwatch_us)
cpp_http = Contrast(CALL, of=CPP_HTTP, over=CPP_STREAM)
python_http = Contrast(CALL, of={"system": "xmlrpc_stdlib"}, over={"system": "xmlrpc_pstream"})
http_python = Contrast(CALL, of={"system": "xmlrpc_stdlib"}, over=CPP_HTTP)
stream_python = Contrast(CALL, of={"system": "xmlrpc_pstream"}, over=CPP_STREAM)

answer = (Level(CALL, {"load": "session"}),)
claims = (
    Claim("a call over HTTP takes longer than over a packet stream (both in C++)", cpp_http, above=1),
    Claim("a call over HTTP takes longer than over a packet stream (both in Python)", python_http, above=1),
    Claim("a call takes longer in Python than in C++ (both over HTTP)", http_python, above=1),
    Claim("a call takes longer in Python than in C++ (both over a packet stream)", stream_python, above=1),
)

WAITING = "#dddddd"
LEAST = 0.01  # of the time per call: less waiting cannot be seen
PHASES = {  # colour and hatch, for prints in grey
    "interpreter": (SYSTEM_COLOURS[0], ""),
    "imports": (SYSTEM_COLOURS[6], "//"),
    "program, connect, first call": (SYSTEM_COLOURS[2], ".."),
    "connect, first call": (SYSTEM_COLOURS[1], "xx"),
    "other calls": (SYSTEM_COLOURS[4], "||"),
    "end": ("#949494", ""),
}
METHODS = {
    DIFFERENCE: Look(SYSTEM_COLOURS[3], "s"),
    CALL._replace(words="regression over all processes"): Look(SYSTEM_COLOURS[0], "o"),
    STOPWATCH: Look(SYSTEM_COLOURS[2], "D"),
}


def whole(run: Run, axes: Axes) -> None:
    """Draw the time of each process with the smallest payload against its number of calls, and the fitted line."""
    for index, case in enumerate(run.numbers):
        colour, marker = look(index)
        rows, size = spent(run, case, "wall"), run.case(case).payload_bytes
        rows = rows[rows["payload_bytes"] == size]
        process, call = (across_starts(costs(run, case)[name]).middle for name in ("process", "call"))
        axes.plot(rows["calls"], rows["us"], marker, ms=4.5, mew=0, alpha=0.6, color=colour)
        grid = np.geomspace(rows["calls"].min(), rows["calls"].max(), 100)
        axes.plot(grid, process + call * grid, lw=1.8, color=colour, label=run.labels[case])
    log_axis(axes.xaxis, quantity)
    log_axis(axes.yaxis)
    axes.set_xlabel("calls per process")
    axes.set_ylabel("time from start to end of the process")
    axes.set_title("Whole client processes; line: fit of a + b n")


def one_call(run: Run, axes: Axes) -> None:
    """Draw the cost of one more call: CPU time of client and server, and waiting; the line is the range over starts."""
    for y, case in enumerate(run.numbers):
        wall, *cpu = (across_starts(costs(run, case, kind)["call"]) for kind in KINDS)
        client, server = (float(np.nan_to_num(max(0.0, spread.middle))) for spread in cpu)
        waiting = wall.middle - client - server
        parts = (
            ("client CPU", client, ROLE_COLOURS["client"], ""),
            ("server CPU", server, ROLE_COLOURS["server"], ""),
            ("waiting", waiting if waiting > LEAST * wall.middle else 0.0, WAITING, ""),
        )
        stacked_bar(axes, y, parts)
        axes.hlines(y, wall.low, wall.high, color="black", lw=1.4)
        words = f"\n(CPU: {duration(client + server)})" if client + server > 1.05 * wall.middle else ""
        write_beside(axes, y, f"{wall.words(duration)}{words}")
    name_rows(axes, [run.labels[case] for case in run.numbers])
    axes.set_xlabel("time per additional call [µs]; line: range over starts")
    axes.set_title("Cost of one more call")


def starting(run: Run, axes: Axes) -> None:
    """Draw the time of a process with the fewest calls by phase: interpreter, imports, first call, end."""
    for y, case in enumerate(run.numbers):
        end_ms = stacked_bar(axes, y, ((name, us / 1e3, *PHASES[name]) for name, us in phases_us(run, case).items()))
        write_beside(axes, y, duration(1e3 * end_ms))
    name_rows(axes, [run.labels[case] for case in run.numbers])
    axes.set_xlabel(f"time of a process with {counted(int(run.sessions['calls'].min()), 'call')} [ms], medians")
    axes.set_title("Phases of a short process")


def methods(run: Run, axes: Axes) -> None:
    """Draw the time per call by three methods, each with its range over starts; a difference may be negative."""
    for (y, case), (index, (name, drawn)) in itertools.product(enumerate(run.numbers), enumerate(METHODS.items())):
        interval_row(axes, y + 0.24 * (index - 1), over_starts(run, case, name), drawn, label=name.words)
    axes.axvline(0, color="#888888", lw=0.8)
    label_axis(axes.xaxis, duration)
    name_rows(axes, [run.labels[case] for case in run.numbers])
    axes.set_xlabel("time per additional call")
    axes.set_title("Time per call by three methods")


panels = {"whole": whole, "one_call": one_call, "starting": starting, "methods": methods}


@as_table("case")
def marginal_costs(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the cost per process start, per call and per kilobyte of each case: time, and CPU time by role."""
    for case, (kind, words) in itertools.product(run.numbers, KINDS.items()):
        process, call, kilobyte = (
            with_ends(across_starts(each), duration) for _, each in costs(run, case, kind).items()
        )
        yield {
            "case": run.labels[case],
            "quantity": words,
            "per process [range over starts]": process,
            "per call [range over starts]": call,
            "per kB of payload [range over starts]": kilobyte,
        }


tables = {"marginal_costs": marginal_costs, "methods": Table({method.words: method for method in METHODS})}


def lines(run: Run) -> str:
    """Return whole client processes in the form of the Xmlrpc-c notes, with their values of about 1999."""
    lines = ["medians over the starts; the last number of a line is the median of each start's own difference:"]
    for case in run.numbers:
        many = of_hundred(run, case)
        many_ms, single_ms = (processes_us(run, case, count).median() / 1e3 for count in (many, 1))
        call = over_starts(run, case, DIFFERENCE).times(1e-3).words("{:.3f} ms".format)
        lines.append(
            f"{run.labels[case]}: {many} RPCs {many_ms:.1f} ms, 1 RPC {single_ms:.1f} ms -> {call} for one more"
        )
    lines.append("the origin, about 1999 (696 bogomips), a whole process each:")
    for name in ("http_c", "http_cpp", "pstream_cpp"):
        theirs = XMLRPC_C[name]
        call = f"{(theirs['calls_100_ms'] - theirs['call_1_ms']) / 99:.1f} ms"
        lines.append(f"  {name}: 100 RPCs {theirs['calls_100_ms']} ms, 1 RPC {theirs['call_1_ms']} ms -> {call}")
    return "\n".join(lines)
