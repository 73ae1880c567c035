"""One zip of your runs: what will be in it is shown before it is written."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench import paths
from bench.analysis import checks
from bench.apps.classroom import manifests, reading, starts, zips
from bench.errors import DataError, UsageError
from bench.plan import hosts
from bench.run import schema, stored
from bench.run.frames import Run, shared
from bench.text import listed, quantity, quoted


@dataclass(frozen=True)
class Submission:
    """A zip that is not written yet; ``name`` is its usual name."""

    runs: tuple[Run, ...]
    members: dict[str, bytes]
    data: bytes
    name: str

    def __str__(self) -> str:
        sizes = [f"  {name:75} {quantity(len(data), 'B')}" for name, data in sorted(self.members.items())]
        lines = [f"A zip of {quantity(len(self.data), 'B')} with {len(sizes)} files:", *sizes]
        lines += ["What it reports about this machine:", f"  {json.dumps(manifests.report(self.runs[-1])['machine'])}"]
        rest = "and of each run: digest, when it was measured, its plan, packages, revision, and its checks.\nLeft out:"
        return "\n".join([*lines, rest, *(f"  {run.id}: {_left_out(run)}" for run in self.runs)])


def _left_out(run: Run) -> str:
    rows = {name: len(run.folder.read(name)) for name in schema.TABLES if name != "ledger"}
    size = sum(file.stat().st_size for name in rows for file in run.folder.files(name))
    return f"{listed(f'{name} ({count:,} rows)' for name, count in rows.items() if count)}: {quantity(size, 'B')}"


def submission(names: Sequence[str]) -> Submission:
    """Return the zip of some runs of one machine; BenchError if it would not be accepted."""
    unique = {run.id: run for run in (shared(stored.find(name).path) for name in names)}
    runs, members = tuple(unique[name] for name in sorted(unique)), {}
    machines = {run.manifest["machine"]["machine_id"] for run in runs}
    if len(machines) != 1:
        raise UsageError("name runs of one machine: those of another go into a zip of its own")
    for run in runs:
        if any(case.target for case in run.plan.cases):
            raise DataError(
                f"run {run.id} called a server elsewhere, whose address is not submitted: submit other runs"
            )
        if any(hosts.is_far(case.hosts) for case in run.plan.cases):
            raise DataError(f"run {run.id} was measured by several machines, and a zip is of one: submit other runs")
        if bad := checks.tally(run).invalid:
            raise DataError(f"run {run.id} is invalid ({listed(bad)}): `python -m bench show` says why; measure again")
        report = json.dumps(manifests.report(run), indent=1, sort_keys=True) + "\n"
        members[f"{run.id}/manifest.json"] = report.encode()
        members[f"{run.id}/starts.parquet"] = starts.written(starts.of(run))
    data = zips.packed(members)
    try:
        reading.read(data)
    except zips.RefusedError as reason:
        raise DataError(f"such a zip would not be accepted: {reason}; submit fewer or other runs") from reason
    return Submission(runs, members, data, f"roundtrip-{machines.pop()}-{runs[-1].id[:15]}.zip")


def write(made: Submission, name: str) -> str:
    """Write a new zip, and return its path as users read it best; a file that is there already is kept.

    Of a zip that cannot be written to its end nothing is left.
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
        why = getattr(reason, "strerror", None) or reason
        raise DataError(f"cannot write {quoted(name)}: {why}; name another with -o") from reason
    return paths.shown(target)
