"""Numbers and lists in words: three digits and a unit that suits them; "a, b and c"."""

import math
from collections.abc import Iterable


def duration(us: float) -> str:
    """Return a time given in us with three digits and a unit that suits it."""
    for limit, factor, unit in ((1, 1e3, "ns"), (1e3, 1, "µs"), (1e6, 1e-3, "ms")):
        if us < limit:
            return f"{_three(us * factor)} {unit}"
    return f"{_three(us * 1e-6)} s"


def quantity(value: float, unit: str = "") -> str:
    """Return a number with three digits and k, M or G."""
    for limit, factor, letter in ((1e3, 1, ""), (1e6, 1e-3, "k"), (1e9, 1e-6, "M")):
        if abs(value) < limit:
            return f"{_three(value * factor)} {letter}{unit}".rstrip()
    return f"{_three(value * 1e-9)} G{unit}"


def plain(text: str) -> str:
    """Return a number's text without trailing zeros: 1.00 ms is 1 ms on an axis."""
    number, _, unit = text.partition(" ")
    return f"{float(number):g} {unit}".rstrip()


def _three(value: float) -> str:
    if value != value:
        return "n/a"
    rounded = float(f"{value:.3g}")
    digits = 2 - math.floor(math.log10(abs(rounded))) if rounded else 2
    return f"{rounded:.{min(max(digits, 0), 2)}f}"


def listed(items: Iterable[object]) -> str:
    """Return items as prose: "a, b and c"."""
    *head, last = [str(item) for item in items]
    return f"{', '.join(head)} and {last}" if head else last


def counted(number: int, what: str) -> str:
    """Return "1 zip" or "3 zips"."""
    return f"{number} {what}{'s' * (number != 1)}"


def few(names: list[str], most: int = 4) -> str:
    """Return some names as prose, each once, and how many more there are."""
    each = list(dict.fromkeys(names))
    return listed(each if len(each) <= most else [*each[: most - 1], f"{len(each) - most + 1} more"])
