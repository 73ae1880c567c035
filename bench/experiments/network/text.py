"""Sentences of network.ipynb: what the link adds, what its bandwidth decides, the systems' order, Nagle's stall."""

from bench.experiments.network.findings import (
    FAR,
    SEGMENT,
    VETH,
    Order,
    Stall,
    acks_per_call,
    added,
    added_us,
    orders,
    over_law,
    stalls,
    transfers,
)
from bench.analysis.stalls import DELAY_S
from bench.grammar.contrast import P50
from bench.plan.namespaces import bandwidth
from bench.run.frames import Run
from bench.stats import across_starts
from bench.text import duration, listed, paragraphs, plain, quantity

WHERE = {VETH: "over the veth pair", FAR: "between the hosts"}


def conclusion(run: Run) -> str:
    """Return what the link adds, when bandwidth decides, what is left of the order, and where the stall ends."""
    return paragraphs(links(run), bandwidths(run), order(run), stall(run))


def links(run: Run) -> str:
    """Return for each system the median RTT over the veth pair, and between hosts, beside that over loopback."""
    lines = []
    pairs = [(ratio, where) for over, where in WHERE.items() for ratio in added(run, over)]
    for ratio, where in pairs:
        before, after = (run.over_starts(case, P50).words(duration) for case in (ratio.base, ratio.other))
        more = across_starts(added_us(run, ratio))
        verb, size = ("adds", more) if more.middle >= 0 else ("removes", more.times(-1))
        clear = f"the link {verb} {size.words(duration)}" if ratio.is_certain else "no difference is shown"
        lines.append(
            f"- **{run.case(ratio.base).system}**: the median RTT is {before} over loopback and {after} {where}, "
            f"{ratio}: {clear}."
        )
    return "\n".join(lines)


def bandwidths(run: Run) -> str:
    """Return for each limited link where the law of its bandwidth predicts the RTT, and where it does not."""
    lines = []
    for rate in dict.fromkeys(transfer.rate_mbit for transfer in transfers(run)):
        sweep = [transfer for transfer in transfers(run) if transfer.rate_mbit == rate]
        most = sweep[-1]
        least = quantity(sweep[0].payload_bytes, "B")
        rest = f" ({over_law(run, sweep[0]):.2f} times with {least} each way)" if sweep[1:] else ""
        lines.append(
            f"- **{bandwidth(rate)}**: a call with {quantity(most.payload_bytes, 'B')} each way takes "
            f"{run.over_starts(most.case, P50).words(duration)}, {over_law(run, most):.2f} times "
            f"2 × payload / bandwidth{rest}. 2 × payload / bandwidth is {duration(most.law_us)}, and "
            f"{duration(most.packets_us)} with the headers of each segment."
        )
    return "\n".join(lines)


def order(run: Run) -> str:
    """Return how many pairs of systems that differ over loopback differ, in which order, under the other conditions."""
    return "\n".join(_order(outcome) for outcome in orders(run) if outcome.number)


def _order(outcome: Order) -> str:
    where = f"{outcome.other.link} with {quantity(outcome.other.payload_bytes, 'B')}"
    parts = [f"{len(outcome.same)} of them are in the same order"]
    if outcome.reversed:
        parts.append(f"{len(outcome.reversed)} in the reverse order ({_pairs(outcome.reversed)})")
    if outcome.unclear:
        parts.append(f"{len(outcome.unclear)} not distinguishable ({_pairs(outcome.unclear)})")
    some = f"{outcome.number} pair of systems is" if outcome.number == 1 else f"{outcome.number} pairs of systems are"
    return f"- **{where}**: {some} distinguishable over loopback. Over this link {listed(parts)}."


def _pairs(pairs: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{first} / {second}" for first, second in pairs)


def stall(run: Run) -> str:
    """Return up to which payload a call stalls over each link, two writes and TCP_NODELAY on neither side."""
    held = [stalled for stalled in stalls(run) if stalled.is_held]
    return "\n".join(_stall(run, name, [stalled for stalled in held if stalled.link == name]) for name in _names(held))


def _names(held: list[Stall]) -> list[str]:
    return list(dict.fromkeys(stalled.link for stalled in held))


def _stall(run: Run, name: str, of_link: list[Stall]) -> str:
    late = [stalled for stalled in of_link if float(run.cases.loc[stalled.case, P50]) > DELAY_S * 1e6 / 2]
    quick = [stalled for stalled in of_link if stalled not in late]
    said = []
    if late:
        acks = acks_per_call(run, late[0])
        kernel = f", and the kernel counts {acks.median():.2f} delayed ACKs per call" if len(acks) else ""
        said.append(f"with {_sizes(late)} a call takes {_span(run, late)}{kernel}")
    if quick:
        said.append(f"with {_sizes(quick)} it takes {_span(run, quick)}")
    segment = f" A full segment of this link holds {SEGMENT[name]:,} B." if name in SEGMENT else ""
    return (
        f"- **{name}**, two writes and no TCP_NODELAY: {', and '.join(said)}. A delayed ACK takes "
        f"{plain(duration(DELAY_S * 1e6))} at least.{segment}"
    )


def _span(run: Run, cases: list[Stall]) -> str:
    """Return the least and the largest median RTT of some cases in words."""
    medians = [us for stalled in cases for us in run.over_starts(stalled.case, P50).medians]
    ends = list(dict.fromkeys(duration(us) for us in (min(medians), max(medians))))
    return " to ".join(ends)


def _sizes(cases: list[Stall]) -> str:
    sizes = [f"{stalled.payload_bytes:,} B" for stalled in cases]
    return sizes[0] if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
