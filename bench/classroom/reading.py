"""Submissions of strangers: each is read whole or refused with a reason, and a wrong one never stops the others."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bench import outcomes, paths
from bench.classroom import manifests, starts, zips
from bench.classroom.manifests import Manifest
from bench.classroom.zips import RefusedError, plain
from bench.errors import UsageError
from bench.params import listed

MOST_FILES = 500


@dataclass(frozen=True)
class Submitted:
    """One run of a submission that passed every test; ``starts`` has one row for each start."""

    manifest: Manifest
    starts: pd.DataFrame
    file: str
    digest: str


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
        return _read(data, file)
    except RefusedError:
        raise
    except Exception as reason:  # a stranger's bytes go through the parsers of others: whatever they raise is a reason
        raise RefusedError(f"it is no zip of this program, or a damaged one ({plain(reason)})") from reason


def _read(data: bytes, file: str) -> list[Submitted]:
    members, digest = zips.unpacked(data), hashlib.sha256(data).hexdigest()
    names = sorted({name.partition("/")[0] for name in members})
    found = [_run(name, members, file, digest) for name in names]
    if len({one.manifest.machine_id for one in found}) > 1:
        raise RefusedError("its runs are of different machines")
    return found


def _run(name: str, members: dict[str, bytes], file: str, digest: str) -> Submitted:
    for part in ("manifest.json", "starts.parquet"):
        if f"{name}/{part}" not in members:
            raise RefusedError(f"run {name} has no {part}")
    manifest = manifests.read(members[f"{name}/manifest.json"])
    if manifest.id != name:
        raise RefusedError(f"run {name} calls itself {manifest.id}")
    if bad := [check for check, verdict in manifest.checks.items() if verdict == outcomes.INVALID]:
        raise RefusedError(f"run {name} is invalid by its own checks ({listed(bad)})")
    table = starts.read(members[f"{name}/starts.parquet"], len(manifest.plan.cases))
    return Submitted(manifest, table, file, digest)


def folder(name: str) -> tuple[list[Submitted], list[Refusal]]:
    """Return all runs of a folder of zips, and what is refused; UsageError if there is no such folder."""
    path = Path(name)
    if not path.is_dir():
        raise UsageError(f"there is no folder {paths.shown(path)}: name the one that holds the zips")
    files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    if len(files) > MOST_FILES:
        raise UsageError(f"{paths.shown(path)} holds {len(files)} files: give at most {MOST_FILES} at once")
    found: list[Submitted] = []
    refused = []
    for file in files:
        try:
            found += read(zips.content(file), plain(file.name))
        except RefusedError as reason:
            refused.append(Refusal(plain(file.name), "all of it", str(reason)))
    return found, refused
