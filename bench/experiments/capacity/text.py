"""What the figure of a search for a capacity says."""

from bench.experiments.capacity.findings import bracket, case_at, probes, searched
from bench.plan.case import LEAST_ACHIEVED
from bench.run.frames import Run
from bench.text import duration, quantity


def evidence(run: Run) -> int:
    """Return how many starts there were at the lower end: what the conclusion rests on."""
    rows, low = probes(run), bracket(run)[0]
    return int((rows["rate"] == low).sum()) if low else len(rows)


def conclusion(run: Run) -> str:
    """Say between which rates the objective is lost, what it rests on, and what a call costs there."""
    low, high = bracket(run)
    found, rows = searched(run), probes(run)
    goal = f"**{found['objective']}**"
    if not found["ended"]:
        return f"After {len(rows)} starts it is still not certain whether {goal} is kept around {quantity(high)}/s."
    if not low:
        return f"{goal} is kept at no rate down to {quantity(high)}/s: loosen it, or look for what else is slow."
    if not found["confirmed"]:
        return f"{goal} is kept even at {quantity(low)}/s, the most that is searched: take a stricter objective."
    kept = int((rows["kept"] & (rows["rate"] == low)).sum())
    text = (
        f"{goal} is kept up to between **{low:,.0f} and {high:,.0f} requests a second**: at the lower end in {kept} of "
        f"{evidence(run)} fresh starts, after {len(rows)} starts in all."
    )
    lost = rows[~rows["kept"] & (rows["achieved"] > 0)]
    if (lost["achieved"] < LEAST_ACHIEVED).any():
        text += " Above it some requests could not even be sent in time."
    return " ".join([text, _cost(run, low)])


def _cost(run: Run, rate: float) -> str:
    case = case_at(run, rate)
    row = run.cases.loc[case] if case is not None else None
    if row is None or row["server_cpu_us_per_call"] != row["server_cpu_us_per_call"]:
        return ""
    client, server = (duration(row[f"{role}_cpu_us_per_call"]) for role in ("client", "server"))
    busy = row["server_cpu_percent"]
    return f"A call costs {server} of server CPU and {client} of client CPU there; the server is {busy:.0f} % busy."
