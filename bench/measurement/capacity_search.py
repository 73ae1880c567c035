"""The search for a capacity on a real system: each probe is a start, and is on disk before the next begins.

A control comes first: raw sockets under the same load. Where they violate the objective too, it is the machine that
cannot show it, and nothing follows about the system: where they violate it at half the rate as well, the search tries
no rate below the first. At one rate the two take turns, so that a slow phase of the machine meets both.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from math import ceil, inf, isfinite, isinf, nan, sqrt
from typing import Any

import numpy as np

from bench import stats
from bench.errors import SystemFailedError, UsageError
from bench.measurement import runner
from bench.measurement.bracket import Bracket, Probe, at_one_rate, decided, search
from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.measurement.validation import plan_time
from bench.measurement.validation.profiles import PROFILES
from bench.plan.case import BASELINE, LEAST_ACHIEVED, Case
from bench.plan.confirmation import FIXED, USUAL, Rule
from bench.plan.objective import Objective
from bench.plan.plan import Plan
from bench.run import requests, start_record, stored
from bench.run.folder import Folder
from bench.run.start_record import StartRecord

LONGEST_S = 10.0  # of a probe whose quantile needs many requests
DEVIATIONS = 4  # of a Poisson count that a probe allows for: arrivals are random
Say = Callable[[str], None]


def find(plan: Plan, goal: Objective, say: Say, rule: Rule | None = None) -> Folder:
    """Search the highest rate at which the plan's one case meets an objective, or try one; return the run's folder.

    What follows from it, the conclusion of capacity.ipynb says. say: is given a line for the control and each probe.
    rule: how the lower end is confirmed; None: by most of as many starts as the profile has. ``fixed``: the first rate
    alone is tried, by so many. UsageError where that takes more than an hour and nobody agreed, or where a fixed rate
    has too few requests for the quantile; what was measured until then is kept.

    The run's cases are the rates that were tried; the manifest's ``capacity`` holds objective, probes, bracket, and the
    probes of the control. ``fixed`` has one before each start. A search has them at the first rate, if it violates the
    objective there also at half of it, and, if no rate meets the objective or the control does not, again at the lowest
    rate that violates it, unless the control ended the search. A failed probe counts as a violation. If the first one
    fails, or none of its requests is answered as expected, SystemFailedError.
    """
    (case,) = plan.cases
    shorter = "ask for shorter windows (window_s), or give a shorter recording or a higher first rate"
    plan_time.refuse(plan_time.expected_s(plan), plan.profile, "this search", shorter)
    rule = rule or Rule(USUAL, PROFILES[plan.profile].starts)
    needed = stats.needed_samples(goal.p)
    least = ceil(planned_requests(needed) / LONGEST_S)
    first = max(case.offered_per_s, least)
    if rule.name == FIXED and first > case.offered_per_s:
        raise UsageError(f"p{100 * goal.p:g} needs {first:,.0f} requests/s here: ask for a lower quantile")
    folder = stored.create(replace(plan, starts=1), runner.facts(plan))
    with folder.measuring(), Routers() as routers:
        prober = Prober(folder, plan, goal, routers, say, rule)
        if rule.name == FIXED:
            bracket = at_one_rate(prober.after_control, first, rule.starts)
        else:
            if first > case.offered_per_s:
                say(f"p{100 * goal.p:g} needs {needed:,} requests in a probe: the search begins at {first:,.0f}/s")
            bracket = _search(prober, first, least, rule)
        folder.update(finished=True, capacity=_record(goal, bracket, prober.control, rule))
    return folder


def _search(prober: "Prober", first: float, least: float, rule: Rule) -> Bracket:
    """Return what a search found, with a control before it and, where it says more, after it."""
    shown, is_hopeless = prober.try_machine(first), False
    if not shown and first / 2 >= least and not prober.try_machine(first / 2):
        is_hopeless = True
        prober.say(f"no rate below {first:,.0f}/s is tried, because the control violates the SLO at half of it, too")
    bracket = search(prober, first, first if is_hopeless else least, rule=rule, confirm=prober.confirm)
    if not (shown if bracket.low else is_hopeless):  # is it the machine that violates it there?
        prober.try_machine(bracket.high)
    return bracket


def planned_requests(needed: int) -> float:
    """Return the mean of a random number of requests that is hardly ever below the number needed."""
    return (DEVIATIONS / 2 + sqrt(DEVIATIONS**2 / 4 + needed)) ** 2


class Prober:
    """Measures a start at each rate asked for, and stores it.

    control: all probes of raw sockets in place of the system, in order.
    """

    def __init__(self, folder: Folder, plan: Plan, goal: Objective, routers: Routers, say: Say, rule: Rule) -> None:
        self._folder, self._plan, self._goal, self._routing, self._rule = folder, plan, goal, routers, rule
        self.say = say
        self._cases: list[Case] = []
        self._tried: list[int] = []  # the case of each probe
        self._probes: list[Probe] = []
        self.control: tuple[Probe, ...] = ()

    def try_machine(self, rate: float) -> bool:
        """Return whether this machine can show the objective now: whether most starts of raw sockets meet it."""
        probes = decided(self._of_control, rate)
        self.say(of_machine(probes, self._goal))
        return _machine_shows(probes)

    def after_control(self, rate: float) -> Probe:
        """Return the result of a fresh start at this rate, which follows one of raw sockets."""
        self.say(f"{line(self._of_control(rate), self._goal)} (control, raw sockets)")
        return self(rate)

    def _of_control(self, rate: float) -> Probe:
        case = replace(self._plan.cases[0], system=BASELINE, options={}, offered_per_s=rate)
        case = replace(case, target=None, callers=1)  # a server of its own, and clients that block
        if case.arrivals == "recorded":  # of a service's requests, which these are not
            case = replace(case, arrivals="poisson")

        try:
            probe = judged(self._measure(case), rate, self._goal)
        except SystemFailedError as error:
            if not self.control:
                raise
            probe = _failed(rate, error)
        self.control += (probe,)
        return probe

    def _measure(self, case: Case, least_s: float = 0.0) -> StartRecord:
        needed_s = planned_requests(stats.needed_samples(self._goal.p)) / case.offered_per_s
        window_s = max(least_s, min(LONGEST_S, max(self._plan.window_s, needed_s)))
        window_s = plan_time.whole_replays_s(case, window_s)
        return measure(case, window_s, self._plan.seed + len(self._tried), self._routing)

    def confirm(self, rate: float) -> Probe:
        """Return the result of a fresh start at this rate that is as long as the rule asks for."""
        window_s = self._rule.window_s(rate)
        what = f"confirming {rate:,.0f}/s with {self._rule.starts} starts of {window_s:,.0f} s each"
        plan_time.refuse(self._rule.starts * window_s, self._plan.profile, what, "ask for a lower quantile")
        return self(rate, window_s)

    def __call__(self, rate: float, least_s: float = 0.0) -> Probe:
        """Return the result of a fresh start at this rate, of at least so many seconds."""
        case, number = replace(self._plan.cases[0], offered_per_s=rate), len(self._tried)
        if case not in self._cases:
            self._cases.append(case)
        index = self._cases.index(case)
        try:
            record = self._measure(case, least_s)
        except SystemFailedError as error:
            if not self._tried:
                raise
            self._folder.failed(number, index, error)
            probe = _failed(rate, error)
        else:
            probe = judged(record, rate, self._goal)
            if record.ledger.get("errors") and not (self._tried or record.ledger["calls"]):
                raise SystemFailedError(
                    f"the first probe, at {rate:,.0f}/s, had no right reply: {probe.shortfall}; look at the service's "
                    "errors, or begin at a lower rate (first)"
                )
            self._store(number, index, case, record)
        self._tried.append(index)
        self._probes.append(probe)
        so_far = Bracket(0.0, rate, tuple(self._probes), confirmed=False, ended=False)
        # an interrupted search can be looked at
        self._folder.update(capacity=_record(self._goal, so_far, self.control, self._rule))
        self.say(line(probe, self._goal))
        return probe

    def _store(self, number: int, index: int, case: Case, record: StartRecord) -> None:
        runner.keep_machines(self._folder, self._routing.hosts(case).records)
        self._folder.update(plan=replace(self._plan, starts=1, cases=tuple(self._cases)).as_dict())
        self._folder.append(number, start_record.tables(number, self._tried.count(index), index, case, record))


def _failed(rate: float, error: SystemFailedError) -> Probe:
    return Probe(rate, nan, 0.0, kept=False, shortfall=f"the start failed: {error}")


def judged(record: StartRecord, rate: float, goal: Objective) -> Probe:
    """Return whether a start met an objective: response times of all requests, from their scheduled send times.

    A request that was not sent, or has no right reply, is later than any other. Where a host measures latency, only its
    requests count.
    """
    hosts = record.tables.get("hosts", ())
    alone = next((row["first_client"] for row in hosts if row["role"] == "latency"), 0)  # its times alone count
    processes = max(1, sum(row["clients"] for row in hosts))
    callers = len(record.calls) // processes
    answered = np.concatenate([np.zeros(0, "i8"), *(times[1] - times[2] for times in record.calls[alone * callers :])])
    counts, scheduled = requests.of_record(record), record.ledger["scheduled"]
    due = len(range(alone, scheduled, processes)) if alone else scheduled  # requests go to the processes in turn
    times = np.append(answered / 1e3, np.full(max(0, due - len(answered)), inf))
    quantile = stats.quantile(times, goal.p) if len(times) >= stats.needed_samples(goal.p) else nan
    is_met = quantile <= goal.limit_us and counts.part(counts.answered) >= LEAST_ACHIEVED
    return Probe(rate, quantile, counts.part(counts.sent), bool(is_met), shortfall=counts.shortfall)


def _record(goal: Objective, bracket: Bracket, control: Sequence[Probe], rule: Rule) -> dict[str, Any]:
    """Return the search as the manifest stores it; values that are not known, or infinite, are null."""
    ends = {
        "low_per_s": bracket.low,
        "high_per_s": bracket.high,
        "confirmed": bracket.confirmed,
        "ended": bracket.ended,
    }
    starts = {"probes": _rows(bracket.probes), "control": _rows(control)}
    asked = {"objective": str(goal), "p": goal.p, "limit_us": goal.limit_us}
    return {**asked, "rule": rule.name, "requests": rule.requests, **starts, **ends}


def _rows(probes: Sequence[Probe]) -> list[dict[str, Any]]:
    return [
        {
            name: None if isinstance(value, float) and not isfinite(value) else value
            for name, value in asdict(probe).items()
        }
        for probe in probes
    ]


def line(probe: Probe, goal: Objective) -> str:
    """Return a probe as one line."""
    value = _in_ms(probe.quantile_us)
    state = ("met" if probe.kept else "violated") + f": {probe.shortfall}" * bool(probe.shortfall)
    return f"{probe.rate:10,.0f}/s  p{100 * goal.p:g} {value:>16}  sent {probe.achieved:6.1%}  {state}"


def _in_ms(quantile_us: float) -> str:
    if isinf(quantile_us):
        return "not all answered"
    return f"{quantile_us / 1000:.3g} ms" if isfinite(quantile_us) else "too few requests"


def of_machine(control: Sequence[Probe], goal: Objective) -> str:
    """Return a sentence on whether a machine can show an objective: what raw sockets do at the rate of the control."""
    rate, met = control[0].rate, [probe.kept for probe in control]
    if _machine_shows(control):
        return f"control: raw sockets meet the SLO {goal} at {rate:,.0f}/s in {sum(met)} of {len(met)} starts"
    values = ", ".join(_in_ms(probe.quantile_us) for probe in control)
    return (
        f"this machine cannot show {goal} now: raw sockets violate it at {rate:,.0f}/s in {met.count(False)} of "
        f"{len(met)} starts (p{100 * goal.p:g}: {values})"
    )


def _machine_shows(control: Sequence[Probe]) -> bool:
    return 2 * sum(probe.kept for probe in control) >= len(control)
