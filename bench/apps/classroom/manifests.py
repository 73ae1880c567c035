"""The manifest of a submitted run: what is told of a run, and what is believed when a stranger tells it."""

import json
import re
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from bench.analysis import card, checks
from bench.apps.classroom.zips import RefusedError, plain
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run.frames import Run

VERSION, MOST_CASES = 1, 100
FACTS = ("machine_id", "cpu_model", "cpus_allowed", "virtual", "system", "kernel")  # those that are shown
TOP = {"submission": int, "id": str, "created": object, "machine": object, "checks": dict, "plan": object}
PLAN = {one.name: one.type for one in fields(Plan) if one.name not in ("cases", "absent")}
TEXT, NUMBER = r'"[A-Za-z0-9_.+-]{0,80}"', r"\d{1,12}(\.\d{1,20})?(e-\d\d)?"
OPTIONS = rf"\{{({TEXT}: ({TEXT}|{NUMBER}|true|false)(, |(?=\}}))){{0,50}}\}}"
# How a value of a kind looks in JSON: short names, numbers of a sane size, or not looked at yet.
HARMLESS = {str: TEXT, int: r"[1-9]\d{0,11}", float: NUMBER, bool: "true|false", object: "(?s:.*)"}
CASE = {one.name: one.type for one in fields(Case) if one.name not in ("target", "sessions")}  # no address


def told(run: Run) -> dict[str, Any]:
    """Return what a submission says of a run: no address, no text of an error, no word that a person typed."""
    plan = {name: getattr(run.plan, name) for name in PLAN}
    return {
        "submission": VERSION,
        "id": run.id,
        "created": run.manifest["created"],
        "revision": run.manifest["git"]["revision"],
        "machine": run.manifest["machine"],
        "versions": run.manifest["versions"],
        "checks": dict(checks.tally(run).verdicts),
        "plan": plan | {"cases": [{name: getattr(case, name) for name in CASE} for case in run.plan.cases]},
    }


def read(data: bytes) -> dict[str, Any]:
    """Return id, created, facts (of the machine), plan and checks that a stranger told.

    RefusedError, or what ``json`` raises, says what cannot be. All texts can be shown anywhere.
    """
    top = _fitting(json.loads(data), TOP, "manifest")
    facts = _fitting(top["machine"], dict.fromkeys(FACTS, object), "machine")
    plan = _fitting(top["plan"], PLAN | {"cases": object}, "plan")
    if not isinstance(plan["cases"], list) or not 0 < len(plan["cases"]) <= MOST_CASES:
        raise RefusedError(f"in its manifest cases of the plan are not 1 to {MOST_CASES}")
    plan["cases"] = [_fitting(case, CASE, "case") | {"target": None} for case in plan["cases"]]
    created = datetime.fromisoformat(str(top["created"]))
    if created.tzinfo is None or (created - datetime.now(UTC)).days > 0:
        raise RefusedError("in its manifest created has no zone, or is yet to come")
    if top["submission"] != VERSION or not re.fullmatch("[0-9a-f]{8}", str(facts["machine_id"])):
        raise RefusedError(f"its manifest is not of version {VERSION}, or its machine has no salted name")
    if card.Tally(top["checks"]).is_invalid:
        raise RefusedError(f"run {top['id']} is invalid by its own checks")
    shown = {name: "not known" if value is None else plain(value) for name, value in facts.items()}
    about = {"id": top["id"], "created": created, "checks": top["checks"], "facts": shown}
    return about | {"plan": Plan.from_dict(plan)}


def _fitting(found: Any, kinds: dict[str, Any], what: str) -> dict[str, Any]:
    """Return these fields of a mapping, each of its kind and harmless; what else is in it is left out."""
    for name, kind in kinds.items():
        known = isinstance(found, dict) and name in found
        if not known or not re.fullmatch(HARMLESS.get(kind, OPTIONS), json.dumps(found[name])):
            raise RefusedError(f"in its manifest {name} of the {what} is missing or cannot be")
    return {name: found[name] for name in kinds}
