"""What retries do around one freeze of the server: attempts, goodput, recovery, and the server's wasted work."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.plan.retry_policy import RetryPolicy
from bench.run.frames import Run, once
from bench.stats import across_starts

BIN_S = 0.1  # parts of the window in which the requests that were due are counted, to find the recovery
RECOVERED = 0.9  # share of the requests due in such a part that are met once the load has recovered
HOLDS = 3  # parts in a row for which that has to last


@dataclass(frozen=True)
class Outcome:
    """One policy's case, with a value for each start (index: start).

    attempts_per_request: all attempts over all requests (amplification). goodput_per_s: requests met, per second of the
    schedule. met: share of the requests that were answered within an attempt's timeout and within the deadline.
    recovery_s: from the end of the freeze until requests are met again; infinite if they are not before the window
    ends, NaN if the server did not freeze. utilization: share of the time in which the server had a request to serve,
    the freeze included. wasted: share of the replies that came after their attempt was abandoned.
    """

    case: int
    policy: RetryPolicy
    attempts_per_request: "pd.Series[float]"
    goodput_per_s: "pd.Series[float]"
    met: "pd.Series[float]"
    recovery_s: "pd.Series[float]"
    utilization: "pd.Series[float]"
    wasted: "pd.Series[float]"

    @property
    def name(self) -> str:
        """The policy in words."""
        return self.policy.words

    @property
    def recovered(self) -> int:
        """In how many starts requests were met again before the window ended."""
        return int(np.isfinite(self.recovery_s).sum())


@once
def attempts(run: Run, case: int) -> pd.DataFrame:
    """Return the attempts of a case with ``in_time``: answered before they were abandoned."""
    rows = run.attempts[run.attempts["case"] == case].copy()
    policy = RetryPolicy.of(run.case(case).retry)
    limit = np.minimum(rows["t_send_ns"] + policy.timeout_ms * 1e6, rows["due_ns"] + policy.deadline_ms * 1e6)
    rows["in_time"] = rows["t_send_ns"] + rows["rtt_ns"] <= limit
    return rows


@once
def requests(run: Run, case: int) -> pd.DataFrame:
    """Return one row for each request of a case: start, request, due_ns, attempts, met."""
    by_request = attempts(run, case).groupby(["start", "request"], as_index=False)
    return by_request.agg(due_ns=("due_ns", "first"), attempts=("number", "size"), met=("in_time", "any"))


@once
def freezes_ns(run: Run, case: int) -> "pd.Series[float]":
    """Return when the server froze, in ns since *go*; index: start; NaN where it was not asked that often.

    The server answers in order, and the verified call before the window was its first request: it froze when the reply
    before the frozen request's had left, or when that request came.
    """
    options, froze_ns = run.case(case).options, {}
    place = options["freeze_after"] - 2
    for start, rows in attempts(run, case).groupby("start"):
        is_answered = 0 < place < len(rows) and pd.notna(rows["rtt_ns"].iloc[place])
        before = rows.iloc[place - 1] if is_answered else None
        at = np.nan if before is None else max(rows["t_send_ns"].iloc[place], before["t_send_ns"] + before["rtt_ns"])
        froze_ns[start] = float(at)
    return pd.Series(froze_ns, dtype=float)


def service_s(rows: pd.DataFrame) -> float:
    """Return how long the server was busy with the attempts of one start that it answered, in s.

    Each is served from its arrival, or from the reply before it, until its own reply.
    """
    answered = rows.dropna(subset="rtt_ns")
    done = (answered["t_send_ns"] + answered["rtt_ns"]).to_numpy()
    begun = np.maximum(answered["t_send_ns"].to_numpy(), np.concatenate([[0.0], done[:-1]]))
    return float((done - begun).sum() / 1e9)


def recovery_s(due_s: "np.ndarray[tuple[int], np.dtype[np.float64]]", met: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
               end_s: float, window_s: float) -> float:  # fmt: skip
    """Return the time from the end of a freeze until the first ``HOLDS`` parts of ``BIN_S`` in which requests are met.

    due_s, met: when requests were due, and whether they were met. Infinite if there is no such time in the window. A
    part without requests counts as one in which they are met.
    """
    place = np.floor((due_s - end_s) / BIN_S + 1e-9)
    parts = int((window_s - end_s) / BIN_S + 1e-9)
    calm = [met[place == part].mean() >= RECOVERED if (place == part).any() else True for part in range(parts)]
    return next((BIN_S * part for part in range(parts - HOLDS + 1) if all(calm[part : part + HOLDS])), np.inf)


@once
def outcomes(run: Run) -> list[Outcome]:
    """Return the outcome of each policy, in the plan's order."""
    return [_outcome(run, case) for case in run.find(load="retry")]


