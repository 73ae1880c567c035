"""``bench compare BASE HEAD`` of two states of somebody's files: both measured now, taking turns in slices."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from bench.analysis import checks, trust_card, verdicts
from bench.analysis.comparison import Comparison, compare_cases, evidence, judged
from bench.apps import budget, growing, listing, revisions
from bench.apps.outcome import Outcome
from bench.errors import UsageError
from bench.experiments.compare import A, B
from bench.grammar import precision
from bench.grammar.experiment import experiment
from bench.grammar.method import turns
from bench.measurement import runner
from bench.measurement.validation import estimate
from bench.measurement.validation.cases import COMPARED
from bench.measurement.validation.sources import taking_part
from bench.plan import parameters as params
from bench.plan import paths
from bench.plan.plan import Plan
from bench.process.sources import Source
from bench.run import stored
from bench.run.frames import Run

COMPARED_CASES = (A, B)
OF_THE_PLAN = ("placement", "payload_bytes")  # parts of a case that are parameters of the plan, too
MADE_HERE = ("a", "b", "source", "system", "transport", "hosts", "predictions")  # of what -p could set otherwise


def outcome(
    base: str,
    head: str,
    margin: str | None,
    at_most: str | None,
    quantities: str,
    cases: Sequence[str],
    names: Sequence[str],
    transport: str | None,
    folders: Sequence[str],
    parameters: Iterable[tuple[str, str]],
    say: Callable[[str], None],
) -> Outcome:
    """Compare two runs, or measure two states; return what that shows.

    margin, cases: of two runs. names: systems; those in both states if there are none. parameters: parts of the case or
    of the plan, as ``-p`` has them. folders: from which the systems import, inside the states. ``say`` gets lines while
    it measures.
    """
    given = dict(parameters)
    if not revisions.are_meant(base, head, bool(names or transport or folders or given)):
        return listing.compared(base, head, margin or "5%", at_most, quantities, cases)
    if cases:
        raise UsageError("--case is for two stored runs: choose what is measured with --system")
    if margin:
        raise UsageError("--margin is for two stored runs: two revisions are judged by 5 %, and by --at-most")
    if at_most is not None:
        verdicts.share(at_most)
    verdicts.of_quantities([], quantities)
    for name in MADE_HERE:
        if name in given:
            raise UsageError(f"-p {name} is not for two revisions or folders: python -m bench compare --help")
    with revisions.opened(base, head, folders, say) as (first, second), taking_part(second, first):
        systems = revisions.systems_of(first, second, names, say)
        made = [_plan(name, transport, given, first, second) for name in systems]
        runs = [_measured(plan, given, say) for plan in made]
    return _verdicts(runs, quantities, at_most)


def _plan(system: str, transport: str | None, given: Mapping[str, str], base: Source, head: Source) -> Plan:
    """Return the plan of compare.ipynb: the system from BASE, again, and from HEAD."""
    own = {name: value for name, value in given.items() if name in COMPARED and name not in OF_THE_PLAN}
    rest = {name: value for name, value in given.items() if name not in own}
    for name in ("budget_s", "resume"):
        rest.pop(name, None)
    case = {"system": system} | ({"transport": transport} if transport else {}) | own
    a, b = ({**case, "source": source.label} for source in (base, head))
    return experiment("compare").plan(a=a, b=b, **rest)


def _measured(plan: Plan, given: Mapping[str, str], say: Callable[[str], None]) -> Run:
    """Measure a plan; return its run, whose manifest holds the checks."""
    began, case = time.monotonic(), plan.cases[A]
    is_resumed = params.flag(given.get("resume", False), "resume")
    if "budget_s" in given:
        begun = budget.begun(plan, given["budget_s"]) if is_resumed else None
        plan = begun or budget.spend(plan, given["budget_s"], lambda pilot: Run(runner.run(pilot)), say)
    estimate.refuse_too_long(plan)
    say(f"{case.system} over {case.transport}: {estimate.described(plan)}")
    unfinished = stored.unfinished(plan) if is_resumed else None
    folder = unfinished or stored.create(plan, runner.facts(plan))
    with growing.terminal_or(say) as show:
        run = Run(runner.run(plan, folder, growing.followed(folder, show), width=precision.half_width))
    if plan.until_width:
        say(precision.reached(run, plan))
    run.folder.update(checks=[outcome.as_dict() for outcome in checks.check(run)])
    checks.refuse_invalid(run)
    say(f"It took {time.monotonic() - began:.0f} s. Stored in {paths.shown(run.folder.path)}")
    say(f"Drawn by: python -m bench run compare -p source {run.id}")
    return run


def _verdicts(runs: Sequence[Run], quantities: str, at_most: str | None) -> Outcome:
    """Return what the runs show."""
    found = _found(runs, quantities)
    names = [run.plan.cases[A].system for run in runs]
    has_others = not set(names) <= set(verdicts.BASELINES)
    not_judged = [
        comparison.case
        for name, of_run in zip(names, found, strict=True)
        for comparison in of_run
        if has_others and name in verdicts.BASELINES
    ]
    closing, failed = verdicts.verdict_text(list(chain(*found)), at_most, not_judged)
    parts = [_record(run, of_run, at_most, not_judged) for run, of_run in zip(runs, found, strict=True)]
    document = {"runs": parts, "at_most": at_most, "closing": closing, "failed": failed}
    blocks = ["\n".join(_lines(run, of_run, at_most)) for run, of_run in zip(runs, found, strict=True)]
    return Outcome("\n\n".join([*blocks, closing]), document, failed)


def _found(runs: Sequence[Run], quantities: str) -> list[list[Comparison]]:
    """Return the comparisons of B with A of each run, looked at together; DataError without one."""
    of_each = [evidence(run, A, B) for run in runs]
    alone = compare_cases(runs[0], A, B) if len(runs) == 1 else []
    together = iter(alone or judged(list(chain(*of_each))))
    found = []
    for run, of_run in zip(runs, of_each, strict=True):
        case = run.plan.cases[A]
        named = [replace(next(together), case=f"{case.system} {case.transport}") for _ in of_run]
        found.append(verdicts.asked_for(named, quantities, verdicts.left_out(run, COMPARED_CASES)))
    return found


def _record(run: Run, found: Sequence[Comparison], at_most: str | None, not_judged: Sequence[str]) -> dict[str, Any]:
    a, b = (run.plan.cases[case].source for case in (A, B))
    return {
        "run": run.id,
        "a": a,
        "b": b,
        "comparisons": [verdicts.record(comparison, at_most, not_judged) for comparison in found],
        "left_out": verdicts.left_out(run, COMPARED_CASES),
        "checks": [outcome.as_dict() for outcome in checks.check(run)],
    }


def _lines(run: Run, found: Sequence[Comparison], at_most: str | None) -> list[str]:
    """Return the sources, the verdicts with the A/A ratio, how much they rest on, and what can be found."""
    tally = trust_card.tally(checks.check(run))
    lines = [f"{name}  {run.labels[case]}" for name, case in (("A", A), ("B", B))]
    lines += [str(comparison) for comparison in found]
    lines += verdicts.left_out(run, COMPARED_CASES)
    lines += [f"{turns(run)} Trust card: {tally.passed} of {tally.judged} checks PASS."]
    if at_most is not None:
        able = ", ".join(f"{verdicts.findable(one, at_most):.1%} in {one.quantity}" for one in found)
        lines += [f"A slow-down is shown to exceed {at_most} in 4 of 5 tries from: {able}"]
    return [*lines, budget.resolution(run, list(found))]
