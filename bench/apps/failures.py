"""What a command writes about an error, in one line, and the exit status that goes with it."""

import contextlib
import errno
import os
import re
import sys
import traceback
from typing import NoReturn

import click

from bench.errors import BENCH, BenchError, without_package
from bench.text import one_line

PACKAGE = f"{os.path.dirname(os.path.dirname(__file__))}{os.sep}"  # noqa: PTH120
LONGEST = 1400  # characters of an error
REMEDIES = {
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "allow more open files (ulimit -n 1024) and try again"),
    **dict.fromkeys((errno.EAGAIN, errno.ENOMEM), "allow more processes (ulimit -u), or end some that take memory"),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space where the output and temporary files (TMPDIR) go"),
    errno.EROFS: "name folders that can be written in ROUNDTRIP_RUNS, ROUNDTRIP_FIGURES and ROUNDTRIP_EXECUTED",
    errno.EPIPE: "whoever read the output has ended",
}


def status_and_text(error: BaseException) -> tuple[int, str]:
    """Return the exit status of an error, and a sentence on it."""
    match error:
        case BenchError():
            return error.exit_status, str(error)
        case click.UsageError():
            return 2, f"{_cut(error.format_message())} ({BENCH} --help shows the usage)"
        case click.ClickException():
            return error.exit_code, _cut(error.format_message())
        case click.Abort() | KeyboardInterrupt():
            return 130, "interrupted: completed starts are kept; resume with -p resume true"
    return 1, outside(error)


def outside(error: BaseException) -> str:
    """Return a sentence on what this program did not raise: what the machine lacks, or an error of its own."""
    if isinstance(error, ModuleNotFoundError) and not f"{error.name}.".startswith("bench."):
        return without_package(error)
    seen, cause = set(), error
    while id(cause) not in seen:  # a library that cannot be imported for lack of files names that only as the cause
        seen.add(id(cause))
        number = getattr(cause, "errno", None)  # ZeroMQ's errors have one too
        if isinstance(number, int) and number in REMEDIES:
            return f"{os.strerror(number)}: {REMEDIES[number]}"
        if isinstance(cause, MemoryError) or "start new thread" in str(cause):
            return f"{str(cause) or 'no memory is left'}: {REMEDIES[errno.EAGAIN]}"
        cause = cause.__cause__ or cause.__context__ or cause
    what = one_line(f"{type(error).__name__}: {error}", 200)
    return f"unforeseen {what}{_place(error)}; {BENCH} --debug ... shows where: please report it"


def _place(error: BaseException) -> str:
    """Return the last file of this package, and its line, that an error came through; "" without one."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(PACKAGE)]
    return f" ({frames[-1].filename.removeprefix(PACKAGE)}, line {frames[-1].lineno})" if frames else ""


def _cut(text: str) -> str:
    """Return a sentence of click's with no more of each word than a sentence quotes."""
    return re.sub(r"(\S{100})\S{100,}", r"\1...", text)


def end(status: int, text: str = "") -> NoReturn:
    """Write the error, if there is one, in one line, and exit; of a very long one its beginning and its remedy."""
    line = one_line(text, len(text))
    line = line if len(line) <= LONGEST else f"{line[: LONGEST - 500]} ... {line[-400:]}"
    with contextlib.suppress(OSError):
        if line:
            click.echo(f"bench: {line}", file=sys.stderr)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:  # the output takes nothing more; the interpreter would try again at its end, and complain
            with open(os.devnull, "w") as nowhere:  # noqa: PTH123
                os.dup2(nowhere.fileno(), stream.fileno())
    sys.exit(status)
