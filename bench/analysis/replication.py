"""Runs of one plan on several occasions: the ratios of each, what a new occasion will measure, and tiers.

An interval from one occasion covers that occasion. Between occasions the machine's state, its other load and the
layout of memory differ; the prediction interval covers what another occasion on the same machine will measure. Between
machines ratios differ by more than that, so each machine is predicted by its own occasions, and systems are ordered
only where all machines order them alike.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, TypeVar

import msgspec
import numpy as np
import pandas as pd
from msgspec import Struct

from bench.analysis import checks
from bench.analysis.comparison import SAME_AS_ABSENT, ratios, values
from bench.errors import DataError
from bench.plan.case import Case
from bench.run.frames import Run, column
from bench.stats import intervals
from bench.stats.meta_analysis import LEAST_MACHINES, Prediction, predict, standard_error, times
from bench.text import counted, listed, ratio_ends

VERSION = 1
P50, CPU, RATE = column(0.5), "cpu_us_per_call", "rate_per_s"
BASELINE = "sockets"
RTT_RATIO, CPU_RATIO, RATE_RATIO = "RTT", "CPU time per call", "calls/s"
LEAST_OCCASIONS = LEAST_MACHINES
CLOSE = timedelta(hours=1)  # occasions that begin within this share the state of the machine
DAY = timedelta(days=1)
NAMED = ("system", "transport", "payload_bytes", "placement", "clients", "message")  # of a case, in its words


class Estimate(Struct, frozen=True):
    """ln of a ratio in one occasion, with its standard error, from so many blocks."""

    ln: float
    error: float
    blocks: int


class Measured(Struct, frozen=True, omit_defaults=True):
    """One case in one occasion: its factors that are not the usual ones, its ratios, and its own level.

    over: the case that the ratios divide by, in words; "" where it is such a case itself. ratios: by the quantity.
    p50_us: median RTT. cpu_us: CPU time per call of all roles. rate_per_s: calls per second.
    """

    case: dict[str, Any]
    over: str = ""
    ratios: dict[str, Estimate] = {}
    p50_us: float | None = None
    cpu_us: float | None = None
    rate_per_s: float | None = None

    @property
    def words(self) -> str:
        """The case in words: system, transport, placement, and what else is not usual."""
        return in_words(self.case)


class Machine(Struct, frozen=True):
    """The machine of an occasion; ``machine_id`` is salted."""

    machine_id: str
    cpu_model: str
    cpus_allowed: int
    system: str
    kernel: str
    virtual: bool | None = None

    @property
    def name(self) -> str:
        """The processor and the kernel, which tell it from others."""
        return f"{self.cpu_model} with {self.kernel}"

    @property
    def words(self) -> str:
        """The machine in words."""
        virtual = "virtual, " if self.virtual else ""
        return f"{self.cpu_model}, {counted(self.cpus_allowed, 'CPU')}, {virtual}{self.system} {self.kernel}"


class Occasion(Struct, frozen=True):
    """What is kept of one run of a plan: small enough to be committed, where the run itself has megabytes."""

    run: str
    utc: str
    minutes: float
    machine: Machine
    revision: str | None
    dirty: bool | None
    checks: str
    rows: list[Measured]

    @property
    def began(self) -> datetime:
        """When it began."""
        return datetime.fromisoformat(self.utc)


class Replicated(Struct, frozen=True):
    """The occasions of a notebook's plan."""

    version: int
    notebook: str
    occasions: list[Occasion]


def of_run(run: Run) -> Occasion:
    """Return what is kept of a run; DataError for one that is not finished."""
    manifest = run.manifest
    if not manifest["finished"]:
        raise DataError(f"run {run.id} is not finished: resume it with -p resume true")
    checks.refuse_invalid(run)
    machine = msgspec.convert({name: manifest["machine"].get(name) for name in Machine.__struct_fields__}, Machine)
    bases = baselines(run)
    return Occasion(
        run=manifest.get("id") or run.id,
        utc=datetime.fromisoformat(manifest["created"]).astimezone(UTC).isoformat(timespec="seconds"),
        minutes=_minutes(run),
        machine=machine,
        revision=manifest["git"]["revision"],
        dirty=manifest["git"]["dirty"],
        checks=str(checks.tally(run)),
        rows=[_measured(run, case, bases) for case in run.numbers if run.case(case).system != "loopback"],
    )


