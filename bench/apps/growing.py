"""A line that grows more exact while a plan is measured: in a terminal, beside a bar in a notebook, or in a log."""

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.analysis.converging import Converging
from bench.grammar.table import ratio_with_ends
from bench.measurement import runner
from bench.plan.case import Case
from bench.plan.labels import labels
from bench.run.folder import Folder
from bench.stats.intervals import LEAST_PAIRS, Interval

PIPE = "ROUNDTRIP_PROGRESS"  # set by `bench run`: the pipe by which a notebook's kernel sends it the line
GROWS_S, LOGGED_S = 0.5, 10.0  # how often the line is made anew, and said where there is no terminal
NAMES = {"compare": ("A", "A again", "B")}  # of cases that a notebook's reader knows by these


def text(converging: Converging, case: Case, left_s: float = math.nan) -> str:
    """Return how far a plan is, and its ratio with its interval; of several none; the case where there is no ratio.

    "block 12 of 68: B/A 1.031 [1.012, 1.050]; 31 s left"
    """
    plan = converging.plan
    ratios = _ratios(converging)
    shown = f": {', '.join(ratios) or runner.describe(case)}" * (len(ratios) < 2)
    left = "" if math.isnan(left_s) else f"; {left_s:.0f} s left"
    return f"block {converging.blocks} of {plan.starts}{shown}{left}"


def _ratios(converging: Converging) -> list[str]:
    """Return the ratios of a plan in words; of a case to its twin (A/A) only where there is no other."""
    plan, ratios = converging.plan, converging.ratios()
    others = {pair: ratio for pair, ratio in ratios.items() if plan.cases[pair[0]] != plan.cases[pair[1]]} or ratios
    known = NAMES.get(plan.notebook, labels(plan.cases))
    return [f"{known[pair[1]]}/{known[pair[0]]} {in_words(ratio)}" for pair, ratio in others.items()]


def in_words(ratio: Interval) -> str:
    """Return a ratio with its interval: 1.031 [1.012, 1.050]; or from which block on it has one."""
    return ratio_with_ends(ratio) + f" (95 % CI from block {LEAST_PAIRS} on)" * (not ratio.has_ends)


def now_and_then(say: Callable[[str], None]) -> Callable[[str], None]:
    """Return what shows the line in a log: ``say`` gets it every ten seconds."""
    last = time.monotonic()

    def show(line: str) -> None:
        nonlocal last
        if time.monotonic() - last >= LOGGED_S:
            last = time.monotonic()
            say(line)

    return show


def followed(folder: Folder, show: Callable[[str], None]) -> Callable[[Case], None]:
    """Return what ``runner.run`` calls after each start of a plan: it shows the line."""
    converging, began, done, shown_at = Converging(folder.plan(), folder), time.monotonic(), 0, 0.0

    def step(case: Case) -> None:
        nonlocal done, shown_at
        is_whole, now = converging.step(), time.monotonic()
        done += 1
        if is_whole and now - shown_at >= GROWS_S:
            shown_at = now
            show(text(converging, case, (now - began) / done * (converging.plan.all_starts - done)))

    return step


@contextlib.contextmanager
def terminal_or(say: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """Yield what shows the line: replaced on the terminal of the error output, or by ``say`` where that is none."""
    if not sys.stderr.isatty():
        yield now_and_then(say)
        return
    from tqdm import tqdm

    with (
        os.fdopen(os.dup(sys.stderr.fileno()), "w") as terminal,  # its own: a kernel's is made quiet
        tqdm(file=terminal, bar_format="{desc}", leave=False, dynamic_ncols=True) as line,
    ):
        yield line.set_description_str


@contextlib.contextmanager
def received(folder: str, show: Callable[[str], None]) -> Iterator[dict[str, str]]:
    """Show each line that a kernel writes into a pipe in this folder; yield the variable that names the pipe."""
    path = f"{folder}/progress"
    os.mkfifo(path, 0o600)
    with os.fdopen(os.open(path, os.O_RDWR), "r+b", buffering=0) as pipe:  # a writer, too: no end in between
        reader = threading.Thread(target=_read, args=[pipe, show], name="progress", daemon=True)
        reader.start()
        try:
            yield {PIPE: path}
        finally:
            pipe.write(END)
            reader.join()


END = b"\0\n"


def _read(pipe: Any, show: Callable[[str], None]) -> None:
    for line in pipe:
        if line == END:
            return
        show(line.decode(errors="replace").rstrip("\n"))


def sent(line: str) -> None:
    """Write a line into the pipe of who executes this kernel, unless that one has ended or does not read."""
    with contextlib.suppress(OSError):
        pipe = os.open(os.environ[PIPE], os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(pipe, f"{line}\n".encode())
        finally:
            os.close(pipe)
