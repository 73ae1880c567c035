"""Texts of the command line about systems, runs and figures."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from bench import codecs, systems
from bench.apps import repeat, scenarios
from bench.apps.outcome import Outcome
from bench.codecs import message_types
from bench.errors import BENCH, DataError, NotInstalledError, SystemFileError, reason_of
from bench.plan import documents, hosts, paths
from bench.process import environments
from bench.run import stored
from bench.run.folder import Folder
from bench.text import duration, listed, quoted, unmarked

MOST_BYTES = 100_000_000  # of a figure


def systems_text() -> str:
    """Return a block for each system: description, transports, options with defaults, whether it is installed.

    Behind them the messages that a call can carry, the codecs, and how the scenarios are listed.
    """
    absent = [systems.absent_folders()] if systems.absent_folders() else []
    return "\n\n".join([*map(_system_text, systems.names()), *absent, _messages_text()])


def missing_text() -> str:
    """Return which systems cannot be measured here, and the commands that install what they need."""
    real = [name for name in systems.names() if not _tests_the_instrument(name)]
    absent = {name: reason for name in real if (reason := systems.missing(name))}
    if not absent:
        return f"All {len(real)} systems are installed."
    packages = dict.fromkeys(package for reason in absent.values() for package in reason.packages)
    broken = {name: reason for name, reason in absent.items() if isinstance(reason, SystemFileError)}
    libraries = {name: reason for name, reason in absent.items() if not reason.packages and name not in broken}
    lines = [f"{len(real) - len(absent)} of {len(real)} systems are installed; missing: {', '.join(absent)}"]
    lines += [f"  {reason}" for reason in libraries.values()]
    lines += [f"  their programs: apt-get install {' '.join(packages)}"] * bool(packages)
    lines += [f"  {name} cannot be used: {reason}" for name, reason in broken.items()]
    return "\n".join(lines)


def hosts_text(scheduler: str, is_plain: bool) -> str:
    """Return a line for each host of a scheduler: address, CPUs, revision, clock, and its role where none is named."""
    rows = hosts_rows({"scheduler": scheduler, "plain": is_plain})
    table = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([*lines] + ["this machine loads: there is one host"] * (len(rows) == 1))


def hosts_rows(asked: Mapping[str, Any], has_target: bool = False) -> list[dict[str, str]]:
    """Return for each host of a scheduler its name, address, CPUs, revision, clock and role, all as text.

    asked: as ``Case.hosts``. has_target: whether the server is one that runs already, so that all hosts load.
    """
    from bench.measurement.hosts import remote, roles
    from bench.measurement.hosts.host import clocks_of

    with remote.client(asked) as connection, remote.hosts_of(connection, asked["scheduler"]) as there:
        assignment = roles.assigned(asked, there)
        assignment = roles.for_target(asked, assignment) if has_target else assignment
        rows = []
        for host, clock in zip(there, clocks_of(there), strict=True):
            offset = f"{clock.offset_ns / 1e6:+,.3f} ms, within {duration(clock.bound_ns / 1e3)}"
            rows.append(
                {
                    "name": host.name,
                    "address": host.address,
                    "CPUs": str(host.facts["cpus_allowed"]),
                    "revision": host.facts["revision"],
                    "clock beside this one's": offset,
                    "role": roles.role_of(assignment, host),
                }
            )
    return rows


def _tests_the_instrument(name: str) -> bool:
    try:
        return systems.group(name) == "instrument"
    except SystemFileError:
        return False


def _messages_text() -> str:
    kinds = ", ".join((message_types.BYTES, *message_types.KINDS, "FILE.json (your own)"))
    described = [f"  {name:15} {codecs.describe(name)}" for name in codecs.names()]
    closing = f"scenarios of notebooks: {BENCH} list --scenarios"
    return "\n".join([f"messages: {kinds}", "codecs of structured messages (option codec):", *described, "", closing])


def _system_text(name: str) -> str:
    lines: list[str] = []
    try:
        lines += [f"{name}: {systems.describe(name)}"]
        lines += [f"  transports  {', '.join(systems.constant(name, 'TRANSPORTS'))}"]
        lines += [f"  group       {systems.group(name)}"]
        systems.constant(name, "REQUIRES")
        module = systems.load(name)
        systems.need(name)
    except SystemFileError as wrong:
        return f"{name}: cannot be used: {wrong}"
    except NotInstalledError as missing:
        return "\n".join([*lines, f"  installed   no: {missing}"])
    options = [f"{field.name}={json.dumps(field.default)}" for field in fields(module.Options)]
    kinds = {"Receiver": "one-way streams", "StreamClient": "streams of replies"}
    loads = listed(["calls", *(sentences for name, sentences in kinds.items() if hasattr(module, name))])
    engines = ["library", *["wire"] * hasattr(module, "Wire"), *["wrk", "h2load"] * hasattr(module, "url")]
    lines += [f"  options     {', '.join(options) or 'none'}", f"  loads       {loads}"]
    lines += [f"  engines     {', '.join(engines)}"]
    if largest := systems.constant(name, "LARGEST_BYTES", 0):
        lines.append(f"  payloads    up to {largest:,} B")
    if environment := systems.constant(name, "ENVIRONMENT", None):
        made = "is ready" if environments.is_ready(environment) else f"is made on first use, or by: {BENCH} prepare"
        lines.append(f"  router      in an environment of its own, which {made}")
    return "\n".join(lines)


def run_json(name: str) -> str:
    """Return a run as one JSON document, as ``numbers.document`` makes it."""
    from bench.apps import numbers
    from bench.run.frames import Run

    return json.dumps(numbers.document(Run(stored.find(name))), indent=1, allow_nan=False)


def run_text(name: str) -> str:
    """Return a run's plan, machine, checks and results."""
    from bench.analysis import checks, earlier
    from bench.analysis import per_host as machines
    from bench.grammar import result_tables
    from bench.grammar.experiment import of_run
    from bench.measurement.validation.plan_time import described
    from bench.run.frames import Run

    run = Run(stored.find(name))
    manifest = run.manifest
    lines = [f"run       {run.id}", f"plan      {described(run.plan)}", f"created   {manifest['created']}"]
    lines += [f"machine   {json.dumps(manifest['machine'])}", f"versions  {json.dumps(manifest['versions'])}"]
    lines += [f"hosts     {machines.machines(run)}"] if len(run.hosts) else []
    lines += [f"measure   {repeat.command(run.folder)}"]
    lines += [f"digest    {manifest['digest']}"] if "digest" in manifest else []
    lines += [f"checks    {checks.tally(run)}"]
    lines += [
        f"  {check.verdict:8}{check.name}: {check.found}{'; ' + check.advice if check.advice else ''}"
        for check in (*checks.check(run), *filter(None, [earlier.replication(run)]))
    ]
    lines += [f"kept although  {missed}" for missed in manifest.get("kept_although", [])]
    lines += [f"failure   start {failure['start']}: {failure['error']}" for failure in manifest.get("failures", [])]
    frames = [frame.to_string() for frame in result_tables.results(run)]
    return "\n\n".join(["\n".join(lines), *frames, unmarked(of_run(run).conclusion(run))])


