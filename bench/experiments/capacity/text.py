"""What the figure of a search for a capacity says."""

import math

from bench.analysis.resources import crowded
from bench.experiments.capacity.findings import (
    Cost,
    bracket,
    busiest_clients,
    case_at,
    confirming,
    control,
    costs,
    counts_pacing,
    is_at_least,
    machine_shows,
    probes,
    reversed_rates,
    searched,
)
from bench.plan.case import LEAST_ACHIEVED
from bench.run.frames import Run
from bench.run.start_values import BUSY
from bench.text import capitalized, counted, duration, listed, percent_beside, quantity


def evidence(run: Run) -> int:
    """Return how many starts the conclusion is from: those that confirm the lower end, or all, with the control's."""
    return len(confirming(run)) if bracket(run)[0] else len(probes(run)) + len(control(run))


def conclusion(run: Run) -> str:
    """Say which rate meets the SLO and which violates it, from how many starts, and the CPU time per call there.

    Where raw sockets violate the SLO too, it is the machine that cannot show it.
    """
    low, high = bracket(run)
    search, rows = searched(run), probes(run)
    goal = f"SLO **{search['objective']}**"
    if not (low and search["ended"]) and not machine_shows(run):
        return _of_machine(run)
    if not search["ended"]:
        return f"After {len(rows)} starts it is not certain whether the {goal} is met near {quantity(high)}/s."
    if not low:
        beside = ", where raw sockets meet it" if len(control(run)) else ""
        if rows["met"].any():
            text = f"The {goal} is met at no rate that could be confirmed, down to {quantity(high)}/s{beside}."
            return f"{text}{_refused(run, high)}{_disagreement(run)}{_reversed(run)}{_crowded(run)}"
        why = f"{_refused(run, rows['rate'].min())}{_crowded(run)}" or " Relax it, or find the cause."
        return f"The {goal} is violated at {_tried(run)}{beside}.{why}"
    if not search["confirmed"]:
        return f"The {goal} is met even at {quantity(low)}/s, the highest rate searched: use a stricter one."
    met = int(confirming(run)["met"].sum())
    is_least = is_at_least(run)
    text = (
        f"{_subject(run)}: the {goal} is met at **{low:,.0f} requests/s{' or more' * is_least}** "
        f"(in {met} of {evidence(run)} {_kind(run)} starts{_requests(run)}) and violated at **{high:,.0f} requests/s**"
        f"{', where the clients may be the limit' * is_least}. {_limit(run)}The search took {len(rows)} starts."
    )
    text += _refused(run, high) + _crowded(run) + _disagreement(run) + _reversed(run)
    violated = rows[~rows["met"] & (rows["achieved"] > 0)]
    if (violated["achieved"] < LEAST_ACHIEVED).any():
        text += " At some higher rates, not all requests could be sent on time."
    return " ".join(filter(None, [text, _cost(run, low)]))


def _tried(run: Run) -> str:
    """Return the rates that were tried, where all of them violated the SLO."""
    rates = sorted(set(probes(run)["rate"]))
    if len(rates) == 1:
        return f"{quantity(rates[0])}/s, the only rate tried"
    return f"each of the {len(rates)} rates tried, {quantity(rates[-1])}/s down to {quantity(rates[0])}/s"


def _refused(run: Run, rate: float) -> str:
    """Say what became of requests without a right reply at a rate that violated the SLO; "" if all have one."""
    rows = probes(run)
    said = [text for text in rows.loc[(rows["rate"] == rate) & ~rows["met"], "shortfall"] if text]
    return f" At {quantity(rate)}/s {said[0]}." if said else ""


def _crowded(run: Run) -> str:
    """Say that others left no CPU idle at the upper end, which may be why it violated the SLO; "" if one was idle."""
    case = case_at(run, bracket(run)[1])
    busy = None if case is None else crowded(run, case)
    if busy is None:
        return ""
    return (
        f" With other processes the machine's CPUs were {busy:.0%} busy at {quantity(bracket(run)[1])}/s. That may be "
        "why the SLO is violated there: end other work, and search again."
    )


def _disagreement(run: Run) -> str:
    """Return at which rates some starts met the SLO and others violated it; "" if there are none."""
    found = [
        f"{met.sum()} of {len(met)} at {rate:,.0f}/s{' (above the violated rate)' * (rate > bracket(run)[1])}"
        for rate, met in probes(run).groupby("rate")["met"]
        if met.nunique() > 1
    ]
    return f" Starts at the same rate disagree: the SLO was met by {listed(found)}." if found else ""


