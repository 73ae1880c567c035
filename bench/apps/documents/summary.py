"""What README.md says of the reference run of `overview`: a short table, its machine, a picture, and four answers."""

import math

import numpy as np

from bench import paths
from bench.analysis import checks, comparison
from bench.analysis.resources import resources
from bench.apps.documents.blocks import table
from bench.apps.documents.results import (
    BASELINES,
    HEAD,
    cells,
    cpu,
    is_capacity,
    limit,
    parallel,
    spread,
    systems,
    times,
)
from bench.apps.documents.results import machine as where
from bench.apps.teaching.expected import reference
from bench.drawing.axes import style
from bench.experiments import panels
from bench.experiments.overview.findings import baseline_of, group_of
from bench.run.frames import Run, column
from bench.text import duration, listed, quantity

P50 = column(0.5)
MOST = 2  # systems of each group in the short table
ALWAYS = "grpc_sync"  # the widely used system, in the short table whatever its rank
MORE_CPU = "CPU time can exceed the RTT: part of the work is done after the reply has left, or in other threads."
WHY = {  # what a check that did not pass found, in words that hold for each run; the others say it themselves
    "settled": "the level of the calls changed within windows of some cases",
    "noise": "starts of the same case differ by more than chance explains on a quiet machine",
}
LEFT_OUT = ("group", "gain")  # columns of the full table
SHOWN = ("layers", "cost")  # panels of the picture


def summary() -> str:
    """Return the table of some systems, where and how they were measured, the picture, and the answers."""
    run = reference("overview")
    kept = [place for place, name in enumerate(HEAD) if name not in LEFT_OUT]
    rows = [[_short(row[place]) for place in kept] for row in (cells(run, case) for case in chosen(run))]
    return "\n\n".join([table([HEAD[place] for place in kept], rows), caveats(run), answers(run), shown(run)])


def _short(cell: str) -> str:
    return cell.replace("none saturated (", "none (")


def chosen(run: Run) -> list[int]:
    """Return the cases of the short table, the shortest round trip first: raw sockets, and each group's fastest."""
    found: dict[str, list[int]] = {}
    for case, system in systems(run):
        found.setdefault("baseline" if system in BASELINES else group_of(run, case), []).append(case)
    fastest = {case for each in found.values() for case in each[:MOST]}
    return [case for case, system in systems(run) if case in fastest or system == ALWAYS]


def caveats(run: Run) -> str:
    """Return the machine and what limits every number, then which rows these are and how cells are meant."""
    return (
        f"{where(run)} No network is between client and server.\n\n"
        f"Rows: raw sockets in Python and C++ (`{'`, `'.join(BASELINES)}`, the baselines), the {MOST} fastest systems "
        f"of each group, and `{ALWAYS}`; [all {len(systems(run))} systems](docs/results.md). ipc is a Unix domain "
        "socket. RTT and CPU time: one client on one CPU with its server. Brackets: 95 % intervals. ≥: the server was "
        "not the limit, so its capacity is at least this. ×: a ratio of paired starts, which can differ from the ratio "
        "of two medians."
    )


def answers(run: Run) -> str:
    """Return what the table answers about the fastest system: time, CPU time, rate, limit, and the checks."""
    ranked = [(case, system) for case, system in systems(run) if system not in BASELINES]
    (best, name), (second, other) = ranked[:2]
    of, base = run.case(best), baseline_of(run, best)
    layer = "" if base is None else f", {times(comparison.effect(run, base, best, P50))} that of raw sockets"
    lines = [
        f"**Which RPC system is fastest here, and how fast?** `{name}` over {of.transport}: median RTT "
        f"{spread(run, best, 0.5)} for {of.payload_bytes:,} B{layer}. {_next(run, best, second, other)}",
        f"**At what CPU cost?** `{name}`: {cpu(run, best)} per call (client + server). {MORE_CPU}",
        f"**How many calls per second, and what was the limit?** {_rate(run, name)}",
        f"**How far to trust it?** {trust(run, best)}",
    ]
    return "\n".join(f"- {line}" for line in lines)


