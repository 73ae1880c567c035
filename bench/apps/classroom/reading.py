"""Submissions of strangers: each is read whole or refused with a reason, and a wrong one never stops the others."""

import hashlib
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pandas as pd

from bench import paths
from bench.apps.classroom import manifests, starts, zips
from bench.apps.classroom.zips import RefusedError, plain
from bench.errors import UsageError
from bench.plan.plan import Plan
from bench.text import quoted

MOST_FILES = 500


@dataclass(frozen=True)
class Submitted:
    """One run of a submission that passed every test; ``starts`` has one row for each start, ``facts`` its machine.

    digest: of the zip. run_digest: of the run's manifest where it was measured, and so of all its files; "" if older.
    """

    id: str
    created: datetime
    checks: dict[str, str]
    facts: dict[str, str]
    plan: Plan
    starts: pd.DataFrame
    file: str
    digest: str
    run_digest: str = ""

    @property
    def machine(self) -> str:
        """The salted name of its machine."""
        return self.facts["machine_id"]


@dataclass(frozen=True)
class Refusal:
    """What was not used, and why: all of a zip, or some cases of one of its runs."""

    file: str
    what: str
    reason: str
    run: str = ""


def read(data: bytes, file: str = "") -> list[Submitted]:
    """Return the runs of a zip; RefusedError says what is wrong with any part of it."""
    try:
        members, digest = zips.unpacked(data), hashlib.sha256(data).hexdigest()
        found = [_run(name, members, file, digest) for name in sorted({name.split("/")[0] for name in members})]
    except RefusedError:
        raise
    except Exception as reason:  # a stranger's bytes go through the parsers of others: whatever they raise is a reason
        raise RefusedError(f"it is no zip of this program, or a damaged one ({plain(reason)})") from reason
    if len({one.machine for one in found}) > 1:
        raise RefusedError("its runs are of different machines")
    return found


def _run(name: str, members: dict[str, bytes], file: str, digest: str) -> Submitted:
    if not {f"{name}/manifest.json", f"{name}/starts.parquet"} <= members.keys():
        raise RefusedError(f"run {name} has no manifest.json, or no starts.parquet")
    reported = manifests.read(members[f"{name}/manifest.json"])
    if reported["id"] != name:
        raise RefusedError(f"run {name} calls itself {reported['id']}")
    table = starts.read(members[f"{name}/starts.parquet"], len(reported["plan"].cases))
    return Submitted(**reported, starts=table, file=file, digest=digest)


def folder(path: Path) -> tuple[list[Submitted], list[Refusal]]:
    """Return all runs of a folder of zips, and what is refused; UsageError if there is no such folder."""
    if not os.path.isdir(path):  # noqa: PTH112 - a name that is too long is no error here
        raise UsageError(f"{quoted(str(path))} is no folder: name the one that holds the zips")
    try:
        files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    except OSError as reason:
        raise UsageError(f"cannot look into {paths.shown(path)}: {reason.strerror}; name another folder") from reason
    if len(files) > MOST_FILES:
        raise UsageError(f"{paths.shown(path)} is no folder of up to {MOST_FILES} zips: name the one that holds them")
    if files and not any(file.suffix.lower() == ".zip" for file in files):
        raise UsageError(f"{paths.shown(path)} holds no submissions: none of its {len(files)} files is a .zip")
    found, refused = [], []
    for file in files:
        try:
            found += read(zips.content(file), plain(file.name))
        except (RefusedError, OSError) as reason:
            refused.append(Refusal(plain(file.name), "all of it", plain(reason, 200)))
    return found, refused
