"""Inputs of the page, and one for each option of a system: the options of a new system appear by themselves."""

import inspect
import re
import typing
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import ipywidgets as widgets

HIGHEST = 2**31 - 1
WIDTH = "318px"
ENTRY = re.compile(r"^(\w+(?:, \w+)*): (.+(?:\n.+)*?)(?=\n\w+(?:, \w+)*: |\n\n|\Z)", re.MULTILINE)  # of a docstring


def look(name: str) -> dict[str, Any]:
    """Return the label of an input, and a layout of its own, so that it can be hidden."""
    layout = widgets.Layout(width=WIDTH, margin="1px 0")
    return {"description": name, "style": {"description_width": "146px"}, "layout": layout}


def dropdown(name: str, options: Sequence[Any], value: Any = None) -> widgets.Dropdown:
    """Return an input with one of several values; the first one, if none is named."""
    return widgets.Dropdown(options=options, **({} if value is None else {"value": value}), **look(name))


def number(name: str, value: int, highest: int, lowest: int = 1) -> widgets.BoundedIntText:
    """Return an input for a whole number."""
    return widgets.BoundedIntText(value, min=lowest, max=highest, **look(name))


def of_options(options: type[Any]) -> dict[str, widgets.Widget]:
    """Return an input for each option, with its default and with what the docstring says of it."""
    kinds, tooltips = typing.get_type_hints(options), explained(options)
    return {
        field.name: _input(kinds[field.name], field.default, field.name, tooltips.get(field.name, ""))
        for field in fields(options)
    }


def _input(kind: Any, default: Any, name: str, tooltip: str) -> widgets.Widget:
    """Return the input of one option by its type; what it does not refuse itself, the system's ``Options`` does."""
    shared = {"value": default, "tooltip": tooltip} | look(name)
    if kind is bool:
        return widgets.Checkbox(**shared)
    if choices := typing.get_args(kind):
        return widgets.Dropdown(options=[(str(choice), choice) for choice in choices], **shared)
    if kind in (int, float):
        bounded = widgets.BoundedIntText if kind is int else widgets.BoundedFloatText
        return bounded(min=min(0, default), max=max(HIGHEST, default), **shared)
    return widgets.Text(**shared)


def explained(options: type[Any]) -> dict[str, str]:
    """Return what the docstring says of each option: lines that begin with names and a colon, and what follows."""
    entries = [
        entry for kind in reversed(options.__mro__) for entry in ENTRY.findall(inspect.cleandoc(kind.__doc__ or ""))
    ]
    texts = {name: " ".join(text.split()) for names, text in entries for name in names.split(", ")}
    return {field.name: texts[field.name] for field in fields(options) if field.name in texts}
