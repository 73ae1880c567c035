"""One plan on several occasions: measured, kept in a small file, and compared with what was published."""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pandas as pd

from bench.analysis import occasions as kept_of
from bench.analysis import probes, published, replication
from bench.analysis.occasions import Occasion, Replicated
from bench.analysis.published import Published
from bench.apps import scenarios
from bench.errors import DataError, UsageError
from bench.grammar.experiment import OF_A_RUN, exists, experiment
from bench.measurement import routers
from bench.measurement.machine import machine_id
from bench.measurement.validation import plan_time
from bench.plan import documents, paths
from bench.plan.plan import Plan
from bench.run import stored
from bench.run.files import write_bytes
from bench.run.folder import Folder
from bench.run.frames import Run
from bench.run.manifest import in_words
from bench.text import counted, quoted

Say = Callable[[str], None]
REFERENCE = "reference"
MOST_BYTES = 10_000_000  # of a file of occasions
UNITS_S = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def replicate(
    notebook: str,
    names: Sequence[str],
    times: int | None,
    apart: str,
    is_stored: bool,
    file: str | None,
    although: bool,
    against: str | None,
    parameters: Iterable[tuple[str, str]],
    say: Say,
) -> None:
    """Measure occasions, or read those ``names`` that are given; say what they show, and keep them in ``file``."""
    stem = notebook.partition(".")[0]
    if bool(names) != is_stored:
        raise UsageError("--runs goes with the names of runs: bench replicate NOTEBOOK --runs A B C")
    earlier = load(file_of(against, stem)).occasions if against else []
    if names:
        occasions = read(names, stem)
    else:
        plan, asked = planned(notebook, dict(parameters))
        made = measure(plan, asked, times or (1 if earlier else 3), seconds(apart), say)
        occasions = [kept_of.of_run(run) for run in made]
    say(text(occasions))
    for occasion in occasions if earlier else ():
        say(f"\n{published.score_text(replication.score(earlier, occasion), occasion)}")
        if (score := probes.score(probes.forecasts(earlier, occasion), occasion)).count:
            say(f"Forecast from its own two probes (bench predict): {published.inside_text(score, 'times')}")
    if file:
        target = file_of(file, stem)
        say(f"\n{target} holds {len(keep(occasions, target, stem, although).occasions)} occasions")


