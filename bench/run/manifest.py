"""The fields of a manifest and what each may be, so that no later reader meets a text where it counts on a number."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any

from bench.plan.case import Case
from bench.plan.plan import Plan

DEEPEST = 20  # lists and objects inside each other
MOST = 10**12  # of a count or a rate; times in ns are in the tables
LONGEST_NAME, LONGEST_TEXT = 80, 1000
Faults = Iterator[tuple[str, str]]  # where, and what is expected there
Kind = Callable[[Any, str], Faults]


def problem(manifest: Any) -> str:
    """Return which field of a manifest cannot be used, and what is expected in its place; "" if all can."""
    if _depth(manifest) > DEEPEST:
        return "it is nested too deeply"
    where, wanted = next(MANIFEST(manifest, ""), ("", ""))
    return f"{_short(where)} is not {wanted}" if wanted else ""


def _short(where: str) -> str:
    name = where.removeprefix(".") or "the whole of it"
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def _depth(value: Any) -> int:
    """Return how many lists and objects are inside each other, at most one more than are allowed."""
    level, depth = [value], 0
    while depth <= DEEPEST and (level := [one for one in level if isinstance(one, dict | list)]):
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
        depth += 1
    return depth


def text(most: int | None = None, pattern: str = ".*") -> Kind:
    """Return the kind of texts of at most so many characters that match a pattern."""

    def check(value: Any, at: str) -> Faults:
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.S):
            yield at, "a text" if pattern == ".*" else "a name"
        elif most is not None and len(value) > most:
            yield at, f"a text of at most {most:,} characters"

    return check


def number(least: float = 0, most: float = MOST, is_whole: bool = False) -> Kind:
    """Return the kind of numbers in a range."""

    def check(value: Any, at: str) -> Faults:
        is_number = isinstance(value, int if is_whole else int | float) and not isinstance(value, bool)
        if not is_number or not least <= value <= most:  # not a number is in no range
            yield at, f"a {'whole ' if is_whole else ''}number from {least:,.15g} to {most:,.15g}"

    return check


def flag(value: Any, at: str) -> Faults:
    """Accept true and false."""
    if not isinstance(value, bool):
        yield at, "true or false"


def scalar(value: Any, at: str) -> Faults:
    """Accept what is neither a list nor an object, and not too long."""
    if isinstance(value, dict | list) or (isinstance(value, str) and len(value) > LONGEST_TEXT):
        yield at, "a number, a text, true or false"


def date(value: Any, at: str) -> Faults:
    """Accept a date with a time and a zone."""
    try:
        if datetime.fromisoformat(value).tzinfo is not None:
            return
    except (TypeError, ValueError):
        pass
    yield at, "a date with a time and a zone"


def known(kind: Kind) -> Kind:
    """Return the kind that is also null, for what may not be known."""

    def check(value: Any, at: str) -> Faults:
        if value is not None:
            yield from kind(value, at)

    return check


def several(kind: Kind, least: int = 0) -> Kind:
    """Return the kind of lists of a kind."""

    def check(value: Any, at: str) -> Faults:
        if not isinstance(value, list):
            yield at, "a list"
        elif len(value) < least:
            yield at, f"a list of at least {least}"
        else:
            for place, item in enumerate(value):
                yield from kind(item, f"{at}[{place}]")

    return check


def table(kind: Kind) -> Kind:
    """Return the kind of objects with any names, whose values are of a kind."""

    def check(value: Any, at: str) -> Faults:
        if not isinstance(value, dict):
            yield at, "an object of names and values"
            return
        for name, item in value.items():
            yield from kind(item, f"{at}.{name}")

    return check


def record(
    needed: Mapping[str, Kind], optional: Mapping[str, Kind] | None = None, others: Kind | None = scalar
) -> Kind:
    """Return the kind of objects with fields: some needed, some optional; others of a kind, or none."""
    kinds = {**needed, **(optional or {})}

    def check(value: Any, at: str) -> Faults:
        if not isinstance(value, dict):
            yield at, "an object of names and values"
            return
        for name in needed:
            if name not in value:
                yield f"{at}.{name}", "there"
        for name, item in value.items():
            if name in kinds:
                yield from kinds[name](item, f"{at}.{name}")
            elif others is None:
                yield f"{at}.{name}", "known to this version: update Roundtrip"
            else:
                yield from others(item, f"{at}.{name}")

    return check


def anything(value: Any, at: str) -> Faults:
    """Accept whatever a later version may write."""
    yield from ()


def pair(value: Any, at: str) -> Faults:
    """Accept a list of two counts."""
    if not isinstance(value, list) or len(value) != 2:
        yield at, "a list of two numbers"
    else:
        yield from several(COUNT)(value, at)


NAME = text(LONGEST_NAME, r"[\w.+-]+")
TEXT, LONG_TEXT = text(LONGEST_TEXT), text()
COUNT = number(1, is_whole=True)
FROM_ZERO = number(is_whole=True)
FEW = number(1, 10**6, is_whole=True)
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("system", "transport", "placement", "load", "arrivals", "engine", "notebook"), NAME),
    "profile": text(LONGEST_NAME),  # "budget 12 s" as well
    **dict.fromkeys(("payload_bytes", "max_calls"), COUNT),
    **dict.fromkeys(("clients", "callers", "starts"), FEW),
    "options": table(scalar),
    "offered_per_s": number(),
    "target": known(TEXT),
    "message": TEXT,
    "content": LONG_TEXT,
    "retry": table(scalar),
    **dict.fromkeys(("replies", "reply_bytes", "gap_us"), FROM_ZERO),
    **dict.fromkeys(("calls_per_connection", "large_bytes", "p99_bytes"), FROM_ZERO),
    "outstanding": COUNT,
    "fresh_router": flag,
    "sessions": several(pair),
    "window_s": number(1e-9, 10**6),
    "seed": FROM_ZERO,
    "absent": table(LONG_TEXT),
    "hosts": record(
        {},
        {
            "namespaces": record({"rate_mbit": FROM_ZERO}, others=None),
            "scheduler": TEXT,
            "server": NAME,
            "load": several(NAME),
            "latency": NAME,
        },
        others=None,
    ),
}


def _of(kind: type[Any], more: Mapping[str, Kind]) -> Kind:
    """Return the kind of objects that hold the fields of a dataclass; those without a default are needed."""
    kinds = {**_KINDS, **more}
    parts: tuple[dict[str, Kind], dict[str, Kind]] = ({}, {})
    for one in fields(kind):
        is_optional = one.default is not MISSING or one.default_factory is not MISSING
        parts[is_optional][one.name] = kinds[one.name]
    return record(*parts, others=None)


PLAN = _of(Plan, {"cases": several(_of(Case, {}), least=1)})
MACHINE = record(
    {"machine_id": NAME, "cpus_allowed": FEW},
    {
        **dict.fromkeys(("cpu_model", "system", "kernel"), TEXT),
        "clock_cost_ns": known(number()),
        "virtual": known(flag),
    },
)
PROBE = record(
    {"rate": number(), "achieved": number(), "kept": flag},
    dict.fromkeys(("quantile_us", "server_cpu_us"), known(number())),
)
CAPACITY = record(
    {
        "objective": TEXT,
        "p": number(0, 1),
        "probes": several(PROBE),
        "confirmed": flag,
        "ended": flag,
        **dict.fromkeys(("limit_us", "low_per_s", "high_per_s"), number()),
    }
)
CHECK = record(dict.fromkeys(("name", "verdict", "found", "advice"), LONG_TEXT))
MANIFEST = record(
    {
        "created": date,
        "finished": flag,
        "plan": PLAN,
        "machine": MACHINE,
        "versions": table(TEXT),
        "git": record({"revision": known(TEXT), "dirty": known(flag)}),
    },
    {
        "version": FROM_ZERO,
        "id": TEXT,
        "digest": TEXT,
        "data_digest": TEXT,
        "failures": several(record({"start": FROM_ZERO, "case": FROM_ZERO, "error": LONG_TEXT})),
        "checks": several(CHECK),
        "capacity": CAPACITY,
        "collected": several(TEXT),
        "parameters": table(anything),
        "hosts": table(MACHINE),
    },
    others=anything,
)