def _minutes(run: Run) -> float:
    """Return how long a run took, from its beginning to the end of its last window; 0 where that is not known."""
    begun = run.ledger["utc"].dropna()
    if begun.empty:
        return 0.0
    last = begun.idxmax()
    ended = datetime.fromisoformat(begun[last]) + timedelta(seconds=float(run.ledger.loc[last, "window_s"]))
    return round(max(0.0, (ended - datetime.fromisoformat(run.manifest["created"])).total_seconds()) / 60, 2)


def baselines(run: Run) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Return for each case that has a headline ratio the case to divide by, and the quantities.

    overview: raw sockets over the same transport under the same placement; of two clients the calls per second of one.
    compare: B over A; else each case over the first. Twins, equal cases under two names, are no headline.
    """
    cases = [case for case in run.numbers if run.case(case).system != "loopback"]
    if run.plan.notebook != "overview":
        others = [case for case in cases if run.case(case) != run.case(cases[0])]
        return dict.fromkeys(others, (cases[0], (RTT_RATIO, CPU_RATIO)))
    found: dict[int, tuple[int, tuple[str, ...]]] = {}
    for case in cases:
        of = run.case(case)
        place = {"transport": of.transport, "placement": of.placement, "clients": 1}
        base = run.first(system=BASELINE if of.clients == 1 else of.system, **place)
        if base is not None and run.case(base) != of:  # its twin is an A/A pair
            found[case] = (base, (RTT_RATIO, CPU_RATIO) if of.clients == 1 else (RATE_RATIO,))
    return found


COLUMNS = {RTT_RATIO: P50, CPU_RATIO: CPU, RATE_RATIO: RATE}


def _measured(run: Run, case: int, bases: dict[int, tuple[int, tuple[str, ...]]]) -> Measured:
    base, quantities = bases.get(case, (None, ()))
    estimates = {} if base is None else {name: _estimate(run, base, case, COLUMNS[name]) for name in quantities}
    return Measured(
        case=factors(run.case(case)),
        over="" if base is None else in_words(factors(run.case(base))),
        ratios={name: estimate for name, estimate in estimates.items() if estimate},
        p50_us=_level(run, case, P50),
        cpu_us=_level(run, case, CPU),
        rate_per_s=_level(run, case, RATE),
    )


def _estimate(run: Run, base: int, case: int, name: str) -> Estimate | None:
    """Return ln(case / base): the Hodges-Lehmann median over blocks; None where no block has both."""
    logs = ratios(run, base, case, name).to_numpy()
    if len(logs) < 2:
        return None
    found = intervals.paired_shift(logs)
    error = standard_error(found, len(logs)) if found.has_ends else float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    return Estimate(round(found.middle, 5), round(error, 5), len(logs))


def _level(run: Run, case: int, name: str) -> float | None:
    level = float(values(run, case, name).median())
    return None if math.isnan(level) else float(f"{level:.4g}")


def factors(case: Case) -> dict[str, Any]:
    """Return the factors of a case that are not the usual ones; of options those that do not mean the same as none."""
    usual = Case("", "")
    changed = {of.name: value for of in fields(case) if (value := getattr(case, of.name)) != getattr(usual, of.name)}
    options = {name: value for name, value in case.options.items() if value not in SAME_AS_ABSENT.get(name, ())}
    changed.pop("content", None)  # a user's own message, which its name stands for
    return {name: value for name, value in (changed | {"options": options}).items() if value != {}}


def in_words(case: dict[str, Any]) -> str:
    """Return the factors of a case in words, its options left out."""
    of = {name: case.get(name, getattr(Case("", ""), name)) for name in NAMED}
    more = [f"{of['payload_bytes']:,} B"] * (of["payload_bytes"] != 1000)
    more += [counted(of["clients"], "client")] * (of["clients"] > 1) + [of["message"]] * (of["message"] != "bytes")
    return " ".join([of["system"], of["transport"], of["placement"], *more])


def key(*parts: object) -> str:
    """Return a text that is equal for equal cases."""
    return msgspec.json.encode(parts, order="sorted").decode()


@dataclass(frozen=True)
class Row:
    """One headline ratio in all occasions that have it, in their order; None where one lacks it.

    machines: the machine_id of each occasion.
    """

    measured: Measured
    quantity: str
    estimates: tuple[Estimate | None, ...]
    machines: tuple[str, ...]

    @property
    def system(self) -> str:
        """The system."""
        return str(self.measured.case["system"])

    @property
    def place(self) -> tuple[str, str, int]:
        """Transport, placement and number of clients."""
        case = self.measured.case
        return case["transport"], case.get("placement", "same"), case.get("clients", 1)

    @cached_property
    def predictions(self) -> tuple[Prediction, ...]:
        """What a new occasion will measure, on each machine: those with enough occasions, all if none has them."""
        return _by_machine([(of.ln, of.error) if of else None for of in self.estimates], self.machines)

    @cached_property
    def prediction(self) -> Prediction:
        """What a new occasion will measure on one of the machines: the outermost ends."""
        return _outermost(self.predictions)

    def order(self, other: "Row") -> Prediction:
        """Return what a new occasion will measure of ln(other / this) on one of the machines that have both."""
        both = [
            (b.ln - a.ln, math.hypot(a.error, b.error)) if a and b else None
            for a, b in zip(self.estimates, other.estimates, strict=True)
        ]
        return _outermost(_by_machine(both, self.machines))


def _by_machine(effects: Sequence[tuple[float, float] | None], machines: Sequence[str]) -> tuple[Prediction, ...]:
    """Return the prediction of each machine from its occasions; those without ends only if no machine has enough."""
    of_each: dict[str, list[tuple[float, float]]] = {}
    for effect, machine in zip(effects, machines, strict=True):
        if effect:
            of_each.setdefault(machine, []).append(effect)
    found = [predict(*zip(*known, strict=True)) for known in of_each.values()]
    return tuple(of for of in found if of.has_ends) or tuple(found)


def _outermost(predictions: Sequence[Prediction]) -> Prediction:
    """Return one prediction for all machines: the mean of their estimates, and the outermost ends."""
    return Prediction(
        k=sum(of.k for of in predictions),
        middle=sum(of.middle for of in predictions) / len(predictions) if predictions else math.nan,
        low=min((of.low for of in predictions), default=math.nan),
        high=max((of.high for of in predictions), default=math.nan),
        tau=max((of.tau for of in predictions), default=math.nan),
    )


def rows(occasions: Sequence[Occasion]) -> list[Row]:
    """Return the headline ratios of occasions, in the order in which they first occur."""
    cases: dict[str, tuple[Measured, str]] = {}
    found: dict[str, dict[int, Estimate]] = {}
    for place, occasion in enumerate(occasions):
        for measured in occasion.rows:
            for quantity, estimate in measured.ratios.items():
                same = key(measured.case, measured.over, quantity)
                cases.setdefault(same, (measured, quantity))
                found.setdefault(same, {}).setdefault(place, estimate)  # of a case that is there twice the first
    machines = tuple(occasion.machine.machine_id for occasion in occasions)
    return [
        Row(measured, quantity, tuple(found[same].get(place) for place in range(len(occasions))), machines)
        for same, (measured, quantity) in cases.items()
    ]


Item = TypeVar("Item")


def tiers(ordered: Sequence[Item], is_before: Callable[[Item, Item], bool]) -> list[list[Item]]:
    """Return items, the best first, in tiers: a new one begins with an item that the first of the tier is before.

    So no item of a tier is shown to be behind its first. Items of neighbouring tiers may not be ordered: ``ranks``
    reports which. (Where items that cannot be ordered always share a tier, a few of them join all others.)
    """
    made: list[list[Item]] = []
    for item in ordered:
        if not made or is_before(made[-1][0], item):
            made.append([])
        made[-1].append(item)
    return made


def ranks(ordered: Sequence[Item], is_before: Callable[[Item, Item], bool]) -> list[tuple[int, int]]:
    """Return for each item its best and its worst rank, from 1: by how many are ordered before and behind it."""
    return [
        (
            1 + sum(is_before(other, item) for other in ordered),
            len(ordered) - sum(is_before(item, other) for other in ordered),
        )
        for item in ordered
    ]


def in_order(found: Iterable[Row], transport: str, placement: str) -> list[Row]:
    """Return raw sockets and the RTT ratios of one client over a transport under a placement, the shortest first."""
    alike = [row for row in found if (*row.place, row.quantity) == (transport, placement, 1, RTT_RATIO)]
    return sorted([*map(_itself, alike[:1]), *alike], key=lambda row: row.prediction.middle)


def is_before(first: Row, second: Row) -> bool:
    """Return whether a new occasion will measure a shorter RTT for the first: on each machine, by the intervals.

    The prediction interval of the ratio of their RTTs then excludes 1 on each machine, on the same side. Without three
    occasions on one machine nothing is ordered.
    """
    return first.order(second).low > 0


def in_tiers(found: Iterable[Row], transport: str, placement: str) -> list[list[Row]]:
    """Return the RTT ratios of one client over a transport under a placement in tiers, the shortest RTT first."""
    return tiers(in_order(found, transport, placement), is_before)


def _itself(row: Row) -> Row:
    """Return the ratio of a row's baseline to itself."""
    transport, placement, _ = row.place
    case = {"system": BASELINE, "transport": transport, "placement": placement}
    return Row(Measured(case), row.quantity, (Estimate(0.0, 0.0, 0),) * len(row.estimates), row.machines)


