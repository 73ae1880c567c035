"""The same calls over several links: what the veth pair adds, when its bandwidth decides, and what order is left.

A link is loopback, the veth pair without a limit or with a bandwidth, or what is between hosts. Every ratio is of two
cases that differ in one factor: the link, or the system; between hosts the machines differ, too.
"""

import itertools
from dataclasses import dataclass

import pandas as pd

from bench.grammar.contrast import P50, Ratio, ratio
from bench.plan import namespaces
from bench.plan.case import Case
from bench.run.frames import Run, once

LOOPBACK, VETH, FAR = "loopback", "veth", "hosts"
HEADERS = 66  # bytes of each segment beside its payload: Ethernet, IPv4, TCP with timestamps
SEGMENT = {LOOPBACK: 65_483, VETH: 1448}  # largest payload of a segment: MTU of 65,536 or 1,500 bytes, less headers


def link(case: Case) -> str:
    """Return the link of a case: "loopback", "veth", "veth 100 Mbit/s", "hosts"."""
    return (namespaces.described(case.hosts) or FAR) if case.hosts else LOOPBACK


def rate_mbit(case: Case) -> int:
    """Return the bandwidth to which the link of a case is limited, in Mbit/s; 0 without a limit."""
    return namespaces.rate_mbit(case.hosts) if namespaces.is_asked(case.hosts) else 0


@once
def whole(run: Run) -> list[int]:
    """Return the cases of calls in a whole window with the options that systems have by default."""
    return [case for case in run.find(load="closed", is_short=False) if run.case(case).options.get("writes", 1) == 1]


def links(run: Run) -> list[str]:
    """Return the links that were measured, each once: loopback first, then the wider ones."""
    rates = {link(run.case(case)): rate_mbit(run.case(case)) or float("inf") for case in whole(run)}
    return sorted(rates, key=lambda name: (name != LOOPBACK, -rates[name]))


def at(run: Run, system: str, name: str, payload_bytes: int) -> int | None:
    """Return the case of a system over a link with a payload, or None."""
    cases = [case for case in whole(run) if run.case(case).system == system and link(run.case(case)) == name]
    return next((case for case in cases if run.case(case).payload_bytes == payload_bytes), None)


@dataclass(frozen=True)
class Condition:
    """A link and a payload under which several systems were measured; cases: by system."""

    link: str
    payload_bytes: int
    cases: dict[str, int]


@once
def conditions(run: Run) -> list[Condition]:
    """Return the links and payloads under which every system was measured: the smaller payload first, then loopback."""
    cases = [run.case(number) for number in whole(run)]
    local = [case for case in cases if link(case) == LOOPBACK]
    systems, sizes = list(dict.fromkeys(case.system for case in local)), {case.payload_bytes for case in local}
    pairs = dict.fromkeys((case.payload_bytes, link(case)) for case in cases if case.payload_bytes in sizes)
    order = links(run)
    measured = []
    for payload, name in sorted(pairs, key=lambda pair: (pair[0], order.index(pair[1]))):
        by_system = {system: at(run, system, name, payload) for system in systems}
        present = {system: case for system, case in by_system.items() if case is not None}
        if len(present) == len(systems):
            measured.append(Condition(name, payload, present))
    return measured


def added(run: Run, over: str = VETH) -> list[Ratio]:
    """Return for each system how many times as long its median RTT is over another link as over loopback."""
    smallest = min((condition.payload_bytes for condition in conditions(run)), default=0)
    by_link = {condition.link: condition.cases for condition in conditions(run) if condition.payload_bytes == smallest}
    base, other = by_link.get(LOOPBACK, {}), by_link.get(over, {})
    return [ratio(run, base[name], other[name], P50) for name in base if name in other]


def added_to(run: Run, system: str) -> Ratio | None:
    """Return how many times as long a system's median RTT is over the veth pair as over loopback, or None."""
    return next((rtt_ratio for rtt_ratio in added(run) if run.case(rtt_ratio.base).system == system), None)


def limited(run: Run, system: str) -> Ratio | None:
    """Return a system's median RTT over that of the first system with the large payload over the limited link."""
    with_limit = [
        condition for condition in conditions(run) if rate_mbit(run.case(next(iter(condition.cases.values()))))
    ]
    return next(
        (
            rtt_ratio
            for condition in with_limit[-1:]
            for rtt_ratio in ratios_of(run, condition)
            if run.case(rtt_ratio.other).system == system
        ),
        None,
    )


def added_us(run: Run, one: Ratio) -> "pd.Series[float]":
    """Return the difference of two cases' median RTTs in each block, in us."""
    base, other = (run.starts_of(case).set_index("block")[P50] for case in (one.base, one.other))
    return (other - base).dropna()


