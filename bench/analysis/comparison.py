"""Is B faster than A? Effects with intervals, one of three verdicts, and the A/A ratio as the noise of the machine."""

import functools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis import request_mix, turns
from bench.errors import BENCH, DataError, UsageError
from bench.run.frames import P50, Run, column, once_per_run
from bench.stats import intervals, power
from bench.stats.intervals import Interval
from bench.text import listed, quoted, ratio_ends

MARGIN = 0.05
NOT_THE_QUESTION = ("fresh_router", "source")  # what may differ between two cases that are compared
SAME_AS_ABSENT = {  # options that some runs lack, added since or removed, with the values that mean the same as none
    "tls": (False,),
    "curve": (False,),
    "router": (False,),
    "client": ("c", "httpx", "bare"),
    "server": ("c", "thread", "threaded"),
    "tls_session": ("new",),
    "stream_by": ("chunked",),
    "pool": (0,),
    "token_codec": ("bytes",),
    "server_socket": ("rep",),
    "ns_per_byte": (0.0,),
    "event_loop": ("asyncio",),
    "keep_alive": (True,),
    "backlog": (2048,),
    "reply_to": ("direct",),
    "queue": ("list",),
    "workers": (1,),
    "compress": (True,),
    "protocol": ("connect", "binary"),
    "framing": ("buffered",),
    "api": ("sync",),
    "rpc": ("exchange",),
    "serializer": ("serpent",),
    "gzip": (False,),
    "http": ("1.1",),
    "nodelay": (True,),
}
TAIL = column(0.99)  # of which a start needs enough calls
DIFFERENT, SAME, UNKNOWN = "different", "no practical difference", "inconclusive"
QUANTITIES = {  # column of a start: displayed name, and whether more of it is better
    P50: ("median RTT", False),
    column(0.99): ("p99 RTT", False),
    "rate_per_s": ("calls per second", True),
    "cpu_us_per_call": ("CPU time per call", False),
}
OF_REQUEST = f"{P50} of "  # and the name of one of a service's requests: a quantity, too


@dataclass(frozen=True)
class Comparison:
    """One quantity of two cases: B over A, with its interval, the verdict, and what it rests on.

    - low, high: the interval, wider the fewer of several comparisons made together show a difference
      (``intervals.together``).
    - ``floor``: the A/A ratio - 1, see ``_itself``; NaN where it is not known.
    - shown_floor: the same where it is more than noise, else 0; *different* has to clear it.
    - more_starts: how many pairs of starts would decide, where the verdict is inconclusive.
    - paired: whether the starts of a block were compared with each other.
    - starts: how many of each case.
    - detectable: the smallest ratio - 1 that so many starts find with 80 % probability.
    - starts_for_margin: how many pairs of starts find the margin so.
    """

    case: str
    quantity: str
    ratio: float
    low: float
    high: float
    verdict: str
    floor: float
    shown_floor: float
    more_starts: int
    paired: bool
    more_is_better: bool
    starts: int
    detectable: float
    starts_for_margin: int

    @property
    def slower_by(self) -> float:
        """Return by which share of A the interval says that B is worse at least; 0 where it does not say so."""
        worse = 1 / self.high - 1 if self.more_is_better else self.low - 1
        return max(0.0, worse) if self.verdict == DIFFERENT else 0.0

    @property
    def is_small(self) -> bool:
        """Return whether the whole interval is inside the margin: a difference without practical interest."""
        return self.low >= 1 / (1 + MARGIN) and self.high <= 1 + MARGIN

    @property
    def words(self) -> str:
        """The verdict on B: better, worse, no practical difference, or inconclusive."""
        if self.verdict != DIFFERENT:
            return self.verdict
        is_better = (self.ratio > 1) == self.more_is_better
        return f"{'better' if is_better else 'worse'}{f', by less than {MARGIN:.0%}' if self.is_small else ''}"

    @property
    def interval(self) -> Interval:
        """The ratio with its interval."""
        return Interval(self.ratio, self.low, self.high)

    @property
    def ends(self) -> tuple[str, str, str]:
        """The ratio and the ends of its interval in words."""
        return ratio_ends(self.ratio, self.low, self.high)

    def __str__(self) -> str:
        ratio, low, high = self.ends
        interval = "(no interval: too few starts)" if math.isnan(self.low) else f"[{low}, {high}]"
        more = f"; about {self.more_starts} starts would decide" if self.more_starts else ""
        return f"{self.case}, {self.quantity}: B is {ratio}x {interval} A: {self.words}{more}{self._itself}"

    @property
    def _itself(self) -> str:
        if math.isnan(self.floor):
            return ""
        noise = "" if self.shown_floor else "; its interval includes 1"
        return f" (the A/A ratio is {self.floor:.1%} away from 1{noise})"