def places(found: Iterable[Row]) -> list[tuple[str, str]]:
    """Return the transports and placements of which the systems with one client are compared with raw sockets."""
    of_sockets = (row for row in found if row.quantity == RTT_RATIO and row.measured.over.startswith(f"{BASELINE} "))
    return sorted({row.place[:2] for row in of_sockets})


def ratio_text(*predictions: Prediction) -> str:
    """Return a predicted ratio with its interval: "2.31 [2.10, 2.54]"; without ends from fewer than three occasions.

    Of several predictions: the smallest and the largest ratio, and the outermost ends: "2.31 to 2.80 [2.10, 3.12]".
    """
    middles = sorted(times(one.middle) for one in predictions)
    low, high = min(one.low for one in predictions), max(one.high for one in predictions)
    ends = [value if math.isnan(value) else times(value) for value in (low, high)]
    first, low_text, _ = ratio_ends(middles[0], *ends)
    last, _, high_text = ratio_ends(middles[-1], *ends)
    middle = first if first == last else f"{first} to {last}"
    return middle if math.isnan(low) else f"{middle} [{low_text}, {high_text}]"


def table(occasions: Sequence[Occasion]) -> pd.DataFrame:
    """Return a table of text: each headline ratio in each occasion, and what a new one will measure."""
    shown = []
    for row in rows(occasions):
        of_each = {
            f"#{number}": f"{times(estimate.ln):.3g}" if estimate else ""
            for number, estimate in enumerate(row.estimates, 1)
        }
        case = {"case": row.measured.words, "over": row.measured.over, "quantity": row.quantity}
        shown.append(case | of_each | {"new occasion [95 %]": ratio_text(*row.predictions)})
    return pd.DataFrame(shown).set_index("case") if shown else pd.DataFrame()


