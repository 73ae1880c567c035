# ruff: noqa
"""Sentences computed from a run: its conclusions, when there is none, and the phrases that notebooks share."""

import math
import re
from dataclasses import dataclass

import pandas as pd

from bench import stats
from bench.analysis.resources import Resource, crowded, full, resources
from bench.grammar.experiment import experiment
from bench.run.frames import Run, column
from bench.text import duration, listed
from bench.text import factor as factor

P50 = column(0.5)


def with_range(run: Run, case: int, name: str) -> str:
    """Return a median over starts with the range of the starts."""
    return ranged(run.over_starts(case, name))


def ranged(spread: stats.Spread) -> str:
    """Return a time in us with its range over starts."""
    return spread.words(duration, "range over starts {} to {}".format(*spread.ends(duration)))


def clients_of(row: "pd.Series[float]") -> str:
    """Return "1 client" or "4 clients"."""
    return f"{row['clients']:.0f} client{'s' if row['clients'] > 1 else ''}"


def conclusion(run: Run) -> str:
    """Return the notebook's conclusion as Markdown; none from an invalid or too small run."""
    return experiment(run.plan.notebook).conclusion(run)


def answer(run: Run) -> str:
    """Return the answer to the notebook's question."""
    return experiment(run.plan.notebook).answer(run)


def finding(conclusion: str) -> str:
    """Return the first sentence with a number of a conclusion, or its first one, without Markdown and headings."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", conclusion)  # a link's words
    text = text.replace("[", "(").replace("]", ")")  # an interval; alt texts end at brackets
    split = _split(text)
    whole = [sentence for sentence in split if not sentence.endswith(":")] or split
    plain = [re.sub(r"[*`]", "", sentence).rstrip(" :.") for sentence in whole]
    first = next((sentence for sentence in plain if re.search(r"\d", sentence)), next(iter(plain), ""))
    return f"{first}."


def with_interval(conclusion: str) -> str:
    """Return the first sentence with a confidence interval; without one, the first with a range, or a stress."""
    return next(
        sentence
        for sign in (" CI ", "range over starts", "starts from", "**", "")
        for sentence in _split(conclusion)
        if sign in sentence
    )


def _split(conclusion: str) -> list[str]:
    """Return the sentences of a text in Markdown, without those of its headings and tables."""
    lines = [re.sub(r"^(- |\d+\. )", "", line.strip()) for line in conclusion.splitlines()]
    prose = [line for line in lines if line and not line.startswith(("#", "|"))]
    return [sentence for line in prose for sentence in re.split(r"(?<=[.?!])\s+(?=[A-Z*])", line)]


def text(run: Run, what: str) -> str:
    """Return one of the notebook's texts."""
    return experiment(run.plan.notebook).tell(run, what)


from bench.grammar.method import absent as absent  # noqa: E402
from bench.grammar.method import measured as measured  # noqa: E402
from bench.grammar.method import to_install as to_install  # noqa: E402
from bench.grammar.method import turns as turns  # noqa: E402
from bench.grammar.method import windows as windows  # noqa: E402
from bench.analysis.limits import AT_LEAST as AT_LEAST  # noqa: E402
from bench.analysis.limits import EXACTLY as EXACTLY  # noqa: E402
from bench.analysis.limits import UNKNOWN as UNKNOWN  # noqa: E402
from bench.analysis.limits import Limit as Limit  # noqa: E402
from bench.analysis.limits import limit_of as limit_of  # noqa: E402
from bench.analysis.limits import why_not_more as why_not_more  # noqa: E402