@dataclass(frozen=True)
class Evidence:
    """One quantity of two cases, measured: what a verdict is made from.

    shift: of ln(B / A). spread: of ln(ratio) of a pair of starts, by the confidence of the interval. confidence: of an
    interval that is looked at alone. itself: see ``_itself``.
    """

    case: str
    name: str
    shift: intervals.Shift
    spread: Callable[[float], float]
    starts: int
    confidence: float
    itself: tuple[float, float]
    paired: bool
    margin: float = MARGIN

    @property
    def is_of_request(self) -> bool:
        """Whether it is of one request of a service."""
        return self.name not in QUANTITIES


def judged(evidence: Sequence[Evidence]) -> list[Comparison]:
    """Return the comparison that each piece of evidence allows, in their order, when all are looked at together.

    The requests of services are a family of their own: many of them must not hide the other quantities.
    """
    families = {
        is_of_request: iter(_together([piece for piece in evidence if piece.is_of_request is is_of_request]))
        for is_of_request in (False, True)
    }
    return [next(families[piece.is_of_request]) for piece in evidence]


def _together(family: Sequence[Evidence]) -> list[Comparison]:
    """Return the comparisons that some evidence, looked at together, allows."""
    if not family:
        return []
    shown = intervals.together([piece.shift for piece in family], [piece.confidence for piece in family])
    least = intervals.least_pairs(len(family))
    return [_judged(piece, interval, least) for piece, interval in zip(family, shown, strict=True)]


def _judged(piece: Evidence, logs: Interval, least: int = intervals.LEAST_PAIRS) -> Comparison:
    """Return a comparison with its verdict; logs: ln(ratio) with the interval that this rests on.

    least: the fewest starts of which such an interval can have ends.
    """
    ratio, (floor, shown_floor), spread = logs.exp(), piece.itself, piece.spread(logs.confidence)
    verdict = judge(ratio.low, ratio.high, piece.margin, 0.0 if math.isnan(shown_floor) else shown_floor)
    needed = max(least, power.starts_for(spread, piece.margin))
    is_open = verdict == UNKNOWN and needed > piece.starts  # else as many did not decide: the ratio is near the margin
    words, more_is_better = in_words(piece.name)
    return Comparison(
        case=piece.case,
        quantity=words,
        ratio=ratio.middle,
        low=ratio.low,
        high=ratio.high,
        verdict=verdict,
        floor=floor,
        shown_floor=shown_floor,
        more_starts=needed if is_open else 0,
        paired=piece.paired,
        more_is_better=more_is_better,
        starts=piece.starts,
        detectable=power.detectable(spread, piece.starts),
        starts_for_margin=needed,
    )


def in_words(name: str) -> tuple[str, bool]:
    """Return the displayed name of a quantity, also of one request, and whether more of it is better."""
    quantity, between, request = name.partition(" of ")
    words, more_is_better = QUANTITIES[quantity]
    return f"{words}{between}{request}", more_is_better


def quantities(a: Run, case_a: int, b: Run, case_b: int) -> list[str]:
    """Return what two cases can be compared by: of services also the median RTT of each request that both have."""
    theirs, ours = request_mix.counts(a, case_a), request_mix.counts(b, case_b)
    return [*QUANTITIES, *(f"{OF_REQUEST}{name}" for name in theirs if name in ours)]


def compare(a: Run, b: Run, margin: float = MARGIN, named: Sequence[str] = ()) -> list[Comparison]:
    """Return the comparison of every case that two runs share, quantity by quantity.

    named: parts of labels; only cases whose label in A contains one of them are compared, if any is given. UsageError
    if no label does.

    DataError for runs of different machines, or where no case is in both.
    """
    if a.id == b.id:
        raise UsageError(f"both names mean run {a.id}: name two runs (compare.ipynb compares the cases of one run)")
    if machines(a) != machines(b):
        raise DataError(
            f"runs {a.id} and {b.id} are of different machines, so their times differ by what these are: compare their "
            f"ratios, by {BENCH} replicate {b.plan.notebook} --runs {b.id} --against FILE, where FILE holds "
            f"the occasions of the other machine (--runs {a.id} --keep FILE)"
        )
    evidence = []
    for case_a, case_b in chosen_pairs(a, b, named):
        for name in quantities(a, case_a, b, case_b):
            if lacks(a, [case_a], name) or lacks(b, [case_b], name):
                continue
            both = (values(run, case, name).dropna() for run, case in ((a, case_a), (b, case_b)))
            theirs, ours = (np.log(series).to_numpy() for series in both)
            if len(theirs) and len(ours):
                confidence = max(a.confidence, b.confidence)
                evidence.append(_of_groups(a.labels[case_a], name, (theirs, ours), confidence, margin))
    return judged(evidence)


