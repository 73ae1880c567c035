"""What several occasions on several machines say of the next one, on one of these machines or on another.

On one machine occasions differ by a few per cent, between machines ratios differ by a factor: an interval from one
machine says nothing of another. So the machine is the unit. What a machine may add is not modelled but counted: each
machine is predicted from the others, and how far that is off in 95 % of all cases is how far the next machine may be.
The fewer machines a system was measured on, the farther off.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from scipy import special

from bench.analysis.occasions import RTT_RATIO, Estimate, Measured, Occasion, key
from bench.plan.case import BASELINE
from bench.stats.intervals import CONFIDENCE

APART, SHARED = "split", "same"  # separate CPUs order systems: nobody deploys client and server on one CPU
Values = Mapping[int, float]  # ln of a ratio or of a time, by the number of the machine
Names = Mapping[int, str]  # of machines, by their numbers: several may share one
ALIKE = 1.3  # raw sockets take at most so many times as long on one machine as at another time, in the median


@dataclass(frozen=True)
class Row:
    """One ratio on all occasions that have it: ln, the mean over the occasions of each machine.

    on: by the machine's number. estimates: of each occasion, in their order; None where one lacks it. machines: the
    number of the machine of each occasion. names: the name of each machine, by its number.
    """

    measured: Measured
    quantity: str
    estimates: tuple[Estimate | None, ...]
    machines: tuple[int, ...]
    names: Names

    @property
    def system(self) -> str:
        """The system."""
        return str(self.measured.case["system"])

    @property
    def place(self) -> tuple[str, str, int]:
        """Transport, placement and number of clients."""
        return self.measured.place

    @cached_property
    def on(self) -> dict[int, float]:
        """The mean over the occasions of each machine, by its number."""
        return {machine: fmean(logs) for machine, logs in self.of_each.items()}

    @cached_property
    def of_each(self) -> dict[int, list[float]]:
        """What each machine's occasions measured."""
        logs: dict[int, list[float]] = {}
        for estimate, machine in zip(self.estimates, self.machines, strict=True):
            if estimate is not None:
                logs.setdefault(machine, []).append(estimate.ln)
        return logs

    @property
    def middle(self) -> float:
        """The mean over the machines."""
        return fmean(self.on.values())

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest mean of a machine."""
        return min(self.on.values()), max(self.on.values())


def machine_numbers(occasions: Sequence[Occasion]) -> tuple[int, ...]:
    """Return for each occasion the number of its machine: one name, and a baseline that takes as long as before.

    Two virtual machines of one kind can be two threads of one core or two cores: raw sockets then differ by a factor.
    """
    known: list[list[Occasion]] = []
    numbers = []
    for occasion in occasions:
        number = next(
            (index for index, group in enumerate(known) if all(_are_alike(occasion, member) for member in group)), None
        )
        if number is None:
            number = len(known)
            known.append([])
        known[number].append(occasion)
        numbers.append(number)
    return tuple(numbers)


def machine_names(occasions: Sequence[Occasion], machines: Sequence[int]) -> Names:
    """Return the name of each machine, by its number; machines: as ``machine_numbers`` returns them."""
    return dict(zip(machines, (occasion.machine.machine_id for occasion in occasions), strict=True))


def _are_alike(first: Occasion, second: Occasion) -> bool:
    levels, before = of_baseline(first), of_baseline(second)
    apart = [abs(math.log(levels[condition] / before[condition])) for condition in levels.keys() & before.keys()]
    return first.machine.machine_id == second.machine.machine_id and max(apart, default=0.0) <= math.log(ALIKE)


def of_baseline(occasion: Occasion) -> dict[tuple[str, str], float]:
    """Return the median RTT of raw sockets with one client in us, by transport and placement."""
    levels = occasion.levels("p50_us")
    return {(transport, placement): us for (system, transport, placement), us in levels.items() if system == BASELINE}


def rows(occasions: Sequence[Occasion]) -> list[Row]:
    """Return the ratios of occasions, in the order in which they first occur."""
    cases: dict[str, tuple[Measured, str]] = {}
    estimates: dict[str, dict[int, Estimate]] = {}
    for index, occasion in enumerate(occasions):
        for measured in occasion.rows:
            for quantity, estimate in measured.ratios.items():
                same = key(measured.case, measured.over, quantity)
                cases.setdefault(same, (measured, quantity))
                estimates.setdefault(same, {}).setdefault(index, estimate)  # of a case that is there twice the first
    machines = machine_numbers(occasions)
    names = machine_names(occasions, machines)
    return [
        Row(measured, quantity, tuple(estimates[same].get(index) for index in range(len(occasions))), machines, names)
        for same, (measured, quantity) in cases.items()
    ]


def ordered(rows: Iterable[Row], transport: str, placement: str = APART) -> list[Row]:
    """Return raw sockets and the RTT ratios of one client over a transport under a placement, the shortest first."""
    alike = [row for row in rows if (*row.place, row.quantity) == (transport, placement, 1, RTT_RATIO)]
    return sorted([*map(_baseline, alike[:1]), *alike], key=lambda row: row.middle)


def _baseline(row: Row) -> Row:
    """Return the ratio of a row's baseline to itself."""
    transport, placement, _ = row.place
    case = {"system": BASELINE, "transport": transport, "placement": placement}
    return replace(row, measured=Measured(case), estimates=(Estimate(0.0, 0.0, 0),) * len(row.estimates))


