# mypy: ignore-errors
# ruff: noqa
from bench.grammar.figure import *  # noqa: F403
from bench.grammar.figure import _draw as _draw
