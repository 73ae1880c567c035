"""Small programs in C++ or C: compiled on first use, stored with the environments.

A program's folder is named after its sources and the compiler's version, so that none can be older than it.
"""

import functools
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.errors import NotInstalledError
from bench.plan import paths
from bench.process import environments, installer
from bench.process.environments import say
from bench.process.installer import Say

COMPILER = "g++"
C_COMPILER = "gcc"
STANDARDS = {COMPILER: "c++17", C_COMPILER: "gnu17"}
HEADERS = ("/usr/include", "/usr/local/include")


def need(headers: Iterable[str], packages: str, tools: Iterable[str] = ()) -> None:
    """Raise NotInstalledError, with the command that installs them, if the compiler, a tool or a header is missing."""
    missing = [f"there is no {name}" for name in (COMPILER, *tools) if not shutil.which(name)]
    missing += [f"there is no {name}" for name in headers if not any(Path(at, name).exists() for at in HEADERS)]
    if missing:
        raise NotInstalledError(f"{missing[0]}; install it: apt-get install {packages}", packages.split())


@functools.cache
def ensure(
    source: Path,
    flags: Sequence[str],
    report: Say = say,
    headers: Sequence[Path] = (),
    protos: Sequence[Path] = (),
    compiler: str = COMPILER,
) -> Path:
    """Return a compiled program; compile it if it is not there. NotInstalledError quotes the compiler.

    headers: files beside the source that it includes. protos: files from which protoc generates more of its sources,
    with gRPC's services. compiler: g++, or gcc for a program in C.
    """
    parts = (source, *headers, *protos)
    folder = paths.environments() / f"{source.stem.strip('_')}-{_key(parts, flags, compiler)}"
    program = folder / "program"
    if program.exists():
        return program
    with environments.exclusive(folder, report):
        if not program.exists():
            report(f"Compiling {source.name}, once ({'up to a minute' if protos else 'some seconds'})")
            _compile(source, flags, protos, program, compiler)
    return program


def _key(parts: Iterable[Path], flags: Sequence[str], compiler: str) -> str:
    """Return eight digits of a hash over all that the program is made from."""
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    content = b"".join(part.read_bytes() for part in parts)
    return hashlib.sha256(content + version + " ".join(flags).encode()).hexdigest()[:8]


def _compile(source: Path, flags: Sequence[str], protos: Sequence[Path], program: Path, compiler: str) -> None:
    """Compile into a file beside the program, which takes its place when it is whole."""
    program.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        made, sources = Path(folder, "made"), [str(source)]
        for proto in protos:
            plugin = f"--plugin=protoc-gen-grpc={shutil.which('grpc_cpp_plugin')}"
            outputs = [f"--cpp_out={folder}", f"--grpc_out={folder}", plugin]
            _run(["protoc", f"-I{proto.parent}", *outputs, str(proto)], source)
            sources += [str(Path(folder, f"{proto.stem}{kind}.cc")) for kind in (".pb", ".grpc.pb")]
        _run([compiler, f"-std={STANDARDS[compiler]}", "-O2", f"-I{folder}", *sources, "-o", str(made), *flags], source)
        made.replace(program)


def _run(command: list[str], source: Path) -> None:
    try:
        installer.run(command)
    except NotInstalledError as reason:
        raise NotInstalledError(f"{source.name} could not be compiled: {reason}; try it: {' '.join(command)}") from None
