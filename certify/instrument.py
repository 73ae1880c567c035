"""The certificate of bench itself: its statistics and loads tested in virtual time, where the truth is known."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from bench import stats
from bench.analysis import comparison, stationarity, virtual_time
from bench.measurement.validation.profiles import make_plan
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run.frames import P50
from bench.stats import Array, intervals, looks, steady_state
from bench.stats.queueing import response_quantile

RUNS = 300
COVERED, ALARMS, OFF = 0.93, 0.05, 0.10
AROUND_US = 50.0
TRUE_RATIO = 1.2
QUICK_US = 1000.0


@dataclass(frozen=True)
class Line:
    """One property of the instrument: what was tested, what was found, what is required, and whether it passed."""

    tried: str
    found: str
    wanted: str
    passed: bool

    def __str__(self) -> str:
        return f"{'pass' if self.passed else 'FAIL'}  {self.tried:76}{self.found:>18}   wanted {self.wanted}"


def certificate(runs: int = RUNS) -> Iterator[Line]:
    """Yield the lines of the certificate as they are found; ``runs`` is how often each is tried."""
    yield quantiles()
    for rho in (0.0, 0.5):
        for p in (0.5, 0.9, 0.99):
            yield within_a_start(p, rho, runs)
    for share in (0.015, 0.03):
        yield in_bursts(share, runs)
    for p in (0.5, 0.9, 0.99):
        yield at_two_speeds(p, runs)
    yield from verdicts(runs)
    yield stopped_when_precise(runs)
    for used in (0.3, 0.7):
        yield open_loop(used, runs)
    yield correction()
    yield from warm_up(runs)


def verdict(lines: Sequence[Line], runs: int) -> str:
    """Return whether all lines passed, and how often each was tried."""
    passed = "passed" if all(line.passed for line in lines) else "FAILED"
    return (
        f"{passed}: {runs:,} runs of each share, but {runs - 1:,} pairs between two runs and {4 * runs:,} runs that "
        f"stop; {open_starts(runs)} starts of each open load; in virtual time, fixed seeds"
    )


def open_starts(runs: int) -> int:
    """Return how many starts an open load has."""
    return max(3, runs // 10)


def _at_least(tried: str, share: float, wanted: float) -> Line:
    return Line(tried, f"{share:.1%}", f">= {wanted:.0%}", share >= wanted)


def _at_most(tried: str, share: float, wanted: float) -> Line:
    return Line(tried, f"{share:.1%}", f"<= {wanted:.0%}", share <= wanted)


def quantiles() -> Line:
    """Quantiles of 1, 2, ..., n in any order are exact: the smallest number that p n of them do not exceed."""
    chance, wrong, sizes = np.random.default_rng(1), 0, [*range(1, 400), 1000, 9_999, 10_000]
    for size in sizes:
        values = chance.permutation(np.arange(1, size + 1))
        for per_mille in (500, 900, 990, 999):
            wrong += stats.quantile(values, per_mille / 1000) != -(-per_mille * size // 1000)
    return Line("quantiles of 1 to n, n up to 10 000", f"{wrong} wrong", "0 wrong", wrong == 0)


def dependent(chance: np.random.Generator, n: int, rho: float, mean: float) -> Array:
    """Return an exponential series with correlated neighbours: a first-order normal series, transformed."""
    first, *noise = chance.standard_normal(n).tolist()
    series, new = [first], math.sqrt(1 - rho**2)
    for innovation in noise:
        series.append(rho * series[-1] + new * innovation)
    return -mean * special.log_ndtr(-np.array(series))


def within_a_start(p: float, rho: float, runs: int) -> Line:
    """The interval of a quantile inside one start covers the true one, also where calls are autocorrelated."""
    truth = virtual_time.law_quantile({"law": "exponential", "mean_us": 1000}, p)
    covered, _ = _coverage(lambda chance: dependent(chance, 3000, rho, 1000.0), 7, p, truth, runs)
    kind = f"correlated by {rho:g}" if rho else "independent"
    return _at_least(f"interval of p{100 * p:g} in one start of {kind} calls covers", covered, COVERED)


def _coverage(
    draw: Callable[[np.random.Generator], Array], seed: int, p: float, truth: float, runs: int
) -> tuple[float, float]:
    """Return the share of the intervals of a quantile inside one start that cover the true one, and of runs without."""
    estimates = [intervals.quantile_interval(draw(np.random.default_rng([number, seed])), p) for number in range(runs)]
    covered = [low <= truth <= high for low, high in filter(None, estimates)]
    return (sum(covered) / len(covered) if covered else 0.0), estimates.count(None) / runs


def bursts(chance: np.random.Generator, n: int, length: int, share: float) -> Array:
    """Return a series of which a share is slow, in bursts: others are below ``QUICK_US``, slow ones above it.

    What the calls of a burst take beyond ``QUICK_US`` is one value for all, exponential with a mean of half of it.
    """
    begins = chance.random(n + length - 1) < 1 - (1 - share) ** (1 / length)
    is_slow = np.convolve(begins, np.ones(length), "valid") > 0.5
    levels = chance.exponential(size=n + length)[np.cumsum(begins)[length - 1 :]]
    return QUICK_US * np.where(is_slow, 1 + 0.5 * levels, chance.uniform(0.5, 1, n))


def in_bursts(share: float, runs: int) -> Line:
    """The interval of p99 in one start covers the true one where slow calls come in bursts of 20."""
    truth = QUICK_US * (1 + 0.5 * math.log(share / 0.01))
    covered, _ = _coverage(lambda chance: bursts(chance, 20_000, 20, share), 9, 0.99, truth, runs)
    kind = f"{share:.1%} slow calls in bursts of 20"
    return _at_least(f"interval of p99 in one start with {kind} covers", covered, COVERED)


SLOWER = 1.15  # how many times as long a call takes at the lower of two speeds


def two_speeds(chance: np.random.Generator, n: int, changes: int) -> Array:
    """Return a series whose speed changes so many times, at random: it is ``SLOWER`` as often as not, in the mean."""
    speed = np.searchsorted(np.sort(chance.integers(0, n, changes)), np.arange(n), "right") + chance.integers(2)
    return QUICK_US * np.exp(0.3 * chance.standard_normal(n)) * np.where(speed % 2, SLOWER, 1)


def at_two_speeds(p: float, runs: int) -> Line:
    """Where the speed changes five times in a start, the interval covers what many changes give, or there is none."""
    truth = stats.quantile(two_speeds(np.random.default_rng(13), 1_000_000, 100_000), p)
    covered, without = _coverage(lambda chance: two_speeds(chance, 20_000, 5), 15, p, truth, runs)
    tried = f"interval of p{100 * p:g} in a start with five changes of speed covers or is left out"
    return _at_least(tried, without + covered * (1 - without), 0.9)


def verdicts(runs: int) -> Iterator[Line]:
    """Intervals over starts and of effects cover; equal cases are not called different; a steady level is no drift."""
    plan, counts = _compared_plan(), dict.fromkeys(("range", "paired", "unpaired", "aa", "other_aa", "drift"), 0)
    truth = math.log(2) * 1000 + AROUND_US
    ratio = (math.log(2) * 1000 * TRUE_RATIO + AROUND_US) / truth
    last = None
    for number in range(runs):
        run = virtual_time.run(plan, number, _machine_states(number), AROUND_US)
        counts["range"] += run.cases.loc[0, f"{P50}_low"] <= truth <= run.cases.loc[0, f"{P50}_high"]
        counts["paired"] += _covers(comparison.compare_cases(run, 0, 2)[0], ratio)
        counts["aa"] += _called_different(comparison.compare_cases(run, 0, 1))
        counts["drift"] += not stationarity.are_steady(
            {case: stationarity.levels(run, case, len(run.numbers)) for case in run.numbers}
        )
        if last is not None:
            comparisons = comparison.compare(last, run)
            counts["other_aa"] += _called_different(comparisons)
            counts["unpaired"] += _covers(comparisons[0], 1.0)
        last = run
    yield _at_least("range of 6 start medians covers the true median", counts["range"] / runs, COVERED)
    yield _at_least("effect of B on A, paired by block, covers the true ratio", counts["paired"] / runs, COVERED)
    yield _at_least("effect between two runs covers the true ratio", counts["unpaired"] / (runs - 1), COVERED)
    yield _at_most("A against A called different, paired by block", counts["aa"] / runs, ALARMS)
    yield _at_most("A against A called different, between two runs", counts["other_aa"] / (runs - 1), ALARMS)
    yield _at_most("steady runs said to drift or not to settle", counts["drift"] / runs, ALARMS)


def _compared_plan() -> Plan:
    """Plan case A, A again, and B, as the comparing notebook does; with exponential service times."""
    case_a, case_b = (
        Case("oracle", "ipc", 100, {"law": "exponential", "mean_us": int(1000 * ratio)}) for ratio in (1, TRUE_RATIO)
    )
    return make_plan("compare", [case_a, case_a, case_b], starts=6, window_s=0.4)


def _machine_states(number: int) -> virtual_time.Effect:
    """Return how machine state scales times: sd 10 % from block to block, 5 % from start to start."""

    def effect(start: int, block: int, case: int) -> float:
        of_block, of_start = (
            np.random.default_rng([number, *key]).standard_normal() for key in ((1, block), (2, start))
        )
        return math.exp(0.10 * of_block + 0.05 * of_start)

    return effect


def _covers(effect: comparison.Comparison, truth: float) -> bool:
    return effect.low <= truth <= effect.high


def _called_different(effects: list[comparison.Comparison]) -> bool:
    """Return whether medians that are the same were called different."""
    return effects[0].verdict == comparison.DIFFERENT


def stopped_when_precise(runs: int) -> Line:
    """The interval of a ratio covers the true one where measuring stops at the first look at which it is narrow."""
    return _at_least("ratio of a run that stops within 2 %, up to 80 blocks, covers", covered_at_stop(4 * runs), 0.95)


def covered_at_stop(runs: int, confidences: Sequence[float] = looks.confidences(80)) -> float:
    """Return how often the interval covers at which a run stops; ``confidences``: of a single interval at each look.

    ln(ratio) varies by 5 % from block to block. A run stops where the ratio is known within 2 %, or after 80 blocks.
    """
    chance, covered = np.random.default_rng(11), 0
    for logs in chance.normal(math.log(TRUE_RATIO), 0.05, (runs, 80)):
        for blocks, confidence in zip(looks.looks(80), confidences, strict=True):
            interval = intervals.paired_shift(logs[:blocks], confidence).exp()
            if interval.half_width <= 0.02:
                break
        covered += interval.low <= TRUE_RATIO <= interval.high
    return covered / runs


def open_loop(used: float, runs: int) -> Line:
    """The p99 of response times of Poisson arrivals at one exponential server is that of M/M/1."""
    mean, rate = 1000.0, 1000 * used
    paced: dict[str, Any] = {"load": "open", "offered_per_s": rate, "arrivals": "poisson", "clients": 64}
    case = checked(Case("oracle", "ipc", 100, {"law": "exponential"}, **paced))
    starts = [virtual_time.measured(case, 20, seed, 1000 + seed, around_us=0.0) for seed in range(open_starts(runs))]
    times = np.concatenate([calls[1] - calls[2] for start in starts for calls in start.calls]) / 1e3
    truth = float(response_quantile(rate / 1e6, mean, 0.99))
    off = abs(stats.quantile(times, 0.99) / truth - 1)
    return _at_most(f"open load at {used:.0%} of the capacity: p99 of the response is off M/M/1's by", off, OFF)


def correction() -> Line:
    """Correction for coordinated omission gives the users' response times where utilization is low."""
    worst = 0.0
    for freeze_ms in (100, 200, 400, 800):
        law = {"law": "constant", "mean_us": 100, "freeze_after": 500, "freeze_ms": freeze_ms}
        case = checked(Case("oracle", "ipc", 100, law, load="open", offered_per_s=500.0))
        (calls,) = virtual_time.measured(case, 4, 1, 1, AROUND_US).calls
        due, recorded = (calls[1] - calls[2]) / 1e3, (calls[1] - calls[0]) / 1e3
        truth = stats.quantile(due, 0.99)
        worst = max(worst, abs(stats.quantile(stats.corrected(recorded, 2000.0), 0.99) / truth - 1))
    return _at_most("correction for coordinated omission, 5 % utilization: p99 off by", worst, OFF)


def warm_up(runs: int) -> Iterator[Line]:
    """An injected step is found within one bin, and a steady start is not cut."""
    detected = flat = 0
    for number in range(runs):
        chance = np.random.default_rng([number, 3])
        calls = np.exp(0.1 * chance.standard_normal(2500)) * np.where(chance.random(2500) < 0.01, 10, 1)
        flat += steady_state.settle(calls).label == steady_state.FLAT
        step, factor = int(chance.integers(100, 1000)), chance.uniform(1.3, 3)
        settled = steady_state.settle(calls * np.where(np.arange(2500) < step, factor, 1))
        detected += settled.label == steady_state.WARM_UP and abs(settled.cut - step) <= 2500 // steady_state.BINS
    yield _at_least("injected warm-up found, and cut within one bin of its end", detected / runs, 0.95)
    yield _at_most("steady starts said to warm up", 1 - flat / runs, ALARMS)
