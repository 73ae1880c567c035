"""Which cases repeat the greeter exercise, which add clients, their gain, and whether the prediction held."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.analysis.prediction import predict
from bench.analysis.resources import Resource, full, resources
from bench.experiments.case_ratios import RATE, Ratio, ratio
from bench.run.frames import Run, number_of, numbered
from bench.run.start_values import cpu_us_per_call
from bench.stats.intervals import Interval, paired_shift


def bursts(run: Run) -> pd.DataFrame:
    """Return the cases that repeat the greeter exercise: a limited number of calls."""
    return run.cases_with(is_short=True)


def grown(run: Run) -> pd.DataFrame:
    """Return the cases with more and more clients for a whole window, by their number."""
    return run.cases_with(is_short=False).sort_values("clients")


def gain(run: Run, rows: pd.DataFrame, clients: int) -> Ratio | None:
    """Return how many times one client's calls per second some clients make under one load, or None if not measured.

    rows: ``bursts(run)`` or ``grown(run)``; the two are different loads, and their ratios differ.
    """
    cases = {int(row["clients"]): number_of(case) for case, row in rows.iterrows()}
    return ratio(run, cases[1], cases[clients], RATE) if {1, clients} <= cases.keys() else None


def best(run: Run) -> int:
    """Return the number of clients with the highest median rate over a whole window."""
    rows = grown(run)
    return int(rows.loc[rows["rate_per_s"].idxmax(), "clients"])


def level_with_best(run: Run) -> list[int]:
    """Return the numbers of clients whose rate is not distinguishable from the highest one."""
    rows, most = grown(run), best(run)
    cases = {int(row["clients"]): case for case, row in numbered(rows)}
    alike = [clients for clients in cases if not ratio(run, cases[clients], cases[most], RATE).is_certain]
    return [clients for clients in alike if clients != most]


@dataclass(frozen=True)
class Limited:
    """A number of clients at which something is saturated, beside the resource that one client predicts.

    holds: True where only the predicted one is saturated, False where it is not, None where it is among several.
    predicted: as it was with one client; here: the same one at this load. saturated: what is saturated.
    """

    clients: int
    predicted: Resource
    here: Resource | None
    saturated: tuple[Resource, ...]
    holds: bool | None


def limits(run: Run) -> list[Limited]:
    """Return each number of clients from the best one on at which something is saturated; none without a prediction."""
    model, found = predict(run), []
    if model is None:
        return []
    for case, row in numbered(grown(run)):
        measured, wanted = resources(run, case), model.bottleneck
        here = next((one for one in measured if _same(one, wanted)), None)
        busy = tuple(full(measured))
        if busy and row["clients"] >= best(run):
            among = any(_same(one, wanted) for one in busy)
            holds = None if among and len(busy) > 1 else among
            found.append(Limited(int(row["clients"]), wanted, here, busy, holds))
    return found


def _same(one: Resource, other: Resource) -> bool:
    return (one.roles, one.is_thread) == (other.roles, other.is_thread)


def ceiling(run: Run) -> tuple[Resource, float] | None:
    """Return the resource that saturates first at one client's CPU time per call, and the gain at which it does."""
    model = predict(run)
    return (model.bottleneck, model.asymptote[-1] / float(grown(run)["rate_per_s"].iloc[0])) if model else None


def cpus(run: Run, clients: int) -> int:
    """Return how many CPUs all roles together can use with some clients."""
    case = next(case for case, row in numbered(grown(run)) if row["clients"] == clients)
    return sum(resource.cpus for resource in resources(run, case) if not resource.is_thread)


def room(run: Run, clients: int, as_with: int) -> Interval:
    """Return how many times one client's calls per second the CPUs of some clients and their server have time for.

    It is without other work on these CPUs.
    By block, at the CPU time per call of all roles with ``as_with`` clients; NaN where that is not known. A gain cannot
    be above it at the CPU time per call of the same number of clients (the utilization law).
    """
    cases = {int(row["clients"]): run.starts_of(case).set_index("block") for case, row in numbered(grown(run))}
    most_per_s = 1e6 * cpus(run, clients) / cpu_us_per_call(cases[as_with])
    return paired_shift(np.log(most_per_s / cases[1]["rate_per_s"]).dropna().to_numpy()).exp()


def ratios(run: Run) -> list[Ratio]:
    """Return the gain of two clients in a burst, and of two and of the best number in a whole window."""
    wanted = [(bursts(run), 2), *((grown(run), clients) for clients in dict.fromkeys((2, best(run))) if clients > 1)]
    return [multiple for rows, clients in wanted if (multiple := gain(run, rows, clients))]


def first_calls_us(run: Run) -> "pd.Series[float]":
    """Return the time of the first call, which connects, of each start of one client, in us."""
    return run.ledger.loc[run.ledger["clients"] == 1, "first_rtt_ns"] / 1e3
