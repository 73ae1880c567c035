"""messages.ipynb: calls that carry structured messages, by system, codec and size: the codec's work and the rest."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from matplotlib.axes import Axes

from bench import codecs
from bench.analysis.codec_times import CLIENT, SERVER, codec_us, crossing_bytes, encoded_bytes, rest_us, share_percent
from bench.codecs import message_types
from bench.errors import UsageError
from bench.grammar import (
    P50,
    Absent,
    Claim,
    Contrast,
    CpuBars,
    Lines,
    ManyBytes,
    Quantity,
    System,
    Systems,
    alike,
    as_sweep,
    chosen,
    distinct,
    over_starts,
)
from bench.grammar.axes import GREY, ROLE_COLOURS, name_rows, needed, stacked_bar, write_beside
from bench.grammar.quantities import whole
from bench.grammar.table import as_table, with_ends
from bench.measurement.validation import support
from bench.measurement.validation.amount import InTurns
from bench.measurement.validation.cases import absent_of, instrument
from bench.measurement.validation.message_support import codec_of, usual_options
from bench.plan import parameters
from bench.plan.case import Case
from bench.run.frames import Run, once_per_run
from bench.text import duration, quantity

TITLE = "What does the message cost?"
SYSTEMS = ("sockets", "zeromq", "grpc_sync", "http_aiohttp", "wamp_crossbar", "xmlrpc_stdlib")
CODECS = ("json", "orjson", "msgpack", "pickle", "protobuf")
CLASS_S = 0.1  # hundreds of calls in each start; RTT and codec are both medians
DOMINANT = 50  # % of the call

Codecs = Annotated[Any, lambda value, name: parameters.names(value, name, codecs.names())]
Transport = Annotated[Any, lambda value, name: parameters.one_name(value, name, ("ipc", "tcp"))]


@as_sweep(class_s=CLASS_S, in_common=("system", "payload_bytes"), omits=("hosts",))
def sweep(
    amount: InTurns,
    message: object = "items",
    system: Systems = SYSTEMS,
    transport: Transport = "tcp",
    codec: Codecs = CODECS,
    carrier: System = "zeromq",
    payload_bytes: ManyBytes = (200, 2000, 20_000),
) -> Iterator[Case | Absent]:
    """Yield each system with its default codec and with opaque bytes, at the middle size; one carrier with each codec.

    The carrier is measured at every size. A codec or a system that cannot carry the message is ``Absent``.
    """
    kind = parameters.text(message, "message")
    if kind == message_types.BYTES:
        raise UsageError(
            f"message {kind} has no codec: give {', '.join(message_types.KINDS)}, or a JSON file of your own"
        )
    middle = sorted(set(payload_bytes))[len(set(payload_bytes)) // 2]
    sizes = sorted(set(payload_bytes)) if kind in message_types.KINDS else [middle]
    shared: dict[str, Any] = {"message": kind, "placement": amount.chosen_placement()}
    absent = absent_of(list(dict.fromkeys([*system, carrier])))
    yield from itertools.starmap(Absent, absent.items())
    usual = [
        _carried(Case(name, transport, middle, usual_options(name, kind), **shared), name)
        for name in system
        if name not in absent
    ]
    by_codec = [
        _carried(Case(carrier, transport, size, {"codec": name}, **shared), f"{carrier} {name}")
        for name, size in itertools.product(codec, sizes)
        if carrier not in absent
    ]
    yield from (candidate for candidate in [*usual, *by_codec] if isinstance(candidate, Absent))
    pairs = [variant for case in usual if isinstance(case, Case) for variant in (_bytes(case), case)]
    yield from distinct([*pairs, *(case for case in by_codec if isinstance(case, Case))])
    yield instrument(middle, amount.chosen_placement())


def _carried(case: Case, label: str) -> Case | Absent:
    """Return the validated case; what is ``Absent`` and why, if its message cannot be carried."""
    try:
        return support.checked(case)
    except UsageError as reason:
        if "cannot carry" not in str(reason) and "needs declared types" not in str(reason):
            raise
        return Absent(label, str(reason))


def _bytes(case: Case) -> Case:
    """Return the same call with opaque bytes instead of a message, and its other options."""
    options = {name: value for name, value in case.options.items() if name != "codec"}
    return replace(case, message=message_types.BYTES, content="", options=options)


def codec(case: Case) -> str:
    """Return the name of a case's codec; "own codec" of a system that has one of its own."""
    return "own codec" if codec_of(case) == "own" else codec_of(case)


