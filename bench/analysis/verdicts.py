"""Comparisons as text and as JSON: the recorded differences of two runs, records, a closing line."""

import math
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import Any

from bench import stats
from bench.analysis import request_mix
from bench.analysis.comparison import QUANTITIES, TAIL, Comparison, lacks
from bench.errors import DataError, UsageError
from bench.plan import parameters
from bench.plan.slicing import MOST_SLICE_MS
from bench.run.frames import Run
from bench.text import listed, quoted


def differences(a: Run, b: Run) -> list[str]:
    """Return a line for each recorded difference of two runs: machine, versions, sources, revision, window."""
    lines = []
    for part, words in (("machine", "machine"), ("versions", "version of"), ("sources", "the source of")):
        values_a, values_b = (run.manifest.get(part, {}) for run in (a, b))  # older runs hold no sources
        for name in sorted(values_a.keys() | values_b.keys()):
            pair = values_a.get(name), values_b.get(name)
            is_in_both = part == "machine" or None not in pair  # a run holds only what is of its own systems
            if pair[0] != pair[1] and name != "clock_cost_ns" and is_in_both:
                lines.append(f"{words} {name}: {pair[0]}, {pair[1]}")
    if a.manifest["git"] != b.manifest["git"]:
        lines.append(f"revision: {a.manifest['git']['revision']}, {b.manifest['git']['revision']}")
    if a.plan.window_s != b.plan.window_s:
        lines.append(f"window: {a.plan.window_s:g} s, {b.plan.window_s:g} s")
    return lines


SLICES_MS = (50, 100, 200, 500, MOST_SLICE_MS)  # that are proposed


def left_out(run: Run, cases: Iterable[int]) -> list[str]:
    """Return a line for each quantity that is not compared because some start has 0, or too few calls for the tail."""
    cases = [case for case in cases if run.case(case).load != "stream"]
    zero = [
        f"{words} is not compared: it is 0 in some start; give longer windows (-p window_s)"
        for name, (words, _) in QUANTITIES.items()
        if name != TAIL and lacks(run, cases, name)
    ]
    if not lacks(run, cases, TAIL):
        return zero
    needed, fewest = stats.needed_samples(0.99), run.starts.loc[run.starts["case"].isin(cases), "calls"].min()
    return [
        *zero,
        f"{QUANTITIES[TAIL][0]} is not compared: it needs {needed} calls per start after the warm-up, and the shortest "
        f"start has {fewest:,} in all; give {_longer(run, 2 * needed / fewest if fewest else 10)}",
    ]


def of_one_only(a: Run, case_a: int, b: Run, case_b: int) -> list[str]:
    """Return a line for each request of a service that is not compared because only one of two cases made it."""
    sides = {"A": request_mix.counts(a, case_a), "B": request_mix.counts(b, case_b)}
    return [
        f"the request {name} is not compared: only {side} has calls of it"
        for (side, own), others in zip(sides.items(), (sides["B"], sides["A"]), strict=True)
        for name in own
        if name not in others
    ]


def _longer(run: Run, factor: float) -> str:
    """Return the parameter that makes each start at least so many times as long: a round number."""
    slice_ms = 1e3 * factor * run.plan.slice_s
    if 0 < slice_ms <= MOST_SLICE_MS:
        return f"-p slice_ms {next(each for each in SLICES_MS if each >= slice_ms)}"
    return f"{'-p slice_ms 0 ' * bool(slice_ms)}-p window_s {math.ceil(factor * run.plan.window_s)}"


def record(comparison: Comparison, at_most: str | None = None, not_judged: Collection[str] = ()) -> dict[str, Any]:
    """Return a comparison as JSON, its line as ``text``; unknown values are null. The limit: as of ``verdict_text``."""
    fields = asdict(comparison) | {
        "slower_by": comparison.slower_by,
        "text": str(comparison),
        "words": comparison.words,
        "is_baseline": comparison.case in not_judged,
    }
    limit = math.inf if at_most is None or fields["is_baseline"] else share(at_most)
    fields["exceeds_limit"] = comparison.slower_by > limit
    fields["is_undecided"] = limit < math.inf and not fields["exceeds_limit"] and not _worst(comparison) <= limit
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in fields.items()
    }


BASELINES = ("loopback", "sockets")
SHORT = dict(zip(("p50", "p99", "rate", "cpu"), QUANTITIES, strict=True))  # as one types a quantity


