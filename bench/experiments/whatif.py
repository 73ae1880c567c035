"""whatif.ipynb: the round trip of a client with another server, predicted from the parts of traced calls, and measured.

Client and server of a system come in two variants each. The two pairs of one kind are what is known before a change:
each has its breakdown. In a prediction a side's own code has the time that it took there. Waking a side has the time
that it took beside the other side: a thread takes longer to wake, the longer it slept, that is, the longer the other
side worked. A client of raw sockets whose server waits for known times shows what that does to a side's own code.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import pandas as pd
from matplotlib.axes import Axes

from bench import systems
from bench.analysis.anatomy import ROWS, Row, typical_us
from bench.analysis.call_path import KERNEL, USER, WAKING
from bench.analysis.comparison import ratio_of
from bench.errors import UsageError
from bench.experiments.anatomy import TYPICAL_RTT, draw_bar, middle_half, of_row, rows_us, shown, why_not
from bench.grammar import (
    Absent,
    Claim,
    Contrast,
    Estimand,
    Estimate,
    Quantity,
    Table,
    alike,
    chosen,
    over_starts,
    per_start,
)
from bench.grammar.axes import (
    GREY,
    Look,
    interval_row,
    log_axis,
    look,
    name_rows,
    needed,
    range_row,
    ratio_axis,
)
from bench.grammar.contrast import ratio_estimate
from bench.grammar.quantities import by_block
from bench.grammar.sweep import Bytes, Options, Systems, as_sweep
from bench.grammar.table import ratio_with_ends
from bench.measurement.validation.amount import InTurns
from bench.measurement.validation.cases import placement_of, transports, why_absent
from bench.measurement.validation.support import choices
from bench.plan.case import Case
from bench.plan.labels import LANGUAGES
from bench.run.frames import Run
from bench.stats.intervals import Interval
from bench.text import duration, listed

TITLE = "What would another client or another server change?"
WAITING, WAITS_US = "oracle", (1, 100, 300, 1000)  # a server that replies after a known time, and these times
LEAST_SHOWN = 0.01  # of the longest bar
CLOSE = 1.1  # times: a prediction that is nearer is a good one
SIDES = ("client", "server")
WAY = ("system", "transport")
__all__ = ["why_not"]  # as of anatomy: who cannot trace calls is shown the reference run


@as_sweep(
    omits=("hosts", "until_width"),
    in_common=WAY,
    blocks_s=48,
    windows_s={"class": 0.04},  # two slices in a block
)
def sweep(
    amount: InTurns,
    system: Systems = "[grpc_cpp, http_asgi]",
    transport: object = "tcp",
    payload_bytes: Bytes = 100,
    options: Options = "",
    placement: object = "split",
) -> Iterator[Case | Absent]:
    """Yield both variants of a system's client with both of its server: the usual ones, and those that options name.

    Where options name none, the first other one. Then a client whose server waits for known times.
    """
    if not amount.slice_s:
        raise UsageError("calls are traced in slices: give slice_ms above 0")
    placement_name = placement_of(placement)
    for name in system:
        if why := why_absent(name):
            yield Absent(name, why)
            continue
        for transport_name in transports(name, transport, ""):
            for sides in itertools.product(*(variants(name, side, options) for side in SIDES)):
                pair_options = {**options, **dict(zip(SIDES, sides, strict=True))}
                yield Case(name, transport_name, payload_bytes, pair_options, placement_name, traced=True)
    for wait_us in WAITS_US:
        yield Case(WAITING, "tcp", payload_bytes, {"mean_us": wait_us, "wait": "sleep"}, placement_name, traced=True)


def variants(name: str, side: str, options: Mapping[str, object]) -> tuple[object, object]:
    """Return the usual client or server of a system, and the one that is tried in its place."""
    kind = systems.load(name).Options
    usual = getattr(kind(), side, None)
    others = [choice for choice in choices(kind).get(side, ()) if choice != usual]
    if not others:
        raise UsageError(f"{name} has one {side} only: name systems whose options include {listed(SIDES)}")
    asked = options.get(side, others[0])
    return usual, others[0] if asked == usual else asked


def mixed(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the pairs of the usual client with the other server, and the reverse.

    Calls of the pair itself and of both known pairs must be explained.
    """
    return [case for case in shown(run, among) if (ends := known(run, case)) and shown(run, ends) == [*ends]]