def _outcome(run: Run, case: int) -> Outcome:
    requested, window_s = requests(run, case), run.plan.window_s
    tries, by_start = attempts(run, case).groupby("start"), requested.groupby("start")
    ends_s = freezes_ns(run, case) / 1e9 + run.case(case).options["freeze_ms"] / 1e3
    recovered = {
        start: recovery_s(rows["due_ns"].to_numpy() / 1e9, rows["met"].to_numpy(), ends_s[start], window_s)
        if ends_s[start] < window_s
        else np.nan
        for start, rows in by_start
    }
    replied = attempts(run, case).dropna(subset="rtt_ns")
    return Outcome(
        case,
        RetryPolicy.of(run.case(case).retry),
        tries.size() / by_start.size(),
        by_start["met"].sum() / window_s,
        by_start["met"].mean(),
        pd.Series(recovered, dtype=float),
        tries.apply(service_s) / run.ledger_of(case)["window_s"],
        1 - replied.groupby("start")["in_time"].mean(),
    )


def recovery_words(one: Outcome) -> str:
    """Return the median recovery with the range over starts; a start that did not recover counts as the longest."""
    recoveries = one.recovery_s.dropna()
    if recoveries.empty:
        return "the server did not freeze"
    middle, low, high, _ = of_starts = across_starts(recoveries)
    if not np.isfinite(middle):
        return "not within the window" + f" ({one.recovered} of {len(recoveries)} starts did)" * bool(one.recovered)
    longest = f"{high:.1f}" if np.isfinite(high) else "more than the window"
    return f"{of_starts.words('{:.1f} s'.format)} [{low:.1f} to {longest}]"


def utilization(run: Run, attempts_each: float = 1.0) -> float:
    """Return the server's predicted utilization without a freeze, if each request makes so many attempts."""
    of = run.case(run.find(load="retry")[0])
    return float(of.offered_per_s * of.options["mean_us"] / 1e6 * attempts_each)


@once
def over_time(run: Run, case: int, step_s: float = 0.05) -> pd.DataFrame:
    """Return rates per second, median over starts, by time since the freeze began (index: middles of the steps, in s).

    offered: requests due. attempts: attempts sent. goodput: requests due then that were met, at once or by a retry.
    """
    zero = freezes_ns(run, case)
    first, last = -zero.min() / 1e9 / step_s, (run.plan.window_s - zero.max() / 1e9) / step_s
    edges = np.arange(np.ceil(first), np.floor(last) + 1) * step_s
    requested, tries = requests(run, case), attempts(run, case)
    events = {
        "offered": (requested, "due_ns"),
        "attempts": (tries, "t_send_ns"),
        "goodput": (requested[requested["met"]], "due_ns"),
    }
    rates = {}
    for name, (rows, column) in events.items():
        times = {start: (of_start[column] - zero[start]) / 1e9 for start, of_start in rows.groupby("start")}
        counts = [np.histogram(times.get(start, ()), edges)[0] for start in zero.index]
        rates[name] = np.median(counts, axis=0) / step_s
    return pd.DataFrame(rates, index=(edges[:-1] + edges[1:]) / 2)
