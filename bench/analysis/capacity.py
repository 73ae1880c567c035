"""A stored search for a capacity: the objective, every probe, the final bracket, and what calls cost at its rates."""

import math
from typing import Any, NamedTuple

import pandas as pd

from bench.analysis.resources import crowded, full, resources
from bench.contract import PACING
from bench.plan.confirmation import FIXED
from bench.run.frames import Run, once_per_run
from bench.run.start_values import BUSY, client_share
from bench.stats import Array, Spread
from bench.stats.success_curve import chance_of_so_few
from bench.text import counted

RARE = 0.05  # a chance below which a difference between system and control is believed


def searched(run: Run) -> dict[str, Any]:
    """Return what the search found, as the manifest keeps it."""
    search: dict[str, Any] = run.manifest["capacity"]
    return search


def is_fixed(run: Run) -> bool:
    """Return whether one rate was asked for, and no other tried."""
    return searched(run).get("rule") == FIXED


@once_per_run
def probes(run: Run) -> pd.DataFrame:
    """Return one row for each probe, in order: rate, quantile_us (NaN if not known), achieved, met, shortfall.

    ``confirms``: whether the start was made to confirm a rate that others had chosen. Searches of older versions used
    those that chose the rate as well: there all probes at the lower end confirm it.
    """
    frame = pd.DataFrame(searched(run)["probes"]).rename(columns={"kept": "met"})
    if not frame.get("confirms", pd.Series(dtype=bool)).any():
        frame["confirms"] = frame["rate"] == searched(run)["low_per_s"]
    frame["shortfall"] = frame.get("shortfall", pd.Series("", frame.index, str))  # of older versions not known
    numbers = dict.fromkeys(("rate", "quantile_us", "achieved"), float)
    return frame.astype({**numbers, "met": bool, "confirms": bool})


def confirming(run: Run) -> pd.DataFrame:
    """Return the probes that confirm the lower end of the bracket."""
    rows = probes(run)
    return rows[rows["confirms"] & (rows["rate"] == bracket(run)[0])]


def control(run: Run) -> pd.DataFrame:
    """Return the starts of raw sockets in place of the system: rate, met; none from an older version.

    All count: a machine that shows the objective at the last rate may not have shown it during the search.
    """
    return pd.DataFrame(searched(run).get("control") or [], columns=["rate", "kept"]).rename(columns={"kept": "met"})


def rates_not_shown(run: Run) -> list[float]:
    """Return the rates of the control at which raw sockets violated the objective in most starts.

    A rate at which the system met it is none of them: the machine can show it there.
    """
    rows = control(run)
    met = rows[rows["rate"] > bracket(run)[0]].groupby("rate")["met"].mean()
    return [float(rate) for rate in met[met < 1 / 2].index]


def of_starts(rows: pd.DataFrame) -> str:
    """Return in how many of some probes the objective was met."""
    return f"{rows['met'].sum()} of {counted(len(rows), 'start')}"


def is_like_control(run: Run) -> bool:
    """Return whether raw sockets may meet the objective as rarely as the system, at one rate that is not met."""
    own, beside = probes(run)["met"], control(run)["met"]
    return chance_of_so_few(own.sum(), len(own), beside.sum(), len(beside)) > RARE


def undecided(run: Run) -> tuple[str, str]:
    """Return why a search ended before a rate was confirmed, and what to do; empty if it did not.

    It was interrupted, or starts disagree: at one rate, the objective is met in some of them.
    """
    if run.manifest["finished"] and is_fixed(run) and not bracket(run)[0] and is_like_control(run):
        both = f"the SLO was met in {of_starts(probes(run))}, and by raw sockets in {of_starts(control(run))}"
        reason = f"{both}: the difference may be chance, so the machine may be the limit"
        return reason, "repeat when the machine is quiet, or with longer windows (window_s)"
    if searched(run)["ended"]:
        return "", ""
    rows = probes(run)
    if not run.manifest["finished"]:
        return f"the search was interrupted after {counted(len(rows), 'start')}", "repeat it"
    differ = rows.groupby("rate")["met"].nunique() > 1
    reason = (
        f"the search made its {len(rows)} starts and confirmed no rate: at {differ.sum()} of {len(differ)} rates some "
        "starts met the SLO and others violated it (noise)"
    )
    return reason, "repeat when the machine is quiet, or with longer windows (window_s)"


