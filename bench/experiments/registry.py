# mypy: ignore-errors
# ruff: noqa
"""Functions of experiments by the name of their notebook."""

from bench.grammar.experiment import OF_A_RUN as OF_A_RUN
from bench.grammar.experiment import exists as has_plan
from bench.grammar.experiment import experiment
from bench.grammar.experiment import refuse_unknown as _refuse


def plan(notebook, **given):
    return experiment(notebook).plan(**given)


def parameters(notebook):
    return experiment(notebook).parameters


def plan_parameters(notebook):
    return {name: of for name, of in experiment(notebook).parameters.items() if name not in OF_A_RUN}


def refuse_unknown(notebook, names, known):
    _refuse(notebook, names, known)


def why_not(notebook, **given):
    return experiment(notebook).why_not(**given)


def figure_of(notebook):
    return experiment(notebook).drawing


def findings_of(notebook):
    return experiment(notebook)


def text_of(notebook):
    return experiment(notebook).text


__all__ = ["OF_A_RUN", "has_plan"]
