"""Install the packages of locks into a Python environment, with uv or with pip.

A lock is a requirements file with the version and the hashes of every package; uv and pip both check the hashes. uv
takes seconds where pip takes minutes. The variable ``ROUNDTRIP_INSTALLER`` chooses: ``uv`` (the default) or ``pip``.
The Makefile calls ``main`` while its interpreter's environment is still empty, so this file and what it imports use the
standard library alone.
"""

import os
import shutil
import ssl
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.errors import BenchError, NotInstalledError, unknown
from bench.process import pipes

VARIABLE = "ROUNDTRIP_INSTALLER"
NAMES = ("uv", "pip")

Say = Callable[[str], None]


def choose(report: Say) -> str:
    """Return ``uv`` or ``pip``: the one that ``ROUNDTRIP_INSTALLER`` names; pip, after one line, if uv is not there.

    UsageError names the two if the variable holds anything else.
    """
    wanted = os.environ.get(VARIABLE) or "uv"
    if wanted not in NAMES:
        raise unknown(f"installer in {VARIABLE}", wanted, NAMES)
    if wanted == "uv" and uv() is None:
        report("uv is not installed: pip is used, which takes minutes (to have uv: python -m pip install uv)")
        return "pip"
    return wanted


def uv() -> str | None:
    """Return the path of the program uv, beside this interpreter or else in ``PATH``; None if it is in neither."""
    return shutil.which("uv", path=sysconfig.get_path("scripts")) or shutil.which("uv")


def install(installer: str, python: Path, locks: Sequence[Path]) -> None:
    """Install locks into the environment of ``python`` by the installer that ``choose`` returned.

    uv also removes packages that are in no lock. Byte-code is compiled. NotInstalledError quotes the installer's error.
    """
    if installer == "uv":
        words = ["--quiet", "--require-hashes", "--compile-bytecode", "--python", str(python)]
        run([uv() or "uv", "pip", "sync", *map(str, locks), *words], _settings())
    else:
        pip = pipes.python("pip", "--python", str(python), "--disable-pip-version-check", "--no-input")
        words = ["install", "--progress-bar", "off", "--no-deps", "--require-hashes"]
        run([*pip, *words, *(word for lock in locks for word in ("-r", str(lock)))])


def _settings() -> dict[str, str]:
    """Return the environment variables for uv: it is to trust the system's certificates, as pip does, if there are any.

    By default uv trusts only those that it brings along, and fails behind a proxy with a certificate of its own.
    """
    paths = ssl.get_default_verify_paths()
    has_certificates = paths.cafile or (paths.capath and any(Path(paths.capath).iterdir()))
    return ({"UV_SYSTEM_CERTS": "1"} if has_certificates else {}) | dict(os.environ)


def run(command: Sequence[str], variables: dict[str, str] | None = None) -> None:
    """Run a command; NotInstalledError quotes its error: pip's last ``ERROR``, uv's first ``error``, or the end."""
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables)
    if finished.returncode:
        lines = [line.strip() for line in finished.stdout.splitlines()]
        errors = [number for number, line in enumerate(lines) if line.startswith("ERROR")][-1:]
        errors += [number for number, line in enumerate(lines) if line.startswith("error:")]
        raise NotInstalledError(" | ".join(filter(None, lines[errors[0] if errors else -3 :][:3])))


def main(words: Sequence[str]) -> int:
    """Install locks into this interpreter's environment; return the exit status, after one line if it is not 0."""
    try:
        installer = choose(print)
        try:
            install(installer, Path(sys.executable), [Path(lock) for lock in words])
        except NotInstalledError as reason:
            remedy = "with a working network try again" + ", or without uv: make INSTALLER=pip" * (installer == "uv")
            raise NotInstalledError(f"{' '.join(words)} could not be installed: {reason}; {remedy}") from reason
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
