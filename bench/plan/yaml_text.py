"""Values that a person wrote as YAML or JSON: texts, numbers, truth values, and lists and mappings of these."""

import re
from typing import Any

import yaml

from bench.plan.documents import MOST_BYTES, MOST_DIGITS
from bench.text import one_line, quoted


def value_of(text: str) -> Any:
    """Return the value of a text; ValueError says on one line what is wrong with it."""
    if len(text) > MOST_BYTES:
        raise ValueError(f"it is longer than {MOST_BYTES:,} characters")
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as reason:
        what = one_line(reason.problem or reason.context or "it is no YAML", 150)
        is_key = reason.context == "while scanning a simple key"  # which is before the place where this was noticed
        mark = reason.context_mark if is_key else reason.problem_mark
        raise ValueError(f"line {mark.line + 1}, column {mark.column + 1}: {what}" if mark else what) from reason
    except yaml.YAMLError as reason:  # of a sign that YAML does not have
        raise ValueError(one_line(str(reason), 150)) from reason
    except RecursionError as reason:
        raise ValueError("it is nested too deeply") from reason
    except LookupError as reason:  # of a tag beside what it cannot stand for: !!bool 7
        raise ValueError("it holds a value of the wrong kind") from reason


class _Loader(yaml.SafeLoader):
    """Makes values of YAML 1.2, and each name in a mapping once."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping; ValueError if a name stands in it twice."""
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            names = [name.value for name, _ in node.value]
            twice = next((name for name in names if names.count(name) > 1), "of a number")
            raise ValueError(f"the name {quoted(str(twice))} occurs twice in one mapping")
        return mapping

    def construct_text(self, node: Any) -> str:
        r"""Return a text, in which two escapes as \\ud83d\\ude00 are one sign, as in JSON."""
        text = str(self.construct_scalar(node))
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as reason:
            raise ValueError("a text holds half of a sign (\\ud800 to \\udfff): write both halves") from reason

    def construct_number(self, node: Any) -> int | float:
        """Return a finite number that a float can hold, too."""
        if len(node.value) <= MOST_DIGITS:
            is_whole = node.tag.endswith("int")
            number: int | float = self.construct_yaml_int(node) if is_whole else self.construct_yaml_float(node)
            if abs(number) < 10**MOST_DIGITS:  # not so inf and nan
                return number
        raise ValueError(f"{quoted(node.value[:20])} is not a finite number of at most {MOST_DIGITS} digits")


_TAG = "tag:yaml.org,2002:"
_KINDS = (None, *(_TAG + name for name in ("null", "bool", "str", "seq", "map")))
_Loader.yaml_constructors = {tag: made for tag, made in yaml.SafeLoader.yaml_constructors.items() if tag in _KINDS}
for _name in ("int", "float"):
    _Loader.add_constructor(_TAG + _name, _Loader.construct_number)
_Loader.add_constructor(_TAG + "str", _Loader.construct_text)
# YAML 1.2, section 10.3, without numbers of other bases: NO, 01234, 12:30 and 2019-01-01 are texts, not false, 668, 750
# and a date. Each with the signs that such a value begins with.
_Loader.yaml_implicit_resolvers = {}
for _name, _pattern, _begin in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(f"^(?:{_pattern})$"), _begin)
