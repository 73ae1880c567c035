"""What the figure of a search for a capacity says."""

import math

from bench.experiments.capacity.findings import bracket, case_at, probes, searched
from bench.experiments.sentences import limit_of
from bench.plan.case import LEAST_ACHIEVED
from bench.run.frames import Run
from bench.text import duration, quantity


def evidence(run: Run) -> int:
    """Return how many starts were measured at the lower end: the conclusion's sample size."""
    rows, low = probes(run), bracket(run)[0]
    return int((rows["rate"] == low).sum()) if low else len(rows)


def conclusion(run: Run) -> str:
    """Say which rate meets the SLO and which violates it, from how many starts, and the CPU time per call there."""
    low, high = bracket(run)
    search, rows = searched(run), probes(run)
    goal = f"SLO **{search['objective']}**"
    if not search["ended"]:
        return f"After {len(rows)} starts it is not certain whether the {goal} is met near {quantity(high)}/s."
    if not low:
        return f"The {goal} is violated at every rate down to {quantity(high)}/s: relax it, or find another cause."
    if not search["confirmed"]:
        return f"The {goal} is met even at {quantity(low)}/s, the highest rate searched: use a stricter one."
    met = int((rows["met"] & (rows["rate"] == low)).sum())
    text = (
        f"The {goal} is met at **{low:,.0f} requests/s** (in {met} of {evidence(run)} fresh starts) and violated at "
        f"**{high:,.0f} requests/s**; the search took {len(rows)} starts."
    )
    violated = rows[~rows["met"] & (rows["achieved"] > 0)]
    if (violated["achieved"] < LEAST_ACHIEVED).any():
        text += " At some higher rates, not all requests could be sent on time."
    return " ".join([text, _cost(run, low)])


def _cost(run: Run, rate: float) -> str:
    case = case_at(run, rate)
    if case is None or math.isnan(run.cases.loc[case, "server_cpu_us_per_call"]):
        return ""
    client, server = (run.over_starts(case, f"{role}_cpu_us_per_call").words(duration) for role in ("client", "server"))
    busy = run.over_starts(case, "server_cpu_percent").words("{:.0f} %".format)
    used = f"a call costs {server} of server CPU and {client} of client CPU; server utilization is {busy}"
    limit = limit_of(run, case)
    if not any("client" in resource.roles for resource in limit.saturated):
        return f"At the lower rate {used}."
    return f"At the lower rate {used}. The clients' CPU is saturated: the server's capacity is at least this rate."
