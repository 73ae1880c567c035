"""The committed runs behind ``-p source reference``: measured, accepted or repeated, and kept."""

import functools
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.analysis import acceptance
from bench.apps import unattended
from bench.errors import DataError, UsageError
from bench.measurement.machine import git_revision
from bench.plan import parameters as params
from bench.plan import paths
from bench.run import stored
from bench.run.frames import Run

Say = Callable[[str], None]
TRIES = 3
MOST_BYTES = 9_000_000  # of a run as it is kept: everyone who clones the repository gets all of them
LARGER = {"overview": 15_000_000}  # it has every system
PARAMETERS: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))


@dataclass(frozen=True)
class Try:
    """A run, and what it misses."""

    run: Run
    misses: tuple[str, ...]

    @property
    def rank(self) -> tuple[int, float]:
        """How far it is from being accepted: less is better."""
        return len(self.misses), acceptance.aa_ratio(self.run) if self.run.plan.slice_s else 0.0


def renew(names: Iterable[str], although: bool, say: Say) -> None:
    """Measure the reference runs of some notebooks and scenarios (all: none named) anew; keep them in data/reference.

    One that is not accepted is measured again; of three the best is kept, and its manifest says what it misses.
    UsageError on a revision that is not clean, whose numbers no checkout can repeat, unless they are kept ``although``.
    DataError for a run that is too large to be kept, after its first measurement.
    """
    chosen = params.names(list(names) or "all", "notebook", list(PARAMETERS))
    if git_revision()["dirty"] is not False and not although:
        raise UsageError(
            "files differ from the revision, and reference runs are of a revision: commit or stash them, or keep the "
            "runs all the same with --although"
        )
    for name in chosen:
        best = best_of(functools.partial(small, name, say), say)
        kept = stored.keep(best.run.folder, paths.reference() / name, best.misses)
        say(f"{name}: kept in {paths.shown(kept.path)}{although_text(best.misses)}")


def best_of(measure: Callable[[], Run], say: Say) -> Try:
    """Return the first run that is accepted, or the best of three."""
    tries: list[Try] = []
    for number in range(1, TRIES + 1):
        run = measure()
        tries.append(Try(run, tuple(acceptance.misses(run))))
        if not tries[-1].misses or set(tries[-1].misses) == {acceptance.DIRTY}:  # that no repetition mends
            return tries[-1]
        say(f"{run.id}, try {number} of {TRIES}: {'; '.join(tries[-1].misses)}")
    return min(tries, key=lambda attempt: attempt.rank)


def small(name: str, say: Say) -> Run:
    """Measure a reference run and return it; DataError if it is larger than a kept run may be."""
    run = measured(name, say)
    with tempfile.TemporaryDirectory() as folder:
        size = size_of(stored.keep(run.folder, Path(folder, "kept")).path)
    if size > (most := most_bytes(name)):
        raise DataError(
            f"{name}: the run takes {size / 1e6:.1f} MB, and a reference run at most {most / 1e6:g} MB; give it "
            "shorter windows (window_s) or fewer starts (starts) in bench/apps/reference_runs.yaml"
        )
    return run


def size_of(folder: Path) -> int:
    """Return the size of a kept run, in bytes."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def most_bytes(name: str) -> int:
    """Return how many bytes the reference run of a notebook or scenario may take."""
    return LARGER.get(name, MOST_BYTES)


def measured(name: str, say: Say) -> Run:
    """Execute a notebook or scenario with the reference run's parameters, and return the run that it made."""
    before = {folder.id for folder in stored.all_runs()}
    unattended.execute([name], False, PARAMETERS[name], say, is_agreed=True)
    made = [Run(folder) for folder in stored.all_runs() if folder.id not in before]
    own = [run for run in made if run.plan.notebook == name.partition(".")[0]]
    if not own:
        raise DataError(f"{name} was not measured: {paths.shown(paths.executed() / name)}.ipynb says why")
    return own[-1]


def although_text(misses: Iterable[str]) -> str:
    """Return what a run that is kept misses, in words; nothing of an accepted one."""
    words = "; ".join(misses)
    return f" (kept although: {words})" if words else ""