def described(occasions: Sequence[Occasion]) -> str:
    """Return when and where the occasions were, in one sentence, and what limits what they say."""
    machines = {occasion.machine.machine_id: occasion.machine for occasion in occasions}
    days = list(dict.fromkeys(f"{occasion.began:%Y-%m-%d}" for occasion in occasions))
    where = listed(dict.fromkeys(machine.words for machine in machines.values()))
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    text = f"{counted(len(occasions), 'occasion')} on {counted(len(machines), 'machine')} ({where}), {when}."
    return " ".join([text, *limits(occasions)])


def limits(occasions: Sequence[Occasion]) -> list[str]:
    """Return sentences on what a prediction from these occasions does not cover."""
    found = []
    if len(occasions) < LEAST_OCCASIONS:
        found.append(f"A prediction needs at least {LEAST_OCCASIONS} occasions.")
    of_each = _of_each_machine(occasions).values()
    spans = sorted(max(began) - min(began) for own in of_each if len(began := [of.began for of in own]) > 1)
    if spans and spans[0] < DAY:
        where = "They" if len(of_each) == 1 else "Those of a machine"
        within = " to ".join(dict.fromkeys((_in_words(spans[0]), _in_words(spans[-1]))))
        apart = " Measure hours apart (`--apart 3h`)." * (spans[0] < CLOSE)
        found.append(f"{where} are within {within}: a prediction holds for such a time, not for another day.{apart}")
    few = [own for own in of_each if len(own) < LEAST_OCCASIONS]
    if few and len(few) < len(of_each):
        found.append(f"A machine with fewer than {LEAST_OCCASIONS} occasions predicts nothing here.")
    if found_later := later_text(occasions):
        found.append(found_later)
    found.append("Another machine can lie outside the intervals.")
    if found_elsewhere := elsewhere_text(occasions):
        found.append(found_elsewhere)
    return found


