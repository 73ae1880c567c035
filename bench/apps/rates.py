"""``bench capacity``: searches of several systems, or starts at one rate, one after the other; a row of each."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from bench import stats
from bench.analysis import busy, checks
from bench.analysis import capacity as search
from bench.analysis.resources import cpus_used
from bench.apps import notebook
from bench.errors import BENCH, UsageError
from bench.grammar.experiment import experiment, of_run
from bench.grammar.table import with_ends
from bench.plan.confirmation import FIXED
from bench.run.frames import ROLES, Run
from bench.text import duration, unmarked

IN_THE_TABLE = """met in: starts that met the SLO; sockets: of raw sockets, which took turns with the system.
In brackets: the range over starts."""


def measure(systems: str, rate: float | None, say: Callable[[str], None], **asked: Any) -> None:
    """Search the capacity of each system, with a comma between two; say what follows of each, then the table.

    rate: requests per second; None: they are searched. asked: parameters of capacity.ipynb. UsageError for a system
    that cannot be measured, before anything is.
    """
    asked |= {} if rate is None else {"first": rate, "rule": FIXED}
    names = [name.strip() for name in systems.split(",")]
    if "" in names:
        raise UsageError(f"{systems!r} names no system at a comma: write them as zeromq,grpc_sync")
    plans = [asked | {"system": name} for name in dict.fromkeys(names)]
    for parameters in plans:
        experiment("capacity").plan(**parameters)
    runs: list[Run] = []
    try:
        for parameters in plans:
            runs.append(notebook.search(**parameters))
            say(f"Drawn by: {BENCH} run capacity -p source {runs[-1].id}")
            say(unmarked(of_run(runs[-1]).conclusion(runs[-1])))
            say(checks.tally(runs[-1]).line)
    finally:
        if runs and (rate is not None or len(plans) > 1):
            say(f"\n{table(runs).to_string()}\n{IN_THE_TABLE}")


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for each search: whether the SLO is met, the quantile and the CPUs used there, over starts.

    They are at the rate that was asked for, or at the highest that was confirmed.
    """
    rows = {f"{run.case(0).system} {run.case(0).transport}": row(run) for run in runs}
    return pd.DataFrame.from_dict(rows, orient="index").fillna("n/a").rename_axis(columns="system")


def row(run: Run) -> dict[str, str]:
    """Return the result of one search in words."""
    stored, (low, high) = search.searched(run), search.bracket(run)
    rate = high if search.is_fixed(run) else low
    case = search.case_at(run, rate) if rate else None
    outcome = {f"SLO {stored['objective']}": _outcome(run, rate)}
    if case is None:
        return outcome
    rows = search.probes(run).query("rate == @rate" if search.is_fixed(run) else "confirms and rate == @rate")
    quantile_us, control = stats.across_starts(rows["quantile_us"]), search.control(run)
    is_known = len(rows) and rows["quantile_us"].notna().all()
    return outcome | {
        "met in": f"{rows['met'].sum()} of {len(rows)}",
        **({"sockets": "{} of {}".format(control["met"].sum(), len(control))} if search.is_fixed(run) else {}),
        f"p{100 * stored['p']:g}": with_ends(quantile_us, duration) if is_known else "not all answered",
        "client CPUs": _cpus(cpus_used(run, case, ROLES[:1])),
        "server CPUs": _cpus(cpus_used(run, case, ROLES[1:])),
    }


def _outcome(run: Run, rate: float) -> str:
    """Return whether the SLO is met, or that the run does not say it."""
    if of_run(run).why_no_conclusion(run):
        return "the machine could not show it" if busy.too_busy(run) else "no conclusion"
    if search.is_fixed(run):
        return f"{'met' if search.bracket(run)[0] else 'not met'} at {rate:,.0f}/s"
    return f"met up to {rate:,.0f}/s" if rate else "met at no rate"


def _cpus(used: "pd.Series[float]") -> str:
    """Return how many CPUs were used, with the range over starts."""
    return with_ends(stats.across_starts(used), "{:.2f}".format) if used.notna().all() else "n/a"
