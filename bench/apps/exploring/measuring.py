"""A measurement beside the page: in a thread, so that clicks are answered meanwhile, and ended on request."""

import sys
import threading
import time
import traceback
from collections.abc import Callable

import numpy as np

from bench.analysis.converging import Converging
from bench.errors import BenchError
from bench.experiments.explore import time_of
from bench.grammar import precision
from bench.measurement import routers, runner
from bench.plan import paths
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.process import child_process
from bench.run import stored
from bench.run.folder import Folder
from bench.run.frames import P50, Run
from bench.stats import Array
from bench.stats.intervals import Interval
from bench.text import counted

DRAWN_S = 1.0  # at most so often a block is followed by a drawing


class Measurement:
    """One plan being measured; what it has measured is on disk after each block, whatever happens then.

    ``say(text)`` is called while something is prepared; ``on_block(measurement)`` when a block is on disk, before the
    processes of the next begin, so that drawing disturbs no slice, and at most once a second; ``on_end(measurement)``
    last. The thread is a daemon: a kernel that ends does not wait for it, and the processes of the block under way
    leave with their parent.
    """

    def __init__(
        self,
        plan: Plan,
        say: Callable[[str], None],
        on_block: "Callable[[Measurement], None]",
        on_end: "Callable[[Measurement], None]",
    ) -> None:
        self.plan, self.error, self.is_stopped = plan, "", False
        self._say, self._on_block, self._on_end = say, on_block, on_end
        self._wish = threading.Event()
        self._began = self._drawn = 0.0
        self._folder: Folder | None = None
        self._converging: Converging | None = None

    def start(self) -> None:
        """Begin to measure."""
        threading.Thread(target=self._work, name="measuring", daemon=True).start()

    def stop(self) -> None:
        """Ask for the end: the block under way is given up, its processes are ended."""
        self._wish.set()

    @property
    def run(self) -> Run | None:
        """What has been measured so far, or None if no start is complete."""
        return Run(self._folder) if self._folder and self._folder.done() else None

    @property
    def blocks(self) -> int:
        """How many blocks are complete."""
        return self._converging.blocks if self._converging else 0

    @property
    def state(self) -> str:
        """How far it is, and how long the rest takes at most."""
        left_s = (time.monotonic() - self._began) / max(1, self.blocks) * (self.plan.starts - self.blocks)
        left = f"{'at most ' * bool(self.plan.until_width)}{left_s:.0f} s left"
        return f"Block {self.blocks} of {self.plan.starts}; {left}. Stop keeps what is measured."

    @property
    def ending(self) -> str:
        """How it ended, and where what was measured is; nothing if an error ended it before the first block."""
        if self.run is None:
            return "Stopped before the first block was complete" if self.is_stopped else ""
        how = "Stopped" if self.is_stopped else "Failed" if self.error else "Done"
        blocks, path = counted(self.plan.starts, "block"), paths.shown(self.run.folder.path)
        reached = f". {precision.reached(self.run, self.plan)}" if self.plan.until_width and how == "Done" else ""
        return f"{how}: {self.blocks} of {blocks} are in {path}{reached}"

    def medians_us(self, case: int) -> Array:
        """Return the median of each start so far, in us: of the RTT, or of the response time under an open loop."""
        if self._converging and len(known := self._converging.medians_us(case)):
            return known
        name = P50.replace("rtt", time_of(self.plan.cases[case]))
        return self.run.starts_of(case)[name].to_numpy(float) if self.run else np.empty(0)

    def ratios(self) -> dict[tuple[int, int], Interval]:
        """Return the ratio of each pair (base, other) of cases that take turns."""
        return self._converging.ratios() if self._converging else {}

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
            self._on_end(self)

    def _measure(self) -> None:
        routers.make_environments(self.plan.cases, self._prepared)
        self._folder = stored.create(self.plan, runner.facts(self.plan))
        self._converging, self._began = Converging(self.plan, self._folder), time.monotonic()
        runner.run(self.plan, self._folder, progress=self._step, width=precision.half_width)

    def _prepared(self, text: str) -> None:
        self._say(text)
        self._end_if_asked()

    def _step(self, case: Case) -> None:
        """Show the results after a block; continue unless stopping is asked for."""
        assert self._converging
        before = self._converging.blocks
        self._converging.step()
        if self._converging.blocks > before and time.monotonic() - self._drawn >= DRAWN_S:
            self._drawn = time.monotonic()
            self._on_block(self)
        self._end_if_asked()

    def _end_if_asked(self) -> None:
        if self._wish.is_set():
            raise KeyboardInterrupt
