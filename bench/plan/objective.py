"""An objective (SLO): a quantile of the response time, and its upper bound."""

import re
from dataclasses import dataclass

from bench.errors import UsageError
from bench.text import quoted


@dataclass(frozen=True)
class Objective:
    """A quantile of the response time and its upper bound, in us."""

    p: float
    limit_us: float

    def __str__(self) -> str:
        return f"p{100 * self.p:g}<={self.limit_us / 1000:g}ms"


def objective(text: object) -> Objective:
    """Parse an objective such as "p99<=5ms" or "p99<5ms"; UsageError states the form."""
    match = re.fullmatch(
        r"\s*p(\d+(?:\.\d+)?)\s*<=?\s*(\d{1,12}(?:\.\d+)?)\s*(us|ms|s)\s*", text if isinstance(text, str) else ""
    )
    if not match or not 0 < float(match[1]) < 100 or not float(match[2]) > 0:
        raise UsageError(f"{quoted(text)} is not an objective: write for example p99<=5ms")
    return Objective(float(match[1]) / 100, float(match[2]) * {"us": 1, "ms": 1e3, "s": 1e6}[match[3]])
