"""The papermill command that measures what is on the page, for a shell in ``notebooks/``."""

from collections.abc import Sequence
from typing import Any

from bench import systems
from bench.apps.repeat import word
from bench.codecs.message_types import BYTES
from bench.plan import placement
from bench.plan.case import Case

USUAL = {"profile": "class", "starts": None, "window_s": None, "seed": 1}  # as all notebooks have it

Spelled = dict[str, Any]


def unusual(amount: Spelled) -> Spelled:
    """Return the parameters that say how much is measured where they are not the notebooks' defaults."""
    return {name: value for name, value in amount.items() if value != USUAL.get(name)}


def measuring(cases: Sequence[Spelled], amount: Spelled) -> str:
    """Return the command that measures cases in turns; ``amount`` holds the parameters that say how much."""
    words = "".join(f" -p {name} {word(value)}" for name, value in ({"cases": list(cases)} | amount).items())
    return f"papermill explore.ipynb out.ipynb{words}"


def spelled(case: Case) -> Spelled:
    """Return a case as ``bench.experiments.explore`` reads it, without what is the default."""
    defaults = systems.load(case.system).Options()
    options = {name: value for name, value in case.options.items() if value != getattr(defaults, name, None)}
    parallel = case.load == "open" or case.clients * case.callers > 1
    rest = {
        "options": options,
        "rate": case.offered_per_s,
        "clients": case.clients if parallel else 1,
        "callers": case.callers,
        "engine": case.engine,
        "placement": case.placement,
        "message": case.message,
        "calls_per_connection": case.calls_per_connection,
        "outstanding": case.outstanding,
    }
    usual: tuple[Any, ...] = ({}, 0, 1, "library", BYTES, placement.default(parallel))
    changed = {name: value for name, value in rest.items() if value not in usual}
    return {"system": case.system, "transport": case.transport, "payload_bytes": case.payload_bytes} | changed
