"""The plans of the notebooks, one file each: from a notebook's parameters to the cases that answer its question."""

import importlib
from typing import Any

from bench.plan.plan import Plan


def plan(notebook: str, **parameters: Any) -> Plan:
    """Return what a notebook's parameters ask for: its file's ``plan``, whose arguments are those parameters."""
    made: Plan = importlib.import_module(f"bench.plans.{notebook}").plan(**parameters)
    return made