def chosen_pairs(a: Run, b: Run, named: Sequence[str] = ()) -> list[tuple[int, int]]:
    """Return the pairs of cases that are the same in both runs, of those that are named; named: as of ``compare``."""
    pairs = _pairs(a, b)
    chosen = [pair for pair in pairs if not named or any(part in a.labels[pair[0]] for part in named)]
    if not chosen:
        there = listed(a.labels[pair[0]] for pair in pairs)
        raise UsageError(f"no case is called {listed(map(quoted, named))}: there are {there}")
    return chosen


def _of_groups(
    label: str, name: str, groups: tuple[stats.Array, stats.Array], confidence: float, margin: float
) -> Evidence:
    """Return what the starts of two runs say, given as logs; confidence: of an interval that is looked at alone."""
    theirs, ours = groups
    return Evidence(
        case=label,
        name=name,
        shift=intervals.unpaired(ours, theirs),
        spread=functools.partial(power.spread_of_groups, ours, theirs),
        starts=min(len(ours), len(theirs)),
        confidence=confidence,
        itself=(math.nan, math.nan),
        paired=False,
        margin=margin,
    )


def lacks(run: Run, cases: Sequence[int], name: str) -> bool:
    """Return whether a quantity cannot be compared: a start of these cases has 0, or too few calls for the tail.

    Starts without a tail are slow ones, which have to count.
    """
    if any((values(run, case, name) <= 0).any() for case in cases):
        return True
    return name == TAIL and bool(run.starts.loc[run.starts["case"].isin(list(cases)), name].isna().any())


def machines(run: Run) -> list[str]:
    """Return the salted ids of the machines that took part in a run."""
    records = list(run.manifest.get("hosts", {}).values()) or [run.manifest["machine"]]
    return sorted(str(record["machine_id"]) for record in records)


def compare_cases(run: Run, case_a: int, case_b: int) -> list[Comparison]:
    """Return the comparison of two cases of one run, paired by block: a disturbance of a block acts on both.

    Each quantity by itself: they say almost the same, and six blocks have no interval that allows for several. The
    requests of a service together: each may differ without the others.
    """
    pieces = evidence(run, case_a, case_b)
    alone = [_judged(piece, piece.shift.interval(piece.confidence)) for piece in pieces if not piece.is_of_request]
    return alone + _together([piece for piece in pieces if piece.is_of_request])


def evidence(run: Run, case_a: int, case_b: int) -> list[Evidence]:
    """Return what the blocks of one run say about two of its cases, quantity by quantity."""
    pieces = []
    for name in quantities(run, case_a, run, case_b):
        logs = ratios(run, case_a, case_b, name).to_numpy()
        if len(logs) and not lacks(run, [case_a, case_b], name):
            pieces.append(
                Evidence(
                    case=f"{run.labels[case_b]} against {run.labels[case_a]}",
                    name=name,
                    shift=intervals.paired(logs),
                    spread=functools.partial(power.spread_of_pairs, logs),
                    starts=len(logs),
                    confidence=run.confidence,
                    itself=_itself(run, (case_a, case_b), name),
                    paired=True,
                )
            )
    return pieces


def ratios(run: Run, base: int, other: int, name: str) -> "pd.Series[float]":
    """Return ln(other / base) of a quantity by block; where the cases took turns, the median over these."""
    of_turns = run.contrasts(base, other, name)
    if of_turns is not None:
        return of_turns.groupby(level="block").median()
    return log_ratios(values(run, base, name), values(run, other, name))


def _itself(run: Run, cases: tuple[int, int], name: str) -> tuple[float, float]:
    """Return the A/A ratio - 1, and the same where it is more than noise, else 0.

    It is that of one of the cases and its twin, an equal case under another name, which has starts of its own. Where
    its interval contains 1 it is noise, which makes the interval of B over A wider already: counted again, it hides
    differences. Not known without a twin, and of twins that are compared with each other: their ratio is the A/A ratio.
    """
    twins = [pair for pair in turns.twins(run) if {*pair} & {*cases}]
    if not twins or run.case(cases[0]) == run.case(cases[1]):
        return math.nan, math.nan
    shifts = [intervals.paired_shift(ratios(run, *pair, name).to_numpy()) for pair in twins]
    return math.expm1(max(abs(shift.middle) for shift in shifts)), math.expm1(max(map(shown, shifts)))


