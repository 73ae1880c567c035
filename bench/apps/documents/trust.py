"""What docs/trust.md quotes: a trust card, how well starts repeat by placement, and the instrument's certificate."""

import html
import json

import numpy as np

from bench import paths
from bench.analysis import checks
from bench.apps.documents.blocks import table
from bench.apps.documents.results import spread
from bench.apps.teaching.expected import reference
from bench.run.frames import column
from bench.simulation.certificate import RUNS, certificate


def card() -> str:
    """Return the trust card of the reference run of overview."""
    rows = [[one.name, one.verdict, _cell(one.found), _cell(one.advice)] for one in checks.check(reference("overview"))]
    return table(["check", "verdict", "finding", "advice"], rows)


def _cell(text: str) -> str:
    return html.escape(text, quote=False).replace("|", "\\|")


def placement() -> str:
    """Return how much the start medians of a case vary under each placement: the standard deviation of their logs."""
    run = reference("placement")
    head = ["system", "transport", "placement", "median RTT", "standard deviation of ln(start median)"]
    rows = []
    for case in run.numbers:
        of, logs = run.case(case), np.log(run.starts_of(case)[column(0.5)].dropna().to_numpy())
        where = [f"`{of.system}`", of.transport, f"`{of.placement}`"]
        rows.append([*where, spread(run, case, 0.5), f"{logs.std(ddof=1):.2f}"])
    starts = f"{run.plan.starts} starts of each case, {run.manifest['machine']['cpus_allowed']} CPUs."
    return f"{table(head, rows)}\n\n{starts}"


def campaign() -> str:
    """Return how often each part of the last `make campaign` tried to break something, and how much failed."""
    found = json.loads((paths.home() / "docs" / "campaign.json").read_text("utf-8"))
    rows = [[one["what"], f"{one['tries']:,}", f"{one['failures']:,}"] for one in found["parts"].values()]
    return table(["what was done", "tries", "failures"], rows)


def tried(runs: int = RUNS) -> str:
    """Return the certificate as `python -m bench calibrate` prints it; takes minutes."""
    lines = list(certificate(runs))
    passed = "passed" if all(line.passed for line in lines) else "FAILED"
    text = "\n".join([*map(str, lines), f"{passed}: {runs} runs of each in virtual time, fixed seeds"])
    return f"```text\n{text}\n```"
