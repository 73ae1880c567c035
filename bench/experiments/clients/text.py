"""Sentences of clients.ipynb: the greeter exercise's questions, growth with clients, the prediction, the limit."""

import math

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis.prediction import agreement, capacity_at, predict
from bench.analysis.resources import Resource, cpu_over_starts, resources
from bench.experiments import published
from bench.experiments.case_ratios import Ratio, beside_medians
from bench.experiments.claims import above, judged, with_verdict
from bench.experiments.clients.findings import (
    best,
    bursts,
    ceiling,
    cpus,
    first_calls_us,
    gain,
    grown,
    level_with_best,
    limits,
    room,
)
from bench.experiments.doubling import doubled
from bench.experiments.sentences import P50, clients_of, why_not_more, with_range
from bench.run.frames import Run, number_of
from bench.text import counted, duration, listed, paragraphs, quantity


def conclusion(run: Run) -> str:
    """Return how the rate grows with clients, what limits it, and whether the prediction from one client holds."""
    cases = grown(run)
    single, most, last = cases.iloc[0], cases[cases["clients"] == best(run)].iloc[0], cases.iloc[-1]
    text = f"{clients_of(single)} makes {_rate(run, single)} calls/s in a whole window."
    if number_of(most.name) != number_of(single.name):
        text += (
            f" The highest rate is {_rate(run, most)} calls/s with {clients_of(most)}: "
            f"{gain(run, cases, best(run))} the rate of one."
        )
        text += f" {beside_medians(run, [gain(run, cases, best(run))])}".rstrip()
    if alike := level_with_best(run):
        text += f" Not distinguishable from the highest: the rate with {listed(map(_count, alike))}."
    text += f" {why_not_more(run, number_of(most.name))}"
    if last["clients"] > most["clients"]:
        text += f" With {clients_of(last)} the rate is {_rate(run, last)} calls/s."
    return with_verdict(_bottleneck(run), text, _predicted(run, single, most))


def _bottleneck(run: Run) -> str:
    """Return whether the resource that one client predicts is what was saturated, and if not, why."""
    model, found = predict(run), limits(run)
    if model is None:
        return ""
    claim = f"the CPU time per call of one client predicts which resource is saturated ({model.limit})"
    if not found:
        most = _count(best(run))
        return f"Not decided by this run: {claim}. With {most}, the best number, no role saturated its CPU."
    text = judged(claim, {_count(one.clients): one.holds for one in found})
    against = next((one for one in found if one.holds is False), None)
    if against is None:
        return text
    parts = [_demands(run, one, against.clients) for one in against.saturated]
    if against.here:
        parts.append(_demands(run, against.here, against.clients))
    return " ".join([text, *(f"A call costs {part}." for part in parts)])


def _demands(run: Run, now: Resource, clients: int) -> str:
    """Return the CPU time per call at a resource with one client and with more."""
    alone = resources(run, number_of(grown(run).index[0]))
    then = next((one for one in alone if (one.roles, one.is_thread) == (now.roles, now.is_thread)), None)
    few = f"{stats.across_starts(pd.Series(then.demand_us)).words(duration)} with 1 client and " if then else ""
    many = stats.across_starts(pd.Series(now.demand_us)).words(duration)
    return f"{now.name} {few}{many} with {_count(clients)}; that CPU is then {now.percent} busy"


def _count(clients: int) -> str:
    return counted(clients, "client")


def _rate(run: Run, row: "pd.Series[float]") -> str:
    return run.over_starts(number_of(row.name), "rate_per_s").words(quantity)


def _predicted(run: Run, single: "pd.Series[float]", most: "pd.Series[float]") -> str:
    """Return the prediction from one client, the measured rate over it, and the CPU time per call of both."""
    model = predict(run)
    if model is None and any(case.processes > case.clients for case in run.plan.cases):
        return "One more client measures latency, so that no client is alone, and nothing is predicted from one client."
    if model is None:
        return "The server's CPU time is not known, so nothing is predicted from one client."
    then, now = (cpu_over_starts(run, number_of(row.name)).words(duration) for row in (single, most))
    few, many = clients_of(single), clients_of(most)
    over = most["rate_per_s"] / float(model.asymptote[int(most["clients"]) - 1])
    exceeded = f"**With {many} the measured rate is {over:.2f} times the asymptotic prediction from one client.** "
    name, capacity = capacity_at(run, number_of(most.name))
    return (
        f"{exceeded if over > 1 else ''}The asymptotic prediction is at most {quantity(model.asymptote[-1])} calls/s. "
        f"Measured rates and the MVA prediction differ by at most a factor of {agreement(run, model):.2f}. Both assume "
        f"a constant CPU time per call. The median of the starts' sums over all roles is {then} with {few} and {now} "
        f"with {many}. At the latter, {name} has time for {quantity(capacity)} calls/s."
    )


