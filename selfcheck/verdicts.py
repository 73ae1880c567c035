"""How often verdicts are wrong, by the kind of noise: ``python -m selfcheck.verdicts``; docs/trust.md holds the table.

Blocks and starts are drawn from four kinds of noise, and compared as ``bench compare`` compares them. Nothing differs,
or exactly what the comparison says that it can detect.
"""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from bench.stats import Array, intervals, power
from bench.stats.intervals import CONFIDENCE, Shift
from bench.stats.success_curve import rate_of_success

TRIES = 400
BLOCKS, STARTS, MANY = 40, 12, 20  # of a comparison in turns; of each of two stored runs; compared at once
Draw = Callable[[np.random.Generator, int], Array]
NOISE: dict[str, Draw] = {  # ln(value) of so many blocks or starts
    "normal": lambda random, n: random.normal(0, 0.03, n),
    "two levels": lambda random, n: random.normal(0, 0.01, n) + 0.1 * (random.random(n) < 0.4),
    "spikes": lambda random, n: random.normal(0, 0.01, n) + random.exponential(0.3, n) * (random.random(n) < 0.1),
    "heavy tails": lambda random, n: 0.02 * random.standard_t(3, n),
}


def in_turns(draw: Draw, random: np.random.Generator) -> tuple[Shift, float]:
    """Return B over A of equal cases in blocks, and the ln ratio that it says it can detect."""
    logs = draw(random, BLOCKS) - draw(random, BLOCKS)
    return intervals.paired(logs), math.log1p(power.detectable(power.spread_of_pairs(logs), BLOCKS))


def stored(draw: Draw, random: np.random.Generator) -> tuple[Shift, float]:
    """Return the same of two runs of equal cases that were stored."""
    ours, theirs = draw(random, STARTS), draw(random, STARTS)
    return intervals.unpaired(ours, theirs), math.log1p(power.detectable(power.spread_of_groups(ours, theirs), STARTS))


def alarms(draw: Draw, made: Callable[[Draw, np.random.Generator], tuple[Shift, float]]) -> tuple[float, float]:
    """Return in which share of tries equal cases are called different, and a detectable difference is found."""
    random = np.random.default_rng(1)
    comparisons = [made(draw, random) for _ in range(TRIES)]
    lows = [shift.interval().low for shift, _ in comparisons]
    false = np.mean([shift.interval().excludes(0) for shift, _ in comparisons])
    others = np.random.default_rng(2).permutation(TRIES)  # what one run says that it can detect, tried in another one
    power_of = np.mean([lows[index] + comparisons[other][1] > 0 for index, other in enumerate(others)])
    return float(false), float(power_of)


def at_once(draw: Draw) -> float:
    """Return in which share of tries one of many comparisons of equal cases, made together, is called different."""
    random = np.random.default_rng(3)
    tries = [[intervals.paired(draw(random, BLOCKS) - draw(random, BLOCKS)) for _ in range(MANY)] for _ in range(TRIES)]
    families = [intervals.together(group, [CONFIDENCE] * MANY) for group in tries]
    return float(np.mean([any(interval.excludes(0) for interval in family) for family in families]))


def table() -> pd.DataFrame:
    """Return a row for each kind of noise."""
    rows = {}
    for name, draw in NOISE.items():
        (false, detection), (false_stored, detection_stored) = alarms(draw, in_turns), alarms(draw, stored)
        rows[name] = {
            f"A and A different, {BLOCKS} blocks in turns": f"{false:.1%}",
            f"any of {MANY} such comparisons at once": f"{at_once(draw):.1%}",
            "what is detectable is found": f"{detection:.0%}",
            f"A and A different, two stored runs of {STARTS} starts": f"{false_stored:.1%}",
            "what is detectable there is found": f"{detection_stored:.0%}",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("noise of blocks and starts")


def searched(random: np.random.Generator, true: float, width: float) -> tuple[list[float], list[bool]]:
    """Return the rates of a search by doubling and bisection, two tries each and six more, and what succeeded.

    true: the rate at which half of the tries succeed. width: of the logistic curve, in ln(rate).
    """
    rates, won = list[float](), list[bool]()

    def tried(rate: float) -> bool:
        rates.append(rate)
        won.append(bool(random.random() < 1 / (1 + (rate / true) ** (1 / width))))
        return won[-1]

    low, high = 200.0, 400.0
    while tried(high) and tried(high):
        low, high = high, 2 * high
    while high / low > 1.1:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if tried(middle) and tried(middle) else (low, middle)
    for _ in range(6):
        tried(low)
    return rates, won


def capacities(width: float) -> tuple[float, float, float]:
    """Return of searches for a capacity: how often the interval of the rate that 95 % of starts meet holds it.

    And the true chance at the rate that a search ends at, and the median factor between the ends of the interval.
    """
    random, inside, chances, wide = np.random.default_rng(4), [], [], []
    truth = 10_000 * math.exp(-width * math.log(0.95 / 0.05))
    for _ in range(TRIES):
        rates, won = searched(random, 10_000, width)
        interval = rate_of_success(rates, won, 0.95)
        inside.append(interval.low <= truth <= interval.high)
        chances.append(1 / (1 + (rates[-1] / 10_000) ** (1 / width)))
        wide.append(interval.high / interval.low)
    return float(np.mean(inside)), float(np.median(chances)), float(np.median(wide))


def capacities_text() -> str:
    """Return in a sentence what searches for a capacity find where the truth is known."""
    phrases = []
    for width, words in ((0.03, "a sharp limit"), (0.15, "a gradual one")):
        inside, chance, wide = capacities(width)
        phrases.append(
            f"with {words} the interval held the true rate in {inside:.0%} of {TRIES} searches, its ends a factor of "
            f"{wide:.1f} apart in the median, and the true chance at the rate that the search ended at was {chance:.0%}"
        )
    return f"Searches for a capacity, whose 95 % rate is known: {'; '.join(phrases)}."


if __name__ == "__main__":
    print(table().to_string())
    print(capacities_text())