def mean(values: Values, machines: Iterable[int], here: int) -> float:
    """Return the mean over some machines, which they say of any other one."""
    return fmean(values[machine] for machine in machines)


class HeldOut:
    """How far a machine is from what others say, as each machine was from what the others said of it.

    Of some values on some machines each, all of one kind: one quantity under one placement. Machines that share a name
    do not forecast each other: they may be one, in two states. forecast: what some machines say of another one.
    share: of the forecasts that are within reach.
    """

    def __init__(
        self,
        values: Iterable[Values],
        names: Names,
        forecast: Callable[[Values, Iterable[int], int], float] = mean,
        share: float = CONFIDENCE,
    ) -> None:
        self._values, self._names = list(values), names
        self._forecast, self._share = forecast, share
        self._reaches: dict[int, float] = {}

    @property
    def most(self) -> int:
        """From how many machines the predictions are at most that were tried."""
        return max((len(self._others(logs, here)) for logs in self._values for here in logs), default=0)

    def reach(self, known: int) -> float:
        """Return within which ln most forecasts from so many machines were; infinite of none."""
        known = min(known, self.most)
        if known not in self._reaches:
            self._reaches[known] = covering(self._off(known), self._share)
        return self._reaches[known]

    def _off(self, known: int) -> Iterator[float]:
        for logs in self._values:
            for here, value in logs.items():
                others = self._others(logs, here)  # of a machine whose name another one has there are fewer
                for machines in itertools.combinations(others, min(known, len(others))) if others and known else ():
                    yield abs(value - self._forecast(logs, machines, here))

    def _others(self, logs: Values, here: int) -> list[int]:
        return [machine for machine in logs if self._names[machine] != self._names[here]]


def covering(off: Iterable[float], share: float = CONFIDENCE) -> float:
    """Return within which distance one more of such distances is expected with this probability; infinite of none.

    That holds for a value that is exchangeable with these. The ratios of one machine are not: they move together, so
    that of a few machines it describes what was seen.
    """
    ordered = sorted(off)
    return ordered[min(len(ordered), math.ceil((len(ordered) + 1) * share)) - 1] if ordered else math.inf


def elsewhere(rows: Iterable[Row], quantity: str, placement: str) -> HeldOut:
    """Return how far the ratios of one quantity under one placement are off on a machine from what others say."""
    alike = [row for row in rows if row.quantity == quantity and row.place[1] == placement]
    return HeldOut([row.on for row in alike], alike[0].names if alike else {})


