"""How well the clocks of a run's hosts are known: what instants and durations between two hosts are worth.

Round trips and response times use the clock of the host that sent the request. The clocks of several hosts are
compared where rates are summed over the window that all of them share, and where a duration begins on one host and
ends on another.
"""

import math
from dataclasses import dataclass

import pandas as pd

from bench.analysis.trust_card import CAUTION, INVALID, Check, outcome
from bench.run.frames import Run
from bench.stats import clock_offsets
from bench.stats.clock_offsets import ClockReading, Drift

MOST_OF_WINDOW = 0.01  # of the window, by which its edges may differ between hosts: the rates' error


READ = ("offset_ns", "bound_ns", "at_ns", "after_offset_ns", "after_bound_ns", "after_at_ns")


@dataclass(frozen=True)
class Known:
    """One host's clock in one start, beside the conductor's, before and after the window."""

    start: int
    host: str
    before: ClockReading
    after: ClockReading

    @property
    def bound_ns(self) -> int:
        """The larger bound of the two readings."""
        return max(self.before.bound_ns, self.after.bound_ns)

    @property
    def off_ns(self) -> int:
        """How far an instant in the window can be off: times count from *go*, which the first reading places."""
        changed_ns = abs(self.after.offset_ns - self.before.offset_ns)
        return max(self.before.bound_ns, changed_ns + self.after.bound_ns)

    @property
    def drift(self) -> Drift:
        """How fast it ran."""
        return clock_offsets.drift(self.before, self.after)

    @property
    def step_ns(self) -> int:
        """By how much it was set in the window; 0: it was not."""
        return clock_offsets.step_ns(self.before, self.after)


def known(hosts: pd.DataFrame) -> list[Known]:
    """Return the clock of each host in each start, from the rows of ``Run.hosts``."""
    rows = hosts.dropna(subset=list(READ)).drop_duplicates(["start", "host"])
    return [
        Known(
            int(row["start"]),
            str(row["host"]),
            ClockReading(int(row["offset_ns"]), int(row["bound_ns"]), int(row["at_ns"])),
            ClockReading(int(row["after_offset_ns"]), int(row["after_bound_ns"]), int(row["after_at_ns"])),
        )
        for row in rows.to_dict("records")
    ]


def apart_ns(clocks: list[Known]) -> dict[int, int]:
    """Return for each start how far instants of two of its hosts can be apart: those of the two worst known clocks."""
    by_start: dict[int, list[int]] = {}
    for clock in clocks:
        by_start.setdefault(clock.start, []).append(clock.off_ns)
    return {start: sum(sorted(off_ns)[-2:]) for start, off_ns in by_start.items()}


def clocks(run: Run) -> Check:
    """Of several hosts: their clocks were not set, and instants of two hosts agree within 1 % of the window.

    INVALID if a clock was set within a window, CAUTION if the window that the hosts share is not known within 1 %.
    """
    compared = known(run.hosts)
    if not compared:
        return Check("clocks", CAUTION, "the hosts' clocks were not compared", "do not sum rates of several hosts")
    if stepped := [clock for clock in compared if clock.step_ns]:
        worst = max(stepped, key=lambda clock: abs(clock.step_ns))
        finding = f"the clock of host {worst.host} was set by {worst.step_ns / 1e6:+,.1f} ms in the window of start "
        finding += f"{worst.start}"
        return Check("clocks", INVALID, finding, "its times are wrong: end what sets the clock, and measure again")
    apart, windows_s = apart_ns(compared), run.ledger["window_s"]
    share, widest = max(ns / 1e9 / windows_s.loc[start] for start, ns in apart.items()), max(apart.values())
    least = max(compared, key=lambda clock: clock.bound_ns)
    finding = (
        f"instants of two hosts agree within {widest / 1e3:,.1f} us, {share:.2%} of the window; the largest bound "
    )
    finding += (
        f"of a clock's offset is {least.bound_ns / 1e3:,.1f} us (host {least.host}){_drifted(compared)}; a duration "
    )
    finding += f"between two hosts is known within 10% from {widest / clock_offsets.LARGEST_SHARE / 1e3:,.0f} us on"
    advice = "the window that the hosts share, over which rates are summed, is known only roughly: use longer windows "
    advice += "(window_s), or a faster network between the hosts"
    return outcome("clocks", share <= MOST_OF_WINDOW, finding, advice)


def _drifted(clocks: list[Known]) -> str:
    """Return the largest drift, with its bound, and whose it is."""
    moving = [clock for clock in clocks if not math.isnan(clock.drift.ppm)]
    if not moving:
        return ""
    fastest = max(moving, key=lambda clock: abs(clock.drift.ppm))
    drift = fastest.drift
    return f", the largest drift {drift.ppm:+.1f} ppm, known within {drift.bound_ppm:.1f} ppm (host {fastest.host})"
