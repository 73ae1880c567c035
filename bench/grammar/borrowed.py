"""Rows of the reference run for systems that are not installed here: drawn hollow, and never computed with.

Panels draw the rows of ``shown(run)``; sentences, tables, checks and answers know only those of the run itself.
"""

from bench.errors import BenchError
from bench.plan.parameters import literal
from bench.run import stored
from bench.run.frames import Run, once_per_run, shared
from bench.text import listed

CHOOSING = frozenset(  # parameters that choose what is measured and how much, and change no case
    ("system", "groups", "origin", "two_clients", "profile", "starts", "window_s", "budget_s", "seed")
)


def shown(run: Run) -> list[Run]:
    """Return the runs whose rows a panel draws: the run, and what it borrows from the reference run."""
    part = borrowed(run)
    return [run] if part is None else [run, part]


@once_per_run
def borrowed(run: Run) -> Run | None:
    """Return the part of the notebook's reference run whose systems a run lists as absent.

    None if there is no such part, if the parameters ask for other cases than the reference run has, and for the
    reference run itself.
    """
    if not run.plan.absent:
        return None
    try:
        reference = shared(stored.find(f"reference/{run.plan.notebook}").path)
        if reference.id == run.id or not _asks_the_same(run, reference):
            return None
        cases = [case for case in reference.numbers if reference.case(case).system in run.plan.absent]
    except BenchError:  # it does not travel with the package, or is damaged: then the run is drawn alone
        return None
    return reference.part(cases) if cases else None


def _asks_the_same(run: Run, reference: Run) -> bool:
    """Return whether two runs agree in the parameters that both keep, apart from those that choose systems."""
    ours, theirs = run.manifest.get("parameters", {}), reference.manifest.get("parameters", {})
    shared_names = (ours.keys() & theirs.keys()) - CHOOSING
    return all((literal(ours[name]) or None) == (literal(theirs[name]) or None) for name in shared_names)


def systems(run: Run) -> list[str]:
    """Return the systems whose rows a run borrows."""
    part = borrowed(run)
    names = set() if part is None else {part.case(case).system for case in part.numbers}
    return [name for name in run.plan.absent if name in names]


def marked(name: str, is_borrowed: bool) -> str:
    """Return the name of a row or of a curve, which says so if it is borrowed."""
    return f"{name} (reference)" if is_borrowed else name


def sentence(run: Run) -> str:
    """Return the sentence that names the systems that a figure draws hollow, or nothing."""
    names = systems(run)
    if not names:
        return ""
    are, whose = ("is", "its") if len(names) == 1 else ("are", "their")
    source = "from the reference run, measured on another machine"
    return f" Hollow: {listed(names)} {are} not installed here; {whose} values are {source}."
