"""One JSON file of your runs, to hand in: what it reports is shown before it is written."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis import checks, comparison
from bench.apps.classroom import reading
from bench.apps.classroom.ratios import NO_BASELINE, ratios
from bench.apps.teaching import answers, course, predictions, questions
from bench.errors import DataError, UsageError, reason_of
from bench.plan import hosts, paths
from bench.plan.case import Case
from bench.run import stored
from bench.run.frames import P50, Run, number_of, shared
from bench.text import counted, quantity, quoted


@dataclass(frozen=True)
class Submission:
    """A file that is not written yet; ``name`` is its usual name. unused: what of it a class gets no ratio from."""

    content: dict[str, Any]
    data: bytes
    name: str
    unused: tuple[reading.Refusal, ...] = ()

    def __str__(self) -> str:
        rows = [
            f"  {run['id']}: {counted(len(run['starts']), 'start')} of {counted(len(run['cases']), 'case')}, "
            f"{counted(len(run['predictions']), 'prediction')}"
            for run in self.content["runs"]
        ]
        return "\n".join(
            [
                f"A file of {quantity(len(self.data), 'B')}. What it reports about this machine:",
                f"  {json.dumps(self.content['machine'])}",
                f"Name: {self.content.get('name') or 'none'}. Answers to self-tests: {_answered(self.content)}.",
                "Of each run: digest, date, packages, revision, checks and cases; of each start: calls, p50 and p99 of "
                "the RTT, rate and CPU time per call; predictions with their reasons. Single calls are not in it.",
                *rows,
                *(
                    f"  {refusal.run}: the class gets no ratio of {refusal.what}: {refusal.reason}"
                    for refusal in self.unused
                ),
            ]
        )


def _answered(content: dict[str, Any]) -> str:
    return ", ".join(f"{exercise} {quoted(answer)}" for exercise, answer in content["answers"].items()) or "none"


def submission(names: Sequence[str], pair: str = "") -> Submission:
    """Return the file of some runs of one machine; BenchError if it would not be accepted.

    pair: who hands it in, for the file and its name.
    """
    if len(pair) > reading.LONGEST_NAME:
        raise UsageError(f"--name has {len(pair)} letters: at most {reading.LONGEST_NAME}")
    unique = {run.id: run for run in (shared(stored.find(name).path) for name in names)}
    runs = tuple(unique[name] for name in sorted(unique))
    if len({run.manifest["machine"]["machine_id"] for run in runs}) != 1:
        raise UsageError("name runs of one machine: those of another go into a file of its own")
    for run in runs:
        if any(case.target for case in run.plan.cases):
            raise DataError(
                f"run {run.id} called a server elsewhere, whose address is not submitted: submit other runs"
            )
        if any(hosts.is_far(case.hosts) for case in run.plan.cases):
            raise DataError(f"run {run.id} was measured by several machines, and a file is of one: submit other runs")
        checks.refuse_invalid(run)
    content = report(runs) | {"name": " ".join(pair.split())}
    data = encoded(content)
    try:
        submitted = reading.read(data)
    except reading.RefusedError as reason:
        raise DataError(f"such a file would not be accepted: {reason}; submit fewer or other runs") from reason
    unused = [one for run in submitted for one in ratios(run, [P50])[1] if one.reason != NO_BASELINE]
    whose = re.sub(r"\W+", "-", pair.casefold()).strip("-") or content["machine"]["machine_id"]
    name = f"roundtrip-{whose}-{runs[-1].id[:15]}.json"
    return Submission(content, data, name, tuple(unused))


def report(runs: Sequence[Run]) -> dict[str, Any]:
    """Return what a submission says of runs of one machine: no address, no error.

    Of what a person typed it holds the predictions' reasons and the answers to self-tests.
    """
    machine = runs[-1].manifest["machine"]
    return {
        "submission": reading.VERSION,
        "answers": answers.kept(course.NAMES),
        "machine": {name: machine.get(name) for name in reading.Machine.__struct_fields__},
        "runs": [
            {
                "id": run.id,
                "created": run.manifest["created"],
                "digest": run.manifest.get("digest", ""),
                "revision": run.manifest["git"]["revision"],
                "versions": run.manifest["versions"],
                "checks": dict(checks.tally(run).verdicts),
                "cases": [_case(case) for case in run.plan.cases],
                "starts": _starts(run),
                "predictions": list(_predictions(run)),
            }
            for run in runs
        ],
    }


def _predictions(run: Run) -> Iterator[dict[str, Any]]:
    """Yield what was predicted before a run, and what it measured."""
    for asked in questions.of_plan(run.plan):
        made, _ = predictions.before(asked, run)
        answer = questions.measured(run, asked)
        if made:
            yield {
                "question": asked.name, "low": made.low, "high": made.high, "why": made.why,
                "measured": answer and float(answer.middle),
            }  # fmt: skip


def encoded(content: dict[str, Any]) -> bytes:
    """Return a submission as its file holds it: the same bytes for the same runs."""
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def _case(case: Case) -> dict[str, Any]:
    """Return what is said of a case; a user's own file is named by its content: equal for equal ones."""
    fields = {name: value for name, value in vars(case).items() if name not in reading.LEFT_OUT}
    own = f"own-{hashlib.sha256(case.content.encode()).hexdigest()[:8]}"
    return fields | {"message": own if case.content else case.message}


def _starts(run: Run) -> list[dict[str, Any]]:
    """Return the starts of a run, those of a block as one; a number that is not known, or not above zero, is null."""
    starts = run.starts.groupby(["case", "block"], sort=False)[["calls", "errors"]].sum().reset_index()
    for name in comparison.QUANTITIES:
        of_case = {case: comparison.values(run, number_of(case), name) for case in starts["case"].unique()}
        column = pd.Series(
            [of_case[case].get(block) for case, block in starts[["case", "block"]].to_numpy()], dtype=float
        )
        starts[name] = column.astype(object).where(column > 0, None)
    return starts.to_dict("records")


def write(made: Submission, name: str) -> str:
    """Write a new file, and return its path as users read it best; a file that is there already is kept.

    Of a file that cannot be written to its end nothing is left.
    """
    target, is_ours = Path(name), False
    try:
        with target.open("xb") as opened:
            is_ours = True
            opened.write(made.data)
    except (OSError, ValueError) as reason:  # a name with a zero byte is no name
        if is_ours:
            with suppress(OSError):
                target.unlink()
        raise DataError(f"cannot write {quoted(name)}: {reason_of(reason)}; name another with -o") from reason
    return paths.shown(target)
