"""The page of explore.ipynb: choose, run, look, change one thing, run again; or run it by papermill.

It is imported when it is first used: commands need other modules of this package, and no widgets or figures.
"""

import importlib
from typing import Any

__all__ = ["page"]


def __getattr__(name: str) -> Any:
    """Import the page from where it is defined."""
    if name in __all__:
        return getattr(importlib.import_module("bench.apps.exploring.opening"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
