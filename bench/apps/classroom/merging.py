"""A folder of submissions as claims: the ratios of each machine, counted once, and pooled."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from bench.analysis.comparison import DIFFERENT, QUANTITIES, SAME
from bench.apps.classroom import reading, simulated, submitting
from bench.apps.classroom.ratios import Ratio, key, ratios
from bench.apps.classroom.reading import Refusal, SubmittedRun
from bench.errors import unknown
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.labels import labels
from bench.stats.meta_analysis import LEAST_MACHINES, Pool, pool
from bench.text import few, harmless

REFERENCE, SIMULATED = "reference", "simulated"
SIMULATED_SOURCE = "a generator of simulated machines"
MACHINE, PLACEMENT = "machine", "placement"  # what one row is: a machine, or one placement on it
EXAMPLES = ("latency", "placement", "overview", "compare")  # the project's own runs that stand in for a class
HOLDS, NOTHING, DEPENDS, OPEN, FEW = "holds", "no practical difference", "depends", "not decided", "too few"

Kept = dict[tuple[str, str], dict[str, Ratio]]  # by case and quantity: the ratio of each row


@dataclass(frozen=True)
class Claim:
    """One case over raw sockets by one quantity: the ratio of each row, by the row's name, and their pool."""

    label: str
    quantity: str
    rows: dict[str, Ratio]

    @cached_property
    def pool(self) -> Pool:
        """What the rows have in common."""
        return pool([one.effect.middle for one in self.rows.values()], [one.error for one in self.rows.values()])

    @property
    def machines(self) -> int:
        """How many machines have a ratio."""
        return len({ratio.run.machine for ratio in self.rows.values()})

    @property
    def predicted(self) -> tuple[float, float] | None:
        """The prediction interval of one more machine; None unless each row is a machine."""
        return self.pool.predicted if self.machines == len(self.rows) else None

    @property
    def verdict(self) -> str:
        """Whether it holds in every row: all intervals on one side of 1, or all inside the margin."""
        found = {ratio.verdict for ratio in self.rows.values()}
        sides = {ratio.effect.middle > 0 for ratio in self.rows.values() if ratio.verdict == DIFFERENT}
        if len(sides) > 1:
            return DEPENDS
        if len(self.rows) < LEAST_MACHINES:
            return FEW
        return HOLDS if found == {DIFFERENT} else NOTHING if found == {SAME} else OPEN


@dataclass(frozen=True)
class Room:
    """All that a class submitted: what is used, what is not and why, and the claims that follow; one may be chosen."""

    source: str
    unit: str
    runs: tuple[SubmittedRun, ...]
    refusals: tuple[Refusal, ...]
    claims: tuple[Claim, ...]
    chosen: Claim | None

    @property
    def machines(self) -> int:
        """How many machines have a ratio of any claim."""
        return len({ratio.run.machine for claim in self.claims for ratio in claim.rows.values()})

    @property
    def data_hash(self) -> str:
        """Return a hash that names exactly the files that were used."""
        return hashlib.sha256("".join(sorted({run.digest for run in self.runs})).encode()).hexdigest()[:16]


def gather(folder: object, row: object, quantity: object, claim: object) -> Room:
    """Return what the submissions of a folder say.

    ``reference``: the project's own runs. ``simulated``: generated submissions of five simulated machines.

    UsageError for a parameter that cannot be used; a file that cannot be used is refused with its reason.
    """
    wanted = parameters.names(quantity, "quantity", [words for words, _ in QUANTITIES.values()])
    columns = [name for name, (words, _) in QUANTITIES.items() if words in wanted]
    unit = parameters.one_name(row, "row", ["default", MACHINE, PLACEMENT])
    made = {REFERENCE: examples, SIMULATED: simulated.machines}.get(str(folder))
    runs, refusals = (made(), []) if made else reading.read_folder(Path(str(folder)))
    spoken: list[Ratio] = []
    for run in runs:
        found, silent = ratios(run, columns)
        spoken, refusals = spoken + found, refusals + silent
    if unit == "default":
        several = any(claim.machines > 1 for claim in claims_of(newest(spoken, MACHINE)[0], MACHINE))
        unit = MACHINE if several else PLACEMENT
    kept, replaced = newest(spoken, unit)
    claims = sorted(claims_of(kept, unit), key=lambda one: (columns.index(one.quantity), -len(one.rows)))
    name = harmless(Path(str(folder)).resolve().name)  # alone: a figure does not show where on a disk it is
    words = {REFERENCE: "the project's own reference runs", SIMULATED: SIMULATED_SOURCE}
    source = words.get(str(folder), f"folder {name}")
    return Room(source, unit, tuple(runs), (*refusals, *replaced), tuple(claims), _chosen(claims, str(claim).strip()))


def examples() -> list[SubmittedRun]:
    """Return reference runs as submissions, through the same bytes and the same checks as any others."""
    made = {name: submitting.submission([f"{REFERENCE}/{name}"]) for name in EXAMPLES}
    return [run for name, one in made.items() for run in reading.read(one.data, f"{name}.json")]


def newest(spoken: list[Ratio], unit: str) -> tuple[Kept, list[Refusal]]:
    """Return each row's newest ratio for each case and quantity, and what it replaces, run by run."""
    kept: Kept = defaultdict(dict)
    older = defaultdict(list)
    for one in sorted(spoken, key=lambda one: (one.run.created, one.run.id, one.run.file)):
        row = one.run.machine + (f" {one.case.placement}" if unit == PLACEMENT else "")
        rows = kept[key(_anywhere(one.case, unit)), one.quantity]
        if before := rows.get(row):
            older[before.run.file, before.run.id].append(f"{before.case.system} {before.case.transport}")
        rows[row] = one
    why = f"the same {unit} submitted it again later: each counts once, by its newest run"
    return kept, [Refusal(file, few(cases), why, run) for (file, run), cases in older.items()]


def _anywhere(case: Case, unit: str) -> Case:
    """Return a case without its placement, where the row has it."""
    return replace(case, placement="") if unit == PLACEMENT else case


def claims_of(kept: Kept, unit: str) -> Iterator[Claim]:
    """Yield the claims, each with the shortest label that distinguishes it from the others."""
    cases = {place: _anywhere(next(iter(rows.values())).case, unit) for (place, _), rows in kept.items()}
    label = dict(zip(cases, labels(tuple(cases.values())), strict=True))
    for (place, quantity), rows in kept.items():
        yield Claim(label[place], quantity, dict(sorted(rows.items())))


def _chosen(claims: list[Claim], name: str) -> Claim | None:
    """Return the first claim whose label begins so, or the one with the most rows; None if there are no claims."""
    found = [claim for claim in claims if claim.label.startswith(name)]
    if claims and not found:
        raise unknown("claim", name, list(dict.fromkeys(claim.label for claim in claims)))
    return found[0] if found else None
