"""A process with pipes: started, written to, read from, ended. Children start processes too, so it is light."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from bench.process.channel import ControlMessage, encode

PR_SET_PDEATHSIG = 1
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120  # the folder that holds ``bench``


def python(module: str, *words: str) -> list[str]:
    """Return the words that run a module with this interpreter, which takes no file of the current folder for it."""
    return [sys.executable, "-P", "-m", module, *words]


@functools.cache
def is_found() -> bool:
    """Return whether an interpreter finds this package by itself: it is installed, or linked to."""
    import glob
    import site

    for folder in site.getsitepackages():
        if folder == ROOT:
            return True
        for name in glob.glob(os.path.join(glob.escape(folder), "*.pth")):  # noqa: PTH118, PTH207
            with contextlib.suppress(OSError), open(name, errors="replace") as links:  # noqa: PTH123
                if ROOT in links.read().splitlines():
                    return True
    return False


def with_package() -> dict[str, str]:
    """Return this process's environment, in which an interpreter finds this package.

    Its folder goes before all others only where it has to: a file in it called like a library would be taken for it.
    """
    if is_found():
        return dict(os.environ)
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))}


SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # of servers; a user's PATH often lacks them


def program(name: str) -> str | None:
    """Return the path of an installed program, looked for in ``PATH`` and where servers are; None if it is nowhere."""
    import shutil  # in the function: it takes 5 ms, and few children need it

    return shutil.which(name, path=os.pathsep.join(filter(None, [os.environ.get("PATH"), *SYSTEM_FOLDERS])))


class Process:
    """A process that reads from this one and is read by it; the end of its input makes it leave.

    pid: its number. Options of ``subprocess.Popen`` are passed on.
    """

    def __init__(self, words: Sequence[str], **options: Any) -> None:
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        assert self._process.stdin and self._process.stdout
        self._input, self.output = self._process.stdin, self._process.stdout
        self.pid = self._process.pid

    def write(self, data: bytes) -> None:
        """Write to its input; the reader of its output notices if it has died."""
        with contextlib.suppress(BrokenPipeError):
            self._input.write(data)
            self._input.flush()

    def send(self, message: ControlMessage) -> None:
        """Send one message."""
        self.write(b"".join(encode(message)))

    def fileno(self) -> int:
        """Return the descriptor on which its output arrives."""
        return self.output.fileno()

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float | None = None) -> int | None:
        """Return its exit status when it has ended, or None if it has not after that many seconds."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def ask_to_leave(self) -> None:
        """End its input."""
        with contextlib.suppress(BrokenPipeError):
            self._input.close()

    def communicate(self, data: bytes = b"") -> tuple[bytes, bytes]:
        """Write, end its input, and return all that it then puts out, and its errors if these are piped."""
        output, complained = self._process.communicate(data)
        return output or b"", complained or b""

    def kill(self) -> None:
        """End it by force."""
        self._process.kill()

    def end(self) -> int:
        """End its input, wait until it has ended, release what is held; return its exit status."""
        self.ask_to_leave()
        status = self._process.wait()
        self.output.close()
        return status


def bound_to_this() -> Callable[[], None] | None:
    """Return what a new process calls, before it becomes a program, to end when the thread that started it does.

    For programs that do not look at their input; Linux only: elsewhere such programs end by themselves. The thread has
    to be the main one.
    """
    if sys.platform != "linux":
        return None
    import ctypes

    prctl, starter = ctypes.CDLL(None).prctl, os.getpid()

    def bind() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != starter:  # it had ended before
            os._exit(1)

    return bind
