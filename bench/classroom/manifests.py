"""The manifest of a submitted run: what is told of a run, and what is believed when a stranger tells it."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from bench import checks, outcomes
from bench.classroom.zips import RUN, RefusedError, plain
from bench.placement import PLACEMENTS
from bench.plan import ARRIVALS, ENGINES, MOST_BYTES, MOST_CALLS, MOST_CLIENTS, MOST_PER_S, Case, Plan, plan_from_dict
from bench.results import Run

VERSION = 1
MOST_CASES = 1000
MACHINE = (  # what is told of a machine, as bench/machine.py records it
    *("machine_id", "system", "kernel", "architecture", "cpu_model", "cpus", "cpus_allowed", "cpu_limit", "virtual"),
    *("governor", "clock_source", "clock_cost_ns", "memory_bytes", "python"),
)
FACTORS = tuple(field.name for field in fields(Case) if field.name != "target")  # an address is never told

Test = Callable[[Any], bool]


@dataclass(frozen=True)
class Manifest:
    """What a manifest says that passed every test; its texts can be shown anywhere."""

    id: str
    created: datetime
    machine: dict[str, Any]
    plan: Plan
    checks: dict[str, str]

    @property
    def machine_id(self) -> str:
        """The salted name of the machine."""
        return str(self.machine["machine_id"])


def told(run: Run) -> dict[str, Any]:
    """Return what a submission says of a run: no address, no text of an error, no word that a person typed."""
    stored, plan = run.manifest, run.plan
    told_plan = {name: getattr(plan, name) for name in ("notebook", "profile", "starts", "window_s", "seed")}
    return {
        "submission": VERSION,
        "id": run.id,
        "created": stored["created"],
        "revision": stored["git"]["revision"],
        "machine": {name: stored["machine"].get(name) for name in MACHINE},
        "versions": stored["versions"],
        "checks": {one.name: one.verdict for one in checks.check(run)},
        "plan": told_plan | {"cases": [{name: getattr(case, name) for name in FACTORS} for case in plan.cases]},
    }


def written(content: dict[str, Any]) -> bytes:
    """Return a manifest as it lies in a zip."""
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def read(data: bytes) -> Manifest:
    """Return a manifest that a stranger wrote; RefusedError names the first thing that cannot be."""
    try:
        content = json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError) as reason:
        raise RefusedError(f"its manifest is not JSON ({plain(reason)})") from reason
    _must(content, TOP, "manifest")
    _must(content["machine"], {"machine_id": _matches("[0-9a-f]{8}"), "cpus_allowed": _whole(1, 100_000)}, "machine")
    _must(content["plan"], PLAN, "plan")
    for case in content["plan"]["cases"]:
        _must(case, CASE, "case")
    cases = [{name: case[name] for name in CASE} | {"target": None} for case in content["plan"]["cases"]]
    plan = {name: content["plan"][name] for name in PLAN} | {"cases": cases}
    machine = {name: _harmless(content["machine"].get(name)) for name in MACHINE}
    when = datetime.fromisoformat(content["created"])
    return Manifest(content["id"], when, machine, plan_from_dict(plan), content["checks"])


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _must(found: Any, tests: dict[str, Test], what: str) -> None:
    """Refuse what is not a mapping with these fields, or whose fields do not pass their tests."""
    if not isinstance(found, dict):
        raise RefusedError(f"its manifest has a {what} that is no mapping")
    for name, test in tests.items():
        if name not in found or not test(found[name]):
            value = f"is {plain(found[name], 40)}" if name in found else "is missing"
            raise RefusedError(f"in its manifest {name} of the {what} {value}")


def _harmless(value: Any) -> Any:
    """Return a fact about a machine as a number, a truth value, nothing, or a short line."""
    small = isinstance(value, int | float) and abs(value) < 1e18
    return value if value is None or isinstance(value, bool) or small else plain(value)


def _matches(pattern: str) -> Test:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _whole(low: int, high: int) -> Test:
    return lambda value: type(value) is int and low <= value <= high


def _number(low: float, high: float) -> Test:
    return lambda value: type(value) in (int, float) and low <= value <= high


def _one_of(known: Any) -> Test:
    return lambda value: isinstance(value, str) and value in known


def _each(names: Test, values: Test, most: int) -> Test:
    """Return a test of mappings with few fields."""

    def test(found: Any) -> bool:
        return isinstance(found, dict) and len(found) <= most and all(names(n) and values(v) for n, v in found.items())

    return test


def _list(found: Any) -> bool:
    return isinstance(found, list) and 0 < len(found) <= MOST_CASES


def _time(value: Any) -> bool:
    """Return whether this is a time with its zone, up to now and a day."""
    try:
        return isinstance(value, str) and (datetime.fromisoformat(value) - datetime.now(UTC)).days < 1
    except (ValueError, TypeError, OverflowError):
        return False


NAME = _matches(r"[A-Za-z_][A-Za-z0-9_.-]{0,39}")
WORD = _matches(r"[A-Za-z0-9_.+-]{0,40}")
OPTION: Test = lambda value: isinstance(value, bool) or WORD(value) or _number(-1e15, 1e15)(value)  # noqa: E731

TOP: dict[str, Test] = {
    "submission": _whole(1, VERSION),
    "id": _matches(RUN),
    "created": _time,
    "checks": _each(NAME, _one_of((outcomes.PASS, outcomes.CAUTION, outcomes.INVALID)), 50),
    "machine": lambda value: isinstance(value, dict),
    "plan": lambda value: isinstance(value, dict),
}
PLAN: dict[str, Test] = {
    "notebook": NAME,
    "profile": NAME,
    "starts": _whole(1, 1000),
    "window_s": _number(0, 3600),
    "seed": _whole(1, 2**31),
    "cases": _list,
}
CASE: dict[str, Test] = {
    "system": _matches("[a-z][a-z0-9_]{0,39}"),
    "transport": _one_of(("inproc", "ipc", "tcp")),
    "payload_bytes": _whole(0, MOST_BYTES),
    "options": _each(NAME, OPTION, 30),
    "placement": _one_of(PLACEMENTS),
    "load": _one_of(("closed", "open", "stream")),
    "offered_per_s": _number(0, MOST_PER_S),
    "arrivals": _one_of(ARRIVALS),
    "clients": _whole(1, MOST_CLIENTS),
    "callers": _whole(1, 1_000_000),
    "engine": _one_of(ENGINES),
    "fresh_router": lambda value: isinstance(value, bool),
    "max_calls": _whole(1, MOST_CALLS),
}
