"""Cases with a source, checked by an interpreter that imports their system from there.

Two states of one file cannot be imported side by side, and their options may differ.
"""

import contextlib
import functools
import json
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench import errors, systems
from bench.errors import BenchError, SystemFileError, UsageError
from bench.plan.case import Case
from bench.process import sources
from bench.process.pipes import Process, python, with_package
from bench.process.sources import Source
from bench.text import one_line


@contextlib.contextmanager
def taking_part(*taking: Source) -> Iterator[None]:
    """Know these sources, and find systems that only they have: what is read without an import, from the first."""
    before = list(systems.__path__)
    for source in taking:
        sources.know(source)
    systems.__path__[:0] = [source.systems for source in taking]
    try:
        yield
    finally:
        systems.__path__[:] = before


def checked(case: Case) -> Case:
    """Return the case with all of its system's options, as its source has them; errors as ``support.checked``'s."""
    if case.hosts:
        raise UsageError("a source is measured by this machine alone: leave hosts out")
    return replace(
        _checked(json.dumps(asdict(replace(case, source="")), sort_keys=True), case.source), source=case.source
    )


@functools.cache
def _checked(case: str, label: str) -> Case:
    root = sources.source_of(label).root
    environment = sources.environment(with_package(), label)
    process = Process(python("bench.measurement.validation.in_a_source"), stderr=subprocess.PIPE, env=environment)
    stdout, stderr = process.communicate(case.encode())
    try:
        answer: dict[str, Any] = json.loads(stdout.splitlines()[-1])
    except (ValueError, IndexError):
        last = (stderr.decode(errors="replace").splitlines() or ["nothing was said"])[-1]
        raise SystemFileError(
            f"{label}: its import ended the interpreter: {one_line(last)}: correct the file"
        ) from None
    if "error" in answer:
        kind: type[BenchError] = getattr(errors, answer["error"], UsageError)
        text = answer["text"].replace(f"{root}/", "")
        raise kind(f"{label}: {text}")
    return Case.from_dict(answer["case"])


def names_in(folder: Path) -> list[str]:
    """Return the names of the systems whose files are in a folder: those that mention ``TRANSPORTS``, and services."""
    files = (file for file in folder.glob("[a-z]*") if file.is_file())
    return sorted(
        file.stem
        for file in files
        if systems.is_service(str(file)) or (file.suffix == ".py" and b"TRANSPORTS" in file.read_bytes())
    )
