"""What grows with connections, samples, runs and cases, as a + b n, and what that predicts for many of them."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measurement import runner
from bench.measurement.start import measure
from bench.measurement.validation.profiles import make_plan
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.run import query, start_record, stored
from selfcheck import growth

REPEATS = 3


def show(title: str, line: growth.Line, unit: str, many: int, wanted: str = "") -> None:
    """Print a line's two parameters, and its prediction for many."""
    each, at = line.each, line.at(many)
    text = f"{_number(line.base)} + {_number(each.middle)} n {unit} (b: {_number(each.low)} to {_number(each.high)})"
    predicted = f"{_number(at.middle)} [{_number(at.low)}, {_number(at.high)}]"
    print(f"{title:38} {text}; {many:,}: {predicted}{wanted}", flush=True)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def fitted(numbers: tuple[int, ...], cost: Callable[[int], float]) -> growth.Line:
    """Return the line through what each number costs, measured a few times, in rounds."""
    n = [number for _ in range(REPEATS) for number in numbers]
    return growth.line(n, [cost(number) for number in n])


def connections() -> None:
    """Memory of a client of the engine wire."""

    def mb(count: int) -> float:
        case = Case("sockets", "tcp", 100, engine="wire", callers=count, max_calls=2000)
        return float(measure(checked(case), 5.0, 1).ledger["client_rss_bytes"]) / 1e6

    show("memory of n connections", fitted((1, 500, 1000), mb), "MB", 10_000, " (wanted <= 200 MB more)")


def samples(counts: tuple[int, ...] = (1_000_000, 4_000_000, 16_000_000)) -> None:
    """Time and memory of the review of a stored run."""
    measurements: dict[int, list[tuple[float, float]]] = {}
    for count in counts:
        with _folder():
            name = _output(str(count)).strip()
            measurements[count] = [_seconds_and_mb(_output(name)) for _ in range(REPEATS)]
    for index, unit, wanted in ((0, "s", ""), (1, "MB", " (wanted <= 4,000 MB)")):
        n = [count for count in measurements for _ in range(REPEATS)]
        values = [pair[index] for pairs in measurements.values() for pair in pairs]
        show("review of n samples", growth.line(n, values), unit, 100_000_000, wanted)


def _output(word: str) -> str:
    """Return what ``selfcheck.review`` prints in a process of its own, whose memory is its own too."""
    words = [sys.executable, "-m", "selfcheck.review", word]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def _seconds_and_mb(output: str) -> tuple[float, float]:
    seconds, mb = output.split()
    return float(seconds), float(mb)


def runs() -> None:
    """Time to list runs."""
    plan = make_plan("benchmark", [Case("loopback", "inproc", max_calls=100)], starts=3)

    def seconds(count: int) -> float:
        with _folder() as folder:
            run_folder, record = stored.create(plan, runner.facts(plan)), measure(plan.cases[0], 0.1, seed=1)
            for start, block, index in plan.order():
                run_folder.append(start, start_record.tables(start, block, index, plan.cases[index], record))
            for number in range(count - 1):
                shutil.copytree(run_folder.path, folder / f"20200101T000000.{number:06d}Z-benchmark-{plan.hash8}")
            began = time.perf_counter()
            assert len(query.runs()) == count
            return time.perf_counter() - began

    show("listing n runs", fitted((200, 400, 800), seconds), "s", 10_000)


def cases() -> None:
    """Time of a run outside of its windows, one start of each case."""
    window_s = 0.05

    def seconds(count: int) -> float:
        with _folder():
            sizes = range(1, count + 1)
            plan = make_plan("benchmark", [Case("sockets", "ipc", size) for size in sizes], starts=1, window_s=window_s)
            began = time.perf_counter()
            runner.run(plan)
            return time.perf_counter() - began - count * window_s

    show("run of n cases beside its windows", fitted((2, 6, 10), seconds), "s", 100)


@contextmanager
def _folder() -> Iterator[Path]:
    """Let runs be in a folder that is removed."""
    before = os.environ.get("ROUNDTRIP_RUNS")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROUNDTRIP_RUNS"] = folder
        try:
            yield Path(folder)
        finally:
            del os.environ["ROUNDTRIP_RUNS"]
            os.environ |= {"ROUNDTRIP_RUNS": before} if before else {}
