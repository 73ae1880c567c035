# mypy: ignore-errors
# ruff: noqa
"""Experiments that are folders of plan, findings, figure and text, with the interface of ``Experiment``."""

import importlib
import inspect
from dataclasses import asdict
from typing import Any

from bench.experiments import sentences
from bench.experiments.claims import contradictions
from bench.grammar.experiment import OF_A_RUN, Experiment, refuse_unknown
from bench.text import paragraphs


class Folder(Experiment):
    """An experiment whose parts are modules."""

    def __init__(self, name: str) -> None:
        super().__init__(name, importlib.import_module(f"bench.experiments.{name}"))
        self.plan_module, self.findings, self.drawing, self.text = (
            importlib.import_module(f"bench.experiments.{name}.{part}")
            for part in ("plan", "findings", "figure", "text")
        )

    def _own(self):
        return {
            name: declared.default
            for name, declared in inspect.signature(self.plan_module.plan).parameters.items()
            if name != "given"
        }

    def _shared(self):
        return inspect.signature(self.plan_module.plan).parameters["given"].annotation

    def _taken(self, shared):
        return {name: of for name, of in shared.items() if name not in getattr(self.plan_module, "NOT_TAKEN", ())}

    @property
    def plan_parameters(self) -> dict[str, Any]:
        own, shared = self._own(), self._taken(asdict(self._shared()()))
        return own | {name: value for name, value in shared.items() if name not in own}

    @property
    def parameters(self) -> dict[str, Any]:
        return self.plan_parameters | self._taken(OF_A_RUN)

    def plan(self, **given: Any):
        refuse_unknown(self.name, given, self.plan_parameters)
        own = {name: value for name, value in given.items() if name in self._own()}
        shared = {name: value for name, value in given.items() if name not in own}
        return self.plan_module.plan(self._shared()(**shared), **own)

    def why_not(self, **given: Any):
        return getattr(self.plan_module, "why_not", lambda **asked: None)(**given)

    def title(self, run=None):
        return str(
            self.drawing.title(run) if run is not None and hasattr(self.drawing, "title") else self.drawing.TITLE
        )

    def height(self, run):
        return float(getattr(self.drawing, "height", lambda run: 0.0)(run))

    @property
    def panels(self):
        named = {panel.__name__: panel for panel in self.drawing.PANELS}
        return named | {name: panel for name, panel in vars(self.drawing).items() if inspect.isfunction(panel)}

    @property
    def figure(self):
        return list(self.drawing.PANELS)

    @property
    def tables(self):
        return {}

    def ratios(self, run):
        listed = getattr(self.findings, "ratios", None)
        return listed(run) if listed else []

    def conclusion(self, run):
        return self.why_no_conclusion(run) or self.text.conclusion(run)

    def tell(self, run, what):
        return self.why_no_conclusion(run) or getattr(self.text, what)(run)

    def why_no_conclusion(self, run):
        self._module.evidence = getattr(self.text, "evidence", lambda run: int(run.cases["starts"].min()))
        return super().why_no_conclusion(run)

    def contradictions(self, run):
        return contradictions(self.conclusion(run))

    def answer(self, run):
        has_own = hasattr(self.text, "answer")
        said = self.tell(run, "answer") if has_own else sentences.with_interval(self.conclusion(run))
        return paragraphs(said, self.two_levels(run, said))

    def two_levels(self, run, said):
        from bench.experiments import two_levels

        return two_levels.of_answer(run, said)

    @property
    def lines(self):
        from bench.experiments import published

        origins = {"latency": "zeromq", "marginal": "xmlrpc", "wamp": "wamp"}
        return getattr(published, f"{origins[self.name]}_lines")
