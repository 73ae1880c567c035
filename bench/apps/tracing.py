"""``bench trace RUN``: cases of a stored run are measured again, traced, to say where the time goes in one call."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from bench import systems
from bench.analysis import stalls
from bench.apps import notebook
from bench.errors import BENCH, DataError, UsageError
from bench.grammar.experiment import experiment
from bench.measurement import runner, trace
from bench.measurement.validation.cases import INSTRUMENT
from bench.measurement.validation.profiles import in_slices, make_plan
from bench.plan import service_file, slicing
from bench.plan.case import Case
from bench.run import stored
from bench.run.folder import Folder
from bench.run.frames import Run, number_of
from bench.text import few, listed, paragraphs, unmarked

NOTEBOOK = "anatomy"
MOST = slicing.MOST // 2  # cases: each is measured twice, traced and not
SLICE_S, BLOCKS = 0.02, 12  # of a slice; enough for a thousand traced calls of each case
LEAST_CALLS, LONGEST_S = 4, 0.5  # a slice has time for so many of the slowest calls, but is no longer than that
TRACEABLE = "one caller in a closed load, with a server of its own here"
TABLES = {
    "breakdown": "The mean of the middle half of the traced calls",
    "slow": "The slowest 1 % of the traced calls (at least five), without those that another process made slow",
    "levels": "Starts",
}


def text(name: str, wanted: Sequence[str], say: Callable[[str], None]) -> str:
    """Measure cases of a run again, traced; return where the time of their calls goes.

    name: of a run; "latest", the newest with such cases; or a service file, the newest with such cases of this service,
    which is measured if there is none. wanted: parts of their labels; none: the first ones that can be traced.
    UsageError where nothing can be.
    """
    system = systems.adopt(name) if name.endswith(systems.SERVICE) else ""
    if reason := trace.why_not():
        stored_one = f"; the notebook shows a stored one: {BENCH} run {NOTEBOOK} -p source reference"
        raise UsageError(f"{reason}{'' if system else stored_one}")
    if system:
        measured = Run(newest(system) or _measured(system))
    elif name in ("", "latest"):
        if not (folder := newest()):
            raise UsageError(f"no run has a case that can be traced: {TRACEABLE}; {BENCH} run latency makes one")
        measured = Run(folder)
    else:
        measured = Run(stored.find(name))
    asked = measured.folder.plan()
    cases = [pair for pair in zip(measured.labels, asked.cases, strict=True) if system in ("", pair[1].system)]
    _refuse_unknown(name, [case for _, case in cases])
    twins = [replace(case, traced=True) for _, case in cases if not case.traced]
    named = {label: case for label, case in cases if can_be_traced(case) and case not in twins}
    if not named:
        raise UsageError(f"run {name} has no case that can be traced: {TRACEABLE}")
    chosen = [label for label in named if not wanted or any(part in label for part in wanted)]
    if not chosen:
        raise UsageError(f"no case of run {name} has {listed(wanted)} in its name; there are {listed(named)}")
    if len(chosen) > MOST:
        say(f"the first {MOST} of {len(chosen)} cases; name others with --case: {few(chosen[MOST:])}")
    pairs = [replace(named[label], traced=is_traced) for label in chosen[:MOST] for is_traced in (False, True)]
    slice_s = slice_for([slowest_s(measured, label) for label in chosen[:MOST]])
    plan = in_slices(make_plan(NOTEBOOK, pairs, starts=BLOCKS), slice_s, starts=BLOCKS)
    say(f"{len(plan.cases)} cases x {plan.starts} blocks of {plan.slices}")
    run = Run(runner.run(plan))
    answer = paragraphs(experiment(NOTEBOOK).answer(run), stalls.held_back(run))
    return "\n\n".join([*_tables(run), unmarked(answer), _storage(run)])


def newest(system: str = "") -> Folder | None:
    """Return the newest run with a case that can be traced, of a system if one is named; None if there is none."""
    for folder in reversed(stored.all_runs()):
        with contextlib.suppress(DataError):  # a damaged run does not hide older ones
            cases = [case for case in folder.plan().cases if system in ("", case.system) and not case.source]
            if any(map(can_be_traced, cases)) and folder.done():
                return folder
    return None


def _measured(system: str) -> Folder:
    """Return a short run of a service: how long its slowest calls take. UsageError if its calls cannot be traced."""
    service = service_file.read(systems.file_of(system))
    if service.is_running or systems.has_streams(system):
        what = "answers with streams" if systems.has_streams(system) else "runs already"
        raise UsageError(f"{system} {what}, so its calls cannot be traced: that takes {TRACEABLE}")
    run = notebook.measure("latency", system=system, transport=service.transport, profile="smoke")
    return run.folder


def _refuse_unknown(name: str, cases: Sequence[Case]) -> None:
    """Raise UsageError where a run's systems cannot be measured again: of two revisions, or in a file elsewhere."""
    if any(case.source for case in cases):
        raise UsageError(f"a run of two revisions cannot be traced: trace a run of {BENCH} service or {BENCH} run")
    known = systems.names()
    if absent := next((case.system for case in cases if case.system not in known), ""):
        file, folder = f"{BENCH} trace FOLDER/{absent}.yaml", f"{systems.FOLDERS}=FOLDER {BENCH} trace {name}"
        raise UsageError(f"no run stores where the file of {absent} is: name the file, {file}, or its folder, {folder}")


def slowest_s(run: Run, label: str) -> float:
    """Return the RTT of the slowest call of a case in s; 0 where no start of it was stored."""
    starts = run.ledger_of(run.labels.index(label)).index
    return max((run.calls.of_start(number_of(start)).rtt_ns.max(initial=0) for start in starts), default=0) / 1e9


def slice_for(slowest: Sequence[float]) -> float:
    """Return how long slices are in s: a call that outlasts its slice is left out."""
    return min(LONGEST_S, max(SLICE_S, LEAST_CALLS * max(slowest)))


def can_be_traced(case: Case) -> bool:
    """Return whether calls of a case can be traced: one after another, between processes that are started here."""
    is_one = case.clients * case.callers == 1 and case.engine == "library"
    is_here = case.transport != "inproc" and case.target is None and case.system != INSTRUMENT
    return slicing.can_take_turns(case) and is_one and is_here


def _tables(run: Run) -> list[str]:
    made = {title: experiment(NOTEBOOK).table(run, name) for name, title in TABLES.items()}
    return [f"{title}\n{table.to_string()}" for title, table in made.items() if len(table)]


def _storage(run: Run) -> str:
    return (
        f"Stored in {run.id}. In pictures: {BENCH} run {NOTEBOOK} -p source {run.id}. "
        f"For ui.perfetto.dev: {BENCH} export {run.id} --format perfetto"
    )
