"""The notebooks by name: each has a folder here of the same stem, with its plan, findings, figure and text."""

import importlib.util
from types import ModuleType
from typing import Any

from bench.errors import DataError
from bench.plan.plan import Plan


def plan(notebook: str, **parameters: Any) -> Plan:
    """Return what a notebook's parameters ask for: its file's ``plan``, whose arguments are those parameters."""
    made: Plan = _part(notebook, "plan").plan(**parameters)
    return made


def why_not(notebook: str, **parameters: Any) -> str | None:
    """Return why this machine can measure nothing of what a notebook's parameters ask for, None if it can.

    A notebook for which that can happen has a function ``why_not`` in its plan's file; its reference run is then drawn.
    """
    reason: str | None = getattr(_part(notebook, "plan"), "why_not", lambda **asked: None)(**parameters)
    return reason


def figure_of(notebook: str) -> ModuleType:
    """Return the module that draws a notebook's figure: its ``TITLE``, its ``PANELS``, and the panels by name."""
    return _part(notebook, "figure")


def text_of(notebook: str) -> ModuleType:
    """Return the module that says what a notebook's figure shows: its ``conclusion`` and other texts."""
    return _part(notebook, "text")


def _part(notebook: str, part: str) -> ModuleType:
    if importlib.util.find_spec(f"bench.experiments.{notebook}") is None:
        raise DataError(f"there is no notebook {notebook!r} in this version: update Roundtrip, or measure anew")
    return importlib.import_module(f"bench.experiments.{notebook}.{part}")
