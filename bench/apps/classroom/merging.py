"""A folder of submissions as claims: the ratios of each machine, counted once, and pooled."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench.analysis.comparison import DIFFERENT, QUANTITIES, SAME
from bench.apps.classroom import reading, simulated
from bench.apps.classroom.ratios import Ratio, key, ratios
from bench.apps.classroom.reading import Refusal, SubmittedRun
from bench.errors import unknown
from bench.plan import parameters
from bench.plan.labels import labels
from bench.stats.meta_analysis import LEAST_MACHINES, Pool, pool
from bench.text import counted, few, harmless

SIMULATED = "simulated"
SIMULATED_SOURCE = "a generator of simulated machines"
HOLDS, NOTHING, DEPENDS, OPEN, FEW = "holds", "no practical difference", "depends", "not decided", "too few"

Rows = dict[tuple[str, str], dict[str, Ratio]]  # by case and quantity: the ratio of each machine


@dataclass(frozen=True)
class Claim:
    """One case over raw sockets by one quantity: the ratio of each machine, by its name, and their pool."""

    label: str
    quantity: str
    rows: dict[str, Ratio]

    @cached_property
    def pool(self) -> Pool:
        """What the machines have in common."""
        ratios = self.rows.values()
        return pool([ratio.effect.middle for ratio in ratios], [ratio.error for ratio in ratios])

    @property
    def verdict(self) -> str:
        """Whether it holds on every machine: all intervals on one side of 1, or all inside the margin."""
        ratios = self.rows.values()
        verdicts = {ratio.verdict for ratio in ratios}
        if len({ratio.effect.middle > 0 for ratio in ratios if ratio.is_certain(len(ratios))}) > 1:
            return DEPENDS
        if len(ratios) < LEAST_MACHINES:
            return FEW
        if verdicts == {DIFFERENT} and len({ratio.effect.middle > 0 for ratio in ratios}) == 1:
            return HOLDS
        return NOTHING if verdicts == {SAME} else OPEN


@dataclass(frozen=True)
class Room:
    """All that a class submitted: what is used, what is not and why, and the claims that follow; one may be chosen."""

    source: str
    runs: tuple[SubmittedRun, ...]
    refusals: tuple[Refusal, ...]
    claims: tuple[Claim, ...]
    chosen: Claim | None

    @property
    def machines(self) -> int:
        """How many machines have a ratio of any claim."""
        return len({machine for claim in self.claims for machine in claim.rows})

    @property
    def counts(self) -> str:
        """How many submissions are used, of how many machines, and how many are refused; in one sentence."""
        files = {run.file for run in self.runs}
        used = {ratio.run.file for claim in self.claims for ratio in claim.rows.values()}
        without = f" ({len(used)} of them with a ratio)" * (len(used) < len(files))
        refused = len([one for one in self.refusals if one.what == reading.WHOLE])
        copied = len([one for one in self.refusals if one.what == reading.COPIES])
        several = f", {counted(copied, 'run')} in several files"
        ids = len({run.facts["machine_id"] for run in self.runs})
        names = len({run.machine for run in self.runs})
        same = f"; {names} names share {counted(ids, 'machine id')}: PCs of one image, or one PC under several names"
        return (
            f"{counted(len(files), 'submission')}{without} of {counted(self.machines, 'machine')} from {self.source}, "
            f"{refused} refused{several * bool(copied)}{same * (ids < names)}"
        )

    @property
    def data_hash(self) -> str:
        """Return a hash that names exactly the files that were used."""
        return hashlib.sha256("".join(sorted({run.digest for run in self.runs})).encode()).hexdigest()[:16]


def gather(folder: object, quantity: object, claim: object) -> Room:
    """Return the claims of a folder of submissions; ``simulated``: generated ones of five simulated machines.

    UsageError for a parameter that cannot be used; a file that cannot be used is refused with its reason.
    """
    wanted = parameters.names(quantity, "quantity", [words for words, _ in QUANTITIES.values()])
    columns = [name for name, (words, _) in QUANTITIES.items() if words in wanted]
    path, refusals = Path(str(folder)), list[Refusal]()
    if folder == SIMULATED:
        runs, source = simulated.machines(), SIMULATED_SOURCE
    else:
        every, refused = reading.read_folder(path)
        runs, copied = reading.each_once(every)
        refusals = refused + copied
        source = f"folder {harmless(path.resolve().name)}"  # alone: a figure does not show where on a disk it is
    measured: list[Ratio] = []
    for run in runs:
        its_ratios, its_refusals = ratios(run, columns)
        measured, refusals = measured + its_ratios, refusals + its_refusals
    rows, replaced = newest(measured)
    claims = sorted(claims_of(rows), key=lambda claim: (columns.index(claim.quantity), -len(claim.rows)))
    chosen = _chosen(claims, str(claim).strip())
    return Room(source, tuple(runs), (*refusals, *replaced), tuple(claims), chosen)


def newest(measured: list[Ratio]) -> tuple[Rows, list[Refusal]]:
    """Return each machine's newest ratio for each case and quantity, and what it replaces, run by run."""
    newest: Rows = defaultdict(dict)
    older = defaultdict(list)
    for ratio in sorted(measured, key=lambda ratio: (ratio.run.created, ratio.run.id, ratio.run.file)):
        rows = newest[key(ratio.case), ratio.quantity]
        if before := rows.get(ratio.run.machine):
            older[before.run.file, before.run.id].append(f"{before.case.system} {before.case.transport}")
        rows[ratio.run.machine] = ratio
    why = "the same machine submitted it again later: each counts once, by its newest run"
    return newest, [Refusal(file, few(cases), why, run) for (file, run), cases in older.items()]


def claims_of(ratios: Rows) -> Iterator[Claim]:
    """Yield the claims, each with the shortest label that distinguishes it from the others."""
    cases = {case: next(iter(rows.values())).case for (case, _), rows in ratios.items()}
    label = dict(zip(cases, labels(tuple(cases.values())), strict=True))
    for (case, quantity), rows in ratios.items():
        yield Claim(label[case], quantity, dict(sorted(rows.items())))


def _chosen(claims: list[Claim], name: str) -> Claim | None:
    """Return the first claim whose label begins so, or the one with the most rows; None if there are no claims."""
    chosen = next((claim for claim in claims if claim.label.startswith(name)), None)
    if claims and not chosen:
        raise unknown("claim", name, list(dict.fromkeys(claim.label for claim in claims)))
    return chosen