def waiting(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the client of raw sockets whose server waits, if its calls are explained."""
    return [case for case in shown(run, among) if run.case(case).system == WAITING]


def known(run: Run, case: int) -> tuple[int, int] | None:
    """Return the cases of one kind that a mixed pair takes its client from, and its server; None of another case."""
    if run.case(case).system == WAITING:
        return None
    way = [run.case(case).factor(name) for name in WAY]
    (usual, *_, other) = next(cases for key, cases in alike(run, chosen(run, {}), WAY) if list(key) == way)
    for ends in ((usual, other), (other, usual)):
        if case not in ends and all(side_of(run, case, end, side) for end, side in zip(ends, SIDES, strict=True)):
            return ends
    return None


def side_of(run: Run, case: int, other: int, side: str) -> bool:
    """Return whether a case has the client, or the server, of another one."""
    return bool(run.case(case).factor(side) == run.case(other).factor(side))


def predicted_parts(run: Run, case: int) -> dict[Row, "pd.Series[float]"]:
    """Return each part of the RTT of a mixed pair as the known pairs predict it, in us by block.

    What belongs to no role is the mean of both pairs.
    """
    ends = known(run, case)
    if ends is None:
        return {}
    parts = {}
    for row in ROWS:
        of_client, of_server = (by_block(run, end, of_row(row, "")) for end in ends)
        role, what = row
        is_of_client = (role == "client") is not (what == WAKING)
        parts[row] = (of_client if is_of_client else of_server) if role else (of_client + of_server) / 2
    return parts


def predicted_us(run: Run, case: int) -> "pd.Series[float]":
    """Return the predicted mean RTT of a mixed pair in us, by start of that case."""
    parts = predicted_parts(run, case)
    blocks = run.ledger_of(case)["block"]
    whole = sum(parts.values()) if parts else pd.Series(dtype=float)
    return blocks.map(whole)


def known_us(run: Run, case: int, side: str) -> "pd.Series[float]":
    """Return the mean RTT, in us by start, of the known pair that a mixed pair has its client, or its server, from."""
    ends = known(run, case)
    return typical_us(run, ends[SIDES.index(side)]) if ends else pd.Series(dtype=float)


PREDICTED = Quantity("predicted mean RTT", duration, "", predicted_us)


def over_measured(run: Run, case: int) -> Interval:
    """Return the predicted mean RTT of a mixed pair divided by the measured one, by block."""
    return ratio_of(by_block(run, case, TYPICAL_RTT), by_block(run, case, PREDICTED))


def errors(run: Run) -> list[Estimate]:
    """Return the predicted mean RTT divided by the measured one, of each mixed pair."""
    return [ratio_estimate(run.labels[case], over_measured(run, case), cases=(case,)) for case in chosen(run, mixed)]


def own_code_us(run: Run, case: int) -> "pd.Series[float]":
    """Return the mean time of a client's own code and system calls in a call, in us, by start."""
    return typical_us(run, case, ("client", USER)) + typical_us(run, case, ("client", KERNEL))


OWN_CODE = Quantity("time of the client's own code and system calls", duration, "", own_code_us)
error = Estimand("the predicted mean RTT divided by the measured one", errors)
change = Contrast(TYPICAL_RTT, of=mixed, over={}, by=WAY)
slept = Contrast(OWN_CODE, of={"mean_us": WAITS_US[-1]}, over={"mean_us": WAITS_US[0]}, where=waiting)

contrasts = (change, slept)
answer = (error, slept)
claims = (
    Claim("the predicted mean RTT of a mixed pair is more than 1/1.1 of the measured one", error, above=1 / CLOSE),
    Claim("the predicted mean RTT of a mixed pair is at most 1.1 times the measured one", error, at_most=CLOSE),
    Claim("the same client code takes longer after its server has waited for 1 ms", slept, above=1),
)


def pair_of(run: Run, number: int, between: str = " ") -> str:
    """Return a case as its system, client and server, with this between the three."""
    client, server = variants_of(run, number)
    return f"{run.case(number).system}:{between}{client} client,{between}{server} server"


def sides_of(run: Run, case: int) -> str:
    """Return a case as its client and server."""
    return " / ".join(variants_of(run, case))


def variants_of(run: Run, case: int) -> list[str]:
    """Return a case's client and server in words."""
    return [LANGUAGES.get(variant := str(run.case(case).factor(side)), variant) for side in SIDES]


def wait_of(run: Run, case: int) -> str:
    """Return how long the server of a case waits."""
    return f"server waits for {run.case(case).factor('mean_us'):,} µs"


def predictions(run: Run, axes: Axes) -> None:
    """Draw the predicted and the measured mean RTT of each mixed pair, and those of the pairs known before."""
    cases = needed(chosen(run, mixed), "no call was traced")
    for y, case in enumerate(cases):
        before = [over_starts(run, end, TYPICAL_RTT).middle for end in known(run, case) or ()]
        axes.plot(before, [y] * len(before), "|", ms=14, mew=2, color=GREY, label="the two known pairs")
        measured, guessed = (over_starts(run, case, quantity) for quantity in (TYPICAL_RTT, PREDICTED))
        interval_row(axes, y + 0.14, measured, look(0), label="measured")
        interval_row(axes, y - 0.14, guessed, Look(look(1).colour, "D"), label="predicted")
    name_rows(axes, [pair_of(run, case, between="\n") for case in cases])
    log_axis(axes.xaxis)
    axes.set_xlabel("mean RTT of the middle half of the calls; bar: range")
    axes.set_title("Predicted from two known pairs")


def parts(run: Run, axes: Axes) -> None:
    """Draw the parts of the first system's calls: both pairs of one kind; each mixed pair, predicted and measured."""
    cases = needed(chosen(run, mixed)[:2], "no call was traced")
    bars = {sides_of(run, end): with_sum(rows_us(run, end), run, end) for end in known(run, cases[0]) or ()}
    for case in cases:
        predicted = middle_half(predicted_parts(run, case))
        bars[f"predicted: {sides_of(run, case)}"] = with_sum(predicted, run, case, PREDICTED)
        bars[f"measured: {sides_of(run, case)}"] = with_sum(rows_us(run, case), run, case)
    longest = max(sum(bar.values()) for bar in bars.values())
    rows = [row for row in ROWS if any(bar[row] > LEAST_SHOWN * longest for bar in bars.values())]
    for y, bar in enumerate(bars.values()):
        draw_bar(axes, y, {row: bar[row] for row in rows}, longest)
    name_rows(axes, bars)
    axes.set_xlim(0, 1.02 * longest)
    axes.set_xlabel("time [µs]; the parts add up to the median over the starts")
    axes.set_title(f"{run.case(cases[0]).system}: parts exchanged (client / server)")


def with_sum(rows: Mapping[Row, float], run: Run, case: int, quantity: Quantity = TYPICAL_RTT) -> dict[Row, float]:
    """Return rows that add up to the median of a case's starts, which the other panels show, in the same shares."""
    scale = over_starts(run, case, quantity).middle / sum(rows.values())
    return {row: us * scale for row, us in rows.items()}


def ratios(run: Run, axes: Axes) -> None:
    """Draw the predicted mean RTT of each mixed pair divided by the measured one."""
    cases = needed(chosen(run, mixed), "no call was traced")
    for y, case in enumerate(cases):
        interval = over_measured(run, case)
        interval_row(axes, y, interval, Look(look(1).colour, "D"), f"{interval.middle:.2f}")
    name_rows(axes, [pair_of(run, case, between="\n") for case in cases])
    axes.axvspan(1 / CLOSE, CLOSE, color="#e8e8e8", zorder=0, label="within 10 %")
    ratio_axis(axes)
    axes.set_xlabel("predicted divided by measured mean RTT; bar: 95 % CI")
    axes.set_title("How far off the predictions are")


def after_waiting(run: Run, axes: Axes) -> None:
    """Draw the time of the client's own code by how long its server waits: the code is the same in all cases."""
    cases = needed(chosen(run, waiting), "no call was traced")
    for y, case in enumerate(cases):
        range_row(axes, y, per_start(run, case, OWN_CODE), look(0))
    name_rows(axes, [wait_of(run, case) for case in cases])
    log_axis(axes.xaxis)
    axes.set_xlabel("client's own code and system calls, each start; bar: range, line: median")
    axes.set_title("The same client code after a longer wait")


panels = {"predictions": predictions, "ratios": ratios, "parts": parts, "after_waiting": after_waiting}
tables = {
    "predictions": Table(
        {
            "mean RTT [range over starts]": TYPICAL_RTT,
            "predicted": PREDICTED,
            "predicted divided by measured [95 % CI]": lambda run, case: ratio_with_ends(over_measured(run, case)),
            **{
                f"RTT of this {side} with its usual {other}": Quantity("", duration, "", partial(known_us, side=side))
                for side, other in zip(SIDES, reversed(SIDES), strict=True)
            },
        },
        mixed,
        pair_of,
    ),
    "after_waiting": Table({f"{OWN_CODE.words} [range over starts]": OWN_CODE}, waiting, wait_of),
}
