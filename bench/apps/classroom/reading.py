"""Submissions: JSON files of strangers, each accepted as a whole or refused with a reason.

A file is read up to a size and decoded by a schema of bounded numbers and texts; what is shown of its texts holds no
markup. That its numbers were measured cannot be known: whoever writes a file can write any.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pandas as pd
from msgspec import Meta, Struct

from bench.analysis.comparison import QUANTITIES
from bench.errors import DataError, UsageError, reason_of
from bench.plan import documents, paths
from bench.plan.case import Case
from bench.plan.hosts import Name
from bench.run import manifest
from bench.run.files import read_bytes
from bench.run.manifest import CASE, Count, FromZero
from bench.text import all_harmless, harmless, listed, one_line, quoted

VERSION = 2
MOST_FILES, MOST_BYTES = 500, 500_000
LEFT_OUT = ("target", "hosts", "sessions", "content")  # of a case: no address, no text that a person typed

Digits = Annotated[str, Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
Fact = Annotated[str, Meta(max_length=100)]
Measured = Annotated[float, Meta(ge=1e-3, le=1e9)]  # from 1 ns, in us, to a thousand million calls per second
Predicted = Annotated[float, Meta(gt=0, le=1e12)]
EXERCISE = r"\A[a-z]{1,40} \w{1,4}\Z"
Exercise = Annotated[str, Meta(pattern=EXERCISE)]
Answer = Annotated[float, Meta(ge=-1e300, le=1e300)] | Annotated[str, Meta(max_length=100)]
WHOLE, COPIES = "all of it", "all but one of them"  # what is refused of a file, and of files with the same run
MOST_SIGNS = 1000  # of a reason
LONGEST_NAME = 60  # of a pair
RUN = r"\A[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[a-z_]{1,40}-[0-9a-f]{8}(-[0-9]{1,3})?\Z"


class RefusedError(DataError):
    """A submission cannot be used; the text is the reason alone."""


class Machine(Struct, forbid_unknown_fields=True):
    """What is shown of a machine; ``machine_id`` is its salted name."""

    machine_id: Annotated[str, Meta(pattern=r"\A[0-9a-f]{8}\Z")]
    cpu_model: Fact | None
    cpus_allowed: Count
    virtual: bool | None
    system: Fact | None
    kernel: Fact | None


class Start(Struct, forbid_unknown_fields=True):
    """One start: its number of calls, and its quantiles (us), rate (1/s) and CPU time (us) per call where known."""

    case: FromZero
    block: FromZero
    calls: FromZero
    errors: Annotated[int, Meta(ge=0, le=0)]
    p50_rtt_us: Measured | None
    p99_rtt_us: Measured | None
    rate_per_s: Measured | None
    cpu_us_per_call: Measured | None

    def __post_init__(self) -> None:
        if self.p50_rtt_us and self.p99_rtt_us and self.p50_rtt_us > self.p99_rtt_us:
            raise ValueError("p50_rtt_us is above p99_rtt_us")


class Prediction(Struct, forbid_unknown_fields=True):
    """A range that was locked before a run, in the question's unit, its reason, and what the run measured."""

    question: Annotated[str, Meta(pattern=EXERCISE)]
    low: Predicted
    high: Predicted
    why: Annotated[str, Meta(min_length=1, max_length=MOST_SIGNS)]
    measured: Predicted | None


class Run(Struct, forbid_unknown_fields=True):
    """A run of a submission; ``digest`` is the one of its manifest where it was measured."""

    id: Annotated[str, Meta(pattern=RUN)]
    created: Annotated[datetime, Meta(tz=True)]
    digest: Digits
    revision: Fact | None
    versions: dict[Fact, Fact]
    checks: Annotated[dict[Name, Literal["PASS", "CAUTION", "N/A"]], Meta(max_length=50)]
    cases: Annotated[list[CASE], Meta(min_length=1, max_length=100)]
    starts: Annotated[list[Start], Meta(min_length=1, max_length=2000)]
    predictions: Annotated[list[Prediction], Meta(max_length=20)] = []

    def __post_init__(self) -> None:
        if (self.created - datetime.now(UTC)).days > 0:
            raise ValueError("created is in the future")
        if any(start.case >= len(self.cases) for start in self.starts):
            raise ValueError(f"a start belongs to none of the {len(self.cases)} cases")
        if len({(start.case, start.block) for start in self.starts}) < len(self.starts):
            raise ValueError("a case has two starts in a block")


class Submission(Struct, forbid_unknown_fields=True):
    """The content of a file; ``name`` is that of a pair, ``answers`` are its last ones to self-tests."""

    submission: Literal[2]  # VERSION
    machine: Machine
    runs: Annotated[list[Run], Meta(min_length=1, max_length=16)]
    name: Annotated[str, Meta(max_length=LONGEST_NAME)] = ""
    answers: Annotated[dict[Exercise, Answer], Meta(max_length=200)] = {}

    def __post_init__(self) -> None:
        if len({run.id for run in self.runs}) < len(self.runs):
            raise ValueError("a run is submitted twice")


