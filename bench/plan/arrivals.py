"""Arrivals of open loads: how the requests of a mean rate are spread over the window.

Steps are written as ``10x1+1x5+10x1``: for each how long it lasts, and its rate, in any units.
"""

import re
from collections.abc import Iterable, Iterator

from bench.errors import UsageError
from bench.text import quoted

STEPS = {
    "ramp": "+".join(f"1x{rate}" for rate in range(1, 11)),  # ten rates up to the tenfold
    "step": "1x1+1x2",  # twice the rate in the second half
    "spike": "9x1+2x5+9x1",  # five times the rate for a tenth of the window
}
ARRIVALS = ("uniform", "poisson", "recorded", *STEPS)
NUMBER = r"\d{1,6}(?:\.\d{1,6})?"
STEP = re.compile(rf"({NUMBER})x({NUMBER})")


def named(value: object) -> str:
    """Return arrivals as a case holds them; UsageError for those that are neither a name nor steps."""
    from bench.plan import parameters  # of YAML, which clients need not load

    if not isinstance(value, str) or not re.match(r"[\d.]", value):
        return parameters.one_name(value, "arrivals", ARRIVALS)
    if not all(map(STEP.fullmatch, value.split("+"))):
        raise UsageError(f"steps of arrivals are written LENGTHxRATE, as in 10x1+1x5+10x1, not {quoted(value)}")
    if not all(long for long, _ in steps_of(value)) or not any(rate for _, rate in steps_of(value)):
        raise UsageError(f"arrivals {quoted(value)}: each step needs a length above 0, and one a rate above 0")
    return value


def steps_of(arrivals: str) -> list[tuple[float, float]]:
    """Return how long each step of a case's arrivals lasts, and its rate; [] where the mean rate does not change."""
    return [(float(long), float(rate)) for long, rate in STEP.findall(STEPS.get(arrivals, arrivals))]


def in_steps(shares: Iterable[float], steps: list[tuple[float, float]]) -> Iterator[float]:
    """Yield when requests are due, as shares of the window, from their places among all requests, also from 0 to 1."""
    requests, length = sum(long * rate for long, rate in steps), sum(long for long, _ in steps)
    parts = ((long / length, long * rate / requests) for long, rate in steps)
    begun = had = 0.0
    long, many = next(parts)
    for share in shares:
        while share >= had + many and (after := next(parts, None)):
            begun, had = begun + long, had + many
            long, many = after
        yield min(1.0, begun + (share - had) / many * long) if many else begun
