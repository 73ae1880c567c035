"""Sources: folders from which systems are imported in place of this installation's.

A case holds a source's label, as plain data; where the folders are on this machine, only this module knows.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from bench.errors import BENCH, UsageError

SYSTEMS = "ROUNDTRIP_SOURCE"  # names to a child the folder of systems that goes before all others


@dataclass(frozen=True)
class Source:
    """A state of somebody's files.

    label: its name and a hash of its content, NAME@HASH. root: the folder that was named, or a revision's copy of it.
    systems: the folder of its systems' files. paths: the folders from which these import, before all others.
    """

    label: str
    root: str
    systems: str
    paths: tuple[str, ...] = ()


_KNOWN: dict[str, Source] = {}


def know(source: Source) -> None:
    """Let children whose case holds the source's label import from there."""
    _KNOWN[source.label] = source


def source_of(label: str) -> Source:
    """Return the source of a label; UsageError where this process does not know it."""
    if label not in _KNOWN:
        raise UsageError(f"where the source {label} is, no run stores: measure with {BENCH} compare BASE HEAD")
    return _KNOWN[label]


def environment(inherited: Mapping[str, str], label: str) -> dict[str, str]:
    """Return the environment of a child whose case holds a source's label; "": this installation's systems."""
    if not label:
        return dict(inherited)
    source = source_of(label)
    folders = [*source.paths, *filter(None, [inherited.get("PYTHONPATH")])]
    return {**inherited, SYSTEMS: source.systems} | ({"PYTHONPATH": os.pathsep.join(folders)} if folders else {})
