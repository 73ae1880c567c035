"""From the starts with one client alone: how many calls per second will N clients make?"""

import math
from dataclasses import dataclass

import numpy as np

from bench.analysis.resources import Resource, resources
from bench.run.frames import Run, number_of, once
from bench.stats import Array, queueing
from bench.stats.queueing import Demand


@dataclass(frozen=True)
class Prediction:
    """What one client tells about many; rates per second, times in us, one value for each number of clients.

    bound: what no rate can exceed. rate: by exact MVA, with the range over the one-client starts. limit: the resource
    that is full first.
    """

    clients: Array
    bound: Array
    rate: Array
    rate_low: Array
    rate_high: Array
    rtt_us: Array
    limit: str


@once
def predict(run: Run) -> Prediction | None:
    """Return the prediction for 1 to the most clients of a run, or None where the server's CPU time is not known."""
    rows = run.cases_with(is_short=False)
    alone = rows[(rows["clients"] == 1) & rows["server_cpu_us_per_call"].notna()]
    if alone.empty:
        return None
    case, most = number_of(alone.index[0]), number_of(rows["clients"].idxmax())
    room = _client_cpus(run, most)
    found = [one for one in resources(run, case) if np.all(one.demand_us > 0)]
    starts = run.starts_of(case)
    round_trips = starts["mean_rtt_us"].to_numpy()
    cycles = 1e6 / starts["rate_per_s"].to_numpy()
    numbers = np.arange(1, int(rows["clients"].max()) + 1)
    each = [
        _of_start(found, place, room, round_trip, max(0.0, cycle - round_trip), numbers)
        for place, (round_trip, cycle) in enumerate(zip(round_trips, cycles, strict=True))
    ]
    bound, rate = (1e6 * np.array(values) for values in zip(*each, strict=True))
    middle = np.median(rate, axis=0)
    think = float(np.median(np.maximum(0.0, cycles - round_trips)))
    limit = max(found, key=lambda one: np.median(one.demand_us) / _servers(one, room))
    return Prediction(
        numbers,
        np.median(bound, axis=0),
        middle,
        rate.min(axis=0),
        rate.max(axis=0),
        1e6 * numbers / middle - think,
        limit.name,
    )


def _client_cpus(run: Run, case: int) -> int:
    """Return how many CPUs the largest number of clients could use."""
    return next(one.cpus for one in resources(run, case) if "client" in one.roles)


def _servers(one: Resource, room: int) -> int:
    """Return the CPUs of a resource once there are many clients: theirs are more than one client's."""
    return room if "client" in one.roles else one.cpus


def _of_start(
    found: list[Resource], place: int, room: int, round_trip: float, think: float, clients: Array
) -> tuple[Array, Array]:
    """Return the bound and the prediction that one start gives; a thread is no CPU apart, but it bounds."""
    demands = [Demand(float(one.demand_us[place]), _servers(one, room)) for one in found]
    on_cpus = [demand for demand, one in zip(demands, found, strict=True) if not one.is_thread]
    bound = queueing.bounds(round_trip, think, demands, clients)
    return bound, np.minimum(bound, queueing.mva(round_trip, think, on_cpus, len(clients)))


def agreement(run: Run, model: Prediction) -> float:
    """Return the largest factor between measured and predicted rates, above or below."""
    rows = run.cases_with(is_short=False)
    logs = np.log(rows["rate_per_s"].to_numpy() / model.rate[rows["clients"].to_numpy() - 1])
    return float(np.exp(np.abs(logs).max())) if len(logs) else math.nan
