"""What retries do around one freeze of the server: attempts, goodput, recovery, and the server's wasted work."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.child.retry_attempts import connection_of
from bench.plan.retry_policy import RetryPolicy
from bench.run.frames import Run, once_per_run

BIN_S = 0.1  # parts of the window in which the requests that were due are counted, to find the recovery
RECOVERED = 0.9  # share of the requests due in such a part that are awaited once the load has recovered
FROZEN = 0.9  # of the freeze: a request that was served for so long was served through it
HOLDS = 3  # parts in a row for which that has to last
STEP_S = 0.05  # parts of the window in a picture of the rates over time


@dataclass(frozen=True)
class Outcome:
    """One policy's case, with a value for each start (index: start).

    attempts_per_request: all attempts over all requests (amplification). met: share of the requests with a reply, to
    whichever attempt, within the deadline. awaited: share of the requests with a reply before its attempt was
    abandoned: only such a reply is of use to the client. goodput_per_s: awaited requests, per second of the schedule.
    recovery_s: from the end of the freeze until requests are awaited again; infinite if they are not before the window
    ends, NaN if the server did not freeze. utilization: share of the time in which the server's workers had a request
    to serve, the freeze included. wasted: share of the replies that came after their attempt was abandoned. overtaken:
    share of the requests that a retry answered before the first attempt was answered.
    """

    case: int
    policy: RetryPolicy
    attempts_per_request: "pd.Series[float]"
    goodput_per_s: "pd.Series[float]"
    met: "pd.Series[float]"
    awaited: "pd.Series[float]"
    recovery_s: "pd.Series[float]"
    utilization: "pd.Series[float]"
    wasted: "pd.Series[float]"
    overtaken: "pd.Series[float]"

    @property
    def name(self) -> str:
        """The policy in words."""
        return self.policy.words

    @property
    def most_attempts(self) -> float:
        """How many attempts per request the policy makes at most, in the long run."""
        again = self.policy.retries
        return 1.0 + (min(self.policy.budget, again) if self.policy.budget else again)

    @property
    def frozen(self) -> int:
        """In how many starts the server froze."""
        return int(self.recovery_s.notna().sum())

    @property
    def recovered(self) -> int:
        """In how many of these requests were awaited again before the window ended."""
        return int(np.isfinite(self.recovery_s).sum())


@once_per_run
def attempts(run: Run, case: int) -> pd.DataFrame:
    """Return the attempts of a case with four more columns.

    reply_ns: when the reply came, since *go*. is_met: it came within the request's deadline. is_awaited: it came before
    the attempt was abandoned. queue: the connection, and with it the server's worker, whose queue the attempt joined.
    """
    rows = run.attempts[run.attempts["case"] == case].copy()
    policy = RetryPolicy.from_values(run.case(case).retry)
    rows["reply_ns"] = rows["t_send_ns"] + rows["rtt_ns"]
    deadline_ns = rows["due_ns"] + policy.deadline_ms * 1e6
    rows["is_met"] = rows["reply_ns"] <= deadline_ns
    rows["is_awaited"] = rows["reply_ns"] <= np.minimum(rows["t_send_ns"] + policy.timeout_ms * 1e6, deadline_ns)
    rows["queue"] = connection_of(rows["request"], rows["number"], run.case(case).callers)
    return rows


@once_per_run
def requests(run: Run, case: int) -> pd.DataFrame:
    """Return one row for each request of a case: start, request, due_ns, attempts, met, awaited, overtaken."""
    rows = attempts(run, case)
    by_request = rows.groupby(["start", "request"])
    frame = by_request.agg(
        due_ns=("due_ns", "first"), attempts=("number", "size"), met=("is_met", "any"), awaited=("is_awaited", "any")
    )
    is_first = rows["number"] == 0
    first, retry = (rows[which].groupby(["start", "request"])["reply_ns"].min() for which in (is_first, ~is_first))
    frame["overtaken"] = retry.reindex(frame.index) < first.reindex(frame.index).fillna(np.inf)
    return frame.reset_index()


@once_per_run
def freezes_ns(run: Run, case: int) -> "pd.Series[float]":
    """Return when the server froze, in ns since *go*; index: start; NaN where it was not asked that often.

    A worker answers in order: it served a request from when it came, or from the reply before it, until its own reply.
    The frozen request is the one that was served longest, if that is about as long as the freeze.
    """
    least_ns = FROZEN * run.case(case).options["freeze_ms"] * 1e6
    froze_ns = {}
    for start, rows in attempts(run, case).groupby("start"):
        served = _served(rows)
        took_ns = served["reply_ns"] - served["begun_ns"]
        is_frozen = len(served) and took_ns.max() >= least_ns
        froze_ns[start] = float(served["begun_ns"].loc[took_ns.idxmax()]) if is_frozen else np.nan
    return pd.Series(froze_ns, dtype=float)


def _served(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the answered attempts of one start with ``begun_ns``: when a worker began to serve them."""
    answered = rows.dropna(subset="rtt_ns").sort_values("reply_ns", kind="stable")
    before = answered.groupby("queue")["reply_ns"].shift(fill_value=0.0)
    return answered.assign(begun_ns=np.maximum(answered["t_send_ns"], before))