SIZED = {"message": lambda kind: kind != message_types.BYTES}


def middle(run: Run) -> int:
    """Return the size at which all systems were measured: the carrier's middle one."""
    sizes = sorted({run.case(case).payload_bytes for case in chosen(run, SIZED)})
    return sizes[len(sizes) // 2] if sizes else 0


@once_per_run
def carrier(run: Run) -> str:
    """Return the system that was measured with several codecs, or with several sizes; the first one else."""
    groups = alike(run, chosen(run, SIZED), ("system",))
    return str(max(groups, key=lambda group: len(group[1]))[0][0]) if groups else ""


def by_codec(run: Run, among: Sequence[int] | None = None) -> list[int]:
    """Choose the carrier's cases at the middle size, one for each codec, the fastest first."""
    cases = chosen(run, SIZED | {"system": carrier(run), "payload_bytes": middle(run)})
    return sorted(cases, key=lambda case: over_starts(run, case, P50).middle)


def by_system(run: Run, among: Sequence[int] | None = None) -> list[int]:
    """Choose the first case with a message at the middle size of each system, the fastest first."""
    cases = chosen(run, SIZED | {"payload_bytes": middle(run)})
    firsts = [group[0] for _, group in alike(run, cases, ("system",))]
    return sorted(firsts, key=lambda case: over_starts(run, case, P50).middle)


def swept(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the carrier's cases of each codec that was measured at several sizes."""
    cases = chosen(run, SIZED | {"system": carrier(run)})
    return [case for _, group in alike(run, cases, (codec,)) if len(group) > 1 for case in group]


def with_bytes(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the calls with opaque bytes, and the usual ones with a message."""
    usual = by_system(run)
    return [case for case in among if run.case(case).message == message_types.BYTES or case in usual]


IN_CLIENT = Quantity("codec's time in the client", duration, values=lambda run, case: codec_us(run, case, CLIENT))
IN_SERVER = Quantity("codec's time in the server", duration, values=lambda run, case: codec_us(run, case, SERVER))
SHARE = Quantity("codec's time, measured alone, divided by the RTT [%]", whole, values=share_percent)
message = Contrast(P50, of=SIZED, over={"message": message_types.BYTES}, by=("system",), where=with_bytes)
json_over_others = [
    Contrast(P50, of={"codec": "json"}, over={"codec": name}, where=by_codec) for name in CODECS if name != "json"
]

contrasts = (message, *json_over_others)
answer = contrasts
claims = (Claim("a call with the message takes longer than one with opaque bytes", message, above=1),)

PARTS = (  # name, colour, hatch for prints in grey
    ("client's codec", ROLE_COLOURS["client"], "//"),
    ("server's codec", ROLE_COLOURS["server"], "\\\\"),
    ("everything else", "#cccccc", ""),
)


def calls(run: Run, axes: Axes) -> None:
    """Draw each system's call with the message as shares of codec and rest; beside it the RTT, and that of bytes."""
    cases = needed(by_system(run), "no message was measured")
    opaque = {ratio.other: ratio.base for ratio in message.ratios(run)}
    for y, case in enumerate(cases):
        rtt = over_starts(run, case, P50)
        _stack(run, axes, y, case, 100 / rtt.middle)
        beside = f"\nbytes: {over_starts(run, opaque[case], P50).words(duration)}" if case in opaque else ""
        write_beside(axes, y, f"{rtt.words(duration)}{beside}")
    name_rows(axes, [f"{run.case(case).system}\n{codec(run.case(case))}" for case in cases])
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the median RTT [%], each part by its own median; beside it: the median RTT")
    axes.set_title(f"Call by system, {run.case(cases[0]).message} of {quantity(middle(run), 'B')}")


def by_codec_rows(run: Run, axes: Axes) -> None:
    """Draw the median RTT of one system with each codec, divided into codec and the rest; encoded sizes beside it."""
    cases = needed(by_codec(run), "no message was measured")
    for y, case in enumerate(cases):
        rtt, share = (over_starts(run, case, name) for name in (P50, SHARE))
        _stack(run, axes, y, case, 1)
        axes.hlines(y, rtt.low, rtt.high, color="black", lw=1.4)
        there, back = (quantity(encoded, "B") for encoded in encoded_bytes(run, case))
        write_beside(axes, y, f"{rtt.words(duration)}, codec {share.middle:.0f}%\n{there} + {back}")
    axes.set_xlim(0)
    axes.set_xlabel("median RTT [µs]; line: range over starts; beside it: encoded sizes")
    name_rows(axes, [codec(run.case(case)) for case in cases])
    axes.set_title(f"Call by codec, {run.case(cases[0]).system} {run.case(cases[0]).transport}")


def _stack(run: Run, axes: Axes, y: float, case: int, scale: float) -> None:
    """Draw one bar: the client's and the server's codec, and the rest of the round trip."""
    client, server = (over_starts(run, case, name).middle for name in (IN_CLIENT, IN_SERVER))
    widths = zip(PARTS, (client, server, rest_us(run, case)), strict=True)
    stacked_bar(axes, y, ((name, scale * width, colour, hatch) for (name, colour, hatch), width in widths))


def share(run: Run, axes: Axes) -> None:
    """Draw the codec's time divided by the RTT against the size of the message, for each codec."""
    needed(chosen(run, swept), "this panel needs two sizes or more, and a message with sizes")
    title = f"The codec's time alone divided by the RTT, {carrier(run)}"
    Lines(title, SHARE, "payload_bytes", (codec,), where=swept, label=lambda run, case: codec(run.case(case)))(
        run, axes
    )
    axes.axhline(DOMINANT, color=GREY, lw=1, ls="--")
    axes.set_yscale("linear")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("size of the message as JSON\nabove 100 %: the codec alone took longer than the call with it")


panels = {
    "calls": calls,
    "codecs": by_codec_rows,
    "share": share,
    "cpu": CpuBars(
        "CPU time per call, by role",
        where=lambda run, among: list(dict.fromkeys(by_system(run) + by_codec(run))),
        label=lambda run, case: f"{run.case(case).system} {codec(run.case(case))}",
    ),
}


@as_table("case")
def messages(run: Run) -> Iterator[dict[str, Any]]:
    """Yield of each case with a message: RTT, the codec's four times alone, its share, and the encoded sizes."""
    for case in chosen(run, SIZED):
        factors, starts = run.case(case), run.starts_of(case)
        client, server = (
            " + ".join(duration(starts[name].median() / 1e3) for name in names) for names in (CLIENT, SERVER)
        )
        there, back = encoded_bytes(run, case)
        yield {
            "case": f"{factors.system} {factors.transport} {codec(factors)}",
            "message [B as JSON]": factors.payload_bytes,
            "encoded [B]": f"{there:,.0f} + {back:,.0f}",
            "median RTT": over_starts(run, case, P50).words(duration),
            "client: encode + decode": client,
            "server: decode + encode": server,
            "codec's time alone / RTT [%, range over starts]": with_ends(over_starts(run, case, SHARE), whole),
            "everything else": duration(rest_us(run, case)),
        }


@as_table("codec")
def sizes(run: Run) -> Iterator[dict[str, str]]:
    """Yield the size from which on each codec takes a tenth, and half, of the call."""
    for (name,), cases in alike(run, chosen(run, swept), (codec,)):
        ordered = sorted(cases, key=lambda case: run.case(case).payload_bytes)
        yield {"codec": name} | {
            f"{level} % of the call at": _crossing(run, ordered, level) for level in (10, DOMINANT)
        }


def _crossing(run: Run, cases: Sequence[int], level: float) -> str:
    """Return the size at which the codec's share crosses a level in words; if at none, on which side of all."""
    at, (least, largest) = crossing_bytes(run, cases, level), (run.case(cases[end]).payload_bytes for end in (0, -1))
    if not math.isnan(at):
        return f"about {quantity(at, 'B')}"
    is_above = over_starts(run, cases[0], SHARE).middle > level
    return f"below {quantity(least, 'B')}" if is_above else f"above {quantity(largest, 'B')}"


tables = {"messages": messages, "sizes": sizes}
