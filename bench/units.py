"""Numbers in words: three digits, and a unit that suits them."""

import numpy as np


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
    """Return a number's text without zeros that say nothing: 1.00 ms is 1 ms on an axis."""
    number, _, unit = text.partition(" ")
    return f"{float(number):g} {unit}".rstrip()


def _three(value: float) -> str:
    if value != value:
        return "n/a"
    rounded = float(f"{value:.3g}")
    digits = 2 - int(np.floor(np.log10(abs(rounded)))) if rounded else 2
    return f"{rounded:.{min(max(digits, 0), 2)}f}"
