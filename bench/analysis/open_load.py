"""Open loads by rate: the server's capacity, and the mean response time that queueing theory predicts."""

import math
from typing import Any

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis.overload import known_capacity, without_times
from bench.analysis.resources import resources
from bench.run.frames import Run, number_of, once_per_run
from bench.stats import queueing

MOMENTS = {  # second and third moment of the oracle's service times, of mean 1
    "constant": (1.0, 1.0),
    "exponential": (2.0, 6.0),
    "bimodal": (0.9 * 0.5**2 + 0.1 * 5.5**2, 0.9 * 0.5**3 + 0.1 * 5.5**3),
}
MOST_UNSETTLED = 0.1  # share of a window that the settling time may be, if a mean is predicted


@once_per_run
def offered(run: Run) -> pd.DataFrame:
    """Return the cases with offered rates, lowest first, without the server that freezes."""
    rows = run.cases_with(load="open")
    return rows[[not is_frozen(run, case) for case in rows.index]].sort_values("offered_per_s")


def reported(run: Run) -> pd.DataFrame:
    """Return those of ``offered`` whose response times are reported."""
    rows = offered(run)
    return rows[~rows.index.isin(without_times(run).keys())]


def steady(run: Run) -> pd.DataFrame:
    """Return those of ``reported`` whose windows are long enough for steady state; all if fewer than two are."""
    rows = reported(run)
    settled = rows[is_settled(run, rows["offered_per_s"].to_numpy())]
    return settled if len(settled) > 1 else rows


def is_frozen(run: Run, case: object) -> bool:
    """Return whether a case's server freezes once."""
    return bool(run.case(case).factor("freeze_after"))


def alone(run: Run) -> "pd.Series[float]":
    """Return the case of one closed loop, from which the capacity is predicted."""
    rows = run.cases_with(load="closed")
    return rows.loc[next(case for case in rows.index if not is_frozen(run, case))]


def by_service_times(run: Run) -> float:
    """Return the server's capacity in requests per second by its service times; infinite where these are not known."""
    return known_capacity(run.case(number_of(alone(run).name)))


@once_per_run
def capacity(run: Run) -> float:
    """Return the server's capacity in requests per second: by its service times, else by its CPU time per call."""
    if math.isfinite(by_service_times(run)):
        return by_service_times(run)
    limiting = [one for one in resources(run, number_of(alone(run).name)) if "server" in one.roles]
    return min((one.cpus * 1e6 / float(np.median(one.demand_us)) for one in limiting), default=math.nan)


def predicted(run: Run, rates: stats.Array) -> stats.Array | None:
    """Return the predicted mean response time in us at offered rates; None where the service times are not known."""
    moments = _moments(run)
    if moments is None:
        return None
    busy = 1e6 / capacity(run)
    around = max(0.0, alone(run)["mean_rtt_us"] - busy)  # round trip without the service time
    return around + queueing.response(np.asarray(rates) / 1e6, busy, moments[0] - 1)


def _moments(run: Run) -> tuple[float, float] | None:
    """Return the moments of the service times; None where they, Poisson arrivals or one worker are not known."""
    paced = run.case(offered(run).index[0]).arrivals if len(offered(run)) else ""
    options = run.case(alone(run).name).options
    is_predictable = paced == "poisson" and options.get("workers", 1) == 1 and not options.get("ns_per_byte")
    return MOMENTS.get(str(options.get("law"))) if is_predictable else None


def settling_s(run: Run, rates: stats.Array) -> stats.Array:
    """Return the settling time of the queue at offered rates, in s; NaN where it is not predicted."""
    moments, busy = _moments(run), 1e6 / capacity(run)
    if moments is None:
        return np.full(np.shape(rates), np.nan)
    second, third = moments
    return queueing.settling(np.asarray(rates) / 1e6, (busy, second * busy**2, third * busy**3)) / 1e6


def is_settled(run: Run, rates: stats.Array) -> "np.ndarray[Any, Any]":
    """Return at which offered rates the settling time is at most ``MOST_UNSETTLED`` of a window."""
    return np.asarray(settling_s(run, rates) <= MOST_UNSETTLED * run.plan.window_s)


def mean_response_us(run: Run, case: int) -> "pd.Series[float]":
    """Return the mean response time of each start of a case after the warm-up, in us; index: start."""
    means = run.means_us("response")
    return means[means.index.isin(run.ledger_of(case).index)]
