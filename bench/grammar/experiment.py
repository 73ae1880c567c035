"""An experiment: the module of a notebook's stem in ``bench.experiments``, and what it says in the words of this room.

Such a module has a ``TITLE``, a ``sweep``, ``panels`` by name (those of the figure first), the ``contrasts`` that it
reports, and what it needs of: ``answer`` (what answers its question: contrasts, levels, or functions of a run that
return estimates), ``claims``, ``tables`` by name, ``lines`` (results in the form of an origin), and functions of a run:
``title``, ``height`` (inches that its figure is taller than usual), ``evidence`` (how many starts its conclusions rest
on), ``why_not`` (of its parameters: why this machine can measure nothing of what they ask for).
"""

import functools
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

import pandas as pd

from bench import stats
from bench.analysis import checks, trust_card
from bench.errors import DataError, unknown
from bench.grammar import claim, method, two_levels
from bench.grammar.claim import Claim
from bench.grammar.contrast import Contrast, Ratio
from bench.grammar.sweep import Sweep
from bench.plan.plan import Plan
from bench.run.frames import Run
from bench.text import paragraphs

OF_A_RUN = {"source": "measure", "resume": False, "budget_s": None, "predictions": "off"}  # besides those of the plan
IN_FIGURE = 4  # panels


class Experiment:
    """What a notebook measures, shows and says."""

    def __init__(self, name: str, module: ModuleType) -> None:
        self.name = name
        self._module = module

    def _said(self, name: str, otherwise: Any) -> Any:
        return getattr(self._module, name, otherwise)

    @property
    def sweep(self) -> Sweep:
        """The sweep."""
        sweep: Sweep = self._module.sweep
        return sweep

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims that a run tests."""
        return tuple(self._said("claims", ()))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the sweep, then those of each run, with their defaults."""
        return self.sweep.parameters | {name: of for name, of in OF_A_RUN.items() if name not in self.sweep.without}

    def plan(self, **given: Any) -> Plan:
        """Return the plan that parameters ask for; UsageError for one that the sweep does not have."""
        refuse_unknown(self.name, given, self.sweep.parameters)
        return self.sweep.plan(self.name, given)

    def why_not(self, **given: Any) -> str | None:
        """Return why this machine can measure nothing of what parameters ask for, None if it can."""
        reason: str | None = self._said("why_not", lambda **asked: None)(**given)
        return reason

    def title(self, run: Run | None = None) -> str:
        """Return the title of its figure, of a run if that changes it."""
        title = self._said("title", None)
        return str(title(run) if title and run is not None else self._module.TITLE)

    def height(self, run: Run) -> float:
        """Return how many inches its figure is taller than usual."""
        return float(self._said("height", lambda run: 0.0)(run))

    @property
    def panels(self) -> Mapping[str, Callable[..., object]]:
        """All panels by name."""
        panels: Mapping[str, Callable[..., object]] = self._module.panels
        return panels

    @property
    def figure(self) -> list[Callable[..., object]]:
        """The panels of its figure."""
        return list(self.panels.values())[:IN_FIGURE]

    @property
    def tables(self) -> Mapping[str, Callable[[Run], pd.DataFrame]]:
        """Its own tables by name."""
        tables: Mapping[str, Callable[[Run], pd.DataFrame]] = self._said("tables", {})
        return tables

    def table(self, run: Run, name: str) -> pd.DataFrame:
        """Return one of its tables; without rows if the run lacks what is in it: replies, or starts."""
        try:
            return self.tables[name](run)
        except method.LACKING:
            if not method.lacks(run):
                raise
            return pd.DataFrame()

    @property
    def lines(self) -> Callable[[Run], str] | None:
        """The function that returns its results in the form of an origin, if it has one."""
        lines: Callable[[Run], str] | None = self._said("lines", None)
        return lines

    def ratios(self, run: Run) -> list[Ratio]:
        """Return the ratios of two cases that it reports, each once."""
        contrasts: tuple[Contrast, ...] = self._said("contrasts", ())
        return list(dict.fromkeys(ratio for contrast in contrasts for ratio in contrast.ratios(run)))

    def why_no_conclusion(self, run: Run) -> str:
        """Return why a run carries no conclusion: a check is INVALID, or a case has too few starts; "" if it does."""
        if invalid := [outcome for outcome in checks.check(run) if outcome.verdict == trust_card.INVALID]:
            return f"**No conclusion.** {invalid[0].found}: {invalid[0].advice}."
        fewest = self._said("evidence", lambda run: int(run.cases["starts"].min()))(run)
        if fewest < stats.LEAST_STARTS:
            return f"**No conclusion** from {fewest} starts; {stats.LEAST_STARTS} are needed (profile `class`)."
        return ""

    def conclusion(self, run: Run) -> str:
        """Return answer and claims as Markdown, claims that the run contradicts first; last what was not measured."""
        if reason := self.why_no_conclusion(run):
            return reason
        contradicted, others = claim.sentences(run, self.claims)
        return paragraphs(contradicted, self.answer(run), others, method.absent(run))

    def contradictions(self, run: Run) -> str:
        """Return the claims that a run contradicts, as Markdown; "" if none, or without a conclusion."""
        return "" if self.why_no_conclusion(run) else claim.sentences(run, self.claims)[0]

    def answer(self, run: Run, estimands: Sequence[Any] = ()) -> str:
        """Return the answer to its question as Markdown; with both levels of a case whose starts have two.

        estimands: what answers another question, in the same words.
        """
        if reason := self.why_no_conclusion(run):
            return reason
        estimands = estimands or self._said("answer", ())
        said = [sentence for estimand in estimands for sentence in _sentences(estimand, run)]
        text = "\n".join(f"- {sentence}" for sentence in said) if len(said) > 1 else paragraphs(*said)
        cases = {case for estimand in estimands for of in estimand(run) for case in of.cases}
        ratios = [ratio for of in estimands if isinstance(of, Contrast) for ratio in of.ratios(run)]
        return paragraphs(text, *(two_levels.sentence(run, case, ratios) for case in sorted(cases)))


def _sentences(estimand: Any, run: Run) -> list[str]:
    """Return a sentence for each estimate of a contrast, of a level, or of a function of a run."""
    own = getattr(estimand, "sentences", None)
    return list(own(run)) if own else [of.sentence for of in estimand(run)]


def refuse_unknown(notebook: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise UsageError for the first name that is no parameter of a notebook; it says which is nearest."""
    for name in names:
        if name not in known:
            raise unknown(f"parameter of {notebook}.ipynb", name, list(known))


def exists(notebook: str) -> bool:
    """Return whether a notebook measures: it has a module in ``bench.experiments``."""
    return notebook.isidentifier() and importlib.util.find_spec(f"bench.experiments.{notebook}") is not None


@functools.cache
def experiment(notebook: str) -> Experiment:
    """Return the experiment of a notebook; DataError if this version has none of that name."""
    if not exists(notebook):
        raise DataError(f"there is no notebook {notebook!r} in this version: update Roundtrip, or measure anew")
    module = importlib.import_module(f"bench.experiments.{notebook}")
    return Experiment(notebook, module)


def of_run(run: Run) -> Experiment:
    """Return the experiment that a run was measured for."""
    return experiment(run.plan.notebook)