def _next(run: Run, best: int, second: int, other: str) -> str:
    ratio = comparison.effect(run, best, second, P50)
    if ratio.low > 1:
        return f"The next, `{other}`, takes longer: {times(ratio)}."
    return f"The next, `{other}`, is not distinguishable from it: {times(ratio)}."


def _rate(run: Run, name: str) -> str:
    one, two = (run.first(system=name, clients=n, placement=parallel(run)) for n in (1, 2))
    if one is None or two is None:
        return "Not measured."
    rates, found = [quantity(run.cases.loc[case, "rate_per_s"]) for case in (one, two)], resources(run, two)
    meaning = "this is the server's capacity" if is_capacity(found) else "the server's capacity is at least this"
    words = limit(found).replace("none saturated", "no CPU was saturated")
    what = words if words.startswith("no CPU") else f"the limit was {words}"
    return (
        f"`{name}`: {rates[0]} with one client, {rates[1]} with two (clients and server on different CPUs). With two, "
        f"{what}: {meaning}."
    )


def trust(run: Run, case: int) -> str:
    """Return how many checks passed, what those that did not limit, and the A/A ratios."""
    tally = checks.tally(run)
    each = {one: aa_ratio(run, one) for one, _ in systems(run)}
    known = {one: ratio for one, ratio in each.items() if not math.isnan(ratio)}
    text = (
        f"{tally.passed} of the {len(tally.verdicts)} checks of its [trust card](docs/trust.md#the-trust-card) passed"
    )
    text += f" (not: {listed(tally.others)})." if tally.others else "."
    if saturated := sorted({"client", "limit"} & set(tally.others)):
        names, verb = listed([f"`{name}`" for name in saturated]), "report" if len(saturated) > 1 else "reports"
        text += f" {names} {verb} saturated CPUs: a run that saturates them cannot pass."
    text += "".join(f" `{name}`: {_why(run, name)}." for name in tally.others if name not in saturated)
    if case in known:
        worst = max(known, key=lambda one: known[one])
        text += (
            f" Alternate starts of the same case differ by {known[case]:.0%} for `{run.case(case).system}` and by up "
            f"to {known[worst]:.0%} (`{run.case(worst).system}`): confirm small differences with "
            "[compare](notebooks/compare.ipynb)."
        )
    return text


def _why(run: Run, name: str) -> str:
    """Return in short why a check did not pass; the whole finding is on the card."""
    (found,) = [one.found for one in checks.check(run) if one.name == name]
    if name == "machine" and "collections" in found and ";" not in found:
        return "the clients' libraries caused garbage collections, which are part of what they cost"
    return WHY.get(name, found.partition(";")[0])


def aa_ratio(run: Run, case: int) -> float:
    """Return the A/A ratio of a case's start medians; NaN where there are too few starts."""
    return comparison.aa_ratio(np.log(run.starts_of(case)[P50].dropna().to_numpy()))


def shown(run: Run) -> str:
    """Return the picture as Markdown, with a text that says its finding."""
    ranked = [(case, system) for case, system in systems(run) if system not in BASELINES]
    first, last = (f"{system} {duration(run.cases.loc[case, P50])}" for case, system in (ranked[0], ranked[-1]))
    text = (
        f"Median round-trip times of {len(ranked)} RPC systems beside raw sockets, from {first} to {last}; beside them "
        "the CPU time per call of client, server and router"
    )
    return f"![{text}](docs/overview.png)"


def picture() -> str:
    """Write docs/overview.png: two panels of the reference run of `overview`. Return its path."""
    run = reference("overview")
    file = paths.home() / "docs" / "overview.png"
    with style():
        panels.pair(run, *SHOWN).savefig(file, format="png", metadata=panels.provenance(run) | {"Software": None})
    return str(file)