def compared(
    a: str, b: str, margin: str, at_most: str | None, quantities: str = "all", named: Sequence[str] = ()
) -> Outcome:
    """Return the comparison of two runs, the detectable effect first.

    named: parts of labels, of the cases that are compared; all if there are none.
    """
    from bench.analysis import checks, comparison, verdicts
    from bench.apps import budget
    from bench.run.frames import Run

    run_a, run_b = Run(stored.find(a)), Run(stored.find(b))
    for run in (run_a, run_b):
        checks.refuse_invalid(run)
    limit = verdicts.share(margin)
    pairs = comparison.chosen_pairs(run_a, run_b, named)
    missing = [
        f"run {run.id}, {run.labels[pair[side]]}: {text}"
        for side, run in enumerate((run_a, run_b))
        for pair in pairs
        for text in verdicts.left_out(run, [pair[side]])
    ]
    missing += [
        f"{run_a.labels[pair[0]]}: {text}"
        for pair in pairs
        for text in verdicts.of_one_only(run_a, pair[0], run_b, pair[1])
    ]
    missing += [
        f"not compared: {label}, which only run {run.id} has"
        for run, other in ((run_a, run_b), (run_b, run_a))
        for label in comparison.unmatched(run, other)
    ]
    comparisons = verdicts.asked_for(comparison.compare(run_a, run_b, limit, named), quantities, missing)
    resolution = budget.resolution(run_b, comparisons, limit)
    differ = verdicts.differences(run_a, run_b)
    baselines = verdicts.baselines(run_a)
    closing, failed = verdicts.verdict_text(comparisons, at_most, baselines)
    records = [verdicts.record(comparison, at_most, baselines) for comparison in comparisons]
    document: dict[str, Any] = {"a": run_a.id, "b": run_b.id, "differ": differ, "resolution": resolution}
    document |= {"comparisons": records, "left_out": missing, "at_most": at_most, "closing": closing, "failed": failed}
    head = [
        f"A  {run_a.id}",
        f"B  {run_b.id}",
        *(f"differs  {line}" for line in differ or ["no recorded difference"]),
        "",
        resolution,
    ]
    notes = [*missing, STORED] if at_most is not None else missing
    return Outcome("\n".join([*head, "", *map(str, comparisons), *notes, "", closing]), document, failed)


