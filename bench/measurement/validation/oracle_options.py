"""Options of the oracle in a plan: which of its two servers is measured, and a freeze that takes a share of the window.

With the same share in every case, a freeze changes the same quantiles in every case and profile.
"""

from typing import Any

from bench import systems
from bench.measurement.validation.cases import why_absent

FREEZE_SHARE = 0.1  # of the window: how long the server stops
FREEZE_AT = 1 / 3  # of the window: when it stops, so that warm-up is over and the queue is gone at the end
MOST_FREEZE_MS = 60_000


def oracle_server() -> str:
    """Return the server that a plan measures: "c" where it can be compiled, else "python"; its option says which."""
    usable = why_absent("oracle") is None
    oracle: Any = systems.load("oracle")
    return str(oracle.best_server()) if usable else "python"


def frozen(window_s: float, requests_per_s: float) -> dict[str, int]:
    """Return the options of a server that stops for a share of the window, a third of the way through it."""
    return {
        "freeze_after": max(1, round(FREEZE_AT * window_s * requests_per_s)),
        "freeze_ms": min(MOST_FREEZE_MS, max(1, round(1000 * FREEZE_SHARE * window_s))),
    }