def shown(interval: Interval) -> float:
    """Return how far a value is from 0; 0 where its interval contains 0."""
    return abs(interval.middle) if interval.excludes(0) or not interval.has_ends else 0.0


@once_per_run
def effect(run: Run, base: int, other: int, name: str) -> Interval:
    """Return the ratio of a quantity, case ``other`` over ``base``: the one estimator of every ratio of two cases.

    The Hodges-Lehmann median of the ratios of each block, with its 95 % interval by inverting the signed-rank test,
    wider where the run was to stop when precise (``Run.confidence``); the ends are NaN where fewer than six blocks hold
    both cases. ``name`` is a column of ``Run.starts``. All NaN where a block lacks either.
    """
    return intervals.paired_shift(ratios(run, base, other, name).to_numpy(), run.confidence).exp()


def ratio_of(base: "pd.Series[float]", other: "pd.Series[float]") -> Interval:
    """Return the ratio of two quantities by block, other over base, as ``effect`` does; all NaN without a block."""
    return intervals.paired_shift(log_ratios(base, other).to_numpy()).exp()


def log_ratios(base: "pd.Series[float]", other: "pd.Series[float]") -> "pd.Series[float]":
    """Return ln(other / base) of two quantities by block, of the blocks in which both are positive."""
    return (np.log(other[other > 0]) - np.log(base[base > 0])).dropna()


def key(run: Run, case: int) -> str:
    """Return what a case measures, the same in runs of other versions: its factors without those that mean nothing."""
    factors = asdict(run.case(case))
    factors["options"] = {
        name: value for name, value in factors["options"].items() if value not in SAME_AS_ABSENT.get(name, ())
    }
    hosts = factors["hosts"]
    factors["hosts"] = {name: value for name, value in hosts.items() if name != "scheduler"} or sorted(hosts)
    return json.dumps({name: value for name, value in factors.items() if name not in NOT_THE_QUESTION}, sort_keys=True)


def _pairs(run_a: Run, run_b: Run) -> list[tuple[int, int]]:
    """Return the pairs of cases that are the same in both runs, in their order, without loopback and twins."""
    theirs, ours = _by_key(run_a), _by_key(run_b)
    pairs = sorted(pair for name, cases in theirs.items() for pair in zip(cases, ours.get(name, ()), strict=False))
    if not pairs:
        raise DataError(
            f"runs {run_a.id} and {run_b.id} have no case in common: compare runs of the same system, transport, "
            "options, payload, placement and clients"
        )
    return pairs


def unmatched(run: Run, other: Run) -> list[str]:
    """Return the labels of the cases of one run that another run has not."""
    theirs = _by_key(other)
    return [run.labels[case] for name, cases in _by_key(run).items() for case in cases[len(theirs.get(name, ())) :]]


def _by_key(run: Run) -> dict[str, list[int]]:
    """Return the cases that measure the same, as two sources of one system do; of twins the first."""
    groups: dict[str, list[int]] = {}
    for case in run.numbers:
        alike = groups.setdefault(key(run, case), [])
        if run.case(case).system != "loopback" and run.case(case) not in [run.case(other) for other in alike]:
            alike.append(case)
    return groups


def values(run: Run, case: int, name: str) -> "pd.Series[float]":
    """Return one quantity of each start of a case; index: block. Of a request only of the starts that made it."""
    rows = run.starts_of(case)
    if name.startswith(OF_REQUEST):
        quantity = request_mix.medians_us(run, case, name.removeprefix(OF_REQUEST))
        rows = rows.loc[quantity.index]
    else:
        quantity = rows[name]
    by_block = quantity.set_axis(rows["block"])
    return by_block if by_block.index.is_unique else by_block.groupby(level="block").median()


def judge(low: float, high: float, margin: float, floor: float = 0.0) -> str:
    """Return the verdict on the interval of a ratio.

    Different: it lies beyond the A/A ratio that is shown, 1 + ``floor``. No practical difference: it is inside the
    ``margin`` of practical interest, which noise never widens.
    """
    if low > 1 + floor or high < 1 / (1 + floor):
        return DIFFERENT
    return SAME if 1 / (1 + margin) <= low and high <= 1 + margin else UNKNOWN
