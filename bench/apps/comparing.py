"""``bench compare BASE HEAD`` of two states of somebody's files: both measured now, taking turns in slices."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from bench import systems
from bench.analysis import checks, count_changes, trust_card, verdicts
from bench.analysis.comparison import Comparison, compare_cases, evidence, judged
from bench.analysis.count_changes import FELL, ROSE, UNCHANGED, UNJUDGED, Change
from bench.analysis.turns import outlasted
from bench.apps import budget, growing, listing, revisions
from bench.apps.outcome import Outcome
from bench.errors import BENCH, UsageError, unknown
from bench.experiments.compare import AGAIN, A, B
from bench.grammar import precision
from bench.grammar.experiment import experiment
from bench.measurement import runner, trace
from bench.measurement.validation import plan_time
from bench.measurement.validation.cases import COMPARED
from bench.measurement.validation.sources import taking_part
from bench.plan import parameters as params
from bench.plan import paths
from bench.plan.plan import Plan
from bench.process.sources import Source
from bench.run import stored
from bench.run.frames import Run
from bench.text import listed

COMPARED_CASES = (A, B)
OF_SERVICES = {"slice_ms": "200"}  # enough calls for p99 of a service that takes up to two milliseconds
OF_COUNTS = {"starts": "5", "slice_ms": "50"}  # a few seconds: counts vary little
OF_THE_PLAN = ("placement", "payload_bytes")  # parts of a case that are parameters of the plan, too
OF_THE_MEASUREMENT = ("budget_s", "resume")
MADE_HERE = ("a", "b", "source", "system", "transport", "hosts", "predictions")  # of what -p could set otherwise


def outcome(
    base: str,
    head: str,
    margin: str | None,
    at_most: str | None,
    quantities: str,
    counts: bool,
    cases: Sequence[str],
    names: Sequence[str],
    transport: str | None,
    folders: Sequence[str],
    parameters: Iterable[tuple[str, str]],
    say: Callable[[str], None],
) -> Outcome:
    """Compare two runs, or measure two states; return what that shows.

    margin, cases: of two runs. names: systems; those in both states if there are none. parameters: parts of the case or
    of the plan, as ``-p`` has them. folders: from which the systems import, inside the states. counts: compare counts
    per call of two states instead of times; the limit is that none rises. ``say`` gets lines while it measures.
    """
    settings = dict(parameters)
    if not revisions.are_meant(base, head, bool(names or transport or folders or settings or counts)):
        return listing.compared(base, head, margin or "5%", at_most, quantities, cases)
    if cases:
        raise UsageError("--case is for two stored runs: choose what is measured with --system")
    if margin:
        raise UsageError("--margin is for two stored runs: two revisions are judged by 5 %, and by --at-most")
    if at_most is not None:
        verdicts.share(at_most)
    verdicts.of_quantities([], quantities)
    if counts and (reason := _why_no_counts(at_most, quantities)):
        raise UsageError(reason)
    settings = (OF_COUNTS if counts else {}) | settings
    for name in MADE_HERE:
        if name in settings:
            raise UsageError(f"-p {name} is not for two revisions or folders: {BENCH} compare --help")
    for name in settings:
        if name not in (accepted := _accepted()):
            raise unknown("parameter (-p)", name, accepted)
    with revisions.opened(base, head, folders, say) as (first, second), taking_part(second, first):
        measured = revisions.systems_of(first, second, names, say)
        made = [_plan(name, transport, settings, first, second) for name in measured]
        runs = [_measured(_traced(plan) if counts else plan, settings, say) for plan in made]
    return _count_changes(runs) if counts else _verdicts(runs, quantities, at_most)


def _accepted() -> list[str]:
    """Return the parameters that ``-p`` can set: those of a case, of the plan, and of the measurement."""
    of_plan = [name for name in experiment("compare").sweep.parameters if name not in MADE_HERE]
    return sorted({*of_plan, *COMPARED, *OF_THE_MEASUREMENT} - set(MADE_HERE))


def _why_no_counts(at_most: str | None, quantities: str) -> str | None:
    """Return why counts cannot be compared as asked or here, and what to do; None if they can."""
    if at_most is not None or quantities != "all":
        return "--counts compares no times: leave out --at-most and --quantity, or give them to a command of their own"
    reason = trace.why_not()
    return f"{reason}; or leave out --counts to compare times" if reason else None


def _traced(plan: Plan) -> Plan:
    """Return a plan whose cases are traced; UsageError where they cannot be."""
    case = plan.cases[A]
    if plan.apart or case.under_way > 1:
        raise UsageError(
            f"{case.system} over {case.transport} has no counts per call: they are of one caller whose calls follow "
            "each other in slices; leave out clients, callers, outstanding and slice_ms 0, or name another --system"
        )
    return replace(plan, cases=tuple(replace(case, traced=True) for case in plan.cases))


def _plan(system: str, transport: str | None, parameters: Mapping[str, str], base: Source, head: Source) -> Plan:
    """Return the plan of compare.ipynb: the system from BASE, again, and from HEAD."""
    own = {name: value for name, value in parameters.items() if name in COMPARED and name not in OF_THE_PLAN}
    rest = {name: value for name, value in parameters.items() if name not in own}
    for name in OF_THE_MEASUREMENT:
        rest.pop(name, None)
    defaults = OF_SERVICES if systems.has_own_requests(system) else {}
    case = {"system": system} | ({"transport": transport} if transport else {}) | own
    a, b = ({**case, "source": source.label} for source in (base, head))
    return experiment("compare").plan(a=a, b=b, **(defaults | rest))


def _measured(plan: Plan, parameters: Mapping[str, str], say: Callable[[str], None]) -> Run:
    """Measure a plan; return its run, whose manifest holds the checks."""
    began, case = time.monotonic(), plan.cases[A]
    is_resumed = params.flag(parameters.get("resume", False), "resume")
    if "budget_s" in parameters:
        plan = budget.spend(plan, parameters["budget_s"])
    plan_time.refuse_too_long(plan)
    say(f"{case.system} over {case.transport}: {plan_time.described(plan)}")
    unfinished = stored.unfinished(plan) if is_resumed else None
    folder = unfinished or stored.create(plan, runner.facts(plan))
    with growing.terminal_or(say) as show:
        run = Run(runner.run(plan, folder, growing.followed(folder, show), width=precision.half_width))
    if plan.until_width:
        say(precision.reached(run, plan))
    run.folder.update(checks=[outcome.as_dict() for outcome in checks.check(run)])
    checks.refuse_invalid(run)
    say(f"It took {time.monotonic() - began:.0f} s. Stored in {paths.shown(run.folder.path)}")
    say(f"Drawn by: {BENCH} run compare -p source {run.id}")
    return run


def _verdicts(runs: Sequence[Run], quantities: str, at_most: str | None) -> Outcome:
    """Return what the runs show."""
    comparisons = _comparisons(runs, quantities)
    names = [run.plan.cases[A].system for run in runs]
    has_others = not set(names) <= set(verdicts.BASELINES)
    not_judged = [
        comparison.case
        for name, of_run in zip(names, comparisons, strict=True)
        for comparison in of_run
        if has_others and name in verdicts.BASELINES
    ]
    closing, failed = verdicts.verdict_text(list(chain(*comparisons)), at_most, not_judged)
    parts = []
    for run, of_run in zip(runs, comparisons, strict=True):
        compared = [verdicts.record(comparison, at_most, not_judged) for comparison in of_run]
        missed = verdicts.asked_but_left_out(_left_out(run), quantities)
        parts.append(_of_both(run, comparisons=compared, left_out=missed))
    missing = [f"{name}: {text}" for name, part in zip(names, parts, strict=True) for text in part["left_out"]]
    closing = "\n".join([closing, *(f"Not judged: {text}." for text in missing)])
    document = {"runs": parts, "at_most": at_most, "closing": closing, "failed": failed}
    blocks = ["\n".join(_lines(run, of_run, at_most)) for run, of_run in zip(runs, comparisons, strict=True)]
    return Outcome("\n\n".join([*blocks, closing]), document, failed)


def _count_changes(runs: Sequence[Run]) -> Outcome:
    """Return what happens more and less often per call; failed is what happens more often."""
    changes = [
        list(count_changes.changes(count_changes.counts(run, A, AGAIN), count_changes.counts(run, B))) for run in runs
    ]
    names = [f"{run.plan.cases[A].system} {run.plan.cases[A].transport}" for run in runs]
    parts = [
        _of_both(run, counts=[{"case": name} | count_changes.record(change) for change in of_run])
        for run, name, of_run in zip(runs, names, changes, strict=True)
    ]
    rose = [f"{count['case']}, {count['text']}" for part in parts for count in part["counts"] if count["exceeds_limit"]]
    closing = f"more per call than before: {listed(rose)}" if rose else "nothing that is judged happens more per call"
    blocks = ["\n".join(_count_lines(run, of_run)) for run, of_run in zip(runs, changes, strict=True)]
    document = {"runs": parts, "closing": closing, "failed": bool(rose)}
    return Outcome("\n\n".join([*blocks, closing]), document, bool(rose))


def _count_lines(run: Run, changes: Sequence[Change]) -> list[str]:
    """Return the sources, then each count with its verdict: first what rose, last what is not judged."""
    order = (ROSE, FELL, UNCHANGED, UNJUDGED)
    rows = sorted(changes, key=lambda change: order.index(change.verdict))
    return [*_states(run), *(f"{change.verdict:<15}  {change}" for change in rows)]


def _comparisons(runs: Sequence[Run], quantities: str) -> list[list[Comparison]]:
    """Return the comparisons of B with A of each run, looked at together; DataError without one."""
    of_each = [evidence(run, A, B) for run in runs]
    alone = compare_cases(runs[0], A, B) if len(runs) == 1 else []
    together = iter(alone or judged(list(chain(*of_each))))
    comparisons = []
    for run, of_run in zip(runs, of_each, strict=True):
        case = run.plan.cases[A]
        named = [replace(next(together), case=f"{case.system} {case.transport}") for _ in of_run]
        comparisons.append(verdicts.asked_for(named, quantities, _left_out(run)))
    return comparisons


def _left_out(run: Run) -> list[str]:
    """Return what is not compared, and why."""
    return verdicts.left_out(run, COMPARED_CASES) + verdicts.of_one_only(run, A, run, B)


def _of_both(run: Run, **fields: list[Any]) -> dict[str, Any]:
    a, b = (run.plan.cases[case].source for case in (A, B))
    return {"run": run.id, "a": a, "b": b, **fields, "checks": [outcome.as_dict() for outcome in checks.check(run)]}


def _states(run: Run) -> list[str]:
    labels = [f"{name}  {run.labels[case]}" for name, case in (("A", A), ("B", B))]
    return [*labels, "Behind the @: a hash of the files measured."]


def _lines(run: Run, comparisons: Sequence[Comparison], at_most: str | None) -> list[str]:
    """Return the sources, the verdicts with the A/A ratio, how much they rest on, and what can be found."""
    tally = trust_card.tally(checks.check(run))
    lines = [*_states(run), *map(str, comparisons)]
    lines += [f"{tally.line}.", *filter(None, [outlasted(run)])]
    if at_most is None:
        return [*lines, budget.resolution(run, list(comparisons))]
    able = listed(
        f"{verdicts.findable(comparison, at_most):.1%} in {comparison.quantity}" for comparison in comparisons
    )
    return [*lines, f"With a limit of {at_most} such a run refuses, in four of five tries, a slow-down of {able}."]
