"""The papermill command that measures what is on the page, for a shell in ``notebooks/``."""

import re
import shlex
from collections.abc import Sequence
from typing import Any

import yaml

from bench import systems
from bench.message_types import BYTES
from bench.plan import placement
from bench.plan.case import Case
from bench.validation.cases import INSTRUMENT

USUAL = {"profile": "class", "starts": None, "window_s": None, "seed": 1}  # as all notebooks have it

HERE = {"message": BYTES, "calls_per_connection": 0, "outstanding": 1}  # which the notebook explore alone has

Spelled = dict[str, Any]


def unusual(amount: Spelled) -> Spelled:
    """Return the parameters that say how much is measured where they are not the notebooks' defaults."""
    return {name: value for name, value in amount.items() if value != USUAL[name]}


def of_case(case: Spelled, amount: Spelled) -> str:
    """Return the command for one case: the notebook that asks about its load, if it can hold all of the case.

    ``amount`` holds the parameters that say how much is measured.
    """
    notebook = _notebook(case)
    if notebook == "explore":
        return of_all([case], amount)
    given = {name: case[name] for name in ("system", "transport", "payload_bytes")}
    given["options"] = case.get("options") or {}
    if notebook == "openload":
        given |= {"rates": case["rate"], "clients": case["clients"]}
    elif notebook == "clients":
        given["clients"] = case["clients"]
    if "placement" in case:
        given["placement"] = case["placement"]
    if notebook != "openload" and not given["options"]:
        del given["options"]  # only there the notebook's own default is not empty
    return _line(notebook, given | amount)


def of_all(cases: Sequence[Spelled], amount: Spelled) -> str:
    """Return the command that measures several cases in turns."""
    return _line("explore", {"cases": list(cases)} | amount)


def spelled(case: Case) -> Spelled:
    """Return a case as ``bench.experiments.explore.plan`` reads it, without what is the default."""
    usual = systems.load(case.system).Options()
    options = {name: value for name, value in case.options.items() if value != getattr(usual, name, None)}
    parallel = case.load == "open" or case.clients * case.callers > 1
    rest = {
        "options": options,
        "rate": case.offered_per_s,
        "clients": case.clients if parallel else 1,
        "callers": case.callers,
        "engine": case.engine,
        "placement": case.placement,
    }
    usual_rest: tuple[Any, ...] = ({}, 0, 1, "library", placement.default(parallel))
    kept = {name: value for name, value in rest.items() if value not in usual_rest}
    kept |= {name: getattr(case, name) for name, value in HERE.items() if getattr(case, name) != value}
    return {"system": case.system, "transport": case.transport, "payload_bytes": case.payload_bytes} | kept


def _notebook(case: Spelled) -> str:
    """Return the notebook that can measure a case."""
    if any(name in case for name in HERE):
        return "explore"
    if case["system"] == INSTRUMENT or ("rate" in case and "placement" in case):
        return "explore"
    if "rate" in case:
        return "openload"
    return "clients" if case.get("clients", 1) > 1 else "latency"


def _line(notebook: str, given: Spelled) -> str:
    words = "".join(f" -p {name} {word(value)}" for name, value in given.items())
    return f"papermill {notebook}.ipynb out.ipynb{words}"


def word(value: Any) -> str:
    """Return a value as papermill reads it, quoted for a shell."""
    if isinstance(value, dict | list):
        value = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6).strip()
    text = str(value)
    if re.fullmatch(r"[\w.,:/+-]+", text):
        return text
    return f'"{text}"' if not re.search(r'[$"`\\!\n]', text) else shlex.quote(text)
