"""The search for a capacity on a real system: each probe is a start, and is on disk before the next begins."""

from collections.abc import Callable
from dataclasses import asdict, replace
from math import isnan, nan
from typing import Any

import numpy as np

from bench import stats
from bench.errors import SystemFailedError
from bench.measurement import runner
from bench.measurement.bracket import Bracket, Probe, search
from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.plan.case import LEAST_ACHIEVED, Case
from bench.plan.objective import Objective
from bench.plan.plan import Plan
from bench.run import start_record, stored
from bench.run.folder import Folder
from bench.run.start_record import StartRecord
from bench.validation.profiles import PROFILES

LONGEST_S = 10.0  # of a probe whose quantile needs many requests
LEAST_SHARE = 1.3  # requests a probe is made for, of those that its quantile needs: arrivals are random
Say = Callable[[str], None]


def find(plan: Plan, goal: Objective, say: Say) -> Folder:
    """Search the highest rate at which the plan's one case meets an objective; return the run's folder.

    The run's cases are the rates that were tried; the manifest's ``capacity`` holds objective, probes and bracket. A
    failed probe counts as a violation; if the first one fails, SystemFailedError.
    """
    (case,) = plan.cases
    folder = stored.create(replace(plan, starts=1), runner.facts(plan))
    with folder.measuring(), Routers() as routers:
        prober = Prober(folder, plan, goal, routers, say)
        least = LEAST_SHARE * stats.needed_samples(goal.p) / LONGEST_S
        bracket = search(prober, case.offered_per_s, least, starts=PROFILES[plan.profile].starts)
        folder.update(finished=True, capacity=_record(goal, bracket))
    say(closing(goal, bracket))
    return folder


class Prober:
    """Measures a start at each rate asked for, and stores it."""

    def __init__(self, folder: Folder, plan: Plan, goal: Objective, routers: Routers, say: Say) -> None:
        self._folder, self._plan, self._goal, self._routing, self._say = folder, plan, goal, routers, say
        self._cases: list[Case] = []
        self._tried: list[int] = []  # the case of each probe
        self._probes: list[Probe] = []

    def __call__(self, rate: float) -> Probe:
        """Return the result of a fresh start at this rate."""
        case, number = replace(self._plan.cases[0], offered_per_s=rate), len(self._tried)
        if case not in self._cases:
            self._cases.append(case)
        index = self._cases.index(case)
        window_s = min(LONGEST_S, max(self._plan.window_s, LEAST_SHARE * stats.needed_samples(self._goal.p) / rate))
        try:
            record = measure(case, window_s, self._plan.seed + number, self._routing)
        except SystemFailedError as error:
            if not self._tried:
                raise
            self._folder.failed(number, index, error)
            probe = Probe(rate, nan, 0.0, nan, kept=False)
        else:
            self._store(number, index, case, record)
            probe = judged(record, rate, self._goal)
        self._tried.append(index)
        self._probes.append(probe)
        so_far = Bracket(0.0, rate, tuple(self._probes), confirmed=False, ended=False)
        self._folder.update(capacity=_record(self._goal, so_far))  # an interrupted search can be looked at
        self._say(line(probe, self._goal))
        return probe

    def _store(self, number: int, index: int, case: Case, record: StartRecord) -> None:
        runner.keep_machines(self._folder, self._routing.hosts(case).records)
        self._folder.update(plan=replace(self._plan, starts=1, cases=tuple(self._cases)).as_dict())
        self._folder.append(number, start_record.tables(number, self._tried.count(index), index, case, record))


def judged(record: StartRecord, rate: float, goal: Objective) -> Probe:
    """Return whether a start met an objective: response times of all requests, from their scheduled send times.

    Where a host measures latency, only of its requests.
    """
    hosts = record.tables.get("hosts", ())
    alone = next((row["first_client"] for row in hosts if row["role"] == "latency"), 0)  # its times alone count
    callers = len(record.calls) // max(1, sum(row["clients"] for row in hosts))
    times = np.concatenate([np.zeros(0, "i8"), *(times[1] - times[2] for times in record.calls[alone * callers :])])
    achieved = record.ledger["calls"] / max(1, record.ledger["scheduled"])
    quantile = stats.quantile(times / 1e3, goal.p) if len(times) >= stats.needed_samples(goal.p) else nan
    cpu_us = (record.ledger.get("server_cpu_ns") or nan) / max(1, record.ledger["calls"]) / 1e3
    is_met = quantile <= goal.limit_us and achieved >= LEAST_ACHIEVED
    return Probe(rate, quantile, achieved, cpu_us, bool(is_met))


def _record(goal: Objective, bracket: Bracket) -> dict[str, Any]:
    """Return the search as the manifest stores it; values that are not known are null."""
    probes = [
        {name: None if isnan(value) else value for name, value in asdict(probe).items()} for probe in bracket.probes
    ]
    ends = {
        "low_per_s": bracket.low,
        "high_per_s": bracket.high,
        "confirmed": bracket.confirmed,
        "ended": bracket.ended,
    }
    return {"objective": str(goal), "p": goal.p, "limit_us": goal.limit_us, "probes": probes, **ends}


def line(probe: Probe, goal: Objective) -> str:
    """Return a probe as one line."""
    value = "too few requests" if isnan(probe.quantile_us) else f"{probe.quantile_us / 1000:.3g} ms"
    cpu = "not known" if isnan(probe.server_cpu_us) else f"{probe.server_cpu_us:.0f} us"
    state = "met" if probe.kept else "violated"
    head = f"{probe.rate:10,.0f}/s  p{100 * goal.p:g} {value:>16}  sent {probe.achieved:6.1%}"
    return f"{head}  server CPU/call {cpu:>9}  {state}"


def closing(goal: Objective, found: Bracket) -> str:
    """Return a sentence on the bracket that the search found."""
    if not found.ended:
        return (
            f"after {len(found.probes)} starts it is still not known whether the SLO {goal} is met around "
            f"{found.high:,.0f}/s: fresh starts disagree; use a looser objective, or a quieter machine "
            f"(python -m bench doctor)"
        )
    if not found.low:
        return f"the SLO {goal} is violated at all rates down to {found.high:,.0f}/s: loosen it, or find the bottleneck"
    if not found.confirmed:
        return f"the SLO {goal} is met at {found.low:,.0f}/s, the highest rate searched: use a stricter objective"
    kept, fresh = found.votes(found.low)
    return (
        f"the SLO {goal} is met at {found.low:,.0f} requests/s ({kept} of {fresh} fresh starts) and violated at "
        f"{found.high:,.0f}/s"
    )
