"""How often each check of the trust card fires: ``python -m selfcheck.quiet FOLDER [REPETITIONS] [--write]``.

It measures a few small plans so many times into FOLDER, a new run each, with nothing else on the machine; then it
judges every run that is there. With 0 repetitions it only judges, as after a change of a check. ``--write`` keeps the
verdicts in docs/quiet.json. A check that is a statistical test should fire in at most 5 % of runs, the others in none,
unless they are right: the findings are printed.
"""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from bench.analysis import checks, earlier
from bench.analysis.trust_card import CAUTION, INVALID, NOTHING, PASS, Check
from bench.grammar.experiment import experiment
from bench.measurement import runner
from bench.plan.plan import Plan
from bench.run import stored
from bench.run.frames import Run
from bench.text import listed
from selfcheck import keeping

FILE = "docs/quiet.json"
RATES = dict.fromkeys(("settled", "levels", "noise", "turns"), "a test: at most 5 % of runs")
RATES["replication"] = "a test: at most 5 %, where occasions do not differ"
DIVIDES = "machine"  # the check that says whether other work was there
SHORT = {"starts": 6, "window_s": 0.3}
PLANS: dict[str, dict[str, Any]] = {
    "compare": {"starts": 24},
    "overview": {"system": "[sockets, zeromq]", **SHORT},
    "openload": {"rates": "[300]", "clients": 4, **SHORT},
    "throughput": {"transport": "ipc", "payload_bytes": "[100]", "clients": "[1, 2]", **SHORT},
}


def plans() -> list[Plan]:
    """Return the plans of one repetition."""
    return [experiment(notebook).plan(**parameters) for notebook, parameters in PLANS.items()]


def judged(run: Run) -> dict[str, Any]:
    """Return a run's notebook, and the outcome of each check."""
    return {"notebook": run.plan.notebook, "checks": {check.name: check.verdict for check in card(run)}}


def card(run: Run) -> list[Check]:
    """Return the outcome of each check of a run, and of its comparison with the run before it."""
    return [*checks.check(run), *filter(None, [earlier.replication(run)])]


def summary(outcomes: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return for each check in how many runs it fired: in those whose check ``machine`` passed, and in others."""
    names = dict.fromkeys(name for run in outcomes for name in run["checks"])
    rows = {}
    for name in names:
        row = rows[f"`{name}`"] = [RATES.get(name, "compares with a bound")]
        for is_quiet in (True, False):
            runs = [run for run in outcomes if (run["checks"][DIVIDES] == PASS) == is_quiet]
            verdicts = [(run["notebook"], run["checks"].get(name, NOTHING)) for run in runs if name != DIVIDES]
            fired = Counter(notebook for notebook, verdict in verdicts if verdict in (CAUTION, INVALID))
            notebooks = ", ".join(f"{notebook} {count}" for notebook, count in fired.items())
            looked_at = sum(verdict != NOTHING for _, verdict in verdicts)
            row.append(f"{sum(fired.values())} of {looked_at}" + f" ({notebooks})" * bool(fired) if looked_at else "-")
    columns = ["false alarms by design", f"CAUTION where `{DIVIDES}` passed", f"CAUTION where `{DIVIDES}` did not"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("check")


def table() -> tuple[pd.DataFrame, str]:
    """Return the table of what was kept last, and how it was measured."""
    kept = keeping.read(FILE)
    runs = Counter(run["notebook"] for run in kept["runs"])
    what = listed(f"{count} of `{notebook}`" for notebook, count in runs.items())
    fired = sum(run["checks"][DIVIDES] in (CAUTION, INVALID) for run in kept["runs"])
    sentences = f"{len(kept['runs'])} runs: {what}. `{DIVIDES}` fired in {fired} of them; no other work was started. "
    return summary(kept["runs"]), f"{sentences}{keeping.basis(kept)}"


def main() -> None:
    """Measure, judge, print."""
    folder, *rest = [word for word in sys.argv[1:] if not word.startswith("--")]
    os.environ["ROUNDTRIP_RUNS"] = folder
    for number in range(int(rest[0]) if rest else 0):
        for plan in plans():
            runner.run(plan)
        print(f"repetition {number + 1}", flush=True)
    runs = [Run(of_run) for of_run in stored.all_runs() if of_run.manifest()["finished"]]
    for run in runs:
        for check in card(run):
            if check.verdict in (CAUTION, INVALID):
                print(f"{run.id[:16]} {run.plan.notebook}: {check.name} {check.verdict}: {check.found}")
    outcomes = [judged(run) for run in runs]
    print(summary(outcomes).to_string())
    if "--write" in sys.argv:
        keeping.write(FILE, runs=outcomes)


if __name__ == "__main__":
    main()