def service_s(rows: pd.DataFrame) -> float:
    """Return how long the server's workers were busy with the attempts of one start that they answered, in s."""
    served = _served(rows)
    return float((served["reply_ns"] - served["begun_ns"]).sum() / 1e9)


def recovery_s(due_s: "np.ndarray[tuple[int], np.dtype[np.float64]]", met: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
               end_s: float, window_s: float) -> float:  # fmt: skip
    """Return the time from the end of a freeze until the first ``HOLDS`` parts of ``BIN_S`` with most requests awaited.

    due_s, met: when requests were due, and whether they were awaited. Infinite if there is no such time in the window;
    NaN if the window ends before ``HOLDS`` parts have passed. A part without requests counts as one in which they are.
    """
    bins = np.floor((due_s - end_s) / BIN_S + 1e-9)
    parts = int((window_s - end_s) / BIN_S + 1e-9)
    if parts < HOLDS:
        return np.nan
    calm = [met[bins == part].mean() >= RECOVERED if (bins == part).any() else True for part in range(parts)]
    return next((BIN_S * part for part in range(parts - HOLDS + 1) if all(calm[part : part + HOLDS])), np.inf)


@once_per_run
def outcomes(run: Run) -> list[Outcome]:
    """Return the outcome of each policy, in the plan's order."""
    return [_outcome(run, case) for case in run.find(load="retry")]


def _outcome(run: Run, case: int) -> Outcome:
    requested, window_s = requests(run, case), run.plan.window_s
    tries, by_start = attempts(run, case).groupby("start"), requested.groupby("start")
    ends_s = freezes_ns(run, case) / 1e9 + run.case(case).options["freeze_ms"] / 1e3
    recovered = {
        start: recovery_s(rows["due_ns"].to_numpy() / 1e9, rows["awaited"].to_numpy(), ends_s[start], window_s)
        if ends_s[start] < window_s
        else np.nan
        for start, rows in by_start
    }
    replied = attempts(run, case).dropna(subset="rtt_ns")
    return Outcome(
        case,
        RetryPolicy.from_values(run.case(case).retry),
        tries.size() / by_start.size(),
        by_start["awaited"].sum() / window_s,
        by_start["met"].mean(),
        by_start["awaited"].mean(),
        pd.Series(recovered, dtype=float),
        tries.apply(service_s) / run.ledger_of(case)["window_s"] / workers(run, case),
        1 - replied.groupby("start")["is_awaited"].mean(),
        by_start["overtaken"].mean(),
    )


def workers(run: Run, case: int) -> int:
    """Return how many workers the server of a case has."""
    return int(run.case(case).options.get("workers", 1))


def utilization(run: Run, attempts_each: float = 1.0) -> float:
    """Return the server's predicted utilization without a freeze, if each request makes so many attempts."""
    factors = run.case(run.find(load="retry")[0])
    capacity = 1e6 / factors.options["mean_us"] * workers(run, run.find(load="retry")[0])
    return float(factors.offered_per_s / capacity * attempts_each)


@once_per_run
def over_time(run: Run, case: int) -> pd.DataFrame:
    """Return rates per second, median over starts, by time since the freeze began (index: middles of the steps, in s).

    offered: requests due. attempts: attempts sent. goodput: requests due then that were awaited when the reply came.
    """
    zero = freezes_ns(run, case)
    first, last = -zero.min() / 1e9 / STEP_S, (run.plan.window_s - zero.max() / 1e9) / STEP_S
    edges = np.arange(np.ceil(first), np.floor(last) + 1) * STEP_S
    requested, tries = requests(run, case), attempts(run, case)
    events = {
        "offered": (requested, "due_ns"),
        "attempts": (tries, "t_send_ns"),
        "goodput": (requested[requested["awaited"]], "due_ns"),
    }
    rates = {}
    for name, (rows, column) in events.items():
        times = {start: (of_start[column] - zero[start]) / 1e9 for start, of_start in rows.groupby("start")}
        counts = [np.histogram(times.get(start, ()), edges)[0] for start in zero.index]
        rates[name] = np.median(counts, axis=0) / STEP_S
    return pd.DataFrame(rates, index=(edges[:-1] + edges[1:]) / 2)
