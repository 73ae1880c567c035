"""origins.ipynb: the published numbers that began this project, beside the same numbers measured here."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from bench.analysis.comparison import effect
from bench.analysis.marginal_costs import difference_us
from bench.experiments.published import FIRST_CALL, ONE_MORE, ORIGINS, WAMP, Number, numbers
from bench.grammar import Claim, Estimand, Estimate, distinct, per_start, with_ends
from bench.grammar.axes import (
    GREY,
    SMALL,
    hollow,
    interval_row,
    log_axis,
    look,
    name_rows,
    ratio_axis,
    write_beside,
)
from bench.grammar.borrowed import marked, shown
from bench.grammar.sweep import as_sweep
from bench.grammar.table import as_table
from bench.measurement.validation.amount import Amount
from bench.measurement.validation.cases import instrument
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.labels import placed_as
from bench.run.frames import Run, once_per_run
from bench.stats import Spread, Text, across_starts
from bench.text import duration, factor, quantity, ratio_ends

TITLE = "How do published numbers compare with those measured here?"


@as_sweep(skips_missing=True)
def sweep(amount: Amount, origin: object = "all", workers: object = 2) -> Iterator[Case]:
    """Yield the replicas of the origins that are asked for, each with the real system; ``workers``: the scale-up's."""
    every = list(numbers(parameters.count(workers, "workers", 64)))
    for name in parameters.names(origin, "origin", tuple(ORIGINS)):
        yield from distinct(number.case for number in every if number.origin == name)
    yield instrument(100, "same")


CONCLUSIONS = {  # of the origins: one of their numbers over another
    "WAMP time: tcp websocket json / ipc rawsocket msgpack": tuple(f"WAMP, {name}" for name in reversed(WAMP)),
    "HTTP rate: 16 B / 65,536 B": ("HTTP 16 B, requests", "HTTP 65,536 B, requests"),
    "ZeroMQ time: tcp / inproc": ("ZeroMQ, 1 kB there and back, tcp", "ZeroMQ, 1 kB there and back, inproc"),
    "ZeroMQ time: tcp / ipc": ("ZeroMQ, 1 kB there and back, tcp", "ZeroMQ, 1 kB there and back, ipc"),
    "ZeroMQ rate: 100 B / 100,000 B": ("ZeroMQ, messages of 100 B", "ZeroMQ, messages of 100,000 B"),
    "XML-RPC time: HTTP / packet stream": ("XML-RPC, HTTP, one more call", "XML-RPC, packet stream, one more call"),
    "XML-RPC rate: TCP_NODELAY on one side / neither": (
        "XML-RPC, TCP_NODELAY on one side",
        "XML-RPC, TCP_NODELAY on neither side",
    ),
    "gRPC rate, 100 calls by each client: two clients / one": (
        "gRPC, 100 calls by 2 clients",
        "gRPC, 100 calls by 1 client",
    ),
}


class Replica(NamedTuple):
    """A published number and the same of a run: the median over the starts with their range."""

    number: Number
    case: int
    here: Spread

    @property
    def theirs(self) -> float:
        """The published number; of a range the value halfway."""
        return sum(self.number.theirs) / 2

    @property
    def speed(self) -> float:
        """How many times as fast it is here as there: ratio of medians, in time or in rate."""
        return self.here.middle / self.theirs if self.number.unit == "1/s" else self.theirs / self.here.middle


@once_per_run
def replicas(run: Run) -> list[Replica]:
    """Return every published number that the run repeats, by origin."""
    matches = (
        (number, next(filter(lambda case: number.is_of(run.case(case)), run.numbers), None))
        for number in numbers(workers=1)
    )
    return [Replica(number, case, _here(run, number, case)) for number, case in matches if case is not None]


def _here(run: Run, number: Number, case: int) -> Spread:
    if number.column == ONE_MORE:
        return across_starts(difference_us(run, case).to_list())
    return across_starts((per_start(run, case, number.column) * (1e-3 if number.column == FIRST_CALL else 1)).to_list())


REPRODUCED, SAME_DIRECTION = "not distinguishable from the published ratio", "same direction, another size"
OPPOSITE, UNDECIDED = "opposite direction", "not distinguishable from 1"


