"""What occasions of overview say together: each system's ratios to raw sockets on each machine, and its rank."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from bench.analysis import replication
from bench.analysis.occasions import RTT_RATIO, Machine, Occasion
from bench.analysis.replication import APART, SHARED, HeldOut, Order, Row
from bench.plan.placement import IN_WORDS
from bench.text import counted, listed, three_digits


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
        return {number: occasion.machine for number, occasion in self.numbered}

    @cached_property
    def orders(self) -> dict[str, Order]:
        """The systems by RTT on two CPUs, by transport."""
        transports = dict.fromkeys(row.place[0] for row in self.rows if row.place[1:] == (APART, 1))
        return {transport: Order(replication.ordered(self.rows, transport)) for transport in transports}

    def row(self, system: str, transport: str, placement: str, quantity: str) -> Row | None:
        """Return a ratio; None if no occasion has it."""
        wanted = (system, transport, placement, quantity)
        return next((row for row in self.rows if (row.system, *row.place[:2], row.quantity) == wanted), None)

    def reach(self, placement: str) -> tuple[float, HeldOut] | None:
        """Return how far ln of an RTT ratio may be off on a machine's second occasion, and how far on another machine.

        None if no occasion has an RTT under this placement.
        """
        rows = [row for row in self.rows if row.quantity == RTT_RATIO and row.place[1] == placement]
        if not rows:
            return None
        return replication.within(rows).reach(1), replication.elsewhere(rows, RTT_RATIO, placement)


def ratio_text(row: Row) -> str:
    """Return a ratio on the machines: the smallest and the largest, "2.31 to 2.80"; of one machine "2.31"."""
    return " to ".join(dict.fromkeys(three_digits(math.exp(end)) for end in row.ends))


def rank_text(rank: tuple[int, int]) -> str:
    """Return the best and the worst rank: "3 to 7", or "1"."""
    return " to ".join(dict.fromkeys(map(str, rank)))


def reach_text(published: Published) -> str:
    """Return within which factor another occasion lies, on one of these machines and on one more, in two sentences."""
    of_kind = {placement: reach for placement in (APART, SHARED) if (reach := published.reach(placement))}
    own = [within for within, _ in of_kind.values()]
    other = {placement: held_out for placement, (_, held_out) in of_kind.items()}
    sentences = []
    if own and not any(map(math.isinf, own)):
        sentences.append(
            "When a machine that was measured once is measured again, 95 % of its RTT ratios are expected to change by "
            f"at most {100 * math.expm1(max(own)):.0f} %."
        )
    if all(held_out.most for held_out in other.values()):
        each = [
            f"{math.exp(held_out.reach(held_out.most)):.2g} {IN_WORDS[placement]}"
            for placement, held_out in other.items()
        ]
        sentences.append(
            "Of the RTT ratios on a machine that was left out 95 % differed from the mean of the others by at most a "
            f"factor of {listed(each)}; so few machines give no probability for yours."
        )
    return " ".join(sentences)


def scores(published: Published) -> pd.DataFrame:
    """Return a table of how well each occasion was forecast by those before it, and each machine by the others."""
    in_time = [score for _, score in replication.each_score(published.occasions)]
    kinds = {
        "an occasion, from earlier ones of the same machine": [score for score in in_time if score.is_known],
        "the first occasion of a machine, from earlier machines": [score for score in in_time if not score.is_known],
        "a machine, from all others": replication.left_out(published.occasions),
    }
    tested = {kind: some for kind, each in kinds.items() if (some := [score for score in each if score.count])}
    rows = {kind: _scored(some) for kind, some in tested.items()}
    return pd.DataFrame.from_dict(rows, "index").rename_axis("forecast") if rows else pd.DataFrame()


def _scored(scores: Sequence[replication.Score]) -> dict[str, str]:
    total = replication.total(scores)
    return {
        "ratios inside intervals that should hold 95 %": f"{total.inside:,} of {total.count:,} ({total.coverage:.0%})",
        "on the worst occasion": f"{min(score.coverage for score in scores):.0%}",
        "the intervals reach a factor of (median)": f"{total.factor:.2f}",
        "predicted orders of two systems that held": f"{total.kept:,} of {total.pairs:,}",
    }


def kinds_of_machines(published: Published) -> int:
    """Return how many kinds of machines there are: those of one image and processor have one name."""
    return len({machine.machine_id for machine in published.machines.values()})


def described(published: Published) -> str:
    """Return when and where the occasions were."""
    occasions = published.occasions
    days = list(dict.fromkeys(f"{occasion.began:%Y-%m-%d}" for occasion in occasions))
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    models = Counter(machine.cpu_model for machine in published.machines.values())
    processors = ", ".join(f"{count} {model}" for model, count in models.most_common())
    revisions = counted(len({occasion.revision for occasion in occasions}), "revision")
    machines, kinds = len(published.machines), kinds_of_machines(published)
    alike = f" of {counted(kinds, 'kind')}" * (kinds < machines)
    places = f"{counted(machines, 'machine')}{alike} ({processors})"
    return f"{counted(len(occasions), 'occasion')} on {places}, {when}, by {revisions} of Roundtrip."


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
    rows, paragraphs = published.rows, []
    places = sorted({row.place[:2] for row in rows if row.quantity == RTT_RATIO and row.place[2] == 1})
    for transport, placement in places:
        order = Order(replication.ordered(rows, transport, placement))
        lines = [_line(row, rank) for row, rank in zip(order.rows, order.ranks, strict=True)]
        paragraphs.append("\n".join([f"Ranks over {transport}, placement {placement}, RTT over raw sockets:", *lines]))
    return paragraphs


def _line(row: Row, rank: tuple[int, int]) -> str:
    return f"  {rank_text(rank):10}{row.system} {ratio_text(row) if row.measured.over else '(baseline)'}"


def inside_text(score: replication.Score, what: str) -> str:
    """Return how many forecasts held, and how far their intervals reach; what: "ratios", or "times"."""
    return (
        f"{score.inside:,} of {score.count:,} {what} ({score.coverage:.0%}) lie inside their intervals, which reach a "
        f"factor of {score.factor:.2f} in the median"
    )


def score_text(score: replication.Score, new: Occasion) -> str:
    """Return how many ratios and orders of a new occasion are as published, and which are not."""
    if not score.count:
        return f"{new.run}: no ratio in common that a forecast exists for"
    source = "earlier occasions of this machine" if score.is_known else "occasions of other machines"
    lines = [f"{new.run}, forecast from {source}:"]
    if score.pairs:
        lines.append(f"{score.kept} of {score.pairs} ordered pairs of systems keep their order")
        lines += [
            f"  reversed: {first.measured.words} was published as faster than {second.measured.words}"
            for first, second in score.reversed
        ]
    lines.append(inside_text(score, "ratios"))
    lines += [
        f"  outside: {row.measured.words} over {row.measured.over}, {row.quantity}: {math.exp(measured):.3g} here, "
        f"forecast {math.exp(middle):.3g} [{math.exp(middle - reach):.3g}, {math.exp(middle + reach):.3g}]"
        for row, measured, middle, reach in score.outside
    ]
    return "\n".join(lines)
