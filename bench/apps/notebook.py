"""The functions of the notebooks: measure, answer, trust, show, tell, save; one line each in a notebook.

``measure`` makes a run from a notebook's parameters; the other functions only read it.
"""

import ast
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from typing import Any

import pandas as pd
from IPython.display import HTML, Code, Markdown, display

from bench.analysis import checks, earlier, trust_card
from bench.apps import budget, code, growing, listing, repeat
from bench.apps.teaching.predictions import require
from bench.errors import BENCH, UsageError
from bench.grammar import claim, distinct, precision, result_tables
from bench.grammar import figure as figures
from bench.grammar.display import show_figure, show_frame, show_saved, table_html
from bench.grammar.experiment import OF_A_RUN, experiment, of_run, refuse_unknown
from bench.grammar.method import absent, measured
from bench.measurement import capacity_search, runner
from bench.measurement.validation import plan_time
from bench.measurement.validation.profiles import PROFILES
from bench.plan import confirmation, hosts, paths
from bench.plan.case import Case
from bench.plan.objective import objective
from bench.plan.parameters import flag, literal
from bench.plan.plan import Plan
from bench.run import stored
from bench.run.folder import Folder
from bench.run.frames import Run, shared
from bench.text import counted, paragraphs


def measure(notebook: str, namespace: Mapping[str, Any] | None = None, /, **parameters: Any) -> Run:
    """Measure the plan of a notebook's parameters, or load a stored run; return it.

    ``namespace`` is a notebook's ``globals()``: the notebook's parameters are taken from it, and no other names.
    ``source`` is ``measure``, ``reference`` (the small run that comes with the project; of a scenario its own, if
    there is one) or a run's id.
    With ``budget_s`` there are as many starts as fit into that many seconds in all.
    Prints beforehand what will be measured and how long that takes; UsageError names an unknown parameter.
    """
    parameters = _asked(notebook, namespace or {}, parameters)
    source, resume, budget_s, predicted = (parameters.pop(name, usual) for name, usual in OF_A_RUN.items())
    if source != "measure":
        return _load(notebook, str(source), parameters, predicted)
    if reason := experiment(notebook).why_not(**parameters):
        print(f"Skipped: {reason}. The figures below show the reference run of another machine.")
        return _load(notebook, "reference", parameters, predicted)
    plan, is_resumed = experiment(notebook).plan(**parameters), flag(resume, "resume")
    if literal(budget_s) is not None:
        if literal(parameters.get("starts")) is not None:
            raise UsageError("budget_s chooses starts: give one of them, not both")
        plan = budget.spend(plan, budget_s)
    require(plan, predicted)
    plan_time.refuse_too_long(plan)
    print(plan_time.described(plan), flush=True)
    show_hosts(plan)
    return _judged(_run(plan, _to_resume(plan) if is_resumed else None, parameters | {"budget_s": budget_s}))


