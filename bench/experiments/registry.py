"""The notebooks by name: each has a folder here of the same stem, with its plan, findings, figure and text."""

import importlib.util
import inspect
from collections.abc import Iterable
from dataclasses import asdict
from types import ModuleType
from typing import Any

from bench.errors import DataError, unknown
from bench.plan.plan import Plan
from bench.validation.amount import Amount

OF_A_RUN = {"source": "measure", "resume": False, "budget_s": None, "predictions": "off"}  # besides those of the plan


def plan(notebook: str, **parameters: Any) -> Plan:
    """Return the plan that a notebook's parameters ask for; UsageError for one that its plan does not have."""
    planned = _part(notebook, "plan")
    refuse_unknown(notebook, parameters, plan_parameters(notebook))
    own = {name: value for name, value in parameters.items() if name in _own(planned)}
    shared = {name: value for name, value in parameters.items() if name not in own}
    made: Plan = planned.plan(_shared(planned)(**shared), **own)
    return made


def parameters(notebook: str) -> dict[str, Any]:
    """Return all parameters of a notebook with their defaults."""
    return plan_parameters(notebook) | _taken(notebook, OF_A_RUN)


def plan_parameters(notebook: str) -> dict[str, Any]:
    """Return the parameters of a notebook's plan, its own at the front, with their defaults."""
    planned = _part(notebook, "plan")
    own, shared = _own(planned), _taken(notebook, asdict(_shared(planned)()))
    return own | {name: value for name, value in shared.items() if name not in own}


def _taken(notebook: str, shared: dict[str, Any]) -> dict[str, Any]:
    """Return shared parameters without those that a plan declares to be NOT_TAKEN."""
    not_taken = getattr(_part(notebook, "plan"), "NOT_TAKEN", ())
    return {name: value for name, value in shared.items() if name not in not_taken}


def refuse_unknown(notebook: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise UsageError for the first name that is no parameter of a notebook; it says which is nearest."""
    for name in names:
        if name not in known:
            raise unknown(f"parameter of {notebook}.ipynb", name, list(known))


def has_plan(notebook: str) -> bool:
    """Return whether a notebook measures: it has a folder here."""
    return importlib.util.find_spec(f"bench.experiments.{notebook}") is not None


def _own(planned: ModuleType) -> dict[str, Any]:
    return {
        name: declared.default
        for name, declared in inspect.signature(planned.plan).parameters.items()
        if name != "given"
    }


def _shared(planned: ModuleType) -> type[Amount]:
    kind: type[Amount] = inspect.signature(planned.plan).parameters["given"].annotation
    return kind


def why_not(notebook: str, **parameters: Any) -> str | None:
    """Return why this machine can measure nothing of what a notebook's parameters ask for, None if it can.

    A notebook for which that can happen has a function ``why_not`` in its plan's file; its reference run is then drawn.
    """
    reason: str | None = getattr(_part(notebook, "plan"), "why_not", lambda **asked: None)(**parameters)
    return reason


def figure_of(notebook: str) -> ModuleType:
    """Return the module that draws a notebook's figure: its ``TITLE``, its ``PANELS``, and the panels by name."""
    return _part(notebook, "figure")


def findings_of(notebook: str) -> ModuleType:
    """Return the module of what is found in a notebook's run, without drawing."""
    return _part(notebook, "findings")


def text_of(notebook: str) -> ModuleType:
    """Return the module that says what a notebook's figure shows: its ``conclusion`` and other texts."""
    return _part(notebook, "text")


def _part(notebook: str, part: str) -> ModuleType:
    if not has_plan(notebook):
        raise DataError(f"there is no notebook {notebook!r} in this version: update Roundtrip, or measure anew")
    return importlib.import_module(f"bench.experiments.{notebook}.{part}")
