"""What occasions of overview say together: each system's ratios to raw sockets on each machine, and its rank."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from bench.analysis import replication
from bench.analysis.occasions import RTT_RATIO, Machine, Occasion
from bench.analysis.replication import APART, SHARED, HeldOut, Order, Row
from bench.text import counted, listed


@dataclass(frozen=True)
class Published:
    """The occasions behind the published tables."""

    occasions: Sequence[Occasion]

    @cached_property
    def rows(self) -> list[Row]:
        """All ratios."""
        return replication.rows(self.occasions)

    @cached_property
    def numbered(self) -> list[tuple[int, Occasion]]:
        """The occasions, each with the number of its machine."""
        return list(zip(replication.machine_numbers(self.occasions), self.occasions, strict=True))

    @property
    def machines(self) -> dict[int, Machine]:
        """The machines by their numbers."""
        return {number: of.machine for number, of in self.numbered}

    @cached_property
    def orders(self) -> dict[str, Order]:
        """The systems by RTT on two CPUs, by transport."""
        transports = dict.fromkeys(row.place[0] for row in self.rows if row.place[1:] == (APART, 1))
        return {transport: Order(replication.ordered(self.rows, transport)) for transport in transports}

    def of(self, system: str, transport: str, placement: str, quantity: str) -> Row | None:
        """Return a ratio; None if no occasion has it."""
        wanted = (system, transport, placement, quantity)
        alike = ((row.system, *row.place[:2], row.quantity) == wanted for row in self.rows)
        return next((row for row, is_it in zip(self.rows, alike, strict=True) if is_it), None)

    def reach(self, placement: str) -> tuple[float, HeldOut] | None:
        """Return how far ln of an RTT ratio may be off on another occasion, and how far on another machine.

        None if no occasion has an RTT under this placement.
        """
        found = [row for row in self.rows if row.quantity == RTT_RATIO and row.place[1] == placement]
        if not found:
            return None
        return replication.within(found).reach(3), replication.elsewhere(found, RTT_RATIO, placement)


def ratio_text(row: Row) -> str:
    """Return a ratio on the machines: the smallest and the largest, "2.31 to 2.80"; of one machine "2.31"."""
    return " to ".join(dict.fromkeys(f"{math.exp(end):.3g}" for end in row.ends))


def rank_text(rank: tuple[int, int]) -> str:
    """Return the best and the worst rank: "3 to 7", or "1"."""
    return " to ".join(dict.fromkeys(map(str, rank)))


PLACES = {APART: "on two CPUs", SHARED: "on one CPU"}


def reach_text(published: Published) -> str:
    """Return within which factor another occasion lies, on one of these machines and on one more, in two sentences."""
    of_kind = {placement: found for placement in PLACES if (found := published.reach(placement))}
    own = [within for within, _ in of_kind.values()]
    other = {placement: held_out for placement, (_, held_out) in of_kind.items()}
    said = []
    if own and not any(map(math.isinf, own)):
        said.append(
            "When one of these machines is measured again, 95 % of its RTT ratios are expected to change by at most "
            f"{100 * math.expm1(max(own)):.0f} %."
        )
    if all(of.most for of in other.values()):
        each = [f"{math.exp(of.reach(of.most)):.2g} {PLACES[placement]}" for placement, of in other.items()]
        said.append(
            f"On another machine a ratio may differ from the mean of these machines by a factor of {listed(each)}."
        )
    return " ".join(said)


def scores_text(published: Published) -> str:
    """Return how well each occasion was forecast by those before it, and each machine by the others."""
    known, new = replication.scores(published.occasions)
    left_out = replication.left_out(published.occasions)
    said = [
        f"{kind}, {inside_text(score, 'ratios')}"
        for kind, score in (
            ("from earlier occasions of the same machine", known),
            ("for the first occasion of a machine, from earlier machines", new),
            ("for each machine, from all others", left_out),
        )
        if score.count
    ]
    if not said:
        return ""
    pairs, kept = (known + new + left_out).pairs, known + new + left_out
    orders = f" Of {pairs:,} orders of two systems {kept.order:.1%} held." if pairs else ""
    return f"Forecasts tested by these occasions: {'; '.join(said)}.{orders}"


def described(published: Published) -> str:
    """Return when and where the occasions were."""
    occasions = published.occasions
    days = list(dict.fromkeys(f"{occasion.began:%Y-%m-%d}" for occasion in occasions))
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    kinds = len({machine.name for machine in published.machines.values()})
    of_kinds = f" of {counted(kinds, 'kind')}" if kinds < len(published.machines) else ""
    return f"{counted(len(occasions), 'occasion')} on {counted(len(published.machines), 'machine')}{of_kinds}, {when}."


def table(published: Published) -> pd.DataFrame:
    """Return a table of text: each ratio on each occasion, and on the machines."""
    shown = []
    for row in published.rows:
        of_each = {
            f"#{number}": f"{math.exp(estimate.ln):.3g}" if estimate else ""
            for number, estimate in enumerate(row.estimates, 1)
        }
        case = {"case": row.measured.words, "over": row.measured.over, "quantity": row.quantity}
        shown.append(case | of_each | {"machines": ratio_text(row)})
    return pd.DataFrame(shown).set_index("case") if shown else pd.DataFrame()


def ranks_text(published: Published) -> list[str]:
    """Return a paragraph for each transport and placement: the systems with their ranks and ratios."""
    found, made = published.rows, []
    places = sorted({row.place[:2] for row in found if row.quantity == RTT_RATIO and row.place[2] == 1})
    for transport, placement in places:
        order = Order(replication.ordered(found, transport, placement))
        lines = [_line(row, rank) for row, rank in zip(order.rows, order.ranks, strict=True)]
        made.append("\n".join([f"Ranks over {transport}, placement {placement}, RTT over raw sockets:", *lines]))
    return made


def _line(row: Row, rank: tuple[int, int]) -> str:
    return f"  {rank_text(rank):10}{row.system} {ratio_text(row) if row.measured.over else '(baseline)'}"


def inside_text(found: replication.Score, what: str) -> str:
    """Return how many forecasts held, and how far their intervals reach; what: "ratios", or "times"."""
    return (
        f"{found.inside:,} of {found.count:,} {what} ({found.coverage:.0%}) lie inside their intervals, which reach a "
        f"factor of {found.factor:.2f} in the median"
    )


def score_text(found: replication.Score, new: Occasion) -> str:
    """Return how many ratios and orders of a new occasion are as published, and which are not."""
    if not found.count:
        return f"{new.run}: no ratio in common that a forecast exists for"
    where = "earlier occasions of this machine" if found.is_known else "occasions of other machines"
    lines = [f"{new.run}, forecast from {where}:"]
    if found.pairs:
        lines.append(f"{found.pairs - len(found.reversed)} of {found.pairs} ordered pairs of systems keep their order")
        lines += [
            f"  reversed: {first.measured.words} was published as faster than {second.measured.words}"
            for first, second in found.reversed
        ]
    lines.append(inside_text(found, "ratios"))
    lines += [
        f"  outside: {row.measured.words} over {row.measured.over}, {row.quantity}: {math.exp(measured):.3g} here, "
        f"forecast {math.exp(middle):.3g} [{math.exp(middle - reach):.3g}, {math.exp(middle + reach):.3g}]"
        for row, measured, middle, reach in found.outside
    ]
    return "\n".join(lines)
