"""What occasions of overview say together: each system's ratios to raw sockets on each machine, and its rank."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import pandas as pd

from bench.analysis import replication
from bench.analysis.occasions import BASELINE, CPU_RATIO, RATE_RATIO, RTT_RATIO, Machine, Occasion
from bench.analysis.replication import APART, SHARED, Order, Row
from bench.text import counted, duration, listed

BASE = f"{BASELINE} (baseline)"
WELL_KNOWN = (  # for those who look at one table: systems of each kind
    "zeromq", "grpc_cpp", "redis", "http_aiohttp", "nats", "grpc_sync", "rabbitmq_pika", "wamp_crossbar",
)  # fmt: skip


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
        """The systems by RTT with a CPU each, by transport."""
        transports = dict.fromkeys(row.place[0] for row in self.rows if row.place[1:] == (APART, 1))
        return {transport: Order(replication.ordered(self.rows, transport)) for transport in transports}

    @cached_property
    def systems(self) -> dict[str, int]:
        """The names of all systems, and on how many machines each was measured."""
        pairs = {(row.case["system"], number) for number, one in self.numbered for row in one.rows}
        return dict(sorted(Counter(system for system, _ in pairs).items()))

    def of(self, system: str, transport: str, placement: str, quantity: str) -> Row | None:
        """Return a ratio; None if no occasion has it."""
        wanted = (system, transport, placement, quantity)
        alike = ((row.system, *row.place[:2], row.quantity) == wanted for row in self.rows)
        return next((row for row, is_it in zip(self.rows, alike, strict=True) if is_it), None)

    def levels_us(self, transport: str, placement: str) -> list[float]:
        """Return the median RTT of raw sockets in us on each machine that has it: the median over its occasions."""
        found: dict[int, list[float]] = {}
        for number, of in self.numbered:
            level = replication.of_baseline(of).get((transport, placement))
            if level is not None:
                found.setdefault(number, []).append(level)
        return [median(levels) for levels in found.values()]

    @property
    def minutes(self) -> int:
        """About how long one occasion takes."""
        return max(1, math.ceil(median(occasion.minutes for occasion in self.occasions)))


APART_RTT = "median RTT, a CPU each (`split`)"
COLUMNS = {  # of a table: quantity and placement
    APART_RTT: (RTT_RATIO, APART),
    "median RTT, one CPU (`same`)": (RTT_RATIO, SHARED),
    "CPU time per call (`split`)": (CPU_RATIO, APART),
}


def by_system(published: Published, transport: str) -> pd.DataFrame:
    """Return a row for each system over a transport: its rank, and its ratios on the machines."""
    columns = COLUMNS | {"CPU time per call (`same`)": (CPU_RATIO, SHARED)}
    order = published.orders[transport]
    made = [
        {"system": _name(row), "rank": rank_text(rank), "machines": str(len(row.on))}
        | {heading: _ratio(published, row, *of) for heading, of in columns.items()}
        for row, rank in zip(order.rows, order.ranks, strict=True)
    ]
    return pd.DataFrame(made).set_index("system")


def well_known(published: Published) -> pd.DataFrame:
    """Return the ratios of some systems that many people know, the shortest RTT first."""
    rows = [row for order in published.orders.values() for row in order.rows if row.system in WELL_KNOWN]
    made = [
        {"system": f"`{row.system}`", "transport": row.place[0]}
        | {heading: _ratio(published, row, *of) for heading, of in COLUMNS.items()}
        for row in sorted(rows, key=lambda row: row.middle)
    ]
    return pd.DataFrame(made).set_index("system") if made else pd.DataFrame()


def gains(published: Published) -> pd.DataFrame:
    """Return calls per second of two clients over those of one for each system, the largest first."""
    found = [row for row in published.rows if row.quantity == RATE_RATIO]
    made = [
        {"system": f"`{row.system}`", "transport": row.place[0], "two clients / one": ratio_text(row)}
        for row in sorted(found, key=lambda row: row.middle, reverse=True)
    ]
    return pd.DataFrame(made).set_index("system") if made else pd.DataFrame()


def ratio_text(row: Row) -> str:
    """Return a ratio on the machines: the smallest and the largest, "2.31 to 2.80"; of one machine "2.31"."""
    return " to ".join(dict.fromkeys(f"{math.exp(end):.3g}" for end in row.ends))


def rank_text(rank: tuple[int, int]) -> str:
    """Return the best and the worst rank: "3 to 7", or "1"."""
    return " to ".join(dict.fromkeys(map(str, rank)))


def _name(row: Row) -> str:
    return f"`{row.system}`" if row.measured.over else BASE


def _ratio(published: Published, row: Row, quantity: str, placement: str) -> str:
    if not row.measured.over:
        return "1"
    found = published.of(row.system, row.place[0], placement, quantity)
    return ratio_text(found) if found else "not measured"


PLACES = {APART: "with a CPU each", SHARED: "on one CPU"}


def levels_text(published: Published) -> str:
    """Return the median RTT of raw sockets on each machine, over each transport, with a CPU each and on one."""
    found = [
        (transport, words, published.levels_us(transport, placement))
        for transport in published.orders
        for placement, words in PLACES.items()
    ]
    return "; ".join(f"over {transport} {words} {listed(map(duration, us))}" for transport, words, us in found if us)


def reach_text(published: Published) -> str:
    """Return within which factor another occasion lies, on one of these machines and on one more, in two sentences."""
    of_kind = {
        placement: found
        for placement in PLACES
        if (found := [row for row in published.rows if row.quantity == RTT_RATIO and row.place[1] == placement])
    }
    own = [replication.within(found).reach(3) for found in of_kind.values()]
    other = {placement: replication.elsewhere(published.rows, RTT_RATIO, placement) for placement in of_kind}
    said = []
    if own and not any(map(math.isinf, own)):
        said.append(
            "When one of these machines is measured again, 95 % of its RTT ratios are expected to change by a factor "
            f"of {math.exp(max(own)):.2f} at most."
        )
    if all(of.most for of in other.values()):
        each = [
            f"{math.exp(of.reach(of.most)):.2g} {PLACES[placement]} ({math.exp(of.reach(1)):.2g} where a system was "
            "measured on one machine)"
            for placement, of in other.items()
        ]
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
    """Return when and where the occasions were, and how many passed all checks."""
    occasions = published.occasions
    days = list(dict.fromkeys(f"{occasion.began:%Y-%m-%d}" for occasion in occasions))
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    passed = sum("not:" not in occasion.checks for occasion in occasions)
    kinds = len({machine.name for machine in published.machines.values()})
    of_kinds = f" of {counted(kinds, 'kind')}" if kinds < len(published.machines) else ""
    return (
        f"{counted(len(occasions), 'occasion')} on {counted(len(published.machines), 'machine')}{of_kinds}, {when}; "
        f"{passed or 'none'} of them passed all checks of their trust cards."
    )


def occasions_table(published: Published) -> pd.DataFrame:
    """Return a row for each occasion: when, on which machine, and which checks it passed."""
    made = [
        {"begun (UTC)": f"{of.began:%Y-%m-%d %H:%M}", "machine": of.machine.words, "number": str(number + 1)}
        | {"checks passed": of.checks}
        for number, of in published.numbered
    ]
    return pd.DataFrame(made).set_index("begun (UTC)")


def fewer(published: Published) -> list[tuple[int, list[str]]]:
    """Return the systems that were not measured on all machines, by the number of machines."""
    counts = sorted(set(published.systems.values()))[:-1]
    return [(count, [name for name, on in published.systems.items() if on == count]) for count in counts]


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