def _asked(notebook: str, namespace: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook's parameters in a namespace, and those given; UsageError for one that it does not have."""
    parameters = experiment(notebook).parameters
    refuse_unknown(notebook, [*_injected(namespace), *arguments], parameters)
    return {name: namespace[name] for name in parameters if name in namespace} | arguments


def _injected(namespace: Mapping[str, Any]) -> list[str]:
    """Return the names that papermill set, in the cell that it puts behind the parameters; IPython keeps its source."""
    cells = [ast.parse(source) for source in namespace.get("In", ()) if source.startswith("# Parameters\n")]
    return [
        target.id
        for cell in cells
        for node in ast.walk(cell)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]


def _judged(run: Run) -> Run:
    """Store the checks with the run, and print where it is."""
    run.folder.update(checks=[outcome.as_dict() for outcome in checks.check(run)])
    print(f"Stored in {paths.shown(run.folder.path)}")
    return run


def search(namespace: Mapping[str, Any] | None = None, /, **parameters: Any) -> Run:
    """Search the highest rate at which an objective is met, or load a stored search; print each probe."""
    parameters = _asked("capacity", namespace or {}, parameters)
    if (source := parameters.pop("source", "measure")) != "measure":
        return _load("capacity", str(source), parameters)
    plan = experiment("capacity").plan(**parameters)
    usual = experiment("capacity").parameters
    goal = objective(parameters.get("objective", usual["objective"]))
    rule = confirmation.rule(parameters.get("rule", usual["rule"]), PROFILES[plan.profile].starts, goal.p)
    (case,) = plan.cases
    expected = f"{plan.starts} starts or so of {plan.window_s:g} s and more, profile {plan.profile}"
    is_fixed = rule.name == confirmation.FIXED
    what = f"Starts at {case.offered_per_s:,.0f}/s" if is_fixed else "Search for the highest rate"
    print(
        f"{what} with {goal}, {case.system} {case.transport}: {expected}: about {plan_time.expected_s(plan):.0f} s",
        flush=True,
    )
    if rule.requests:
        print(f"Then {rule.starts} starts of {rule.requests:,} requests each confirm it: MLPerf's number", flush=True)
    show_hosts(plan)
    folder = capacity_search.find(plan, goal, lambda text: print(text, flush=True), rule)
    folder.update(**runner.asked(parameters))
    run = Run(folder)
    return _judged(run)


def show_hosts(plan: Plan) -> None:
    """Show the other machines that are to measure a plan: address, CPUs, revision, clock, and role of each."""
    far = distinct((case.hosts, case.target is not None) for case in plan.cases if hosts.is_far(case.hosts))
    for asked, has_target in far:
        show_frame(pd.DataFrame(listing.hosts_rows(asked, has_target)).set_index("name"))


def _run(plan: Plan, unfinished: Folder | None = None, parameters: dict[str, Any] | None = None) -> Run:
    folder = unfinished or stored.create(plan, runner.facts(plan) | runner.asked(parameters))
    with progress(folder, plan_time.expected_s(plan)) as step:
        runner.run(plan, folder, progress=step, width=precision.half_width)
    run = Run(folder)
    if plan.until_width:
        print(precision.reached(run, plan))
    return run


def _to_resume(plan: Plan) -> Folder | None:
    """Return the interrupted run of this plan, if there is one; print what will be done."""
    folder = stored.unfinished(plan)
    if folder is None:
        print("No interrupted run of this plan: all starts are measured")
    else:
        print(f"Resuming {folder.id}: {len(folder.done())} starts are complete")
    return folder


def _load(notebook: str, source: str, asked: Mapping[str, Any] | None = None, predicted: object = "off") -> Run:
    is_reference = source == "reference"
    run = shared((stored.reference(paths.figure_name(notebook)) if is_reference else stored.find(source)).path)
    if run.plan.notebook != notebook:
        raise UsageError(f"run {run.id} belongs to {run.plan.notebook}.ipynb, not to {notebook}.ipynb")
    require(run.plan, predicted)
    what = plan_time.described(run.plan)
    if "capacity" in run.manifest:  # the search decided how many starts each rate had
        what = f"{counted(len(run.ledger), 'start')} at {counted(len(run.cases), 'rate')}"
    print(f"Nothing is measured: this is run {run.id}, measured {run.manifest['created']} ({what})")
    if others := repeat.others(run.folder, experiment(notebook).parameters | dict(asked or {})):
        print(f"It was measured with {', '.join(f'{name}={value}' for name, value in others.items())}")
    return run


@contextmanager
def progress(folder: Folder, expected_s: float) -> Iterator[Callable[[Case], None]]:
    """Show how far measuring is where a person can see it; a bar in a notebook if it takes longer than two seconds."""
    if growing.PIPE in os.environ:
        yield growing.followed(folder, growing.sent)
    elif is_watched():
        from tqdm.notebook import tqdm

        with tqdm(total=folder.plan().all_starts, unit="start", leave=False, disable=expected_s < 2) as bar:
            step = growing.followed(folder, lambda line: bar.set_postfix_str(line, refresh=False))
            yield lambda case: (step(case), bar.update())[0]
    else:
        with growing.terminal_or(_logged) as show:
            yield growing.followed(folder, show)


def _logged(line: str) -> None:
    """Write a line to the error output, but not into a notebook that nobody watches."""
    if "ipykernel" not in sys.modules:
        print(line, file=sys.stderr, flush=True)


def is_watched() -> bool:
    """Return whether this kernel belongs to a notebook or page that a person has open (papermill opens none)."""
    served = os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")
    has_session = any(name in os.environ for name in ("JPY_SESSION_NAME", "VSCODE_PID"))
    return "ipykernel" in sys.modules and (has_session or served)


class Folded(HTML):
    """One line that unfolds in a notebook; in plain text the line alone."""

    def __init__(self, line: str, html: str) -> None:
        super().__init__(f"<details><summary>{escape(line)}</summary>{html}</details>")
        self._line = line

    def __repr__(self) -> str:
        return self._line


def answer(run: Run, *panels: str) -> None:
    """Show the answer, the claims that the run contradicts, what was not measured, and panels."""
    shown = of_run(run)
    display(Markdown(paragraphs(shown.answer(run), shown.contradictions(run), absent(run))))
    show(run, *panels)


def trust(run: Run) -> None:
    """Show the trust card, folded: how many checks passed, and within it the outcome of each, with advice.

    Below the checks: whether the last comparable run said the same, if there is one; it does not count among them.
    """
    outcomes = checks.check(run)
    again = [check for check in [earlier.replication(run)] if check and check.verdict != trust_card.NOTHING]
    display(Folded(trust_card.tally(outcomes).line, table_html(result_tables.card([*outcomes, *again]), wrap=True)))


def method(run: Run, system: str = "") -> None:
    """Show how the run was measured; folded plan, versions and timed code, of its first system or the one named."""
    display(Markdown(measured(run)))
    display(
        Folded("Plan", table_html(result_tables.plan(run))), Folded("Versions", table_html(result_tables.versions(run)))
    )
    pieces = code.of_run(run, system)
    if absent := code.absent(run, system):
        print(f"{absent} cannot be imported here, so its call is not shown: {BENCH} list")
    elif not pieces:
        print("An external load generator timed these calls; its source is not part of this project.")
    for piece in pieces:
        display(Folded(f"Timed code: {piece.title}", Code(piece.text, language=piece.language)._repr_html_()))


def table(run: Run, *names: str) -> None:
    """Show tables by name, of the notebook or of ``bench.grammar.result_tables``; without a name all results."""
    own = of_run(run)
    named = [own.table(run, name) if name in own.tables else getattr(result_tables, name)(run) for name in names]
    for frame in named or result_tables.results(run):
        if len(frame):
            show_frame(frame)


def show(run: Run, *panels: str) -> None:
    """Show panels of the notebook's figure by name."""
    for name in panels:
        drawn = figures.panel(run, name)
        show_figure(drawn, figures.alt_text(run, drawn))


def tell(run: Run) -> None:
    """Show the claims that the run tests: what is expected, what was measured, and with enough starts the verdict."""
    if reason := of_run(run).why_no_conclusion(run):
        display(Markdown(paragraphs(reason, of_run(run).claims_not_judged(run))))
    elif len(frame := claim.table(run, of_run(run).claims)):
        show_frame(frame)


def lines(run: Run) -> None:
    """Print results in the format of the notebook's origin."""
    if of_origin := of_run(run).lines:
        print(of_origin(run))


def save(run: Run) -> None:
    """Save the whole figure, with its caption in it, as SVG and PNG, and show it."""
    show_saved(figures.save(run), figures.alt_text(run))
