"""Parsing of parameters: names, lists, sizes and counts, or an error that states the expected form.

Notebook parameters may arrive as numbers, as lists, or (``papermill -p``) as strings that hold either.
"""

import re
from collections.abc import Sequence
from typing import Any

from bench.errors import UsageError, unknown
from bench.plan import yaml_text
from bench.text import quoted

MOST_ITEMS = 1000  # of a list


def literal(value: object) -> object:
    """Return the value of a string parsed as YAML or JSON ("[1, 2]" is a list); other values unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return yaml_text.value_of(value)
    except ValueError as reason:
        raise UsageError(
            f"cannot read {quoted(value)} ({reason}): write a name, a number or a list like [100, 1000]"
        ) from reason


def as_list(value: object) -> list[object]:
    """Return a list, from one value, a list, or a string of either."""
    value = literal(value)
    if isinstance(value, str) and "," in value:
        value = [part.strip() for part in value.split(",")]
    if not isinstance(value, list | tuple):
        return [value]
    if len(value) > MOST_ITEMS:
        raise UsageError(f"a list of {len(value):,} values is too long: give at most {MOST_ITEMS:,}")
    return list(value)


def names(value: object, what: str, known: Sequence[str]) -> list[str]:
    """Return the chosen names, each once: one name, a list, or "all"; UsageError lists those that exist."""
    chosen = as_list(value)
    if chosen == ["all"]:
        return list(known)
    for name in chosen:
        if name not in known:
            raise unknown(what, name, known)
    if not chosen:
        raise UsageError(f"{what} is an empty list: there are {', '.join(known)}")
    return list(dict.fromkeys(str(name) for name in chosen))


def one_name(value: object, what: str, known: Sequence[str]) -> str:
    """Return the chosen name; UsageError for several, and for one that does not exist."""
    chosen = names(value, what, known)
    if len(chosen) != 1:
        raise UsageError(f"{what} takes one name here, not {quoted(value)}: there are {', '.join(known)}")
    return chosen[0]


def positive(value: object, what: str, at_most: float, whole: bool = True) -> float:
    """Return a number above zero and up to ``at_most``; UsageError says which are allowed."""
    number = literal(value)
    wanted = f"{what} must be a {'whole ' if whole else ''}number above 0 and at most {at_most:,.15g}"
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise UsageError(f"{wanted}, not {quoted(value)}")
    if not 0 < number <= at_most or (whole and number != int(number)):
        raise UsageError(f"{wanted}, not {quoted(value)}")
    return int(number) if whole else float(number)


def count(value: object, what: str, at_most: int, least: int = 1) -> int:
    """Return a whole number from ``least``, which is 0 or 1, up to ``at_most``; UsageError says which are allowed."""
    return 0 if least == 0 and literal(value) == 0 else int(positive(value, what, at_most))


def percent(value: object, what: str) -> float:
    """Return a share above 0 and below 1 from a text such as "2%"; UsageError states the form."""
    match = re.fullmatch(r"\s*(\d{1,2}(?:\.\d{1,6})?)\s*%\s*", value if isinstance(value, str) else "")
    if not match or not float(match[1]):
        raise UsageError(f"{what} must be a percentage such as 2%, above 0% and below 100%, not {quoted(value)}")
    return float(match[1]) / 100


def positives(value: object, what: str, at_most: int, least: int = 1) -> list[int]:
    """Return a list of whole numbers, each once and in the order given, from ``least``, which is 0 or 1.

    value: one number, a list, or a string of either.
    """
    numbers = [count(item, what, at_most, least) for item in as_list(value)]
    if not numbers:
        raise UsageError(f"{what} is an empty list: give at least one number")
    return list(dict.fromkeys(numbers))


def flag(value: object, what: str) -> bool:
    """Return a truth value; UsageError for anything but true and false."""
    answer = literal(value)
    if not isinstance(answer, bool):
        raise UsageError(f"{what} must be true or false, not {quoted(value)}")
    return answer


def text(value: object, what: str) -> str:
    """Return a text as it is; UsageError for a value of another kind."""
    if not isinstance(value, str):
        raise UsageError(f"{what} must be a text, not {quoted(value)}")
    return value


def mapping(value: object, what: str) -> dict[str, Any]:
    """Return a mapping, given as such or as a string ("{writes: 2}"); an empty string is an empty mapping."""
    items = literal(value)
    if items in (None, ""):
        return {}
    if not isinstance(items, dict):
        raise UsageError(f"{what} must be a mapping like {{name: value}}, not {quoted(value)}")
    return {str(name): item for name, item in items.items()}
