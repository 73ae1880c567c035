"""Small C++ programs for systems with a native library: compiled on first use, stored with the environments.

A program's folder is named after its source and the compiler's version, so that neither can be older than it.
"""

import functools
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench import environments, paths
from bench.environments import say
from bench.errors import NotInstalledError
from bench.installer import Say

COMPILER = "g++"
HEADERS = ("/usr/include", "/usr/local/include")


def need(headers: Iterable[str], packages: str) -> None:
    """Raise NotInstalledError, with the command that installs them, if the compiler or a header is not there."""
    missing = [] if shutil.which(COMPILER) else [f"there is no {COMPILER}"]
    missing += [f"there is no {name}" for name in headers if not any(Path(at, name).exists() for at in HEADERS)]
    if missing:
        raise NotInstalledError(f"{missing[0]}; install it: apt-get install {packages}")


@functools.cache
def ensure(source: Path, flags: Sequence[str], tell: Say = say) -> Path:
    """Return a compiled program; compile it if it is not there. NotInstalledError quotes the compiler."""
    folder = paths.environments() / f"{source.stem.strip('_')}-{_key(source, flags)}"
    program = folder / "program"
    if program.exists():
        return program
    with environments.alone(folder, tell):
        if not program.exists():
            tell(f"Compiling {source.name}, once (some seconds)")
            _compile(source, flags, program)
    return program


def _key(source: Path, flags: Sequence[str]) -> str:
    """Return eight digits of a hash over all that the program is made from."""
    version = subprocess.run([COMPILER, "--version"], capture_output=True, check=True).stdout
    return hashlib.sha256(source.read_bytes() + version + " ".join(flags).encode()).hexdigest()[:8]


def _compile(source: Path, flags: Sequence[str], program: Path) -> None:
    """Compile into a file beside the program, which takes its place when it is whole."""
    program.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        made = Path(folder, "made")
        command = [COMPILER, "-std=c++17", "-O2", str(source), "-o", str(made), *flags]
        finished = subprocess.run(command, capture_output=True, text=True)
        if finished.returncode:
            said = " | ".join(line.strip() for line in finished.stderr.splitlines()[-3:])
            raise NotInstalledError(f"{source.name} could not be compiled: {said}; try it: {' '.join(command)}")
        made.replace(program)