class Relation(NamedTuple):
    """What an origin concluded, as a ratio of two of its numbers, and the same ratio here.

    here: the ratio paired by block with its 95 % interval; where that cannot be had, the ratio that the ranges allow.
    where: the transport, if both numbers have one, and the placement.
    """

    conclusion: str
    origin: str
    theirs: float
    here: Spread
    is_paired: bool = True
    where: str = ""

    @property
    def verdict(self) -> str:
        """Whether the ratio here repeats the published one, by its interval or range.

        Compared are numbers as they are printed, with three digits, so that no verdict contradicts its own line.
        """
        theirs, low, high = (float(f"{value:.3g}") for value in (self.theirs, self.here.low, self.here.high))
        if low <= 1 <= high:
            return UNDECIDED
        if low <= theirs <= high:
            return REPRODUCED
        return SAME_DIRECTION if (theirs > 1) == (low > 1) else OPPOSITE


@once_per_run
def relations(run: Run) -> list[Relation]:
    """Return each origin's conclusion as a ratio, there and here; those that the run has both numbers of."""
    by_name = {replica.number.name: replica for replica in replicas(run)}
    triples = (
        (conclusion, by_name.get(upper), by_name.get(lower)) for conclusion, (upper, lower) in CONCLUSIONS.items()
    )
    return [_relation(run, conclusion, upper, lower) for conclusion, upper, lower in triples if upper and lower]


def _relation(run: Run, conclusion: str, upper: Replica, lower: Replica) -> Relation:
    theirs, here = upper.theirs / lower.theirs, _ratio(run, upper, lower)
    return Relation(conclusion, upper.number.origin, theirs, *here, _where(upper, lower))


def _where(*sides: Replica) -> str:
    """Return the transport of two numbers, if they have one, and their placement."""
    transports = {side.number.case.transport for side in sides}
    over = f"over {transports.pop()}, " if len(transports) == 1 else ""
    return f"{over}{placed_as(sides[0].number.case)}"


def _ratio(run: Run, upper: Replica, lower: Replica) -> tuple[Spread, bool]:
    """Return the ratio of two numbers paired by block, and True; without blocks what the ranges allow, and False."""
    if upper.number.column != ONE_MORE:
        interval = effect(run, lower.case, upper.case, upper.number.column)
        if interval.has_ends:
            return Spread(interval.middle, interval.low, interval.high), True
    high, low = upper.here, lower.here
    return Spread(high.middle / low.middle, high.low / low.high, high.high / low.low), False


def conclusions(run: Run) -> list[Estimate]:
    """Return each origin's conclusion as a ratio measured here, with its verdict."""
    return [_estimate(relation) for relation in relations(run)]


def _estimate(relation: Relation) -> Estimate:
    here, low, high = ratio_ends(*relation.here[:3])
    kind = "95 % CI" if relation.is_paired else "ratio of medians; possible within the ranges over starts:"
    subject = f"{relation.conclusion}, {relation.where} (published: {relation.theirs:.3g})"
    return Estimate(subject, relation.here, here, f"{kind} {low} to {high}; {relation.verdict}")


answer = (Estimand("ratio here", conclusions),)
claims = (Claim("what an origin found larger is larger here, too", conclusions, above=1),)

LOOKS = {name: look(index) for index, name in enumerate(("zeromq", "scaleup", "wamp", "grpc", "xmlrpc_c"))}
NOTES = {UNDECIDED: "\n(contains 1)", OPPOSITE: "\n(other side of 1)"}  # beside a ratio that is drawn
APART = 0.18  # of a row: the published number above, the one measured here below
Row = tuple[Replica, bool]  # and whether it is borrowed from the reference run


def rows_of(run: Run, unit: str = "") -> list[Row]:
    """Return the numbers that are drawn, of one unit: those of the run, then those that it borrows."""
    return [
        (replica, part is not run)
        for part in shown(run)
        for replica in replicas(part)
        if unit in ("", replica.number.unit)
    ]


def key(axes: Axes, are_borrowed: Iterable[bool], here: str) -> None:
    """Explain the markers in the legend; hollow ones where there are some."""
    axes.plot([], [], "s", ms=7, mfc="white", color=GREY, mew=1.6, label="published, on its machine")
    axes.plot([], [], "o", ms=7, color="black", label=here)
    if any(are_borrowed):
        axes.plot([], [], "o", ms=7, mfc="white", color="black", mew=1.3, label="reference run, on another machine")


def both(unit: str, text: Text, title: str, words: str) -> Callable[[Run, Axes], None]:
    """Return a panel of the published numbers of a unit, and those measured here, one row each."""

    def draw(run: Run, axes: Axes) -> None:
        rows = rows_of(run, unit)
        for y, (replica, is_borrowed) in enumerate(rows):
            axes.plot(replica.number.theirs, [y - APART] * 2, color=GREY, lw=4, alpha=0.5, solid_capstyle="round")
            axes.plot(replica.theirs, y - APART, "s", ms=6, mfc="white", mec=GREY, mew=1.6)
            with hollow(axes, is_borrowed):
                interval_row(axes, y + APART, replica.here, LOOKS[replica.number.origin])
                write_beside(axes, y, replica.here.words(text))
        name_rows(axes, [marked(replica.number.name, is_borrowed) for replica, is_borrowed in rows])
        key(axes, [is_borrowed for _, is_borrowed in rows], "here: median and range over starts")
        log_axis(axes.xaxis, text)
        axes.set_xlabel(words)
        axes.set_title(title)

    return draw


