"""Comparisons as text and as JSON: the recorded differences of two runs, records, a closing line."""

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from bench import stats
from bench.analysis.comparison import DIFFERENT, QUANTITIES, SAME, UNKNOWN, Comparison, machines
from bench.errors import UsageError
from bench.run.frames import Run, column
from bench.text import listed, quoted


def differences(a: Run, b: Run) -> list[str]:
    """Return a line for each recorded difference between two runs: machine, versions, revision, window."""
    lines = []
    for name in sorted(a.manifest["machine"].keys() | b.manifest["machine"].keys()):
        value_a, value_b = (run.manifest["machine"].get(name) for run in (a, b))
        if value_a != value_b and name != "clock_cost_ns":
            lines.append(f"machine {name}: {value_a}, {value_b}")
    if any("hosts" in run.manifest for run in (a, b)) and machines(a) != machines(b):
        lines.append(f"hosts: {listed(machines(a))}; {listed(machines(b))}")
    for name in sorted(a.manifest["versions"].keys() | b.manifest["versions"].keys()):
        value_a, value_b = (run.manifest["versions"].get(name) for run in (a, b))
        if value_a != value_b and None not in (value_a, value_b):  # a run holds the versions of its own systems only
            lines.append(f"version of {name}: {value_a}, {value_b}")
    if a.manifest["git"] != b.manifest["git"]:
        lines.append(f"revision: {a.manifest['git']['revision']}, {b.manifest['git']['revision']}")
    if a.plan.window_s != b.plan.window_s:
        lines.append(f"window: {a.plan.window_s:g} s, {b.plan.window_s:g} s")
    return lines


def left_out(run: Run, cases: Iterable[int]) -> list[str]:
    """Return a line for each quantity that is not compared because some start has too few calls for it."""
    rows = run.starts[run.starts["case"].isin(list(cases)) & (run.starts["load"] != "stream")]
    fewest = rows["calls"].min()
    return [
        f"{words} is not compared: it needs {stats.needed_samples(0.99)} calls per start after the warm-up, and the "
        f"shortest start has {fewest:,} in all"
        for name, (words, _) in QUANTITIES.items()
        if name == column(0.99) and len(rows) and rows[name].isna().any()
    ]


def record(one: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON; values that are not known are null."""
    fields = asdict(one) | {"slower_by": one.slower_by}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in fields.items()
    }


def verdict_text(found: list[Comparison], fail_if_slower: str | None) -> tuple[str, bool]:
    """Return a closing line, and whether B is slower than ``fail_if_slower`` ("5%" or 0.05) in some quantity."""
    limit = None if fail_if_slower is None else share(fail_if_slower)
    worse = [comparison for comparison in found if limit is not None and comparison.slower_by > limit]
    if worse:
        names = listed(
            f"{comparison.case} ({comparison.quantity}, at least {comparison.slower_by:.0%})" for comparison in worse
        )
        return f"slower than allowed ({limit:.0%}): {names}", True
    counts = {
        verdict: sum(comparison.verdict == verdict for comparison in found) for verdict in (DIFFERENT, SAME, UNKNOWN)
    }
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count), False


def share(text: str) -> float:
    """Return a share written as 5% or 0.05; UsageError for anything else."""
    try:
        value = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value < 10:
        raise UsageError(f"{quoted(text)} is not a share: write 5% or 0.05")
    return value
