"""What the figure of users who do not wait says."""

import numpy as np

from bench import stats
from bench.analysis import overload
from bench.experiments.openload.findings import capacity, expanded, frozen, predicted, sweep
from bench.run.frames import Run
from bench.text import duration, listed, quantity

P99 = "p99_response_us"


def conclusion(run: Run) -> str:
    """Say how response times grow, where it ends, how far that was foretold, and what a freeze does to users."""
    return "\n\n".join(part for part in (_growth(run), _model(run), freeze(run)) if part)


def _growth(run: Run) -> str:
    over = overload.overloaded(run)
    cases = sweep(run)
    calm = cases[~cases.index.isin(over)]
    text = f"The server can do {quantity(capacity(run))} requests a second, by its law or its CPU per call."
    if len(calm):
        low, high = calm.iloc[0], calm.iloc[-1]
        text += (
            f" At {low['offered_per_s']:g}/s a user waits {duration(low['p50_response_us'])} (p50), "
            f"at {high['offered_per_s']:g}/s {duration(high['p50_response_us'])}: "
            f"{high['p50_response_us'] / low['p50_response_us']:.1f} times as long, for a service that takes "
            f"{high['p50_rtt_us'] / low['p50_rtt_us']:.1f} times as long from sending on."
        )
    if over:
        rates = listed(f"{cases.loc[case, 'offered_per_s']:g}/s" for case in cases.index if case in over)
        text += f" **Overloaded** at {rates}: the line grows as long as the run lasts, so no response time is told."
    return text


def _model(run: Run) -> str:
    cases = sweep(run)
    calm = cases[~cases.index.isin(overload.overloaded(run))]
    model = predicted(run, calm["offered_per_s"].to_numpy()) if len(calm) else None
    if model is None:
        return ""
    rows = run.samples[run.samples["warm"]]
    means = ((rows["lag_ns"] + rows["rtt_ns"]).groupby(rows["case"]).mean() / 1e3).reindex(calm.index).to_numpy()
    off = np.exp(np.abs(np.log(means / model)))[np.isfinite(model)]
    if not len(off):
        return ""
    return f"Mean response times differ from what queueing theory foretold by a factor of {np.nanmax(off):.2f} at most."


def freeze(run: Run) -> str:
    """Say what one freeze looks like to a closed loop and to users."""
    cases = {run.case(case).load: case for case in run.numbers if frozen(run, case)}
    if cases.keys() != {"closed", "open"}:
        return ""
    rows = {load: run.samples_of(case) for load, case in cases.items()}
    closed = rows["closed"]["rtt_ns"].to_numpy() / 1e3
    users = (rows["open"]["lag_ns"] + rows["open"]["rtt_ns"]).to_numpy() / 1e3
    p99 = [duration(stats.quantile(values, 0.99)) for values in (closed, users, expanded(rows["closed"]))]
    return (
        f"One freeze, p99: the closed loop says {p99[0]}, users at the same server waited {p99[1]}; the closed "
        f"loop expanded by what it did not send says {p99[2]}. It waited with the server, and asked nobody else."
    )