def faster(run: Run, axes: Axes) -> None:
    """Draw the speed-up of each number: how many times as fast it is here as published."""
    rows = rows_of(run)
    for y, (replica, is_borrowed) in enumerate(rows):
        colour, marker = LOOKS[replica.number.origin]
        with hollow(axes, is_borrowed):
            axes.plot([1, replica.speed], [y, y], color=colour, lw=1.5, alpha=0.6)
            axes.plot(replica.speed, y, marker, ms=7, color=colour)
            write_beside(axes, y, f"× {factor(replica.speed)}")
    ratio_axis(axes, "× {:g}".format)
    name_rows(axes, [marked(replica.number.name, is_borrowed) for replica, is_borrowed in rows])
    axes.set_xlabel("published time / time here, or rate here / published rate")
    axes.set_title("Speed-up over the published number")


def shapes(run: Run, axes: Axes) -> None:
    """Draw ratios of two numbers of one origin, published and measured here; those not measured are named."""
    rows = [(relation, part is not run) for part in shown(run) for relation in relations(part)]
    for y, (relation, is_borrowed) in enumerate(rows):
        axes.plot(relation.theirs, y - APART, "s", ms=6, mfc="white", mec=GREY, mew=1.6)
        with hollow(axes, is_borrowed):
            interval_row(axes, y + APART, relation.here, LOOKS[relation.origin])
            note = NOTES.get(relation.verdict, "" if relation.is_paired else "\n(medians; bar: ranges)")
            write_beside(axes, y, f"× {relation.here.middle:.3g}{note}")
    ratio_axis(axes)
    absent = [
        conclusion for conclusion in CONCLUSIONS if conclusion not in {relation.conclusion for relation, _ in rows}
    ]
    for y, _ in enumerate(absent, len(rows)):
        at = axes.get_yaxis_transform()
        axes.text(0.02, y, "not measured", color=GREY, va="center", fontsize=SMALL, transform=at)
    names = [*(marked(relation.conclusion, is_borrowed) for relation, is_borrowed in rows), *absent]
    name_rows(axes, [name.replace(": ", ":\n") for name in names])
    key(axes, [is_borrowed for _, is_borrowed in rows], "here; bar: 95 % CI")
    axes.set_xlabel("ratio of two numbers of one origin")
    axes.set_title("Ratios within one origin")


def height(run: Run) -> float:
    """Return how many inches the figure is taller than usual: for a row of each number."""
    return max(0.0, 0.4 * (len(rows_of(run)) - 15))


panels = {
    "times": both("us", duration, "Times: published and measured here", "time per call (whole round trips)"),
    "rates": both("1/s", quantity, "Rates: published and measured here", "calls, requests or messages per second"),
    "faster": faster,
    "shapes": shapes,
}


def per_second(rate: float, *, like: float | None = None) -> str:
    """Return a rate in words."""
    return f"{quantity(rate, like=like)}/s"


@as_table("origin")
def published(run: Run) -> Iterator[dict[str, str]]:
    """Yield each published number: theirs, the same here, and the speed-up."""
    for replica in replicas(run):
        text: Text = duration if replica.number.unit == "us" else per_second
        yield {
            "origin": ORIGINS[replica.number.origin],
            "number": replica.number.name,
            "theirs": " to ".join(text(value) for value in dict.fromkeys(replica.number.theirs)),
            "here [range over starts]": with_ends(replica.here, text),
            "speed, here / there": factor(replica.speed),
        }


@as_table("published")
def carried(run: Run) -> Iterator[dict[str, object]]:
    """Yield by which factor, at least 1, numbers and ratios of two of them differ from the published ones: medians."""
    off = {
        "numbers": [math.log(replica.speed) for replica in replicas(run)],
        "ratios of two numbers of one origin": [
            math.log(relation.here.middle / relation.theirs) for relation in relations(run)
        ],
    }
    for what, logs in off.items():
        if logs:
            yield {"published": what, "count": len(logs), "median factor": factor(math.exp(np.median(np.abs(logs))))}


tables = {"published": published, "carried": carried}
