"""Numbers and lists in words: at most three digits and a unit that suits them; "a, b and c"."""

import functools
import math
import re
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

TIMES = ((1e-3, "ns"), (1.0, "µs"), (1e3, "ms"), (1e6, "s"))  # us in one, and its name
LETTERS = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"))


def duration(us: float, *, like: float | None = None) -> str:
    """Return a time given in us with three digits and a unit that suits it; of a difference also a negative one.

    like: the value whose unit is used instead: the ends of an interval have the unit of the value before them.
    """
    return _in_unit(us, us if like is None else like, TIMES)


def quantity(value: float, unit: str = "", *, like: float | None = None) -> str:
    """Return a number with three digits and k, M or G; with the letter that suits another value, ``like``."""
    return _in_unit(value, value if like is None else like, [(size, letter + unit) for size, letter in LETTERS])


def factor(value: float) -> str:
    """Return a factor with two digits, never as a power of ten: 0.13, 1.9, 18, 104."""
    return f"{value:.2g}" if value < 99.5 else f"{value:,.0f}"


in_bytes = functools.partial(quantity, unit="B")


def _in_unit(value: float, like: float, units: Sequence[tuple[float, str]]) -> str:
    """Return a value in the largest unit of which ``like``, rounded to three digits, is at least one."""
    suits = [unit for unit in units if abs(float(f"{like:.3g}")) >= unit[0]]
    size, name = suits[-1] if suits else units[0]
    return f"{three_digits(value / size, 2 if value == like else 5)} {name}".rstrip()


def plain(text: str) -> str:
    """Return a number's text without trailing zeros: 1.00 ms is 1 ms on an axis."""
    number, _, unit = text.partition(" ")
    return f"{float(number.replace(',', '')):,.6g} {unit}".rstrip()


def three_digits(value: float, decimals: int = 2) -> str:
    """Return a number with three digits, and at most so many decimals."""
    if math.isnan(value):
        return "n/a"
    rounded = float(f"{value:.3g}")
    digits = 2 - math.floor(math.log10(abs(rounded))) if rounded else 2
    return f"{rounded if digits < 0 else value:,.{min(max(digits, 0), decimals)}f}"  # not rounded twice


def listed(items: Iterable[object], before_last: str = "and") -> str:
    """Return items as prose: "a, b and c", or with another word before the last."""
    *head, last = [str(item) for item in items]
    return f"{', '.join(head)} {before_last} {last}" if head else last


def paragraphs(*parts: str) -> str:
    """Return as Markdown the parts that say something."""
    return "\n\n".join(filter(None, parts))


def unmarked(markdown: str) -> str:
    """Return Markdown as plain text: without stress and code marks, and of a link its words."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown).replace("**", "").replace("`", "")


def counted(number: int, what: str) -> str:
    """Return "1 zip" or "3 zips"."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def percent_beside(value: float, limit: float) -> str:
    """Return a share in per cent, with as many decimals as show on which side of a limit it is: "90.3%" beside 90 %."""
    if value == limit:
        return f"{value:.0%}"
    digits = next((digits for digits in range(4) if f"{value:.{digits}%}" != f"{limit:.{digits}%}"), 4)
    return f"{value:.{digits}%}"


def capitalized(text: str) -> str:
    """Return a text as a sentence begins, with all other letters as they are."""
    return text[:1].upper() + text[1:]


def one_line(text: str, max_length: int = 600) -> str:
    """Return a text on one line, without control characters, cut where it is too long for a sentence."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= max_length else f"{line[:max_length]}..."


def quoted(value: object) -> str:
    """Return a value that a person gave as Python writes it, on one line, in at most ``LONGEST`` characters.

    A text is in quotes. No more of a value is looked at than is shown, however large or deep it is.
    """
    shown = repr(value[:100]) + "..." * (len(value) > 100) if isinstance(value, str) else _short.repr(value)
    return one_line(shown, LONGEST - 3)


LONGEST = 200  # characters of a value that a sentence quotes


class _Short(reprlib.Repr):
    """Writes the beginning of each value, and of values inside it."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = self.maxlong = 100

    def repr_int(self, number: int, level: int) -> str:
        """Write a whole number, unless Python refuses to for its length."""
        if abs(number) < 10**self.maxlong:
            return repr(number)
        return f"a number of about {number.bit_length() * math.log10(2):,.0f} digits"


_short = _Short()


_PLAIN = {
    "µ": "u",
    "μ": "u",
    "×": "x",
    "≥": ">=",
    "≤": "<=",
    "≈": "~",
    "±": "+/-",
    "…": "...",
    "²": "2",
    "τ": "tau",
    **dict.fromkeys("–—−", "-"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”", '"'),
}


def plainly(error: UnicodeError) -> tuple[str, int]:
    """Return plain letters for the signs that an output cannot show, so that units can still be read: us for µs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign, " " if sign.isspace() else "?") for sign in signs), error.end


def few(names: list[str]) -> str:
    """Return up to four names as prose, each once; of more three, and how many others there are."""
    once = list(dict.fromkeys(names))
    return listed(once if len(once) <= 4 else [*once[:3], f"{len(once) - 3} more"])


_CONTROL = {code: chr(0x2400 + code) for code in range(32)} | {127: "\u2421"} | dict.fromkeys(range(128, 160), "\ufffd")
_DIRECTION = dict.fromkeys((*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF), "\ufffd")
_MARKUP = {ord(sign): chr(ord(sign) + 0xFEE0) for sign in "`$|\\"}  # the same signs, as wide as a Chinese one
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_HARMLESS = _CONTROL | _DIRECTION | _MARKUP


def harmless(text: str) -> str:
    """Return a text of others without what a terminal, Markdown, HTML or a figure would obey.

    Control characters and those that turn the direction of writing become visible signs, and the signs with which
    markup begins their wide twins: what is written can still be read, and nothing else happens.
    """
    return _TAG.sub("\uff1c", text.translate(_HARMLESS)).replace("](", "\uff3d(")


def with_dollars(text: str) -> str:
    """Return a harmless text for a terminal or a program, to which a dollar sign begins no formula."""
    return text.replace("\uff04", "$")


def all_harmless(value: Any) -> Any:
    """Return what JSON held with all its texts harmless, names of fields included."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, dict):
        return {harmless(str(name)): all_harmless(item) for name, item in value.items()}
    return [all_harmless(item) for item in value] if isinstance(value, list) else value


def ratio_ends(middle: float, low: float, high: float) -> tuple[str, str, str]:
    """Return a ratio and the ends of its interval in words, the same everywhere: at most three digits each.

    More only where an end would read as the ratio itself, or as 1 without being 1, up to four decimals. Ends that are
    not known are "n/a".
    """
    ends = (middle, low, high)
    first, *others = words = [three_digits(end) for end in ends]
    is_close = first in others and low < middle < high
    like_one = any(_reads_as_one(end, word) for end, word in zip(ends[1:], others, strict=True))
    for decimals in range(len(first.partition(".")[2]) + 1, 5 * (is_close or like_one)):
        closer = [f"{end:,.{decimals}f}" for end in ends]
        if closer[0] not in closer[1:] and not any(map(_reads_as_one, ends[1:], closer[1:])):
            words = closer
            break
    return words[0], words[1], words[2]


def _reads_as_one(value: float, word: str) -> bool:
    return value != 1 and word != "n/a" and float(word.replace(",", "")) == 1