def machine_shows(run: Run) -> bool:
    """Return whether raw sockets met the objective in most starts of the control, or there was none."""
    return not rates_not_shown(run)


def busiest_clients(run: Run) -> float:
    """Return the largest share of their CPUs that the clients used at an end of the bracket; NaN if not known."""
    return client_share(run.cases, bracket(run))


def is_at_least(run: Run) -> bool:
    """Return whether the clients may have been the limit at an end of the bracket: the server's capacity is higher."""
    ends = [case_at(run, rate) for rate in bracket(run)]
    saturated = [resource for case in ends if case is not None for resource in full(resources(run, case))]
    return busiest_clients(run) > BUSY or any("client" in resource.roles for resource in saturated)


def bracket(run: Run) -> tuple[float, float]:
    """Return the highest rate that met the objective and the lowest that violated it, per second; 0 if none met it."""
    return float(searched(run)["low_per_s"]), float(searched(run)["high_per_s"])


def case_at(run: Run, rate: float) -> int | None:
    """Return the case of a rate, or None if it was not measured."""
    return run.first(offered_per_s=rate)


def response_us(run: Run, case: int) -> dict[int, Array]:
    """Return the response times of all requests of each start, in us: what the search judged, warm-up included."""
    return {start: calls.response_ns / 1e3 for start, calls in run.calls_of(case)}


class Cost(NamedTuple):
    """What a role uses for each call at two offered rates: the lowest that was tried, and one that ``costs`` chooses.

    cpu_us, switches: at both, CPU time and voluntary context switches. switch_us: what one switch between two threads
    costs on this machine, probed beside the windows; NaN if it was not, or if others left no CPU idle at one of the
    rates: a switch then takes as long as the wait for a CPU.
    """

    role: str
    cpu_us: tuple[Spread, Spread]
    switches: tuple[Spread, Spread]
    switch_us: float

    @property
    def saved_us(self) -> float:
        """By how much the CPU time per call falls from the lower rate to the higher one; negative if it rises."""
        return self.cpu_us[0].middle - self.cpu_us[1].middle

    @property
    def falls(self) -> bool:
        """Whether the CPU time per call of every start at the higher rate is below that of every one at the lower."""
        return self.cpu_us[1].high < self.cpu_us[0].low

    @property
    def by_switches(self) -> float:
        """The share of the fall that the saved context switches explain, by the cost of a switch; NaN if not known."""
        saved = self.switches[0].middle - self.switches[1].middle
        return saved * self.switch_us / self.saved_us if self.falls else math.nan


def costs(run: Run) -> tuple[float, float, list[Cost]] | None:
    """Return the lowest rate, a higher one, and each role's cost at both; None without two rates to compare.

    The higher rate is the stated one, or the highest that was tried where none is stated or the lowest is.
    """
    lowest_rate, highest_rate = run.cases["offered_per_s"].min(), run.cases["offered_per_s"].max()
    higher_rate = bracket(run)[0] if bracket(run)[0] > lowest_rate else float(highest_rate)
    cases = [case_at(run, rate) for rate in (lowest_rate, higher_rate)]
    if lowest_rate >= higher_rate or None in cases:
        return None
    probed = run.starts["switch_ns"] / 1e3 if "switch_ns" in run.starts else pd.Series([math.nan])
    if any(crowded(run, case) for case in cases if case is not None):
        probed = pd.Series([math.nan])
    role_costs = []
    for role in ("server", "client"):
        cpu, sleeps = (
            tuple(run.over_starts(case, f"{role}_{name}_per_call") for case in cases if case is not None)
            for name in ("cpu_us", "sleeps")
        )
        if not any(math.isnan(spread.middle) for spread in (*cpu, *sleeps)):
            role_costs.append(Cost(role, (cpu[0], cpu[1]), (sleeps[0], sleeps[1]), float(probed.median())))
    return float(lowest_rate), higher_rate, role_costs


def counts_pacing(run: Run) -> bool:
    """Return whether the clients reported the CPU time of their spinning, which is then not in their CPU time."""
    of_hosts = run.hosts.loc[run.hosts["clients"] > 0, "pacing_cpu_ns"]  # null in older runs
    return bool((run.reports["name"] == PACING).any() and of_hosts.notna().all())