def _in_words(span: timedelta) -> str:
    """Return a span of time in minutes, or in hours: "17 minutes", "1.9 hours"."""
    minutes = span / timedelta(minutes=1)
    return counted(round(minutes), "minute") if span < CLOSE else f"{minutes / 60:.2g} hours"


@dataclass(frozen=True)
class Against:
    """How a new occasion agrees with earlier ones.

    pairs: how many pairs of systems with one client over one baseline the earlier ones order. reversed: those that the
    new one has in the other order. inside: how many ratios lie in their prediction intervals. outside:
    the others. is_here: the earlier ones have occasions of the new one's machine, which alone then count.
    """

    pairs: int
    reversed: list[tuple[Row, Row]]
    inside: int
    outside: list[tuple[Row, Estimate]]
    is_here: bool

    @property
    def order_share(self) -> float:
        """The share of the ordered pairs that keep their order; NaN of none."""
        return 1 - len(self.reversed) / self.pairs if self.pairs else math.nan

    @property
    def share(self) -> float:
        """The share of the ratios that lie inside; NaN of none."""
        count = self.inside + len(self.outside)
        return self.inside / count if count else math.nan


HOLDS = 0.9  # of what was published, at least


def against(published: Sequence[Occasion], new: Occasion) -> Against:
    """Return which published orders and ratios a new occasion repeats: those of its own machine, if there are any."""
    itself = (new.run, new.machine.machine_id)  # what contains it does not predict it
    published = [of for of in published if (of.run, of.machine.machine_id) != itself]
    here = [of for of in published if of.machine.machine_id == new.machine.machine_id]
    found = rows([new, *(here if len(here) >= LEAST_OCCASIONS else published)])
    both = [(replace(row, estimates=(None, *row.estimates[1:])), row.estimates[0]) for row in found]
    common = [(row, measured) for row, measured in both if measured and any(row.estimates)]
    inside, outside = 0, []
    for row, measured in common:
        if row.prediction.has_ends and row.prediction.low <= measured.ln <= row.prediction.high:
            inside += 1
        elif row.prediction.has_ends:
            outside.append((row, measured))
    pairs, changed = 0, []
    for (first, one), (second, two) in itertools.combinations(common, 2):
        if not _are_alike(first, second):
            continue
        order = first.order(second)
        if order.low > 0 or order.high < 0:
            pairs += 1
            if (two.ln > one.ln) != (order.low > 0):
                changed.append((first, second) if order.low > 0 else (second, first))
    return Against(pairs, changed, inside, outside, len(here) >= LEAST_OCCASIONS)


def _are_alike(first: Row, second: Row) -> bool:
    """Return whether two ratios are of one client's RTTs over one baseline, so that their order means something."""
    of_each = [(row.quantity, row.place, row.measured.over) for row in (first, second)]
    return of_each[0] == of_each[1] and first.quantity == RTT_RATIO