STORED = (
    "These runs were measured one after the other, and the machine may have changed in between. Of two folders or git "
    "revisions, bench compare measures both in turns."
)


def figure_text(name: str) -> str:
    """Return the run that a figure was drawn from, whether its data is stored here, and the commands to repeat it."""
    facts = provenance(Path(name))
    if facts["run"] == "submissions":  # of a class: the figure names them by their hash alone
        lines = [f"figure    {name}", *(f"{key:10}{value}" for key, value in facts.items())]
        return "\n".join([*lines, f"redraw    {BENCH} run {facts['notebook']} -p folder FOLDER"])
    folder, stem = _data_of(facts), Path(name).stem
    stem = folder.path.name if folder and folder.path.parent == paths.reference() else stem
    named = stem if stem in scenarios.files() and stem.startswith(f"{facts['notebook']}.") else facts["notebook"]
    if folder is None:
        location = "its data is not stored here: only a new measurement can repeat it"
        source = f"{BENCH} run {named}"
    else:
        same = "the same data" if folder.data_hash() == facts["data"] else "CHANGED data: the figure is older than it"
        location = f"{paths.shown(folder.path)} contains {same}"
        source = f"{BENCH} run {named} -p source {_source(folder)}"
    lines = [f"figure    {name}", *(f"{key:10}{value}" for key, value in facts.items()), f"found     {location}"]
    measure = repeat.command(folder) if folder else f"{BENCH} run {named}"
    lines += [f"hosts     {description}" for description in hosts.each(folder.plan())] if folder else []
    return "\n".join([*lines, f"redraw    {source}", f"measure   {measure}"])


def _source(folder: Folder) -> str:
    return "reference" if folder.path.parent == paths.reference() else folder.id


def provenance(figure: Path) -> dict[str, str]:
    """Return the provenance in a figure's metadata; DataError if there is none."""
    try:
        content = documents.read(figure, MOST_BYTES)
    except (OSError, ValueError) as reason:  # a name with a zero byte is no name
        raise DataError(
            f"cannot read {quoted(str(figure))}: {reason_of(reason)}; figures are in {paths.shown(paths.figures())}"
        ) from reason
    match = re.search(_PROVENANCE, content)
    if not match:
        raise DataError(
            f"{quoted(str(figure))} carries no provenance: it was not saved by this program, or was converted later"
        )
    return {key: value.decode() for key, value in match.groupdict().items()}


_PROVENANCE = (
    rb"run=(?P<run>\S+) data=(?P<data>\w+) revision=(?P<revision>\w+)[^=]* notebook=(?P<notebook>\w+) \(roundtrip\)"
)


def _data_of(facts: dict[str, str]) -> Folder | None:
    """Return the run that a figure names, among your runs or the reference runs."""
    references = stored.references()
    known = next((folder for folder in references if folder.manifest().get("id") == facts["run"]), None)
    return known or next((folder for folder in stored.all_runs() if folder.id == facts["run"]), None)
