"""The page of explore.ipynb: choose, run, look, change one thing, run again; under papermill its cases, measured."""

from collections.abc import Mapping
from typing import Any

from bench.apps import notebook
from bench.apps.exploring.command import USUAL
from bench.apps.exploring.screen import Page
from bench.plan.parameters import literal
from bench.run.frames import Run


def page(namespace: Mapping[str, Any] | None = None, /, **parameters: Any) -> "Page | Still":
    """Show the page; where nobody can click (papermill), measure the ``cases`` of the parameters at once instead.

    ``namespace`` is a notebook's ``globals()``, which holds its parameters. With a ``source`` the page begins with the
    results of that run. What is returned shows the rest by its methods.
    """
    if not notebook.is_watched():
        return Still(notebook.measure("explore", namespace, **parameters))
    parameters = {**(namespace or {}), **parameters}
    amount = {name: parameters.get(name, usual) for name, usual in USUAL.items()}
    amount = {name: literal(value) for name, value in amount.items()}
    amount |= {name: parameters[name] for name in ("slice_ms",) if name in parameters}
    return Page(parameters.get("source", "measure"), amount)


class Still:
    """The results without a page, where nobody can click (papermill)."""

    def __init__(self, run: Run) -> None:
        self.run = run
        notebook.show(run, *(["ratios"] if len(run.numbers) > 1 else []), "medians", "distributions")

    def trust(self) -> None:
        """Show the trust card."""
        notebook.trust(self.run)

    def numbers(self) -> None:
        """Show the conclusions from the results, and their tables; of calls side by side the server's capacity."""
        notebook.tell(self.run)
        notebook.table(self.run)
        notebook.table(self.run, "limits")

    def saved(self) -> None:
        """Save the whole figure, and show it."""
        notebook.save(self.run)