def apart(first: Row, second: Row) -> dict[int, float]:
    """Return ln(second / first) on each machine that has both."""
    return {machine: second.on[machine] - first.on[machine] for machine in first.on.keys() & second.on.keys()}


@dataclass(frozen=True)
class Order:
    """Systems in order, and which of two a new machine will find faster; rows: the shortest RTT first."""

    rows: list[Row]

    @cached_property
    def _held_out(self) -> HeldOut:
        both = [apart(first, second) for first, second in itertools.combinations(self.rows, 2)]
        return HeldOut(both, self.rows[0].names if self.rows else {})

    def is_before(self, first: Row, second: Row) -> bool:
        """Return whether one system is faster by more than the ratio of two systems may change with the machine."""
        logs = apart(first, second)
        return bool(logs) and fmean(logs.values()) > self._held_out.reach(len(logs))

    @cached_property
    def ranks(self) -> list[tuple[int, int]]:
        """The best and the worst rank of each, from 1: by how many are before it, and how many behind."""
        return [
            (
                1 + sum(self.is_before(other, row) for other in self.rows),
                len(self.rows) - sum(self.is_before(row, other) for other in self.rows),
            )
            for row in self.rows
        ]


@dataclass(frozen=True)
class Score:
    """How forecasts did: how many values were inside their intervals, and how many pairs of systems kept their order.

    reaches: ln of the factor from each forecast to an end of its interval. outside: of ratios, with what was measured,
    the forecast and its reach. is_known: the forecasts are for machines with earlier occasions. Of none the shares are
    NaN.
    """

    is_known: bool
    inside: int = 0
    reaches: tuple[float, ...] = ()
    outside: tuple[tuple[Row, float, float, float], ...] = ()
    pairs: int = 0
    reversed: tuple[tuple[Row, Row], ...] = ()

    @property
    def count(self) -> int:
        """How many values were forecast."""
        return len(self.reaches)

    @property
    def coverage(self) -> float:
        """The share of the values inside."""
        return self.inside / self.count if self.count else math.nan

    @property
    def factor(self) -> float:
        """The median factor from a forecast to the ends of its interval."""
        return math.exp(sorted(self.reaches)[self.count // 2]) if self.count else math.nan

    @property
    def kept(self) -> int:
        """How many of the ordered pairs keep their order."""
        return self.pairs - len(self.reversed)

    def __add__(self, other: "Score") -> "Score":
        return Score(
            self.is_known,
            self.inside + other.inside,
            self.reaches + other.reaches,
            self.outside + other.outside,
            self.pairs + other.pairs,
            self.reversed + other.reversed,
        )


def score(earlier: Sequence[Occasion], new: Occasion) -> Score:
    """Return how an occasion agrees with what the earlier ones forecast: of its own machine, or of one more."""
    itself = (new.run, new.machine.machine_id)  # what contains it does not forecast it
    occasions = [*(occasion for occasion in earlier if (occasion.run, occasion.machine.machine_id) != itself), new]
    *others, here = machine_numbers(occasions)
    if not (is_known := here in others):
        occasions = [*_on_others(occasions[:-1], new), new]
        *_, here = machine_numbers(occasions)
    all_rows, before = rows(occasions), rows(occasions[:-1])
    by_key = {key(row.measured.case, row.measured.over, row.quantity): row for row in before}
    common = [
        (by_key[name], row.estimates[-1].ln)
        for row in all_rows
        if row.estimates[-1] and (name := key(row.measured.case, row.measured.over, row.quantity)) in by_key
    ]
    made = Score(is_known)
    kinds = {kind: [pair for pair in common if _kind(pair[0]) == kind] for kind in {_kind(row) for row, _ in common}}
    for pairs in kinds.values():
        quantity, placement, _ = _kind(pairs[0][0])
        alike = [row for row in before if _kind(row) == _kind(pairs[0][0])]
        spread, of_others = within(alike), elsewhere(before, quantity, placement)
        for row, measured in pairs:
            if is_known:
                middle, reach = row.on.get(here, math.nan), spread.reach(len(row.of_each.get(here, ())))
            else:
                middle, reach = row.middle, of_others.reach(len(row.on))
            if math.isnan(middle) or math.isinf(reach):
                continue
            is_inside = abs(measured - middle) <= reach
            off = () if is_inside else ((row, measured, middle, reach),)
            made += Score(is_known, int(is_inside), (reach,), off)
    return made + _orders(before, common, is_known)


def _kind(row: Row) -> tuple[str, str, int]:
    return row.quantity, row.place[1], row.place[2]


def _orders(before: Sequence[Row], common: Sequence[tuple[Row, float]], is_known: bool) -> Score:
    """Return how many pairs of systems with one client on separate CPUs keep the order that was forecast."""
    measured = {id(row): ln for row, ln in common}
    made = Score(is_known)
    for transport in dict.fromkeys(row.place[0] for row in before):
        order = Order(ordered(before, transport))
        known = [(row, measured.get(id(row), math.nan if row.measured.over else 0.0)) for row in order.rows]
        known = [(row, ln) for row, ln in known if not math.isnan(ln)]
        for (first, first_ln), (second, second_ln) in itertools.combinations(known, 2):
            if order.is_before(first, second):
                made += Score(is_known, pairs=1, reversed=((first, second),) if second_ln < first_ln else ())
    return made


@dataclass(frozen=True)
class Within:
    """How far two occasions of one machine are apart: the pooled deviation of ratios of one kind."""

    deviation: float
    freedom: int

    def reach(self, known: int) -> float:
        """Return how far one more occasion may be from the mean of so many, with 95 %; infinite where that is unknown.

        Student's t, whose degrees of freedom are those of the occasions: all ratios of one occasion vary together.
        """
        if not known or self.freedom < 1:
            return math.inf
        return float(special.stdtrit(self.freedom, (1 + CONFIDENCE) / 2)) * self.deviation * math.sqrt(1 + 1 / known)


def within(rows: Sequence[Row]) -> Within:
    """Return how far occasions of one machine are apart, from all machines and ratios together."""
    groups = [logs for row in rows for logs in row.of_each.values() if len(logs) > 1]
    squares = sum(sum((ln - fmean(logs)) ** 2 for ln in logs) for logs in groups)
    count = sum(len(logs) - 1 for logs in groups)
    known = {
        (index, machine)
        for row in rows
        for index, (machine, estimate) in enumerate(zip(row.machines, row.estimates, strict=True))
        if estimate is not None
    }
    freedom = len(known) - len({machine for _, machine in known})
    return Within(math.sqrt(squares / count) if count else 0.0, freedom if count else 0)


def each_score(occasions: Sequence[Occasion]) -> list[tuple[Occasion, Score]]:
    """Return how well each occasion but the first was forecast by those before it, in the order of time."""
    in_time = sorted(occasions, key=lambda occasion: occasion.began)
    return [(occasion, score(in_time[:index], occasion)) for index, occasion in enumerate(in_time) if index]


def left_out(occasions: Sequence[Occasion]) -> list[Score]:
    """Return how well each occasion is forecast by the occasions of the machines with other names."""
    return [score(others, occasion) for occasion, others in beside_others(occasions)]


def total(scores: Iterable[Score]) -> Score:
    """Return several scores as one."""
    return sum(scores, Score(False))


def beside_others(occasions: Sequence[Occasion]) -> Iterator[tuple[Occasion, list[Occasion]]]:
    """Yield each occasion with those of the machines that have other names."""
    for occasion in occasions:
        yield occasion, _on_others(occasions, occasion)


def _on_others(occasions: Iterable[Occasion], here: Occasion) -> list[Occasion]:
    return [occasion for occasion in occasions if occasion.machine.machine_id != here.machine.machine_id]