def seconds(text: str) -> float:
    """Return a length of time like 90s, 30m, 1.5h or 2d in seconds; a number alone is seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?", text.strip())
    if match is None:
        raise UsageError(f"{quoted(text)} is no length of time: write 30m, 1h or 2d")
    return float(match[1]) * UNITS_S[match[2] or "s"]


def planned(name: str, parameters: Mapping[str, str]) -> tuple[Plan, dict[str, Any]]:
    """Return the plan of a notebook, or of a scenario of one, and its parameters; UsageError if it has no ratio."""
    chosen = scenarios.chosen(name)
    notebook, asked = chosen.notebook.stem, {**chosen.parameters, **parameters}
    if taken := sorted(asked.keys() & OF_A_RUN.keys()):
        raise UsageError(f"{taken[0]} is not for a plan that is measured several times: leave it out")
    if not exists(notebook):
        raise UsageError(f"{notebook} measures nothing: name a notebook that does")
    if reason := experiment(notebook).why_not(**asked):
        raise UsageError(reason)
    plan = experiment(notebook).plan(**asked)
    if plan.until_width:
        raise UsageError("occasions of one plan have as many starts each: leave until_width out")
    if sum(case.system != "loopback" for case in plan.cases) < 2:
        raise UsageError(f"{notebook} measures one case: there is no ratio to replicate")
    return plan, asked


def occasions_here(plans: Iterable[Plan]) -> list[Folder]:
    """Return the finished runs of exactly these plans that this machine made, the oldest first."""
    here = machine_id()
    runs = {folder.id: (folder, folder.stored_manifest()) for plan in plans for folder in stored.of_plan(plan)}
    done = [folder for folder, known in runs.values() if known["finished"] and known["machine"]["machine_id"] == here]
    return sorted(done, key=lambda folder: folder.id)


def of_occasion(plan: Plan, parameters: Mapping[str, Any], number: int) -> Plan:
    """Return the plan of an occasion of this machine: with a seed of its own, unless one is asked for.

    One seed on every occasion would repeat its orders and arrivals, and what these happen to favour.
    """
    own = Random(f"{machine_id()} {number}").randrange(1, 2**31)
    return plan if "seed" in parameters else replace(plan, seed=own)


def measure(plan: Plan, parameters: dict[str, Any], wanted: int, apart_s: float, say: Say) -> list[Run]:
    """Measure a plan until there are so many occasions of this machine, and return all of them, the oldest first.

    Those of earlier calls count, and one that was interrupted is resumed. apart_s: from the beginning of one occasion
    to that of the next, at least.
    """
    from bench.apps import notebook

    plans = [of_occasion(plan, parameters, number) for number in range(wanted)]
    done = occasions_here(plans)
    if done:
        say(f"Already here: {counted(len(done), 'occasion')} of this plan; wanted: {wanted}")
    plan_time.refuse_too_long(plan)
    if wanted > 1 and not apart_s and len(done) < wanted:
        say("Occasions should be hours apart (--apart 3h): those of one hour share the state of the machine")
    routers.make_environments(plan.cases, say)
    while len(done) < wanted:
        if done:
            _wait(done[-1], apart_s, say)
        say(f"Occasion {len(done) + 1} of {wanted}")
        new = next((candidate for candidate in plans if not occasions_here([candidate])), plan)
        asked = {**parameters, "seed": new.seed, "resume": stored.unfinished(new) is not None}
        run = notebook.measure(plan.notebook, **asked)
        if run.plan != new:  # a program that was there is not any more
            raise DataError(f"run {run.id} has another plan than was asked for: try again")
        done = occasions_here(plans)
    return [Run(folder) for folder in done]


def _wait(last: Folder, apart_s: float, say: Say) -> None:
    """Wait until so long after an occasion began."""
    due = datetime.fromisoformat(last.stored_manifest()["created"]) + timedelta(seconds=apart_s)
    left_s = (due - datetime.now(UTC)).total_seconds()
    if left_s > 0:
        say(f"The next occasion begins at {due:%Y-%m-%d %H:%M} UTC; after Ctrl-C the same command continues")
        time.sleep(left_s)


def file_of(name: str, notebook: str) -> Path:
    """Return the file of occasions that a name means: a path, or ``reference``, the one that comes with the project."""
    return paths.reference().parent / "replicated" / f"{notebook}.json" if name == REFERENCE else Path(name)


def load(file: Path) -> Replicated:
    """Return stored occasions; DataError if the file cannot be used."""
    try:
        replicated = msgspec.json.decode(documents.read(file, MOST_BYTES), type=Replicated)
        if replicated.version != kept_of.VERSION:
            raise ValueError(f"it has version {replicated.version}, and this Roundtrip reads {kept_of.VERSION}")
    except (OSError, ValueError) as reason:  # msgspec's errors are ValueErrors too
        why = getattr(reason, "strerror", None) or in_words(reason)
        raise DataError(f"cannot read occasions from {paths.shown(file)}: {why}") from reason
    return replicated


def read(names: Iterable[str], notebook: str) -> list[Occasion]:
    """Return the occasions of runs, and of files of occasions (*.json), each once, the oldest first."""
    occasions: dict[str, Occasion] = {}
    for name in names:
        is_file = name == REFERENCE or name.endswith(".json")
        many = load(file_of(name, notebook)).occasions if is_file else [kept_of.of_run(Run(stored.find(name)))]
        occasions |= {occasion.run: occasion for occasion in many}
    if others := [run for run in occasions if f"-{notebook}-" not in run]:
        raise UsageError(f"run {others[0]} is not of {notebook}: occasions are compared of one notebook")
    return in_order(occasions.values())


def in_order(occasions: Iterable[Occasion]) -> list[Occasion]:
    """Return occasions, the oldest first."""
    return sorted(occasions, key=lambda occasion: (occasion.began, occasion.run))


def keep(occasions: Sequence[Occasion], file: Path, notebook: str, although: bool = False) -> Replicated:
    """Add occasions to a file, which is made if it is not there, and return what it then holds.

    DataError for one of a dirty revision, whose numbers no checkout can repeat, unless it is kept ``although``.
    """
    if dirty := [occasion.run for occasion in occasions if occasion.dirty is not False and not although]:
        raise DataError(
            f"{dirty[0]} was measured with files that differ from its revision: commit them and measure again, or keep "
            "it all the same with --although"
        )
    before = load(file).occasions if file.exists() else []
    kept = {occasion.run: occasion for occasion in (*before, *occasions)}
    replicated = Replicated(kept_of.VERSION, notebook, in_order(kept.values()))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, encoded(replicated))
    except OSError as reason:
        raise DataError(f"cannot write {paths.shown(file)}: {reason.strerror or reason}") from reason
    return replicated


def encoded(replicated: Replicated) -> bytes:
    """Return occasions as their file holds them: a line for each case, the same bytes for the same occasions."""
    return msgspec.json.encode(replicated).replace(b'{"case":', b'\n{"case":').replace(b'{"run":', b'\n{"run":') + b"\n"


def text(occasions: Sequence[Occasion]) -> str:
    """Return the ratios of each occasion and on each machine, the ranks, and how far forecasts reach."""
    numbered = [
        f"#{number} {occasion.utc} {occasion.run} on {occasion.machine.words}; checks passed: {occasion.checks}"
        for number, occasion in enumerate(occasions, 1)
    ]
    publication = Published(occasions)
    with pd.option_context("display.width", 200):
        frame = published.table(publication)
        shown = frame.reset_index().to_string(index=False) if len(frame) else "no ratio in them"
        scored = published.scores(publication)
        tested = scored.to_string() if len(scored) else ""
    reach = filter(None, [published.reach_text(publication), tested])
    ranks = published.ranks_text(publication)
    return "\n\n".join([published.described(publication), "\n".join(numbered), shown, *ranks, *reach])
