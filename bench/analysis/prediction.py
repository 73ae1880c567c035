"""Predict the calls per second of N clients from the starts with one client: asymptotic, and by exact MVA."""

from dataclasses import dataclass

import numpy as np

from bench.analysis.resources import Resource, full, resources
from bench.run.frames import Run, number_of, once_per_run
from bench.stats import Array, queueing
from bench.stats.intervals import Interval, paired_shift
from bench.stats.queueing import Demand
from bench.text import quantity

RATE = "rate_per_s"


@dataclass(frozen=True)
class Prediction:
    """The prediction from one client; rates in calls/s, times in us, one value for each number of clients.

    asymptote: N times one client's rate, and no more than the resource with the largest demand has time for, both with
    the demands (CPU time per call) of one client. It is a prediction and no bound on what is measured: a rate exceeds
    it where a call costs less CPU time than with one client. rate: by exact MVA from the same demands, with the range
    over the one-client starts. bottleneck: the resource that saturates first, as it was with one client.
    """

    clients: Array
    asymptote: Array
    rate: Array
    rate_low: Array
    rate_high: Array
    rtt_us: Array
    bottleneck: Resource

    @property
    def limit(self) -> str:
        """The resource that saturates first, in words."""
        return self.bottleneck.name


@once_per_run
def predict(run: Run) -> Prediction | None:
    """Return the prediction for 1 to the most clients of a run, or None where the server's CPU time is not known.

    None, too, where a host measures latency: then no client was ever alone.
    """
    rows = run.cases_with(is_short=False, processes=1)
    alone = rows[rows["server_cpu_us_per_call"].notna()]
    rows = run.cases_with(is_short=False)
    if alone.empty:
        return None
    case, largest_case = number_of(alone.index[0]), number_of(rows["clients"].idxmax())
    room = _client_cpus(run, largest_case)
    used = [resource for resource in resources(run, case) if np.all(resource.demand_us > 0)]
    starts = run.starts_of(case)
    round_trips = starts["mean_rtt_us"].to_numpy()
    cycles = 1e6 / starts["rate_per_s"].to_numpy()
    numbers = np.arange(1, int(rows["clients"].max()) + 1)
    predictions = [
        _of_start(used, index, room, round_trip, max(0.0, cycle - round_trip), numbers)
        for index, (round_trip, cycle) in enumerate(zip(round_trips, cycles, strict=True))
    ]
    asymptote, rate = (1e6 * np.array(values) for values in zip(*predictions, strict=True))
    middle = np.median(rate, axis=0)
    think = float(np.median(np.maximum(0.0, cycles - round_trips)))
    limit = max(used, key=lambda resource: np.median(resource.demand_us) / _servers(resource, room))
    return Prediction(
        numbers,
        np.median(asymptote, axis=0),
        middle,
        rate.min(axis=0),
        rate.max(axis=0),
        1e6 * numbers / middle - think,
        limit,
    )


def _client_cpus(run: Run, case: int) -> int:
    """Return how many CPUs the largest number of clients can use."""
    return next(resource.cpus for resource in resources(run, case) if "client" in resource.roles)


def _servers(resource: Resource, room: int) -> int:
    """Return the CPUs of a resource once there are many clients: theirs are more than one client's."""
    return room if "client" in resource.roles else resource.cpus


def _of_start(
    used: list[Resource], index: int, room: int, round_trip: float, think: float, clients: Array
) -> tuple[Array, Array]:
    """Return the asymptote and the MVA prediction of one start; a thread is no CPU of its own, but it limits both."""
    demands = [Demand(float(resource.demand_us[index]), _servers(resource, room)) for resource in used]
    on_cpus = [demand for demand, resource in zip(demands, used, strict=True) if not resource.is_thread]
    asymptote = queueing.bounds(round_trip, think, demands, clients)
    return asymptote, np.minimum(asymptote, queueing.mva(round_trip, think, on_cpus, len(clients)))


def capacity_at(run: Run, case: int) -> tuple[str, float]:
    """Return the resource with the least room at the load of a case, and the most calls/s it has time for.

    CPUs over demand, with the CPU time per call measured in that case (the utilization law): median over its starts.
    """
    rates = {
        resource.name: float(np.median(1e6 * resource.cpus / resource.demand_us))
        for resource in resources(run, case)
        if np.all(resource.demand_us > 0)
    }
    name = min(rates, key=lambda name: rates[name])
    return name, rates[name]


def limit(run: Run, case: int) -> str:
    """Return what ``capacity_at`` does in words."""
    name, rate = capacity_at(run, case)
    return f"{quantity(rate)} ({name})"


def ceiling(run: Run) -> float | None:
    """Return the gain at which the first resource saturates, if calls cost as much CPU time as with one client."""
    model = predict(run)
    return (
        None if model is None else float(model.asymptote[-1] / run.cases_with(is_short=False, clients=1)[RATE].iloc[0])
    )


def best(run: Run) -> int:
    """Return the case with the highest median rate over a whole window."""
    return number_of(run.cases_with(is_short=False)[RATE].idxmax())


def cpus(run: Run) -> int:
    """Return how many CPUs all roles together can use at the highest rate."""
    return sum(resource.cpus for resource in resources(run, best(run)) if not resource.is_thread)


def demand_over_others(run: Run) -> dict[int, Interval]:
    """Return how busy the resource is that one client predicts, divided by the busiest of the others, by block.

    Of each number of clients from the best one on at which something is saturated; none without a prediction.
    """
    if (model := predict(run)) is None:
        return {}
    ratios, wanted = dict[int, Interval](), (model.bottleneck.roles, model.bottleneck.is_thread)
    for case in run.find(is_short=False):
        there = resources(run, case)
        others = {(resource.roles, resource.is_thread): resource.demand_us / resource.cpus for resource in there}
        predicted = others.pop(wanted, None)
        is_grown = run.case(case).clients >= run.case(best(run)).clients
        if is_grown and full(there) and predicted is not None and others:
            highest = np.max(list(others.values()), axis=0)
            ratios[case] = paired_shift(np.log(predicted / highest), run.confidence).exp()
    return ratios
