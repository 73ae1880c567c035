"""An open load by its rate: the capacity, the response time by queueing theory, and a freeze."""

import numpy as np
import pandas as pd

from bench import stats
from bench.run.frames import Run, once
from bench.stats import queueing

SCV = {"constant": 0.0, "exponential": 1.0, "bimodal": 0.9 * 0.25 + 0.1 * 5.5**2 - 1}


@once
def sweep(run: Run) -> pd.DataFrame:
    """Return the cases with offered rates, lowest first; the frozen server is another question."""
    rows = run.cases_with(load="open")
    return rows[[not frozen(run, case) for case in rows.index]].sort_values("offered_per_s")


def frozen(run: Run, case: object) -> bool:
    """Return whether a case's server stands still once."""
    return bool(run.case(case).factor("freeze_after"))


def alone(run: Run) -> "pd.Series[float]":
    """Return the case of one closed loop, from which the capacity is predicted."""
    rows = run.cases_with(load="closed")
    return rows.loc[next(case for case in rows.index if not frozen(run, case))]


@once
def capacity(run: Run) -> float:
    """Return the calls per second that the server can do: by its law if that is known, else by its CPU per call."""
    row = alone(run)
    known = run.case(row.name).options.get("mean_us")
    return float(1e6 / (known or row["server_cpu_us_per_call"]))


def predicted(run: Run, rates: stats.Array) -> stats.Array | None:
    """Return the mean response time in us at offered rates, or None where the law of the server is not known."""
    of = run.case(alone(run).name)
    scv = SCV.get(str(of.options.get("law")))
    paced = run.case(sweep(run).index[0]).arrivals if len(sweep(run)) else ""
    if scv is None or paced != "poisson":
        return None
    busy = 1e6 / capacity(run)
    around = max(0.0, alone(run)["mean_rtt_us"] - busy)  # what a round trip takes beside the server's own time
    return around + queueing.response(np.asarray(rates) / 1e6, busy, scv)


def expanded(rows: pd.DataFrame) -> stats.Array:
    """Return a closed loop's times in us with those of the calls that it did not make while it waited.

    The interval is the loop's own: the median from one send to the next.
    """
    return stats.expanded(
        rows["rtt_ns"].to_numpy() / 1e3, float(rows.groupby("start")["t_send_ns"].diff().median()) / 1e3
    )