def against_text(found: Against, new: Occasion) -> str:
    """Return how many orders and ratios hold, and those that do not."""
    if math.isnan(found.share):
        return f"{new.run}: no ratio in common that has a prediction interval"
    lines = [f"{new.run}, compared with occasions of {'this machine' if found.is_here else 'other machines'}:"]
    if found.pairs:
        lines.append(
            _share_text(found.pairs - len(found.reversed), found.pairs, "ordered pairs of systems", "keep their order")
        )
        lines += [
            f"  reversed: {first.measured.words} was published as faster than {second.measured.words}"
            for first, second in found.reversed
        ]
    count = found.inside + len(found.outside)
    lines.append(_share_text(found.inside, count, "ratios", "lie inside their prediction intervals"))
    lines += [
        f"  outside: {row.measured.words} over {row.measured.over}, {row.quantity}: "
        f"{times(measured.ln):.3g} here, published {ratio_text(*row.predictions)}"
        for row, measured in found.outside
    ]
    return "\n".join(lines)


def later(occasions: Sequence[Occasion]) -> Against | None:
    """Return how the last occasion of each machine agrees with what its earlier ones predict; None without enough."""
    of_each = [sorted(own, key=lambda of: of.began) for own in _of_each_machine(occasions).values()]
    return _in_all([against(own[:-1], own[-1]) for own in of_each if len(own) > LEAST_OCCASIONS])


def later_text(occasions: Sequence[Occasion]) -> str:
    """Return in a sentence how well a machine's earlier occasions predict its last one; "" without enough of them."""
    found = later(occasions)
    if found is None:
        return ""
    return (
        "The last occasion of a machine was also predicted by its earlier ones, where there are at least "
        f"{LEAST_OCCASIONS}: {found.order_share:.0%} of the predicted orders of two systems hold in it, and "
        f"{found.share:.0%} of its ratios lie inside the predicted intervals."
    )


def elsewhere(occasions: Sequence[Occasion]) -> Against | None:
    """Return how the occasions of each machine agree with what those of the other machines predict; None of one."""
    of_each = _of_each_machine(occasions)
    if len(of_each) < 2:
        return None
    return _in_all(
        [
            against([other for machine, many in of_each.items() if machine != here for other in many], new)
            for here, own in of_each.items()
            for new in own
        ]
    )


def _of_each_machine(occasions: Sequence[Occasion]) -> dict[str, list[Occasion]]:
    of_each: dict[str, list[Occasion]] = {}
    for of in occasions:
        of_each.setdefault(of.machine.machine_id, []).append(of)
    return of_each


def _in_all(found: Sequence[Against]) -> Against | None:
    """Return several comparisons as one; None if no ratio was predicted."""
    found = [of for of in found if of.inside or of.outside]
    if not found:
        return None
    return Against(
        pairs=sum(of.pairs for of in found),
        reversed=[pair for of in found for pair in of.reversed],
        inside=sum(of.inside for of in found),
        outside=[row for of in found for row in of.outside],
        is_here=all(of.is_here for of in found),
    )


def elsewhere_text(occasions: Sequence[Occasion]) -> str:
    """Return in a sentence how well the machines predict each other; "" of one machine."""
    found = elsewhere(occasions)
    if found is None:
        return ""
    return (
        f"Each of these machines was also predicted without its own occasions: {found.order_share:.0%} of the "
        f"predicted orders of two systems hold there, and {found.share:.0%} of the ratios lie inside the predicted "
        f"intervals.{_between_machines(occasions)}"
    )


def _between_machines(occasions: Sequence[Occasion]) -> str:
    """Return by how much RTT ratios differ between machines with enough occasions; "" if that is one machine."""
    middles = [[of.middle for of in row.predictions] for row in rows(occasions) if row.quantity == RTT_RATIO]
    apart = [max(of_row) - min(of_row) for of_row in middles if len(of_row) > 1]
    if not apart:
        return ""
    return (
        " The RTT ratio of a system on the machine where it is largest, divided by that where it is smallest, is "
        f"{times(float(np.median(apart))):.2f} in the median and {times(max(apart)):.2f} at most."
    )


def _share_text(good: int, count: int, what: str, doing: str) -> str:
    """Return which part of what was published holds, and whether that is enough."""
    holds = "holds" if good >= HOLDS * count else "does not hold"
    return (
        f"{good} of {count} {what} ({good / count:.0%}) {doing}: what was published {holds} here (wanted: {HOLDS:.0%})"
    )
