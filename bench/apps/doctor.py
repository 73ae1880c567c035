"""``bench doctor``: what helps or disturbs a measurement on this machine, with advice."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil

from bench import stats
from bench.measurement import machine, trace
from bench.measurement.start import measure
from bench.plan import paths, placement
from bench.plan.case import Case

ENOUGH_POLL_NS = 200_000  # longer than the waits within most calls


@dataclass(frozen=True)
class Finding:
    """One finding; ``advice`` is empty where no action is needed. is_lack: it names what few notebooks need."""

    subject: str
    observed: str
    advice: str = ""
    is_lack: bool = False

    def __str__(self) -> str:
        mark = "caution" if self.advice else "note" if self.is_lack else "ok"
        return f"{mark:8}{self.subject}: {self.observed}" + (f"\n{'':8}-> {self.advice}" if self.advice else "")


def findings() -> Iterator[Finding]:
    """Yield each finding as soon as it is known; takes a few seconds."""
    for examine in EXAMINATIONS:
        yield examine()


def _processor() -> Finding:
    kind = {True: "virtual machine", False: "real machine", None: "machine"}[machine.is_virtual()]
    finding = f"{machine.cpu_model()}, {len(placement.allowed())} CPUs for this process, {kind}"
    return Finding("processor", finding)


def _clock() -> Finding:
    cost, source = machine.clock_cost_ns(), machine.clock_source() or "unknown source"
    slow = "the clock is slow to read: RTTs below 10 us include much instrument overhead" if cost > 250 else ""
    return Finding("clock", f"{source}, one reading costs {cost:.0f} ns", slow)


def _governor() -> Finding:
    governor = machine.governor()
    if governor in (None, "performance"):
        return Finding("frequency", f"governor {governor or 'not visible (as on most virtual machines)'}")
    return Finding(
        "frequency", f"governor {governor}", "for steadier starts: sudo cpupower frequency-set -g performance"
    )


def _idle() -> Finding:
    """Look at what idle CPUs do: of a virtual machine, to wake one that halted can take most of a short round trip."""
    polls_ns = machine.idle_poll_ns()
    if polls_ns is None:
        return Finding("idle CPUs", "how they wait is not visible")
    finding = f"they poll for {polls_ns / 1e3:.0f} us before they halt" if polls_ns else "they halt at once"
    if polls_ns >= ENOUGH_POLL_NS:
        return Finding("idle CPUs", f"{finding}: round trips on two CPUs are shorter than where they halt")
    without = f"without it, as root: echo {ENOUGH_POLL_NS} > {machine.HALT_POLL}"
    return Finding("idle CPUs", f"{finding}, so calls between two CPUs include waking one; {without}")


def _limits() -> Finding:
    limit = machine.cpu_limit()
    if limit is None:
        return Finding("control group", "no CPU limit")
    return Finding("control group", f"limited to {limit:g} CPUs", "throttling causes stalls: remove the limit")


def _others() -> Finding:
    """Observe the idle machine for a second: CPU use of other processes, steal by the hypervisor."""
    steal = machine.steal_s()
    busy = psutil.cpu_percent(interval=1.0) * (psutil.cpu_count() or 1)
    taken = (machine.steal_s() or 0) - (steal or 0)
    finding = f"{busy:.0f} % of one CPU in use, {taken * 100:.0f} % stolen by the hypervisor"
    quiet = busy < 15 and taken < 0.02
    return Finding("other work", finding, "" if quiet else "close browsers, builds, indexers; measure again when quiet")


def _hiccups() -> Finding:
    """Sleep 1 ms repeatedly; the excess is delay by the machine."""
    calls = measure(Case("pause", "inproc", placement=placement.default()), 0.5, seed=1).calls[0]
    late_us = (calls[1] - calls[0]) / 1e3 - 1000
    middle, worst = stats.quantile(late_us, 0.5), late_us.max()
    finding = f"sleeping 1 ms takes {middle:.0f} us longer (median), {worst:.0f} us at worst"
    return Finding(
        "hiccups",
        finding,
        "" if worst < 3000 else "expect stalls of this size in the tail latency: use more starts",
    )


def _placements() -> Finding:
    """Measure raw sockets briefly under each placement: ratios, because students are asked to predict the times."""
    if reason := placement.why_not():
        return Finding("placement", reason, "only placement free is possible: expect medians that vary between starts")
    medians = {}
    for name in placement.PLACEMENTS:
        calls = measure(Case("sockets", "tcp", placement=name), 0.2, seed=1).calls[0]
        medians[name] = stats.quantile((calls[1] - calls[0]) / 1e3, 0.5)
    same = medians.pop("same")
    ratios = ", ".join(f"{name} {median / same:.1f} times" for name, median in medians.items())
    return Finding("placement", f"median RTT of raw sockets over tcp: {ratios} that of same")


def _tracer() -> Finding:
    if trace.why_not():
        return Finding("tracer", "not usable: anatomy and whatif draw their stored runs", is_lack=True)
    return Finding("tracer", "usable")


def _disk() -> Finding:
    free = shutil.disk_usage(paths.workplace()).free / 1e9
    return Finding("disk", f"{free:.1f} GB free", "" if free > 1 else "a long run needs more: free some space")


def _temporary() -> Finding:
    folder = tempfile.gettempdir()
    advice = "" if len(folder) <= 60 else "too long for socket files: /tmp is used for them"
    return Finding("temporary folder", folder, advice)


def _verdict() -> Finding:
    if placement.why_not():
        advice = "measure on Linux with two CPUs or more, or draw stored runs (source = reference)"
        return Finding("this machine", "cannot pin processes to CPUs, so its numbers vary more", advice)
    return Finding("this machine", "can measure; a caution above may make intervals wider, or a trust card INVALID")


EXAMINATIONS: tuple[Callable[[], Finding], ...] = (
    _processor, _clock, _governor, _idle, _limits, _others, _hiccups, _placements, _tracer,
    _disk, _temporary, _verdict,
)  # fmt: skip
