"""Sentences of clients.ipynb: the class lab's questions, the growth with clients, the prediction, and the limit."""

import pandas as pd

from bench import stats
from bench.analysis.prediction import agreement, capacity_at, predict
from bench.analysis.resources import cpu_over_starts, resources
from bench.experiments import published
from bench.experiments.clients.findings import best, bursts, first_calls_us, gain, grown
from bench.experiments.sentences import P50, clients_of, why_not_more, with_range
from bench.run.frames import Run, number_of
from bench.text import duration, quantity


def conclusion(run: Run) -> str:
    """Return how the rate grows with clients, what limits it, and how far the prediction from one client holds."""
    cases = grown(run)
    single, most, last = cases.iloc[0], cases[cases["clients"] == best(run)].iloc[0], cases.iloc[-1]
    text = f"{clients_of(single)} makes {_rate(run, single)} calls/s in a whole window."
    if number_of(most.name) != number_of(single.name):
        text += (
            f" The highest rate is {_rate(run, most)} calls/s with {clients_of(most)}: "
            f"{gain(run, cases, best(run))} the rate of one."
        )
    text += f" {why_not_more(run, number_of(most.name))}"
    if last["clients"] > most["clients"]:
        text += f" With {clients_of(last)} the rate is {_rate(run, last)} calls/s."
    return "\n\n".join([text, _predicted(run, single, most)])


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
    limit = float(model.asymptote[int(most["clients"]) - 1])
    text = (
        f"Prediction from one client: {model.limit} saturates first, at {quantity(model.asymptote[-1])} calls/s "
        f"(asymptotic). Measured rates and the MVA prediction differ by at most a factor of "
        f"{agreement(run, model):.2f}. Both assume a constant CPU time per call; it is {then} with "
        f"{clients_of(single)} and {now} with {clients_of(most)}."
    )
    over = most["rate_per_s"] / limit
    if over > 1:
        text += f" At {clients_of(most)} the measured rate is {over:.2f} times the asymptotic prediction."
    name, capacity = capacity_at(run, number_of(most.name))
    return (
        f"{text} With the CPU time per call measured at {clients_of(most)}, {name} has time for at most "
        f"{quantity(capacity)} calls/s."
    )


def answers(run: Run) -> str:
    """Return answers to the two questions of the class lab, with its own numbers."""
    single, lab = grown(run).iloc[0], published.GRPC_LAB
    median = with_range(run, number_of(single.name), P50)
    cold = stats.across_starts(first_calls_us(run)).words(duration)
    text = (
        f"**Round-trip time between one client and one server.** The median RTT is {median} after the "
        f"warm-up. The first call, which also connects, takes {cold}. The lab's one call took "
        f"{duration(1e3 * lab['one_call_ms'])}."
    )
    burst, window = gain(run, bursts(run), 2), gain(run, grown(run), 2)
    if burst is None:
        return text
    theirs = {clients: sum(rates) for clients, rates in lab["calls_per_s"].items()}
    second = (
        f"**Throughput with one client and with two.** In bursts of 100 calls per client, two clients make {burst} the "
        "calls per second of one"
    )
    second += f"; in a whole window, {window}." if window else "."
    second += f" In the lab the ratio was {theirs[2] / theirs[1]:.2f} (sums of the clients' rates, measured once)."
    return "\n\n".join([text, f"{second} {_room(run)}"])


def _room(run: Run) -> str:
    """Return how busy one client keeps the busiest CPU, and what that leaves for more clients."""
    alone = [resource for resource in resources(run, number_of(grown(run).index[0])) if not resource.is_thread]
    busiest = max(alone, key=lambda resource: resource.busy)
    if not busiest.busy:
        return ""
    return (
        f"One client keeps {busiest.name} {busiest.busy:.0%} busy: at constant CPU time per call, more clients make at "
        f"most {1 / busiest.busy:.2f} times its calls. A larger gain means that calls become cheaper."
    )
