"""Whether a run says nothing about its systems because the machine was too busy."""

from bench.analysis.capacity import control, rates_not_shown
from bench.analysis.resources import cpus_of, starts_of_host, used_by_all
from bench.run.frames import Run, once_per_run
from bench.text import counted, listed, quantity

MOST_SHARE = 0.1  # of a machine's CPUs that other processes may use
REPEAT = "repeat when the machine is quiet"


@once_per_run
def too_busy(run: Run) -> str:
    """Return that the machine, and not a system, may be why a run failed, and how that is known; "" if it is not.

    It is where other processes used more than ``MOST_SHARE`` of its CPUs, and where the control of a search violated
    the objective.
    """
    others, failed = others_used(run), control_failed(run)
    if not (others or failed):
        return ""
    begin = "the machine was too busy" if others else "this machine could not show the SLO during this run"
    return f"{begin}: {', and '.join(filter(None, [others, failed]))}; nothing follows about the system"


def others_used(run: Run) -> str:
    """Return how much CPU time other processes used, of the machine on which it was most; "" if it was little."""
    here = run.ledger[~run.ledger.index.isin(run.hosts["start"])]
    machines = [(here, run.manifest["machine"])]
    machines += [
        (starts_of_host(run, rows), run.machine_of(str(host))) for host, rows in run.hosts.groupby("host", sort=False)
    ]
    used = [(float(used_by_all(starts)["others"].median()), cpus_of(machine)) for starts, machine in machines]
    over = [(others / cpus, others, cpus) for others, cpus in used if others > MOST_SHARE * cpus]
    if not over:
        return ""
    _, others, cpus = max(over)
    return f"other processes used {others:.0%} of a CPU (of {counted(cpus, 'CPU')})"


def control_failed(run: Run) -> str:
    """Return at which rates raw sockets violated the objective of a search, in how many starts; "" if at none."""
    if "capacity" not in run.manifest or not (rates := rates_not_shown(run)):
        return ""
    met = control(run).loc[control(run)["rate"].isin(rates), "met"]
    starts = f"{int((~met).sum())} of {counted(len(met), 'start')}"
    at = f"{listed(map(quantity, rates))} requests/s"
    return f"the control, raw sockets, violated {run.manifest['capacity']['objective']} at {at} in {starts}"