@dataclass(frozen=True)
class SubmittedRun:
    """One run of an accepted file; ``starts`` has one row for each start, ``facts`` its machine.

    digest: of the file. run_digest: of the run's manifest where it was measured, and so of all its files. name: of the
    pair that handed the file in, if it gave one. answers: the file's, to self-tests.
    """

    id: str
    created: datetime
    checks: dict[str, str]
    facts: dict[str, str]
    cases: tuple[Case, ...]
    starts: pd.DataFrame
    file: str
    digest: str
    run_digest: str
    name: str
    predictions: tuple[Prediction, ...]
    answers: dict[str, float | str]

    @property
    def machine(self) -> str:
        """The name of its pair, because PCs made from one image have one machine id; without one, that id."""
        return self.name or self.facts["machine_id"]

    @property
    def identity(self) -> str:
        """What is equal for equal runs: the digest, where the run has one."""
        return self.run_digest or f"{self.digest} {self.id}"


@dataclass(frozen=True)
class Refusal:
    """What was not used, and why: a file, or some cases of one of its runs."""

    file: str
    what: str
    reason: str
    run: str = ""


def read(data: bytes, file: str = "") -> list[SubmittedRun]:
    """Return the runs of a file; RefusedError says what is wrong with it."""
    if len(data) > MOST_BYTES:
        raise RefusedError(f"it is larger than {MOST_BYTES:,} B")
    try:
        content = msgspec.convert(documents.from_json(data), Submission)
    except ValueError as reason:
        raise RefusedError(f"it is no submission: {harmless(manifest.in_words(reason))}") from reason
    machine = msgspec.structs.asdict(content.machine)
    facts = {name: "not known" if value is None else harmless(str(value)) for name, value in machine.items()}
    digest = hashlib.sha256(data).hexdigest()
    return [
        SubmittedRun(
            id=run.id,
            created=run.created,
            checks=dict(run.checks),
            facts=facts,
            cases=_cases(run.cases),
            starts=pd.DataFrame(map(msgspec.structs.asdict, run.starts)).astype(dict.fromkeys(QUANTITIES, float)),
            file=file,
            digest=digest,
            run_digest=run.digest,
            name=harmless(one_line(content.name)),
            predictions=tuple(run.predictions),
            answers=content.answers,
        )
        for run in content.runs
    ]


def _cases(records: Sequence[Struct]) -> tuple[Case, ...]:
    stored = (msgspec.structs.asdict(record).items() for record in records)
    fields = ({name: value for name, value in case if value is not None and name not in LEFT_OUT} for case in stored)
    return tuple(Case.from_dict(all_harmless(case)) for case in fields)


def read_folder(path: Path) -> tuple[list[SubmittedRun], list[Refusal]]:
    """Return the runs of a folder of submissions, and what is refused; UsageError if it is no such folder."""
    try:
        files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    except (OSError, ValueError) as reason:  # a name with a zero byte is no name
        raise UsageError(
            f"cannot read the folder {quoted(str(path))}: {reason_of(reason)}; name another folder"
        ) from reason
    if len(files) > MOST_FILES or (files and not any(file.suffix == ".json" for file in files)):
        raise UsageError(
            f"{paths.shown(path)} holds no submissions, which are up to {MOST_FILES} files named .json: "
            "name another folder"
        )
    runs: list[SubmittedRun] = []
    refused: list[Refusal] = []
    for file in files:
        name = harmless(one_line(file.name, 80))
        try:
            runs += read(read_bytes(file, MOST_BYTES + 1), name)
        except (RefusedError, OSError) as reason:
            refused.append(Refusal(name, WHOLE, reason_of(reason)))
    return runs, refused


def each_once(runs: Iterable[SubmittedRun]) -> tuple[list[SubmittedRun], list[Refusal]]:
    """Return each run once, and a refusal of each that several files hold: which of them measured it is not known."""
    equal = by_identity(runs).values()
    return [same[0] for same in equal], [held_by_several(same) for same in equal if len(same) > 1]


def by_identity(runs: Iterable[SubmittedRun]) -> dict[str, list[SubmittedRun]]:
    """Return the runs by what is equal for equal ones."""
    equal: dict[str, list[SubmittedRun]] = defaultdict(list)
    for run in runs:
        equal[run.identity].append(run)
    return equal


def held_by_several(same: Sequence[SubmittedRun]) -> Refusal:
    """Return the refusal of equal runs: it names all files, and the pairs or machines if they differ."""
    named = list(dict.fromkeys(run.machine for run in same))
    reason = "these files hold the same run, and it counts once"
    reason += f"; they name different pairs or machines: {listed(named)}" if len(named) > 1 else ""
    return Refusal(listed(run.file for run in same), COPIES, reason, same[0].id)
