"""One run of a load generator: started in its own process group, bounded in time, ended with all that it started."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

from bench.errors import SystemFailedError
from bench.process import cpu_clocks
from bench.process.pipes import bound_to_this, with_package
from certify.report import MOST_REPORT

GRACE_S = 30.0  # beyond the duration: to start, to wait for the last replies, to write the report
LOOK_S = 0.02
READ_S = 0.2  # between readings of its CPU clocks, each of which looks through all processes


@dataclass(frozen=True)
class Ended:
    """How a program ended. status: its exit status, negative for a signal; None if it was ended for taking too long.

    took_s: from its start to its end. left_processes: whether processes that it had started were still there, and were
    ended. clocks: the CPU time that it and its descendants had used by some instants, as pairs (ns of CLOCK_MONOTONIC,
    ns).
    """

    stdout: str
    stderr: str
    status: int | None
    took_s: float
    left_processes: bool = False
    clocks: tuple[tuple[int, int], ...] = ()


@dataclass
class CpuClocks:
    """The CPU clocks of a process and its descendants. readings: pairs (ns of CLOCK_MONOTONIC, CPU time in ns)."""

    pid: int
    readings: list[tuple[int, int]] = field(default_factory=list)
    _used_ns: dict[int, int] = field(default_factory=dict)  # of those that ended, what they had used when last read

    def read_when_due(self) -> None:
        """Read them, ``READ_S`` after they were read last."""
        import psutil

        if self.readings and time.monotonic_ns() < self.readings[-1][0] + READ_S * 1e9:
            return
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            for pid in (self.pid, *(child.pid for child in psutil.Process(self.pid).children(recursive=True))):
                with contextlib.suppress(ProcessLookupError):
                    self._used_ns[pid] = cpu_clocks.process_ns(pid)
            self.readings.append((time.monotonic_ns(), sum(self._used_ns.values())))


def run(words: Sequence[str], limit_s: float) -> Ended:
    """Run a program, from the process's main thread; SystemFailedError if it cannot be started."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                process_group=0,
                env=with_package() | {"LC_ALL": "C"},
                preexec_fn=bound_to_this(),
            )
        except OSError as reason:
            raise SystemFailedError(f"{words[0]} cannot be started: {reason.strerror}; try it by hand") from reason
        try:
            clocks = CpuClocks(process.pid)
            in_time = _has_ended(process.pid, began + limit_s, clocks)
        finally:  # its number, which is that of its group, cannot be another's while nobody has waited for it
            left = _group_size(process.pid) > 1
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        took_s = time.monotonic() - began
        outputs, status_in_time = (_text(stdout), _text(stderr)), status if in_time else None
        return Ended(*outputs, status_in_time, took_s, left and in_time, tuple(clocks.readings))


def _has_ended(pid: int, until: float, clocks: CpuClocks) -> bool:
    """Wait until a child ends, and leave it unwaited-for; return whether it did in time."""
    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        if time.monotonic() > until:
            return False
        clocks.read_when_due()
        time.sleep(LOOK_S)
    return True


def _group_size(group: int) -> int:
    """Return how many processes a group has, those included that nobody has waited for."""
    import psutil

    count = 0
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError):
            count += os.getpgid(pid) == group
    return count


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST_REPORT).decode(errors="replace")
