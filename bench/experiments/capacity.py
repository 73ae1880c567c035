"""capacity.ipynb: an open load at rates that a search chooses, until it knows the highest that meets an SLO."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench import stats
from bench.analysis.busy import REPEAT, too_busy
from bench.analysis.capacity import (
    Cost,
    bracket,
    busiest_clients,
    case_at,
    confirming,
    control,
    costs,
    counts_pacing,
    is_at_least,
    is_fixed,
    machine_shows,
    of_starts,
    probes,
    rates_not_shown,
    response_us,
    searched,
    undecided,
)
from bench.analysis.resources import crowded
from bench.errors import UsageError
from bench.grammar import Estimand, Estimate, of_interval, of_spread
from bench.grammar.axes import (
    ROLE_COLOURS,
    ROLE_MARKERS,
    SYSTEM_COLOURS,
    EmptyError,
    curve,
    distribution_axes,
    log_axis,
    tail_scale,
)
from bench.grammar.statement import Statement
from bench.grammar.sweep import Bytes, Count, Options, OwnEngine, Rate, as_sweep
from bench.grammar.table import as_table
from bench.measurement.validation import plan_time
from bench.measurement.validation.amount import OnHosts
from bench.measurement.validation.cases import one_way
from bench.measurement.validation.profiles import PROFILES
from bench.plan import parameters
from bench.plan.arrivals import named as arrivals_of
from bench.plan.case import Case
from bench.plan.confirmation import FIXED, USUAL
from bench.plan.confirmation import rule as by_rule
from bench.plan.objective import objective as read
from bench.plan.plan import Plan
from bench.run import requests
from bench.run.frames import Run, once_per_run
from bench.run.start_values import BUSY
from bench.stats import LEAST_STARTS, Text
from bench.stats.intervals import Interval
from bench.stats.success_curve import rate_of_success, share_of_successes
from bench.text import capitalized, counted, duration, listed, percent_beside, quantity

TITLE = "What is the highest rate that meets a service level objective?"
SURE = 0.95  # of the starts, at a rate that one may count on
SURE_WORDS = f"rate at which {SURE:.0%} of the starts meet the SLO"
PROBES = 22  # before the lower end is confirmed: control, doublings and bisections, two or three starts each


@as_sweep(omits=("starts", "resume", "budget_s", "predictions"))  # the search decides
def sweep(
    amount: OnHosts,
    system: object = "zeromq",
    transport: object = "auto",
    objective: object = "p95<5ms",
    clients: Count = 4,
    payload_bytes: Bytes = 100,
    options: Options = "",
    first: Rate = 200,
    rule: object = USUAL,
    engine: OwnEngine = "library",
    arrivals: object = "poisson",
    callers: Count = 1,
) -> Plan:
    """Plan the first probe of a search; the number of starts is how many probes to expect.

    rule: ``usual`` confirms the lower end by most of the profile's starts, ``mlperf`` by five that all meet the
    objective, with as many requests as MLPerf asks for: see ``bench.plan.confirmation``; ``fixed`` searches
    nothing, and makes the profile's starts at ``first``, each after one of raw sockets. arrivals: with ``recorded``
    each probe replays a whole recording, faster or slower, once or more; callers: the requests that each client process
    of an asynchronous library, or of the engine wire, has under way at most, a connection each.

    hosts: see ``bench.plan.hosts``; the clients that share the schedule are then on the hosts that load.
    """
    name, transport = one_way(system, transport, amount.there)
    if transport == "inproc":
        raise UsageError("an open load needs a server that works while its clients wait: use ipc or tcp")
    profile = PROFILES[parameters.one_name(amount.profile, "profile", list(PROFILES))]
    confirmed = by_rule(rule, profile.starts, read(objective).p)
    starts = 2 * confirmed.starts if confirmed.name == FIXED else confirmed.starts + PROBES
    case = Case(
        name,
        transport,
        payload_bytes,
        options,
        amount.chosen_placement(is_parallel=True),
        "open",
        first,
        arrivals_of(arrivals),
        clients,
        callers,
        engine=engine,
        hosts=amount.there,
    )
    window_s = amount.window_s or profile.window_s
    planned = replace(amount, starts=starts, window_s=window_s).plan("capacity", [case])
    return replace(planned, window_s=plan_time.whole_replays_s(case, planned.window_s))


def evidence(run: Run) -> int:
    """Return how many starts the conclusion is from: those that confirm the lower end.

    Without one all of them, with the control's, but no more than the profile has: however long its search was, the
    profile smoke concludes nothing. The five long starts of MLPerf's rule, which all meet the SLO, suffice.
    """
    if bracket(run)[0]:
        return max(len(confirming(run)), LEAST_STARTS if searched(run).get("requests") else 0)
    return min(PROFILES[run.plan.profile].starts, len(probes(run)) + len(control(run)))


def why_unknown(run: Run) -> str:
    """Return why a search says nothing about the system, and what to do: the machine was too busy, or starts disagree.

    A rate that was confirmed is known, and so is a system that answers with errors.
    """
    if (bracket(run)[0] and searched(run)["ended"]) or is_refused(run):
        return ""
    reasons, advice = undecided(run)
    if busy := too_busy(run):
        reasons, advice = "; ".join(filter(None, [busy, reasons])), REPEAT
    return f"{reasons}: {advice}" if reasons else ""


def capacity(run: Run) -> list[Estimate]:
    """Return the highest rate that meets the SLO and the lowest that violates it, of a search that ended."""
    low, high = bracket(run)
    factors, search = run.case(0), searched(run)
    gaps = ", with the gaps of its recording, all multiplied by one factor" * (factors.arrivals == "recorded")
    subject = f"{factors.system} {factors.transport}, {counted(factors.clients * factors.callers, 'connection')}{gaps}"
    if not low and is_fixed(run):
        words, reasons = f"not met at {high:,.0f} requests/s", why_not_met(run)
    elif not low:
        words, reasons = "none", why_none(run)
    elif is_fixed(run):
        words, reasons = f"met at {low:,.0f} requests/s", [how_confirmed(run)]
    elif not search["confirmed"]:
        words, reasons = f"at least {low:,.0f} requests/s", ["the highest rate searched: use a stricter SLO"]
    else:
        words, reasons = f"{'at least ' * is_lower_bound(run)}{low:,.0f} requests/s", why_bracket(run)
    value = low or math.nan
    return [Estimate(subject, Interval(value, value, high), words, "; ".join([f"SLO {search['objective']}", *reasons]))]


def is_refused(run: Run) -> bool:
    """Return whether more requests were answered with an error than the SLO allows: no machine is the cause of that."""
    case = case_at(run, bracket(run)[1])
    if case is None:
        return False
    outcome = requests.of_starts(run, run.ledger[run.ledger["case"] == case])
    return outcome.part(outcome.answered_with_an_error) > 1 - searched(run)["p"]


def why_none(run: Run) -> list[str]:
    """Return at which rates the SLO was tried, of which none is confirmed."""
    rows, (_, high) = probes(run), bracket(run)
    rates = sorted(set(rows["rate"]))
    if rows["met"].any():
        tried = f"met at no rate that could be confirmed, down to {quantity(high)}/s"
    elif len(rates) == 1:
        tried = f"violated at {quantity(rates[0])}/s, the only rate tried"
    else:
        ends = f"{quantity(rates[-1])}/s down to {quantity(rates[0])}/s"
        tried = f"violated at each of the {len(rates)} rates tried, {ends}"
    rates = sorted(set(control(run)["rate"]))
    meet = [f"raw sockets meet it at {listed([f'{quantity(rate)}/s' for rate in rates])}"] if rates else []
    return [tried, *(meet if machine_shows(run) else []), *refused(run, high)[:1]]


def why_not_met(run: Run) -> list[str]:
    """Return in how many starts at one rate the SLO was met, by the system and by raw sockets."""
    return [how_confirmed(run), f"raw sockets met it in {of_starts(control(run))}", *refused(run, bracket(run)[1])[:1]]


def why_bracket(run: Run) -> list[str]:
    """Return how the lower end was confirmed, and in how many starts the upper one violated the SLO."""
    return [how_confirmed(run), violated(run)]


def how_confirmed(run: Run) -> str:
    """Return in how many starts the lower end met the SLO."""
    starts, search = probes(run) if is_fixed(run) else confirming(run), searched(run)
    kind = "further" if not is_fixed(run) and any(probe.get("confirms") for probe in search["probes"]) else "fresh"
    each = f" of about {search['requests']:,} requests each, as MLPerf asks for" if search.get("requests") else ""
    met, tried = int(starts["met"].sum()), len(starts)
    chance = share_of_successes(met, tried)
    return f"met in {met} of {tried} {kind} starts{each} (95 % CI {chance.low:.0%} to {chance.high:.0%})"


def violated(run: Run) -> str:
    """Return in how many starts the upper end violated the SLO."""
    rows, (_, high) = probes(run), bracket(run)
    above = rows.loc[rows["rate"] == high, "met"]
    texts = refused(run, high)
    because = f" (in the first of them {texts[0]})" if texts else ""
    return f"violated at {high:,.0f} requests/s in {int((~above).sum())} of {counted(len(above), 'start')}{because}"


def limits(run: Run) -> list[str]:
    """Return what other than the server may have limited the rate: the clients, the machine, other processes."""
    if is_fixed(run) or not bracket(run)[0]:
        return []
    return [*_own_limits(run), *others_busy(run, bracket(run)[1])]


def _own_limits(run: Run) -> list[str]:
    if not machine_shows(run):
        rates = listed(map(quantity, rates_not_shown(run)))
        return [f"raw sockets violate the SLO at {rates} requests/s, too, so this machine may be the limit"]
    if is_at_least(run):
        share = busiest_clients(run)
        used = f"used up to {percent_beside(share, BUSY)} of their CPUs"
        used = used if share > BUSY else "shared a saturated CPU with the server"
        return [f"the clients {used}, so the server's capacity may be higher"]
    if (server := utilization(run)) and server[0].interval.middle < HALF_IDLE:
        used = f"the server used {server[0].words} of its CPU"
        return [
            f"{used}: the limit may be the clients, the machine, or what the server waits for",
            "a search with another engine shows whether the clients are the limit",
        ]
    return []


class Limits:
    """What may have limited the rate, a sentence for each finding; it estimates nothing."""

    def __call__(self, run: Run) -> list[Estimate]:
        """Return no estimate."""
        return []

    def statements(self, run: Run) -> list[Statement]:
        """Return what may have limited the rate."""
        return [Statement(capitalized(reason)) for reason in limits(run)]


def is_lower_bound(run: Run) -> bool:
    """Return whether the clients, the machine, or other programs on it may have been the limit, not the server."""
    return is_at_least(run) or not machine_shows(run) or bool(others_busy(run, bracket(run)[1]))


HALF_IDLE = 50  # per cent of its CPU: a server that uses less is hardly the limit


def refused(run: Run, rate: float) -> list[str]:
    """Return what became of the requests without a right reply at a rate, of each start that violated the SLO."""
    rows = probes(run)
    return [text for text in rows.loc[(rows["rate"] == rate) & ~rows["met"], "shortfall"] if text]


def others_busy(run: Run, rate: float) -> list[str]:
    """Return whether other processes left no CPU idle at a rate."""
    case = case_at(run, rate)
    busy = None if case is None else crowded(run, case)
    if not busy:
        return []
    at = f"at {quantity(rate)}/s other processes left no CPU idle"
    return [f"{at} (the CPUs were {busy:.0%} busy): they may be why the SLO was violated there"]


@once_per_run
def sure_rate(run: Run) -> list[Estimate]:
    """Return the rate at which 19 of 20 starts meet the SLO, by a logistic curve through all probes; none without."""
    rows = probes(run)
    if is_fixed(run) or not bracket(run)[0] or not machine_shows(run):
        return []
    rate = rate_of_success(rows["rate"], rows["met"], SURE)
    if not rate.has_ends:
        return []
    factors, starts = run.case(0), counted(len(rows), "start")
    subject = f"{factors.system} {factors.transport}, from {starts} at {rows['rate'].nunique()} rates"
    estimate = of_interval(subject, rate, quantity)
    low, at = bracket(run)[0], rows.loc[rows["rate"] == bracket(run)[0], "met"]
    met = f"met at {low:,.0f} requests/s in {int(at.sum())} of {counted(len(at), 'start')}"
    ends = "; ".join([estimate.ends, f"SLO {searched(run)['objective']}", met, violated(run)])
    return [replace(estimate, words=f"{'at least ' * is_lower_bound(run)}{estimate.words} requests/s", ends=ends)]


def highest_rate(run: Run) -> list[Estimate]:
    """Return the rate at which nearly every start meets the SLO; without one the highest that was confirmed, or why."""
    return sure_rate(run) or capacity(run)


def cpu_at(run: Run, names: Mapping[str, str], text: Text) -> list[Estimate]:
    """Return columns of the case of the highest rate that meets the SLO, by role; none without it."""
    low, _ = bracket(run)
    case = case_at(run, low) if low else None
    values = {role: run.over_starts(case, name) for role, name in names.items()} if case is not None else {}
    return [
        of_spread(f"the {role} at {quantity(low)}/s", spread, text)
        for role, spread in values.items()
        if not math.isnan(spread.middle)
    ]


def cpu_per_call(run: Run) -> list[Estimate]:
    """Return the CPU time per call of server and client at the highest rate that meets the SLO."""
    return cpu_at(run, {role: f"{role}_cpu_us_per_call" for role in ("server", "client")}, duration)


def utilization(run: Run) -> list[Estimate]:
    """Return the CPU utilization of the server at the highest rate that meets the SLO."""
    return cpu_at(run, {"server": "server_cpu_percent"}, "{:.0f} %".format)


def answered(run: Run) -> str:
    """Return what the answer is: a rate, or whether the SLO is met at the rate that was asked for."""
    return "SLO" if is_fixed(run) else SURE_WORDS if sure_rate(run) else "highest rate that was confirmed"


answer = (
    Estimand(answered, highest_rate),
    Estimand("CPU time per call", cpu_per_call),
    Estimand("CPU utilization", utilization),
    Limits(),
)

MET, VIOLATED = SYSTEM_COLOURS[2], SYSTEM_COLOURS[3]
OUTCOMES = ((True, MET, "o", "SLO met"), (False, VIOLATED, "s", "SLO violated"))


def band(run: Run, span: Callable[..., Any]) -> None:
    """Shade the rates between the highest that is confirmed and the one that violated the SLO."""
    low, high = bracket(run)
    if 0 < low < high:
        why = "; the clients may be the limit" if is_at_least(run) else ""
        label = f"from confirmed to violating rate{why}"
        span(low, high, color="#bbbbbb", alpha=0.45, lw=0, zorder=0.5, label=label)


def against_rate(run: Run, axes: Axes) -> None:
    """Draw the quantile of the response time at each rate that was tried, and the limit of the SLO."""
    rows, search = probes(run), searched(run)
    for met, colour, marker, word in OUTCOMES:
        group = rows[rows["met"] == met]
        axes.plot(group["rate"], group["quantile_us"], marker, ms=7, mec="white", mew=0.8, color=colour, label=word)
    unknown = rows[rows["quantile_us"].isna()]
    if len(unknown):
        top = max([search["limit_us"], *rows["quantile_us"].dropna()])
        label = "not known: requests not sent, or without a right reply"
        axes.plot(unknown["rate"], [top] * len(unknown), "x", ms=8, mew=2, color=VIOLATED, label=label)
    axes.axhline(search["limit_us"], color="black", lw=1, ls="--", label=f"SLO {search['objective']}")
    band(run, axes.axvspan)
    for sure in sure_rate(run):
        ends = np.clip([sure.interval.low, sure.interval.high], rows["rate"].min(), rows["rate"].max())
        axes.plot(ends, [search["limit_us"]] * 2, color="black", lw=5, alpha=0.35, solid_capstyle="butt")
        label = f"{SURE:.0%} of the starts meet it: {sure.words}, bar: 95 % CI"
        axes.plot(sure.interval.middle, search["limit_us"], "D", ms=8, mec="white", color="black", label=label)
    log_axis(axes.xaxis, quantity)
    log_axis(axes.yaxis)
    axes.set_xlabel("offered requests per second")
    axes.set_ylabel(f"p{100 * search['p']:g} of the response time, each start")
    axes.set_title("Response time against offered rate")


def in_order(run: Run, axes: Axes) -> None:
    """Draw the search: the offered rate of each probe, in order."""
    rows = probes(run)
    axes.plot(range(1, len(rows) + 1), rows["rate"], color="#bbbbbb", lw=1)
    for met, colour, marker, word in OUTCOMES:
        group = rows[rows["met"] == met]
        axes.plot(group.index + 1, group["rate"], marker, ms=7, mec="white", mew=0.8, color=colour, label=word)
    band(run, axes.axhspan)
    log_axis(axes.yaxis, quantity)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("probe (each is a fresh start)")
    axes.set_ylabel("offered requests per second")
    axes.set_title("The search: double, bisect, confirm")


def at_the_edge(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of all response times of each start at the ends of the bracket, by its outcome."""
    ends = [(rate, case) for rate in dict.fromkeys(bracket(run)) if (case := case_at(run, rate)) is not None]
    if not any(run.count(case) for _, case in ends):
        raise EmptyError("neither end of the bracket was measured")
    lines = dict(zip(bracket(run), ("-", "--"), strict=True))
    for rate, case in ends:
        times_us = response_us(run, case)
        for is_met, colour, _, word in OUTCOMES:
            alike = [us for start, us in times_us.items() if probes(run).loc[start, "met"] == is_met]
            label = f"{quantity(rate)} requests/s, {word}: {counted(len(alike), 'start')}"
            for index, us in enumerate(alike):
                curve(axes, stats.distribution(us), "" if index else label, colour, lines[rate], width=1.1)
    limit, p, objective = (searched(run)[name] for name in ("limit_us", "p", "objective"))
    axes.axvline(limit, color="black", lw=1, ls="--")
    axes.plot(limit, tail_scale(p), "x", ms=10, mew=2, color="black", label=f"SLO {objective}")
    distribution_axes(axes, "requests")
    axes.set_xlabel("response time (from the scheduled send time)")
    axes.set_title(f"Response times of each start at {listed(quantity(rate) for rate, _ in ends)} requests/s")


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of each start against the offered rate, by role."""
    for role, colour in ROLE_COLOURS.items():
        spent_us = run.starts[f"{role}_cpu_us_per_call"]
        if spent_us.any():
            dots: dict[str, Any] = {"ms": 5, "mec": "white", "mew": 0.6, "color": colour, "label": role}
            axes.plot(run.starts["offered_per_s"], spent_us, ROLE_MARKERS[role], **dots)
    band(run, axes.axvspan)
    log_axis(axes.xaxis, quantity)
    log_axis(axes.yaxis)
    axes.set_xlabel("offered requests per second")
    axes.set_ylabel("CPU time per call, each start")
    axes.set_title("CPU time per call, by rate and role")


panels = {"against_rate": against_rate, "in_order": in_order, "at_the_edge": at_the_edge, "cost": cost}


@as_table("offered/s")
def rate_rows(run: Run) -> Iterator[dict[str, str]]:
    """Yield for each rate how many of its starts met the SLO, the median of their quantiles, and what failed."""
    for rate, rows in probes(run).groupby("rate"):
        value = rows["quantile_us"].median()
        yield {
            "offered/s": quantity(float(str(rate))),
            "SLO met": f"{rows['met'].sum()} of {len(rows)} starts",
            f"p{100 * searched(run)['p']:g} of the response time, median": "not known"
            if math.isnan(value)
            else duration(value),
            "sent of scheduled, least": f"{rows['achieved'].min():.1%}",
            "requests without a right reply": next(filter(None, rows["shortfall"]), "none"),
        }


@as_table("role")
def cost_rows(run: Run) -> Iterator[dict[str, str]]:
    """Yield for each role what a call costs at the lowest and at a higher rate, and what saved switches explain."""
    if rates_and_costs := costs(run):
        least, higher, role_costs = rates_and_costs
        yield from (
            _cost_row(run, role_cost, f"at {quantity(least)}/s, at {quantity(higher)}/s") for role_cost in role_costs
        )


def _cost_row(run: Run, role_cost: Cost, at: str) -> dict[str, str]:
    unknown = math.isnan(role_cost.by_switches)
    share = "not known" if unknown else f"{max(0.0, role_cost.by_switches):.0%}"
    pacing = "counted apart" if counts_pacing(run) else "part of the CPU time"
    return {
        "role": role_cost.role,
        f"CPU time per call {at}": ", ".join(spread.words(duration) for spread in role_cost.cpu_us),
        f"voluntary context switches per call {at}": ", ".join(
            spread.words("{:.2f}".format) for spread in role_cost.switches
        ),
        "a switch between two threads": "not known"
        if math.isnan(role_cost.switch_us)
        else duration(role_cost.switch_us),
        "share of the fall that the saved switches explain": share
        if role_cost.falls
        else "it does not fall in every start",
        "spinning until a request is due": pacing if role_cost.role == "client" else "none",
    }


tables = {"rates": rate_rows, "cpu": cost_rows}
