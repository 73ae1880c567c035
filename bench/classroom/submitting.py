"""One zip of your runs: what will be in it is shown before it is written."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import checks, outcomes, paths, store
from bench.classroom import manifests, reading, starts, zips
from bench.errors import DataError, UsageError
from bench.params import listed
from bench.results import Run
from bench.units import quantity


@dataclass(frozen=True)
class Submission:
    """A zip that is not written yet."""

    runs: tuple[Run, ...]
    members: dict[str, bytes]
    data: bytes

    @property
    def name(self) -> str:
        """The file's usual name: the machine's salted name, and when its newest run was measured."""
        return f"roundtrip-{self.runs[0].manifest['machine']['machine_id']}-{self.runs[-1].id[:15]}.zip"

    def __str__(self) -> str:
        """Say what is in it, what it tells of the machine, and what stays here."""
        sizes = [f"  {name:75} {quantity(len(data), 'B')}" for name, data in sorted(self.members.items())]
        machine = manifests.told(self.runs[-1])["machine"]
        lines = [f"A zip of {quantity(len(self.data), 'B')} with {len(sizes)} files:", *sizes]
        lines += ["What it tells of this machine:", f"  {json.dumps(machine)}"]
        lines += ["and of each run: when it was measured, its plan, packages, revision, and which checks passed."]
        return "\n".join([*lines, "Left out:", *(f"  {run.id}: {starts.left_out(run)}" for run in self.runs)])


def submission(folders: Sequence[store.Folder]) -> Submission:
    """Return the zip of some runs of one machine; DataError if it would not be accepted."""
    unique = {run.id: run for run in map(Run, folders)}
    runs = tuple(unique[name] for name in sorted(unique))
    if not runs:
        raise UsageError("name at least one run: `python -m bench runs` lists those there are")
    _refuse(runs)
    members = {}
    for run in runs:
        members[f"{run.id}/manifest.json"] = manifests.written(manifests.told(run))
        members[f"{run.id}/starts.parquet"] = starts.written(starts.of(run))
    data = zips.packed(members)
    try:
        reading.read(data)
    except zips.RefusedError as reason:
        raise DataError(f"such a zip would not be accepted: {reason}; submit fewer or other runs") from reason
    return Submission(runs, members, data)


def _refuse(runs: Sequence[Run]) -> None:
    """Refuse runs of several machines, of servers elsewhere, and those that their own checks call invalid."""
    if len({run.manifest["machine"]["machine_id"] for run in runs}) > 1:
        raise UsageError("these runs are of different machines: submit those of each machine in a zip of its own")
    for run in runs:
        if any(case.target for case in run.plan.cases):
            raise DataError(f"run {run.id} asked a server elsewhere, whose address is not told: submit other runs")
        if bad := [one.name for one in checks.check(run) if one.verdict == outcomes.INVALID]:
            raise DataError(f"run {run.id} is invalid ({listed(bad)}): `python -m bench show` says why; measure again")


def submit(
    names: Sequence[str], target: str | None, yes: bool, say: Callable[[str], None], ask: Callable[[str], bool] | None
) -> bool:
    """Show what a zip of these runs would hold, and write it if ``ask`` or ``yes`` agrees; return whether it did.

    ``ask`` is None where nobody can be asked.
    """
    made = submission([store.find(name) for name in names])
    file = Path(target or made.name)
    say(str(made))
    if not yes and ask is None:
        raise UsageError(f"{paths.shown(file)} is not written: there is no terminal to ask; agree with --yes")
    if not yes and ask is not None and not ask(f"Write {paths.shown(file)}?"):
        say("Nothing is written")
        return False
    _write(file, made.data)
    say(f"Written: {paths.shown(file)}")
    return True


def _write(file: Path, data: bytes) -> None:
    """Write a new file; one that is there already is kept, unless it holds the same."""
    try:
        if file.exists() and file.read_bytes() == data:
            return
        with file.open("xb") as opened:
            opened.write(data)
    except FileExistsError as reason:
        raise UsageError(f"{paths.shown(file)} is there already and holds other data: name another with -o") from reason
    except OSError as reason:
        raise DataError(f"cannot write {paths.shown(file)}: {reason.strerror}; name another with -o") from reason
