"""The fields of a manifest and what each may be, so that no later reader meets a text where it counts on a number."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from bench.plan.case import Case
from bench.plan.hosts import Name, Roles
from bench.plan.plan import Plan
from bench.text import one_line

DEEPEST = 20  # lists and objects inside each other
MOST = 10**12  # of a count or a rate; times in ns are in the tables

Text = Annotated[str, Meta(max_length=1000)]
FromZero = Annotated[int, Meta(ge=0, le=MOST)]
Count = Annotated[int, Meta(ge=1, le=MOST)]
Processes = Annotated[int, Meta(ge=1, le=10**6)]
Number = Annotated[float, Meta(ge=0, le=MOST)]
Signed = Meta(ge=-MOST, le=MOST)
Scalar = Text | Annotated[int, Signed] | Annotated[float, Signed] | bool | None


def problem(manifest: Any) -> str:
    """Return which field of a manifest cannot be used, and what is expected in its place; "" if all can."""
    try:
        if _is_deeper(manifest, DEEPEST):
            return "it is nested too deeply"
        plan: Any = msgspec.convert(manifest, _Manifest).plan
        if any(index >= len(plan.cases) for group in plan.groups or () for index in group):
            return "a group of cases that take turns has a case that the plan has not - at plan.groups"
    except msgspec.ValidationError as reason:
        return in_words(reason)
    return ""


def signature(manifest: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a manifest's fields, except ``digest``, which holds it."""
    others = {name: value for name, value in manifest.items() if name != "digest"}
    return hashlib.sha256(json.dumps(others, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def in_words(reason: Exception) -> str:
    """Return what msgspec found wrong, with the path of the field, on one line."""
    return one_line(str(reason).replace("`$.", "`").replace("`", ""), 300)


def _is_deeper(value: Any, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return inside is not None and (levels == 0 or any(_is_deeper(item, levels - 1) for item in inside))


def _record(kind: type[Any], types: Mapping[str, Any]) -> Any:
    """Return the struct of a dataclass's fields, each with the type given for its name, or else for its own type.

    A field without a default is required, and there are no others.
    """
    by_type: dict[Any, Any] = {str: Name, int: FromZero, float: Number, bool: bool}
    rows = []
    for field in fields(kind):
        is_required = field.default is MISSING and field.default_factory is MISSING
        wanted = types.get(field.name) or _limited(field) or by_type.get(field.type, dict[str, Scalar])
        rows.append((field.name, wanted, NODEFAULT if is_required else None))
    return msgspec.defstruct(kind.__name__, rows, forbid_unknown_fields=True, kw_only=True)


def _limited(field: Field[Any]) -> Any:
    """Return the type of a whole number with the limits of its field; None of a field without limits."""
    limits = field.metadata
    return Annotated[int, Meta(ge=limits["least"], le=limits["most"])] if limits else None


class _Namespaces(Struct, forbid_unknown_fields=True):
    rate_mbit: FromZero


class _Hosts(Roles, kw_only=True, forbid_unknown_fields=True):
    namespaces: _Namespaces | None = None
    scheduler: Text = ""


CASE = _record(
    Case,
    {
        "target": Text | None,
        "sessions": list[tuple[Count, Count]],
        "message": Text,
        "content": str,
        "source": Annotated[str, Meta(pattern=r"\A[\w.+/~^@-]*\Z", max_length=200)],
        "hosts": _Hosts,
    },
)
PLAN = _record(
    Plan,
    {
        "cases": Annotated[list[CASE], Meta(min_length=1)],  # type: ignore[valid-type]
        "starts": Processes,
        "window_s": Annotated[float, Meta(gt=0, le=10**6)],
        "profile": Annotated[str, Meta(max_length=80)],  # "budget 12 s" as well
        "absent": dict[str, str],
        "groups": list[list[FromZero]],
    },
)


class _Machine(Struct):
    machine_id: Name
    cpus_allowed: Processes
    cpu_model: Text = ""
    system: Text = ""
    kernel: Text = ""
    architecture: Text = ""
    python: Text = ""
    governor: Text | None = None
    idle_poll_ns: Annotated[int, Meta(ge=0)] | None = None
    clock_source: Text | None = None
    clock_cost_ns: Number | None = None
    cpus: FromZero | None = None
    cpu_limit: Number | None = None
    memory_bytes: Annotated[int, Meta(ge=0)] | None = None
    virtual: bool | None = None


class _Git(Struct):
    revision: Text | None
    dirty: bool | None


class _Probe(Struct):
    rate: Number
    achieved: Number
    kept: bool
    quantile_us: Number | None = None
    confirms: bool = False
    shortfall: str = ""
    server_cpu_us: Number | None = None  # of older runs


class _Capacity(Struct):
    objective: Text
    p: Annotated[float, Meta(ge=0, le=1)]
    probes: list[_Probe]
    confirmed: bool
    ended: bool
    limit_us: Number
    low_per_s: Number
    high_per_s: Number
    control: list[_Probe] = []
    rule: Text = ""
    requests: FromZero = 0


class _Look(Struct):
    blocks: Processes
    confidence: Annotated[float, Meta(ge=0, le=1)]
    half_width: Number | None = None


class _Failure(Struct):
    start: FromZero
    case: FromZero
    error: str


class _Check(Struct):
    name: str
    verdict: str
    found: str
    advice: str


class _Manifest(Struct):
    created: Annotated[datetime, Meta(tz=True)]
    finished: bool
    plan: PLAN  # type: ignore[valid-type]
    machine: _Machine
    versions: dict[str, Text]
    git: _Git
    version: FromZero = 0
    id: Text = ""
    digest: Text = ""
    data_digest: Text = ""
    failures: list[_Failure] = []
    checks: list[_Check] = []
    capacity: _Capacity | None = None
    look: _Look | None = None
    collected: list[Text] = []
    kept_although: list[Text] = []
    parameters: dict[str, Any] = {}
    hosts: dict[str, _Machine] = {}
    sources: dict[str, Text] = {}
    services: list[Text] = []
