"""Two clients that make more than twice the calls of one: what becomes shorter in each call."""

from typing import NamedTuple

from bench.analysis.resources import crowded, total_cpu
from bench.experiments.claims import above
from bench.grammar.contrast import Ratio
from bench.run.frames import Run
from bench.text import duration, listed


class Waiting(NamedTuple):
    """The mean RTT of two cases in us, their CPU time per call over all roles, and how often both sides sleep per call.

    What is not CPU time is waiting: for another process, for a wake-up of an idle CPU, for a timer.
    """

    rtt_us: tuple[float, float]
    cpu_us: tuple[float, float]
    sleeps: tuple[float, float]

    @property
    def waits_us(self) -> tuple[float, float]:
        """The mean RTT less the CPU time per call, of both; at least 0."""
        first, second = (max(0.0, rtt - cpu) for rtt, cpu in zip(self.rtt_us, self.cpu_us, strict=True))
        return first, second


def waiting(run: Run, base: int, other: int) -> Waiting:
    """Return how much of the round trips of two cases with client and server on CPUs of their own is waiting."""
    rows = run.cases.loc[[base, other]]
    (rtt, rtt_other), (cpu, cpu_other) = rows["mean_rtt_us"], total_cpu(rows)
    sleeps, sleeps_other = rows[["client_sleeps_per_call", "server_sleeps_per_call"]].sum(axis=1)
    return Waiting((float(rtt), float(rtt_other)), (float(cpu), float(cpu_other)), (float(sleeps), float(sleeps_other)))


def doubled(run: Run, gain: Ratio) -> str:
    """Say of the gain of a second client, where it is above 2, which part of the calls became shorter; else nothing."""
    if not above(gain, 2):
        return ""
    found = waiting(run, gain.base, gain.other)
    shorter = [words for words, (one, two) in (("CPU time", found.cpu_us), ("waiting", found.waits_us)) if two < one]
    fewer = found.sleeps[1] < found.sleeps[0]
    why = "no part of its calls becomes shorter, so this run does not explain the gain."
    if shorter:
        why = f"with two clients a call needs less {listed(shorter)}."
        if any(crowded(run, case) for case in (gain.base, gain.other)):
            why += " Other processes left no CPU of the machine idle, and that may be the reason."
        else:
            wakes = "sleeps less often, so fewer" if fewer else "sleeps no less often, so not fewer but cheaper"
            why += f" It {wakes} wake-ups may be the reason; how deeply an idle CPU sleeps is not recorded."
    who = run.case(gain.base).system
    text = f"Two clients of {who} make more than twice as many calls/s as one: {why}"
    return f"{text} {parts(found, 'one client', 'two clients')}"


def parts(found: Waiting, one: str, other: str) -> str:
    """Return what two cases' calls consist of: CPU time, waiting, voluntary context switches of both sides."""
    said = [
        f"with {who} {duration(found.cpu_us[place])} of CPU time, {duration(found.waits_us[place])} of waiting and "
        f"{found.sleeps[place]:.2f} voluntary context switches"
        for place, who in enumerate((one, other))
    ]
    return f"A call needs {said[0]}, and {said[1]}."
