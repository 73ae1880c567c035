"""Rows of the list of runs, kept in a file beside them: a run whose folders have not changed is not read again.

What ``bench runs`` shows of a thousand runs then takes a look at each folder's times. Files that were altered in place
are found when a run is read.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from bench import paths
from bench.errors import DataError
from bench.run import integrity, schema, stored
from bench.run.files import read_bytes, write_bytes
from bench.run.folder import Folder

VERSION = 1  # of the file and of the rows in it
NAME = "listed.json"
FEW = 100  # runs: so many are read faster than anybody notices
SETTLED_NS = 2_000_000_000  # a folder that changed later than that may change again within the resolution of its time
PLACES = ("manifest.json", integrity.FOLDER, *schema.TABLES)

Row = dict[str, Any]


def rows(read: Callable[[Folder], Row | None]) -> list[Row]:
    """Return the rows of your runs, the oldest first, as ``read`` makes them, or made them when a run was the same."""
    folders = stored.all_runs()
    known = _known() if len(folders) >= FEW else {}
    found, kept, latest_ns = list[Row](), dict[str, Any](), time.time_ns() - SETTLED_NS
    for folder in folders:
        name = folder.path.name
        times = _times(f"{folder.path}{os.sep}")
        if (entry := known.get(name)) and entry[0] == times:
            row = entry[1]
        elif (row := read(folder)) is None:
            continue
        found.append(row)
        if max(times) < latest_ns:
            kept[name] = [times, row]
    if len(folders) >= FEW and kept != known:
        with suppress(DataError):  # a folder that cannot be written
            write_bytes(paths.runs() / NAME, json.dumps({"version": VERSION, "runs": kept}).encode())
    return found


def _times(folder: str) -> list[int]:
    """Return when the manifest and each folder of a run changed, 0 for what is not there."""
    times = []
    for name in PLACES:
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
        if all(isinstance(times, list) and isinstance(row, dict) for times, row in runs.values()):
            return dict(runs)
    return {}
