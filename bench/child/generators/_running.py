"""A generator as the load of a client's process: it waits ready, runs for one window, and cannot outlive the process.

Its words wait in a shell, so that the process is known, placed and metered before the window; the shell becomes the
program at *go*. Programs like these look neither at their input nor at who started them: on Linux the kernel ends
them with the thread that started them, which has to be the process's main one; elsewhere they end by themselves.
"""

import os
import subprocess
from dataclasses import replace
from typing import Any

from bench.child import generators, timed_loops
from bench.child.loads import Callers
from bench.child.wire import WireLoad
from bench.contract import LoadReport
from bench.errors import SystemFailedError
from bench.process.pipes import Process, bound_to_this
from bench.process.spec import ClientSpec


class Program(Process):
    """A program that starts on demand, and prints a report."""

    def __init__(self, words: list[str]) -> None:
        self._name = os.path.basename(words[0])  # noqa: PTH119 - pathlib is slow to import
        super().__init__(
            ["/bin/sh", "-c", 'read -r go && exec "$@"', "sh", *words],
            stderr=subprocess.PIPE,
            env=os.environ | {"LC_ALL": "C"},
            preexec_fn=bound_to_this(),
        )

    def run(self) -> tuple[str, str]:
        """Let it go; return what it said and complained of when it has ended. SystemFailedError if it failed."""
        output, complained = (text.decode(errors="replace") for text in self.communicate(b"go\n"))
        if status := self.status:
            last = (complained or output).strip().split("\n")[-1]
            raise SystemFailedError(f"{self._name} ended with status {status}: {last[:200] or 'it output nothing'}")
        return output, complained

    def stop(self) -> None:
        """End it, whatever it does, and wait until it has ended."""
        if self.status is None:
            self.kill()
            self.communicate()


class GeneratorLoad:
    """The closed load of one generator, with the methods of ``Callers``; it has a report, and no samples."""

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        self._generator = generators.module(spec.case.engine)
        self._connections = spec.case.callers
        trial = WireLoad if hasattr(system, "Wire") else Callers
        self._trial = trial(
            system, options, address, ClientSpec(**vars(spec) | {"case": replace(spec.case, max_calls=1)})
        )
        url = system.url(address, options, spec.case.payload_bytes)
        _, *words = self._generator.command(self._connections, spec.window_s, url)
        self._program = Program([generators.program(spec.case.engine), *words])

    @property
    def pids(self) -> list[int]:
        """The further process whose CPU time counts as the client's."""
        return [self._program.pid]

    def first(self) -> int:
        """Make one verified call with each of as many connections, end these; return the time of the first in ns."""
        try:
            return int(self._trial.first())
        finally:
            self._trial.close()

    def load(self, at_ns: int, until_ns: int) -> None:
        """Run the program for the plan's window, which is ``until_ns - at_ns``, as it rounds it."""
        timed_loops.wait_until(at_ns)
        self._report = self._generator.read(*self._program.run(), self._connections)

    def report(self) -> LoadReport:
        """Return the calls, errors, length of the window in s, and all rows of the report; there are no times."""
        report = self._report
        return LoadReport(report.calls, (), sum(report.errors.values()), report.rows(), window_s=report.window_s)

    def close(self) -> None:
        """End the program, if it has not ended."""
        self._program.stop()