def _reversed(run: Run) -> str:
    """Say that a higher rate met the SLO where a lower one violated it; "" if there are none."""
    if (found := reversed_rates(run)) is None:
        return ""
    low, high = map(quantity, found)
    return (
        f" All starts violated the SLO at {low}/s, and all starts met it at {high}/s: here response times are not "
        "shorter at every lower rate."
    )


def _subject(run: Run) -> str:
    """Return what the search was of: the system, its transport, the connections that share the schedule, its gaps."""
    of = run.case(0)
    gaps = ", at the gaps of its recording, all longer or shorter by one factor" * (of.arrivals == "recorded")
    return f"**{of.system} {of.transport}**, {counted(of.clients * of.callers, 'connection')}{gaps}"


def _kind(run: Run) -> str:
    """Return "further", or "fresh" for a search of an older version: those that chose the rate are among them."""
    return "further" if any(probe.get("confirms") for probe in searched(run)["probes"]) else "fresh"


def _requests(run: Run) -> str:
    """Return how many requests each start had that confirms the rate, where a rule asks for a number."""
    requests = searched(run).get("requests")
    return f" of about {requests:,} requests each, as MLPerf asks for," if requests else ""


def _of_machine(run: Run) -> str:
    tried, violated = control(run), int((~control(run)["met"]).sum())
    return (
        f"This machine could not show **{searched(run)['objective']}** when this was measured: raw sockets violated it "
        f"at {quantity(tried['rate'].iloc[0])}/s in {violated} of {len(tried)} starts. Nothing follows about the "
        f"system: use a quieter machine, or a looser objective.{_reversed(run)}"
    )


def _cost(run: Run, rate: float) -> str:
    case = case_at(run, rate)
    if case is None or math.isnan(run.cases.loc[case, "server_cpu_us_per_call"]):
        return ""
    client, server = (run.over_starts(case, f"{role}_cpu_us_per_call").words(duration) for role in ("client", "server"))
    busy = run.over_starts(case, "server_cpu_percent").words("{:.0f} %".format)
    return (
        f"At the lower rate a call costs {server} of server CPU and {client} of client CPU. Server utilization is "
        f"{busy}."
    )


def _limit(run: Run) -> str:
    """Say why the server's capacity may be higher, where the clients may have been the limit."""
    if not is_at_least(run):
        return ""
    share = busiest_clients(run)
    used = (
        f"used up to {percent_beside(share, BUSY)} of their CPUs"
        if share > BUSY
        else "shared a saturated CPU with the server"
    )
    spins = ", without their spinning until a request is due" if counts_pacing(run) else ""
    return f"At these rates the clients {used}{spins}: the server's capacity may be higher. "


LITTLE, MOST = 0.8, 1.5  # shares of a fall between which the cost of the saved switches explains it


def cpu(run: Run) -> str:
    """Say whether the CPU time per call falls with the rate, and whether saved context switches explain that."""
    if (found := costs(run)) is None:
        return "Only one rate was measured: nothing is known of CPU time per call at others."
    least, higher, of_roles = found
    lines = [f"From {quantity(least)} to {quantity(higher)} requests/s:", *(_role(cost) for cost in of_roles)]
    spins = (
        "The clients' spinning until a request is due was counted apart, and is not in these numbers."
        if counts_pacing(run)
        else "This run did not count apart how long the clients spin until a request is due: their CPU time contains "
        "it, and it is shorter at higher rates."
    )
    return "\n".join([*lines, "", spins])


def _role(cost: Cost) -> str:
    cpu_us, switches = (
        " to ".join(spread.words(text) for spread in both)
        for both, text in ((cost.cpu_us, duration), (cost.switches, "{:.2f}".format))
    )
    numbers = f"{cpu_us}, voluntary context switches per call {switches}"
    if not cost.falls:
        return f"- **{cost.role}**: the CPU time per call does **not** fall in every start ({numbers})."
    share, switch = cost.by_switches, duration(cost.switch_us)
    each = f"a switch between two threads takes {switch} in the speed probe. At that cost the saved switches are"
    if math.isnan(share):
        why = "the cost of a switch beside this run is not known, so the cause is not known either"
    elif share < LITTLE:
        why = f"{each} **{max(0.0, share):.0%}** of the fall. What explains the rest is not measured here"
    else:
        why = f"{each} {'the fall or more' if share > MOST else f'{share:.0%} of the fall'}, and explain it"
    return f"- **{cost.role}**: the CPU time per call falls ({numbers}). {capitalized(why)}."
