"""From a plan to a run on disk: for each start fresh processes, one window, and the result stored at once."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bench import systems
from bench.errors import SystemFailedError, UsageError
from bench.measurement import machine, revision, slices, versions
from bench.measurement.hosts.host import HERE
from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run import start_record, stored
from bench.run.folder import Folder
from bench.stats import looks
from bench.text import counted, listed

Progress = Callable[[Case], None]
Width = Callable[[Folder], float]  # the largest half width of the ratios that the notebook prints, as a share
Numbered = tuple[int, int]  # (start, index of its case)


def run(
    plan: Plan,
    unfinished: Folder | None = None,
    progress: Progress = lambda case: None,
    parameters: Mapping[str, Any] | None = None,
    width: Width = lambda folder: math.inf,
) -> Folder:
    """Measure what a plan asks for, and return the run's folder; its manifest keeps the ``parameters``, if given.

    An ``unfinished`` run of the same plan is resumed: only missing starts are measured. When a start fails,
    what was measured before it is on disk, the failure is in the manifest, and SystemFailedError is raised.
    A plan with ``until_width`` ends at the first look at which ``width`` is within it, or after all blocks.
    """
    folder = unfinished or stored.create(plan, facts(plan) | asked(parameters))
    with folder.measuring():
        done = folder.done()
        with Routers() as routers:
            if done:
                check_hosts(folder, plan, routers)
            for block, parts in plan.blocks():
                is_new = False
                for part in parts:
                    if not done.issuperset(start for start, _ in part):
                        _measure(folder, plan, block, part, routers)
                        is_new = True
                    for _, index in part:
                        progress(plan.cases[index])
                if plan.until_width and is_new and _is_precise(folder, plan, block + 1, width):
                    break
        folder.update(finished=True)
    return folder


def _is_precise(folder: Folder, plan: Plan, blocks: int, width: Width) -> bool:
    """Look at a run, if a look is due after so many blocks; return whether it ends here, as its manifest then says."""
    due = looks.looks(plan.starts)
    if blocks not in due:
        return False
    look: dict[str, Any] = {"blocks": blocks, "confidence": looks.confidences(plan.starts)[due.index(blocks)]}
    folder.update(look=look)
    half_width = width(folder)
    folder.update(look=look | {"half_width": half_width if math.isfinite(half_width) else None})
    if half_width > plan.until_width:
        return False
    folder.update(plan=replace(plan, starts=blocks).as_dict())
    return True


def check_hosts(folder: Folder, plan: Plan, routers: Routers) -> None:
    """Raise UsageError where the missing starts of a run would be made by other hosts than its complete ones."""
    case_of = {row["start"]: row["case"] for row in folder.read("ledger").select(["start", "case"]).to_pylist()}
    before: dict[int, set[tuple[str, str]]] = {}
    for row in folder.read("hosts").select(["start", "role", "host"]).to_pylist():
        before.setdefault(case_of[row["start"]], set()).add((row["role"], row["host"]))
    machines = {name: record["machine_id"] for name, record in folder.stored_manifest().get("hosts", {}).items()}
    for case, roles in before.items():
        hosts = routers.hosts(plan.cases[case])
        now = hosts.named() if plan.cases[case].target is None else hosts.named() - {("server", HERE.name)}
        others = {
            name
            for name, record in hosts.records.items()
            if machines.get(name, record["machine_id"]) != record["machine_id"]
        }
        if now != roles or others:
            another = f"; another machine is called {listed(sorted(others))}" if others else ""
            raise UsageError(
                f"run {folder.id} was begun with {_in_words(roles)}; now the hosts are {_in_words(now)}{another}: "
                "start the first ones again, or measure without resume"
            )


def _in_words(roles: set[tuple[str, str]]) -> str:
    return listed(f"{name} as {role}" for role, name in sorted(roles, reverse=True))


def facts(plan: Plan) -> dict[str, Any]:
    """Return the machine, the versions and sources of what the plan uses, and the revision, for a manifest.

    services: the systems that are services of the user's, whose files may not be there when the run is read.
    """
    used = {"versions": versions.installed(plan.cases), "sources": revision.of_systems(plan.cases)}
    services = sorted({case.system for case in plan.cases if systems.has_own_requests(case.system)})
    more = {"services": services} if services else {}
    return {"machine": machine.record(), "git": machine.git_revision(), **used, **more}


def asked(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a notebook's parameters as a manifest keeps them, without those that are not set."""
    plain = (bool, int, float, str, list, dict)
    settings = {name: value for name, value in (parameters or {}).items() if value is not None}
    return (
        {"parameters": {name: value if isinstance(value, plain) else str(value) for name, value in settings.items()}}
        if settings
        else {}
    )


def _measure(folder: Folder, plan: Plan, block: int, part: list[Numbered], routers: Routers) -> None:
    """Measure a start, or the cases of a group that take turns, and store them, or store which failed and why."""
    cases, takes_turns = [plan.cases[index] for _, index in part], len(part) > 1
    try:
        if takes_turns:
            records = slices.measure(plan, cases, block, routers)
        else:
            records = [measure(cases[0], plan.window_s, plan.seed_of(block), routers)]
    except SystemFailedError as error:
        start, index = part[error.place if isinstance(error, slices.ResidentFailedError) else 0]
        folder.failed(start, index, error)
        kept = f" (kept before it: {counted(len(folder.done()), 'start')}, in {folder.id})" if block else ""
        raise SystemFailedError(f"{describe(plan.cases[index])}: {error}{kept}") from error
    keep_machines(folder, routers.hosts(cases[0]).records)
    for (start, index), case, measured in zip(part, cases, records, strict=True):
        if takes_turns:
            measured.ledger["turns_with"] = part[0][0]
        folder.append(start, start_record.tables(start, block, index, case, measured))


def keep_machines(folder: Folder, records: Mapping[str, Any]) -> None:
    """Put the machine records of hosts into a run's manifest, by their names, unless they are there."""
    if records and not records.items() <= (before := folder.stored_manifest().get("hosts", {})).items():
        folder.update(hosts=before | dict(records))


def describe(case: Case) -> str:
    """Return a short description of a case."""
    clients = f", {case.clients} clients" if case.clients > 1 else ""
    source = f" of {case.source}" if case.source else ""
    payload = "" if systems.has_own_requests(case.system) else f", {case.payload_bytes:,} B"
    return f"{case.system}{source} over {case.target or case.transport}{payload}{clients}"
