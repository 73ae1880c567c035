"""An experiment: the module of a notebook's stem in ``bench.experiments``, and what it says in the words of this layer.

Such a module has a ``TITLE``, a ``sweep``, ``panels`` by name (those of the figure first), the ``contrasts`` that it
reports, and what it needs of: ``answer`` (what answers its question: contrasts, levels, estimands), ``claims``,
``tables`` by name, and functions of a run: ``lines`` (results in the form of an origin), ``title``, ``height`` (inches
that its figure is taller than usual), ``evidence`` (how many starts its conclusions rest on), ``why_unknown`` (why
nothing follows from a valid run, and what to do; "" if something does). ``why_not`` returns of its parameters why this
machine can measure nothing of what they ask for, or None.
"""

import functools
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import pandas as pd

from bench import stats
from bench.analysis import checks, trust_card
from bench.errors import DataError, unknown
from bench.grammar import claim, method, two_levels
from bench.grammar.claim import Claim
from bench.grammar.contrast import Contrast, Ratio
from bench.grammar.statement import Statement, as_markdown
from bench.grammar.sweep import Sweep
from bench.plan.plan import Plan
from bench.run.frames import Run
from bench.text import capitalized, paragraphs, unmarked

OF_A_RUN = {"source": "measure", "resume": False, "budget_s": None, "predictions": "off"}  # besides those of the plan
IN_FIGURE = 4  # panels
NAMES = {"question": "TITLE", "estimands": "answer"}  # of fields, in modules


@dataclass(frozen=True)
class Experiment:
    """What a notebook measures, shows and says; the fields are what its module defines."""

    name: str
    question: str
    sweep: Sweep
    panels: Mapping[str, Callable[..., object]]
    claims: Sequence[Claim] = ()
    contrasts: Sequence[Contrast] = ()
    estimands: Sequence[Any] = ()
    tables: Mapping[str, Callable[[Run], pd.DataFrame]] = field(default_factory=dict)
    lines: Callable[[Run], str] | None = None
    why_not: Callable[..., str | None] = lambda **asked: None
    height: Callable[[Run], float] = lambda run: 0.0
    title: Callable[[Run], str] | None = None
    why_unknown: Callable[[Run], str] = lambda run: ""
    evidence: Callable[[Run], int] = lambda run: int(run.cases["starts"].min())

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the sweep, then those of each run, with their defaults."""
        return self.sweep.parameters | {
            name: default for name, default in OF_A_RUN.items() if name not in self.sweep.omits
        }

    def plan(self, **parameters: Any) -> Plan:
        """Return the plan that parameters ask for; UsageError for one that the sweep does not have."""
        refuse_unknown(self.name, parameters, self.sweep.parameters)
        return self.sweep.plan(self.name, parameters)

    def title_of(self, run: Run) -> str:
        """Return the title of a run's figure."""
        return self.title(run) if self.title else self.question

    @property
    def figure(self) -> list[Callable[..., object]]:
        """The panels of its figure."""
        return list(self.panels.values())[:IN_FIGURE]

    def table(self, run: Run, name: str) -> pd.DataFrame:
        """Return one of its tables; without rows if the run lacks what is in it: replies, or starts."""
        try:
            return self.tables[name](run)
        except method.LACKING:
            if not method.lacks(run):
                raise
            return pd.DataFrame()

    def ratios(self, run: Run) -> list[Ratio]:
        """Return the ratios of two cases that it reports, each once."""
        return list(dict.fromkeys(ratio for contrast in self.contrasts for ratio in contrast.ratios(run)))

    def why_no_conclusion(self, run: Run) -> str:
        """Return why a run carries no conclusion: a check is INVALID, or a case has too few starts; "" if it does."""
        return self._why_nothing_follows(run) or self._why_too_few(run)

    def _why_nothing_follows(self, run: Run) -> str:
        invalid = [outcome for outcome in checks.check(run) if outcome.verdict == trust_card.INVALID]
        reason = f"{invalid[0].found}: {invalid[0].advice}" if invalid else self.why_unknown(run)
        return f"**No conclusion.** {capitalized(reason)}." if reason else ""

    def _why_too_few(self, run: Run) -> str:
        fewest = self.evidence(run)
        if fewest < stats.LEAST_STARTS:
            return f"**No conclusion** from {fewest} starts; {stats.LEAST_STARTS} are needed (profile `class`)."
        return ""

    def conclusion(self, run: Run) -> str:
        """Return as Markdown the answer, the claims that the run contradicts, the others, and what was not measured."""
        if reason := self.why_no_conclusion(run):
            return reason
        contradicted, others = claim.sentences(run, self.claims)
        return paragraphs(self.answer(run), contradicted, others, method.absent(run))

    def contradictions(self, run: Run) -> str:
        """Return the claims that a run contradicts, as Markdown; "" if none, or without a conclusion."""
        return "" if self.why_no_conclusion(run) else claim.sentences(run, self.claims)[0]

    def answer(self, run: Run, estimands: Sequence[Any] = ()) -> str:
        """Return the answer to its question as Markdown; with both levels of a case whose starts have two.

        estimands: what answers another question, in the same words.
        """
        if reason := self.why_no_conclusion(run):
            return reason
        estimands = estimands or self.estimands
        text = as_markdown(self.statements(run, estimands))
        cases = {case for estimand in estimands for estimate in estimand(run) for case in estimate.cases}
        ratios = [ratio for contrast in estimands if isinstance(contrast, Contrast) for ratio in contrast.ratios(run)]
        return paragraphs(text, *(two_levels.sentence(run, case, ratios) for case in sorted(cases)))

    def statements(self, run: Run, estimands: Sequence[Any] = ()) -> list[Statement]:
        """Return what answers its question, or another one, without the levels of cases that have two."""
        return [each for estimand in estimands or self.estimands for each in estimand.statements(run)]

    def preliminary(self, run: Run) -> str:
        """Return as Markdown the values of a valid run that has too few starts for a conclusion; "" of any other."""
        if self._why_nothing_follows(run) or not self._why_too_few(run):
            return ""
        return f"In these starts:\n\n{as_markdown(self.statements(run))}"

    def claims_not_judged(self, run: Run) -> str:
        """Return as Markdown the claims of a valid run that has too few starts to judge them; "" of any other."""
        if self._why_nothing_follows(run) or not self._why_too_few(run):
            return ""
        return claim.not_judged(run, self.claims, self.evidence(run))

    def finding(self, run: Run, most: int = 1) -> str:
        """Return the first values of its answer as one sentence of plain text, or why there is no conclusion."""
        first = self.why_no_conclusion(run) or next((each.sentence(most) for each in self.statements(run)), "")
        return unmarked(first)


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
    module = vars(importlib.import_module(f"bench.experiments.{notebook}"))
    names = {attribute.name: NAMES.get(attribute.name, attribute.name) for attribute in fields(Experiment)}
    return Experiment(notebook, **{own: module[name] for own, name in names.items() if name in module})


def of_run(run: Run) -> Experiment:
    """Return the experiment that a run was measured for."""
    return experiment(run.plan.notebook)