@dataclass(frozen=True)
class Transfer:
    """Raw sockets with one payload over a limited link: the case, and the time that the link needs for it."""

    case: int
    rate_mbit: int
    payload_bytes: int

    @property
    def law_us(self) -> float:
        """The time of request and reply, one after the other: 2 × payload / bandwidth, in us."""
        return 2 * 8 * self.payload_bytes / self.rate_mbit

    @property
    def packets_us(self) -> float:
        """The same with the headers of every segment."""
        segments = -(-self.payload_bytes // SEGMENT[VETH])
        return 2 * 8 * (self.payload_bytes + HEADERS * segments) / self.rate_mbit


@once
def transfers(run: Run) -> list[Transfer]:
    """Return the cases of raw sockets over limited links, by bandwidth and payload."""
    cases = [(case, run.case(case)) for case in whole(run)]
    over_limit = [
        Transfer(case, rate_mbit(of), of.payload_bytes)
        for case, of in cases
        if of.system == "sockets" and rate_mbit(of)
    ]
    return sorted(over_limit, key=lambda transfer: (transfer.rate_mbit, transfer.payload_bytes))


def over_law(run: Run, one: Transfer) -> float:
    """Return the median RTT over 2 × payload / bandwidth."""
    return float(run.cases.loc[one.case, P50]) / one.law_us


def ratios_of(run: Run, one: Condition) -> list[Ratio]:
    """Return the median RTT of each other system over that of the first, under one condition."""
    base, *others = one.cases.values()
    return [ratio(run, base, other, P50) for other in others]


def ranked(run: Run, one: Condition) -> list[str]:
    """Return the systems of a condition, the one with the shortest median RTT first."""
    return sorted(one.cases, key=lambda name: float(run.cases.loc[one.cases[name], P50]))


@dataclass(frozen=True)
class Order:
    """The pairs of systems that are distinguishable over loopback, under another condition of the same payload.

    same: distinguishable in the same order. reversed: in the other order. unclear: no longer distinguishable.
    """

    base: Condition
    other: Condition
    same: tuple[tuple[str, str], ...]
    reversed: tuple[tuple[str, str], ...]
    unclear: tuple[tuple[str, str], ...]

    @property
    def number(self) -> int:
        """How many pairs are distinguishable over loopback."""
        return len(self.same) + len(self.reversed) + len(self.unclear)


@once
def orders(run: Run) -> list[Order]:
    """Return what becomes of the order over loopback under each other condition of the same payload."""
    compared = []
    for other in conditions(run):
        base = next(
            (
                condition
                for condition in conditions(run)
                if (condition.link, condition.payload_bytes) == (LOOPBACK, other.payload_bytes)
            ),
            None,
        )
        if base is None or other is base:
            continue
        kinds: dict[str, list[tuple[str, str]]] = {"same": [], "reversed": [], "unclear": []}
        for pair in itertools.combinations(ranked(run, base), 2):
            here, there = (
                ratio(run, condition.cases[pair[0]], condition.cases[pair[1]], P50) for condition in (base, other)
            )
            if here.is_certain:
                kind = "same" if (here.value > 1) == (there.value > 1) else "reversed"
                kinds[kind if there.is_certain else "unclear"].append(pair)
        compared.append(Order(base, other, *(tuple(kinds[kind]) for kind in ("same", "reversed", "unclear"))))
    return compared


@dataclass(frozen=True)
class Stall:
    """Raw sockets with two writes per message over one link; is_held: TCP_NODELAY is set on neither side."""

    case: int
    link: str
    payload_bytes: int
    is_held: bool

    @property
    def stalls(self) -> int:
        """How many delayed ACKs a call is predicted to wait for: one per message unless it fills a segment."""
        return 2 if self.is_held and self.payload_bytes < SEGMENT.get(self.link, SEGMENT[VETH]) else 0


@once
def stalls(run: Run) -> list[Stall]:
    """Return the cases with two writes per message, by link and payload."""
    cases = [(case, run.case(case)) for case in run.find(writes=2)]
    measured = [Stall(case, link(of), of.payload_bytes, not of.options["client_nodelay"]) for case, of in cases]
    return sorted(measured, key=lambda stall: (stall.link, stall.payload_bytes, stall.is_held))


def acks_per_call(run: Run, one: Stall) -> "pd.Series[float]":
    """Return the delayed ACKs per call that the kernel counted in each start, on both sides of the link."""
    starts = run.starts_of(one.case)
    return (starts["tcp_delayed_acks"] / starts["calls"]).dropna()


def ratios(run: Run) -> list[Ratio]:
    """Return the ratios that the notebook reports: the veth pair over loopback, and systems under each condition."""
    return [
        *added(run),
        *added(run, FAR),
        *(rtt_ratio for condition in conditions(run) for rtt_ratio in ratios_of(run, condition)),
    ]
