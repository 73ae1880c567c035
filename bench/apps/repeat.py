"""The command that measures again what a run measured."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from bench.errors import BENCH, BenchError
from bench.measurement.validation.profiles import PROFILES, usual_window_s
from bench.plan.parameters import literal
from bench.plan.plan import Plan
from bench.run.folder import Folder
from bench.text import listed


def command(folder: Folder) -> str:
    """Return the command that repeats a run, with all parameters that differ from the notebook's defaults.

    A run of an earlier version recorded no parameters: the command then holds those that its plan gives away, and a
    comment says so.
    """
    from bench.grammar.experiment import exists, experiment  # slow to import

    plan, asked = folder.plan(), folder.manifest().get("parameters")
    usual = experiment(plan.notebook).parameters if exists(plan.notebook) else {}
    if sources := dict.fromkeys(case.source for case in plan.cases if case.source):
        return f"{BENCH} compare BASE HEAD --system {plan.cases[0].system}  # of {listed(sources)}"
    words = [f" -p {name} {word(value)}" for name, value in others(folder, usual).items()]
    comment = "" if asked is not None else "  # other parameters were not recorded; see its plan"
    return f"{BENCH} run {plan.notebook}{''.join(words)}{comment}"


def others(folder: Folder, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a run whose values are not those shown, in the order in which these are."""
    asked = folder.manifest().get("parameters")
    measured = _of_plan(folder.plan()) if asked is None else asked
    return {name: measured[name] for name in shown if name in measured and not _is_equal(measured[name], shown[name])}


def word(value: Any) -> str:
    """Return a value as papermill reads it, quoted for a shell."""
    if isinstance(value, dict | list):
        value = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6).strip()
    text = str(value)
    if re.fullmatch(r"[\w.,:/+-]+", text):
        return text
    return f'"{text}"' if not re.search(r'[$"`\\!\n]', text) else shlex.quote(text)


def _is_equal(value: Any, other: Any) -> bool:
    try:
        return bool(_plain(value) == _plain(other))
    except BenchError:
        return bool(value == other)


def _plain(value: Any) -> Any:
    """Return a value that was typed, with a list for a tuple, and None for an empty text or mapping."""
    parsed = literal(value)
    return list(parsed) if isinstance(parsed, tuple) else None if parsed == {} else parsed


def _of_plan(plan: Plan) -> dict[str, Any]:
    """Return the parameters that say how much a plan measures."""
    if budget := re.fullmatch(r"budget ([\d.]+) s", plan.profile):
        return {"budget_s": float(budget[1]), "seed": plan.seed}
    profile, parameters = PROFILES.get(plan.profile), {"profile": plan.profile, "seed": plan.seed}
    if profile is None or plan.starts != profile.starts:
        parameters["starts"] = plan.starts
    if profile is None or plan.window_s != usual_window_s(profile, plan.starts, plan.cases):
        parameters["window_s"] = plan.window_s
    return parameters