def of_quantities(comparisons: Iterable[Comparison], names: object) -> list[Comparison]:
    """Return the comparisons of the quantities asked for: p50, p99, rate, cpu; a list, or "all".

    p50 is also that of each request of a service.
    """
    chosen = _in_words(names)
    return [comparison for comparison in comparisons if comparison.quantity.partition(" of ")[0] in chosen]


def _in_words(names: object) -> list[str]:
    return [QUANTITIES[SHORT[name]][0] for name in parameters.names(names, "quantity", list(SHORT))]


def asked_for(comparisons: Iterable[Comparison], names: object, left_out: Iterable[str]) -> list[Comparison]:
    """Return what ``of_quantities`` does; DataError if one that is named, or everything, could not be compared.

    left_out: why quantities were not compared.
    """
    chosen = of_quantities(comparisons, names)
    there = {comparison.quantity for comparison in chosen}
    named = [] if names == "all" else _in_words(names)
    if missing := [words for words in named if words not in there] or ([] if there else ["nothing"]):
        why = "; ".join(left_out) or "its values are not known on both sides"
        raise DataError(f"{listed(missing)} could not be compared: {why}; or name another quantity")
    return chosen


def asked_but_left_out(left_out: Iterable[str], names: object) -> list[str]:
    """Return the lines of ``left_out`` and ``of_one_only`` that are of the quantities asked for."""
    words = _in_words(names)
    return [text for text in left_out if text.startswith((*words, "the request "))]


def baselines(run: Run) -> list[str]:
    """Return the labels of the baselines of a run, which no limit is for; none if it measured nothing else."""
    others = [case for case in run.numbers if run.case(case).system not in BASELINES]
    return [run.labels[case] for case in run.numbers if others and case not in others]


def verdict_text(
    comparisons: list[Comparison], at_most: str | None, not_judged: Collection[str] = ()
) -> tuple[str, bool]:
    """Return a closing line, and whether a slow-down of more than ``at_most`` ("5%" or 0.05) is shown.

    It is where the whole interval of a ratio is beyond the limit, and beyond the A/A ratio. not_judged: labels of the
    baselines, which show the machine and not the change.
    """
    counts = Counter(comparison.words.partition(",")[0] for comparison in comparisons)
    summary = ", ".join(f"{count} {word}" for word, count in counts.items())
    if at_most is None:
        return summary, False
    limit, judged = share(at_most), [comparison for comparison in comparisons if comparison.case not in not_judged]
    if worse := [comparison for comparison in judged if comparison.slower_by > limit]:
        names = listed(f"{comparison.case} ({comparison.quantity}, {_at_least(comparison)})" for comparison in worse)
        return f"slower than allowed ({100 * limit:g}%): {names}", True
    open_ones = [comparison for comparison in judged if not _worst(comparison) <= limit]
    text = f"{summary}; no slow-down of more than {100 * limit:g}% is shown"
    if not open_ones:
        return f"{text}, and all intervals end below it", False
    names = listed(f"{comparison.case} ({comparison.quantity}{_up_to(comparison)})" for comparison in open_ones)
    return f"{text}, but the interval includes one: {names}", False


def findable(comparison: Comparison, at_most: str) -> float:
    """Return the smallest slow-down that a comparison of such spread shows to exceed a limit with 80 % probability."""
    return (1 + share(at_most)) * (1 + comparison.detectable) - 1


def _worst(comparison: Comparison) -> float:
    """Return the largest slow-down that the interval leaves possible; NaN without an interval."""
    return 1 / comparison.low - 1 if comparison.more_is_better else comparison.high - 1


def _up_to(comparison: Comparison) -> str:
    if math.isnan(worst := _worst(comparison)):
        return ""
    if comparison.more_is_better:
        return f", up to {math.ceil(1000 * (1 - comparison.low)) / 10:g}% fewer"
    return f", up to {math.ceil(1000 * worst) / 10:g}%"


def _at_least(comparison: Comparison) -> str:
    """Return how much worse it is at least."""
    if comparison.more_is_better:
        return f"at least {_floored(1 - comparison.high)} fewer"
    return f"at least {_floored(comparison.slower_by)}"


def _floored(value: float) -> str:
    return f"{math.floor(1000 * value) / 10:g}%"


def share(text: str) -> float:
    """Return a share written as 5% or 0.05; UsageError for anything else."""
    try:
        value = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value < (10 if text.endswith("%") else 1):
        raise UsageError(f"{quoted(text)} is not a share: write 5% or 0.05")
    return value
