"""Rows of the list of runs, kept in a file beside them: a run that has not changed is not read again.

Of a finished run its manifest is looked at, of another its folders too. What was altered or removed beside the manifest
of a finished run is found when that run is read.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from bench.errors import DataError
from bench.plan import paths
from bench.run import schema, stored
from bench.run.files import read_bytes, write_bytes
from bench.run.folder import Folder

VERSION = 1  # of the file and of the rows in it
NAME = "listed.json"
FEW = 100  # runs: so many are read faster than anybody notices
SETTLED_NS = 2_000_000_000  # a folder that changed later than that may change again within the resolution of its time
PLACES = ("manifest.json", *schema.TABLES)

Row = dict[str, Any]


def rows(read: Callable[[Folder], Row | None]) -> list[Row]:
    """Return the rows of your runs, the oldest first, as ``read`` makes them, or made them when a run was the same."""
    names, parent = stored.names(), paths.runs()
    known = _known() if len(names) >= FEW else {}
    found, kept, latest_ns = list[Row](), dict[str, Any](), time.time_ns() - SETTLED_NS
    for name in names:
        entry, place = known.get(name), f"{parent}{os.sep}{name}{os.sep}"
        if entry and entry[0] == _times(place, len(entry[0])):
            kept[name] = entry
            found.append(entry[1])
            continue
        times, folder = _times(place, len(PLACES)), stored.named(name)
        row = read(folder) if folder else None
        if row is None:
            continue
        found.append(row)
        if max(times) < latest_ns:
            kept[name] = [times[:1] if row["finished"] else times, row]
    if len(names) >= FEW and kept != known:
        with suppress(DataError):  # a folder that cannot be written
            write_bytes(paths.runs() / NAME, json.dumps({"version": VERSION, "runs": kept}).encode())
    return found


def _times(folder: str, places: int) -> list[int]:
    """Return when the manifest, and so many places in all, of a run changed; 0 for what is not there."""
    times = []
    for name in PLACES[:places]:
        try:
            times.append(os.lstat(folder + name).st_mtime_ns)
        except OSError:
            times.append(0)
    return times


def _known() -> Mapping[str, Any]:
    """Return what was kept, by the name of the run; nothing where it is damaged or of another version."""
    with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        content = json.loads(read_bytes(paths.runs() / NAME))
        runs = content["runs"] if content.get("version") == VERSION else {}
        if all(isinstance(times, list) and times and isinstance(row, dict) for times, row in runs.values()):
            return dict(runs)
    return {}
