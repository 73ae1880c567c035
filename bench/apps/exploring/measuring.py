"""A measurement beside the page: in a thread, so that clicks are answered meanwhile, and ended on request."""

import sys
import threading
import time
import traceback
from collections.abc import Callable

from bench import paths, systems
from bench.errors import BenchError
from bench.installation import environments
from bench.measurement import runner
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.process import child_process
from bench.run import stored
from bench.run.folder import Folder
from bench.run.frames import Run
from bench.validation.estimate import expected_s

TICK_S = 0.2

Say = Callable[[str, float], None]


class Measurement:
    """One plan being measured; what it has measured is on disk after each start, whatever happens then.

    ``say(text, share)`` is called with the state and the progress, about five times a second;
    ``on_start(run)`` when a start is on disk, before the next begins, so that drawing does not disturb a window;
    ``on_end(measurement)`` last. The thread is a daemon: a kernel that ends does not wait for it, and the processes of
    the start under way leave with their parent.
    """

    def __init__(
        self, plan: Plan, say: Say, on_start: Callable[[Run], None], on_end: "Callable[[Measurement], None]"
    ) -> None:
        self.plan = plan
        self.error = ""
        self.is_stopped = False
        self._say, self._on_start, self._on_end = say, on_start, on_end
        self._wish, self._ended = threading.Event(), threading.Event()
        self._doing, self._done, self._began = "Starting", 0, time.monotonic()
        self._folder: Folder | None = None
        self._teller = threading.Thread(target=self._tell, name="progress", daemon=True)

    def start(self) -> None:
        """Begin to measure."""
        self._teller.start()
        threading.Thread(target=self._work, name="measuring", daemon=True).start()

    def stop(self) -> None:
        """Ask for the end: the start under way is given up, its processes are ended."""
        self._doing = "Stopping"
        self._wish.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Return whether everything has ended, after that many seconds at most."""
        return self._ended.wait(seconds)

    @property
    def run(self) -> Run | None:
        """What has been measured so far, or None if no start is complete."""
        return Run(self._folder) if self._folder and self._folder.done() else None

    @property
    def ending(self) -> str:
        """How it ended, and where what was measured is; nothing if an error ended it before the first start."""
        if self.run is None:
            return "Stopped before the first start was complete" if self.is_stopped else ""
        how = "Stopped" if self.is_stopped else "Failed" if self.error else "Done"
        return f"{how}: {len(self.run.ledger)} of {self.plan.starts} starts are in {paths.shown(self.run.folder.path)}"

    def _work(self) -> None:
        """Measure; whatever goes wrong becomes one line on the page."""
        try:
            with child_process.until(self._wish.is_set):
                self._measure()
        except KeyboardInterrupt:
            self.is_stopped = True
        except BenchError as error:
            self.error = str(error)
        except Exception as error:
            traceback.print_exception(error, file=sys.__stderr__)  # the server's terminal, not the page
            self.error = f"{type(error).__name__}: {error}; the traceback is in the terminal of the server"
        finally:
            self._ended.set()
            self._teller.join()
            self._on_end(self)

    def _measure(self) -> None:
        for name in {systems.constant(case.system, "ENVIRONMENT", None) for case in self.plan.cases} - {None}:
            environments.ensure(name, self._prepared)
        self._folder = stored.create(self.plan, runner.facts(self.plan))
        self._doing, self._began = "Measuring", time.monotonic()
        runner.run(self.plan, self._folder, progress=self._step)

    def _prepared(self, text: str) -> None:
        self._doing = text
        if self._wish.is_set():
            raise KeyboardInterrupt

    def _step(self, case: Case) -> None:
        """Show the result of the start; continue unless stopping is asked for."""
        self._began = time.monotonic()
        self._done += 1
        if run := self.run:
            self._on_start(run)
        if self._wish.is_set():
            raise KeyboardInterrupt

    def _tell(self) -> None:
        """Report the progress of the measurement until it has ended: complete starts, time of the current one."""
        total = self.plan.all_starts
        each_s = max(0.1, expected_s(self.plan) / total)
        share = 0.0
        while not self._ended.wait(TICK_S):
            within = min(0.95, (time.monotonic() - self._began) / each_s)
            share = max(share, min(1.0, (self._done + within) / total))  # what was shown is never taken back
            text = f"{self._doing}: start {min(self._done + 1, total)} of {total}" if self._folder else self._doing
            self._say(text, share)
