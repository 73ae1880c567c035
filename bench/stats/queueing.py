"""Predictions for many callers from the service demands of one: bounds, and exact mean value analysis (MVA).

Times in us, rates in calls per us. Sources: Denning & Buzen 1978 (bounds), Reiser & Lavenberg 1980 (MVA),
Seidmann, Schweitzer & Shalev-Oren 1987 (several servers as a faster one and a delay), Takács 1962 (moments of the work
in an M/G/1 server), Abate & Whitt 1987 (the approach of M/M/1 to steady state, doi 10.1007/BF01182933).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.stats.quantiles import Array


@dataclass(frozen=True)
class Demand:
    """The service demand of one call at a resource: ``time`` us of one of its ``servers``."""

    time: float
    servers: int = 1


def delay(round_trip: float, demands: Sequence[Demand]) -> float:
    """Return the part of a single caller's round trip in which no resource works: wake-ups, the kernel, the wire.

    Negative where work goes on beside the call (a library's own threads): it then takes no time of the round trip.
    """
    return round_trip - sum(demand.time for demand in demands)


def bounds(round_trip: float, think: float, demands: Sequence[Demand], clients: Array) -> Array:
    """Return the most calls per us that N callers can make: N/(R + Z), and what the busiest resource can do."""
    fastest = min(demand.servers / demand.time for demand in demands)
    return np.minimum(np.asarray(clients, float) / (round_trip + think), fastest)


def response(rate: Array, mean: float, scv: float = 1.0) -> Array:
    """Return the mean response time of an open load on one server: Pollaczek-Khinchine, in the unit of ``mean``.

    rate: arrivals per that unit. scv: squared coefficient of variation of the service time; 1 is M/M/1, 0 constant.
    Infinite where the server is offered more than it can do.
    """
    used = np.asarray(rate, float) * mean
    with np.errstate(divide="ignore"):
        waiting = used * mean * (1 + scv) / 2 / np.maximum(1 - used, 0)
    return np.where(used < 1, mean + waiting, np.inf)


def settling(rate: Array, moments: tuple[float, float, float]) -> Array:
    """Return the settling time of an M/G/1 queue that begins empty, in the unit of the service times.

    It is the integral over t of 1 - w(t) / w, where w(t) is the mean waiting time of an arrival at t, and w its limit:
    the mean over a window is below the steady state's by at most this time's share of the window. Of M/M/1 it is
    S / (1 - rho)^2. moments: E[S], E[S^2], E[S^3] of the service time. Infinite where the server is offered more than
    it can do. From Poisson's equation for the work in the server, whose solution is v^2 / 2 (1 - rho).
    """
    mean, second, third = moments
    used = np.asarray(rate, float) * mean
    with np.errstate(divide="ignore", invalid="ignore"):
        idle = np.maximum(1 - used, 0)
        waiting = used / mean * second / 2 / idle
        time = (waiting + third / second / 3) / idle
    return np.where(used < 1, time, np.inf)


def mva(round_trip: float, think: float, demands: Sequence[Demand], clients: int) -> Array:
    """Return calls per us for 1 to ``clients`` callers, by exact MVA from one caller's round trip and demands.

    With one caller it gives that caller's rate back. Work beside the call counts for the bound alone: the demands are
    then scaled down to the round trip.
    """
    waiting = delay(round_trip, demands)
    scale = min(1.0, round_trip / (round_trip - waiting)) if waiting < 0 else 1.0
    queueing = np.array([scale * demand.time / demand.servers for demand in demands])
    apart = sum(scale * demand.time * (demand.servers - 1) / demand.servers for demand in demands)
    rest, queue, rates = max(0.0, waiting) + apart + think, np.zeros(len(demands)), []
    for n in range(1, clients + 1):
        residence = queueing * (1 + queue)
        rate = n / (rest + residence.sum())
        queue = rate * residence
        rates.append(rate)
    return np.minimum(np.array(rates), bounds(round_trip, think, demands, np.arange(1, clients + 1)))


def response_quantile(rate: float, mean: float, p: float) -> float:
    """Return the ``p`` quantile of the response time of M/M/1, in the unit of ``mean``; the rate is below 1/mean."""
    return float(-np.log1p(-p) * mean / (1 - rate * mean))
