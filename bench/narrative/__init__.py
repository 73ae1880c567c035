"""Sentences computed from a run: what its figure says, and what it does not carry. One file for each notebook."""

import importlib
from types import ModuleType

from bench import stats
from bench.analysis import card, checks
from bench.run.frames import Run


def written_for(notebook: str) -> ModuleType:
    """Return the module that tells what a notebook's figure says: its ``conclusion`` and other texts."""
    return importlib.import_module(f"bench.narrative.{notebook}")


def conclusion(run: Run) -> str:
    """Return the notebook's conclusion as Markdown; none from an invalid or too small run."""
    return text(run, "conclusion")


def text(run: Run, what: str) -> str:
    """Return one of the notebook's texts; what is concluded needs a run that can carry it."""
    invalid = [one for one in checks.check(run) if one.verdict == card.INVALID]
    if invalid:
        return f"**No conclusion.** {invalid[0].found}: {invalid[0].advice}."
    written = written_for(run.plan.notebook)
    fewest = getattr(written, "evidence", _fewest)(run)
    if fewest < stats.LEAST_STARTS:
        return f"**No conclusion** from {fewest} starts; {stats.LEAST_STARTS} are needed (profile `class`)."
    return str(getattr(written, what)(run))


def _fewest(run: Run) -> int:
    """Return how many starts each case has at least; a notebook that rests on others defines ``evidence``."""
    return int(run.cases["starts"].min())
