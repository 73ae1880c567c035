"""Roundtrip: measure remote procedure calls, and report how far the numbers can be trusted.

In a notebook: ``run = bench.measure("latency", globals())``, or ``transport="ipc"`` instead of its parameters; then
``bench.answer(run, "medians")``, ``bench.trust(run)``, ``bench.tell(run)``, ``bench.save(run)``; ``bench.runs()`` lists
all runs. In a class: ``bench.predict`` before, ``bench.score(run)`` after, ``bench.check`` for the exercises.
Names are imported when first used: a server's process imports this package too, and must stay light.
"""

import importlib
from typing import Any

__version__ = "1.0.0"

_HOMES = {
    "bench.apps.notebook": ("measure", "search", "answer", "trust", "table", "show", "method", "tell", "lines", "save"),
    "bench.run.query": ("runs", "query"),
    "bench.apps.teaching.predictions": ("predict",),
    "bench.apps.teaching.scores": ("score",),
    "bench.apps.teaching.course": ("check",),
}
__all__ = ["__version__", *(name for names in _HOMES.values() for name in names)]


def __getattr__(name: str) -> Any:
    """Import a public name from where it is defined."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'bench' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, so that a notebook can complete them."""
    return sorted(__all__)