def answers(run: Run) -> str:
    """Return answers to the two questions of the greeter exercise, with its own numbers."""
    single, lab = grown(run).iloc[0], published.GREETER
    median = with_range(run, number_of(single.name), P50)
    cold = stats.across_starts(first_calls_us(run)).words(duration)
    text = (
        f"**Round-trip time between one client and one server.** The median RTT is {median} after the "
        f"warm-up. The first call, which also connects, takes {cold}. The greeter exercise's one call took "
        f"{duration(1e3 * lab['one_call_ms'])}."
    )
    burst, window = gain(run, bursts(run), 2), gain(run, grown(run), 2)
    if burst is None:
        return text
    theirs = {clients: sum(rates) for clients, rates in lab["calls_per_s"].items()}
    second = "**Throughput: calls/s of two clients divided by calls/s of one.** "
    second += (
        f"In whole windows {window}{_beside_two(run, window)} In bursts of 100 calls per client, which are another "
        f"load, {burst}."
        if window
        else (f"In bursts of 100 calls per client {burst}.")
    )
    second += f" In the greeter exercise's bursts {theirs[2] / theirs[1]:.2f} (sums of clients' rates, measured once)."
    return paragraphs(text, f"{second} {_room(run)}".strip(), _beside_cpus(run))


def _beside_two(run: Run, gain: Ratio) -> str:
    """Return the rest of a sentence with the gain of two clients: whether it is above 2, and then why it can be."""
    if why := doubled(run, gain):
        return f". {why}"
    return ", less than twice as many." if above(gain, 2) is False else ", not shown to be above or below 2."


def _beside_cpus(run: Run) -> str:
    """Say whether the gain at the highest rate is above the number of CPUs, and how much the CPU times allow."""
    most = best(run)
    reached = gain(run, grown(run), most) if most > 1 else None
    if reached is None or math.isnan(run.cases.loc[reached.other, "server_cpu_us_per_call"]):
        return ""
    count, alone, then = cpus(run, most), room(run, most, 1), room(run, most, most)
    is_above = above(reached, count)
    words = {True: "above", False: "below", None: "not shown to be above or below"}[is_above]
    text = (
        f"The gain at the highest rate, {reached} with {_count(most)}, is {words} {count}, the number of CPUs. "
        f"One client and its server use {count / alone.middle:.2f} CPUs on average. At their CPU time per call, "
        f"{count} CPUs without other work have time for {alone.middle:.2f} times one client's calls. At the CPU time "
        f"per call with {_count(most)}, they have time for {then.middle:.2f} times as many."
    )
    reasons = ["one client leaves CPU time unused"] * (alone.middle > count)
    reasons += ["calls become cheaper with more clients"] * (then.middle > alone.middle)
    return f"{text} The gain can be above {count}, because {listed(reasons)}." if is_above and reasons else text


def _room(run: Run) -> str:
    """Return the ceiling that one client's utilization sets, and whether the measured gain is above it."""
    found, most = ceiling(run), best(run)
    reached = gain(run, grown(run), most) if most > 1 else None
    if found is None:
        return ""
    busiest, limit = found
    text = (
        f"By the CPU time per call of one client, {busiest.name} would saturate first. If calls do not become cheaper, "
        f"the ceiling is then {limit:.2f} times one client's rate."
    )
    if other := next((at for at in limits(run) if at.holds is False), None):
        saturated = listed(one.name for one in other.saturated)
        text += f" With {_count(other.clients)} {saturated} was saturated instead."
    if not above(reached, limit):
        return text
    now = next((one for one in resources(run, _case(run, most)) if one.roles == busiest.roles), None)
    if now is None or np.median(now.demand_us) >= np.median(busiest.demand_us):
        return f"{text} **The measured gain with {_count(most)} is above it**, and calls did not become cheaper."
    return f"{text} **The measured gain with {_count(most)} is above it:** a call costs {_demands(run, now, most)}."


def _case(run: Run, clients: int) -> int:
    rows = grown(run)
    return number_of(rows.index[rows["clients"] == clients][0])
