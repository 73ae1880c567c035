"""An input for each option of a system, made from its ``Options``: a new system's options appear by themselves."""

import ast
import inspect
import re
import textwrap
import typing
from dataclasses import fields
from typing import Any

import ipywidgets as widgets

MOST = 2**31 - 1
WIDE = {"description_width": "146px"}


def layout() -> widgets.Layout:
    """Return the layout of one input; each has its own, so that one can be hidden."""
    return widgets.Layout(width="318px", margin="1px 0")


def of(options: type[Any]) -> dict[str, widgets.Widget]:
    """Return an input for each option, with its default and with what the docstring says of it."""
    kinds, tooltips = typing.get_type_hints(options), explained(options)
    return {
        field.name: _input(kinds[field.name], field.default, field.name, tooltips.get(field.name, ""))
        for field in fields(options)
    }


def _input(kind: Any, default: Any, name: str, tooltip: str) -> widgets.Widget:
    """Return the input of one option by its type; what it does not refuse itself, the system's ``Options`` does."""
    shared = {"value": default, "description": name, "tooltip": tooltip, "style": WIDE, "layout": layout()}
    if kind is bool:
        return widgets.Checkbox(**shared)
    if choices := typing.get_args(kind):
        return widgets.Dropdown(options=[(str(choice), choice) for choice in choices], **shared)
    if kind in (int, float):
        bounded = widgets.BoundedIntText if kind is int else widgets.BoundedFloatText
        return bounded(min=min(0, default), max=max(MOST, default), **shared)
    return widgets.Text(**shared)


def explained(options: type[Any]) -> dict[str, str]:
    """Return what the docstring says of each option: lines that begin with names and a colon, and what follows."""
    names = {field.name for field in fields(options)}
    explanations: dict[str, str] = {}
    for kind in reversed(options.__mro__):
        heading: list[str] = []
        for line in textwrap.dedent(_docstring(kind).partition("\n")[2]).splitlines():
            begins = re.match(r"(\w+(?:, \w+)*): (.*)", line)
            if begins and set(begins[1].split(", ")) <= names:
                heading = begins[1].split(", ")
                explanations |= dict.fromkeys(heading, begins[2])
            elif heading and line.strip():
                explanations |= {name: f"{explanations[name]} {line.strip()}" for name in heading}
    return explanations


def _docstring(kind: type[Any]) -> str:
    """Return a class's docstring from its source: ``python -OO`` keeps none in memory."""
    if kind is object:
        return ""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    return ast.get_docstring(node, clean=False) or ""  # type: ignore[arg-type]
