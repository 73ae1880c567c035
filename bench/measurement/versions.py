"""The versions of what a run uses: Python, the laboratory's packages, and each system's library and programs."""

import contextlib
import importlib.metadata
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from bench import codecs, systems
from bench.plan.case import Case
from bench.process import environments, pipes

PACKAGES = ("psutil", "numpy", "pandas", "pyarrow", "matplotlib", "seaborn", "papermill", "jupyterlab")
PATIENCE_S = 10.0  # for a program to report its version


def installed(cases: Iterable[Case]) -> dict[str, str]:
    """Return versions by name: of Python, OpenSSL and the packages that matter, and of the cases' systems.

    Those of a system are of the packages that it requires, of its codec, of its programs and of its environment. Names
    whose version is not known are left out.
    """
    import ssl

    cases = list(cases)
    versions = {"python": platform.python_version(), "openssl": ssl.OPENSSL_VERSION}
    for name in (*PACKAGES, *_packages(cases)):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    for system in sorted({case.system for case in cases}):
        versions |= _of_environment(systems.constant(system, "ENVIRONMENT", None))
        versions |= _of_programs(system)
    return versions


def _packages(cases: Iterable[Case]) -> Iterator[str]:
    """Yield the distributions that the systems and the codecs of cases require."""
    for case in cases:
        yield from map(systems.distribution, systems.constant(case.system, "REQUIRES"))
        if case.message != "bytes" and case.options.get("codec") in codecs.names():
            yield from map(systems.distribution, codecs.requires(case.options["codec"]))


def _of_environment(name: str | None) -> dict[str, str]:
    """Return the version of the package that a Python environment is named after, from its lock."""
    version = environments.locked(name, name) if name else None
    return {name: version} if name and version else {}


def _of_programs(system: str) -> dict[str, str]:
    """Return the versions that a system's programs report."""
    commands = {name: f"{name} --version" for name in systems.constant(system, "PROGRAMS", {})}
    commands |= systems.constant(system, "VERSION_COMMANDS", {})
    return {name: version for name, command in commands.items() if (version := reported(command))}


def reported(command: str) -> str:
    """Return the first version number that a command prints, ``python`` being this one; "" if there is none."""
    first, *rest = shlex.split(command)
    path = sys.executable if first == "python" else pipes.program(first)
    if path is None:
        return ""
    try:
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "timeout": PATIENCE_S, "errors": "replace"}
        done = subprocess.run([path, *rest], capture_output=True, text=True, **options)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    number = re.search(r"\d+(\.\d+)+[\w.+-]*", f"{done.stdout}\n{done.stderr}")
    return number[0] if number else ""
