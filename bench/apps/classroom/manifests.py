"""The manifest of a submitted run: what it contains, and what is accepted of a stranger's."""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import jsonschema

from bench.analysis import checks, trust_card
from bench.apps.classroom.zips import RefusedError, plain
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run.frames import Run

VERSION, MOST_CASES = 1, 100
FACTS = ("machine_id", "cpu_model", "cpus_allowed", "virtual", "system", "kernel")  # those that are shown
PLAN = {one.name: one.type for one in fields(Plan) if one.name not in ("cases", "absent")}
UNSAID = ("target", "hosts", "sessions", "content")  # no address, no text that a person typed
CASE = {one.name: one.type for one in fields(Case) if one.name not in UNSAID}
# Fields of a case that came later: a submission of before lacks them, and means their defaults.
LATER_COUNTS = (
    *("calls_per_connection", "outstanding", "large_bytes", "p99_bytes"),
    *("replies", "reply_bytes", "gap_us"),
)
LATER = (*LATER_COUNTS, "message", "retry")

NAME = {"type": "string", "pattern": r"\A[A-Za-z0-9_.+-]{0,80}\Z"}
NUMBER = {"type": "number", "minimum": 0, "exclusiveMaximum": 10**12}
COUNT = {"type": "integer", "minimum": 1, "exclusiveMaximum": 10**12}
PROFILE = {"type": "string", "maxLength": 80, "pattern": r"\A[A-Za-z0-9_.+-]*( [A-Za-z0-9_.+-]+){0,3}\Z"}  # budget 12 s
OPTIONS = {
    "type": "object",
    "maxProperties": 50,
    "propertyNames": NAME,
    "additionalProperties": {"anyOf": [NAME, NUMBER | {"minimum": -(10**12)}, {"type": ["boolean", "null"]}]},
}
LATER_KINDS: dict[str, Any] = dict.fromkeys(LATER_COUNTS, COUNT | {"minimum": 0}) | {
    "outstanding": COUNT,
    "message": NAME,
    "retry": OPTIONS,
}
# What a value of a kind may be: short names, numbers of a sane size.
HARMLESS: dict[Any, Any] = {str: NAME, int: COUNT, float: NUMBER, bool: {"type": "boolean"}}


def _fields(kinds: Mapping[str, Any], later: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of an object that has these fields, each of its kind or of the schema given.

    Those of ``later`` may be missing.
    """
    properties = {name: kind if isinstance(kind, dict) else HARMLESS.get(kind, OPTIONS) for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": [name for name in kinds if name not in later]}


CASES = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST_CASES,
    "items": _fields(CASE | LATER_KINDS, LATER),
}
SCHEMA = _fields(
    {
        "submission": int,
        "id": str,
        "created": {"type": "string"},
        "machine": _fields({name: {} for name in FACTS}),
        "checks": {
            "type": "object",
            "maxProperties": 50,
            "propertyNames": NAME,
            "additionalProperties": {"enum": [trust_card.PASS, trust_card.CAUTION, trust_card.INVALID]},
        },
        "plan": _fields(PLAN | {"cases": CASES, "profile": PROFILE}),
    }
)
SCHEMA["properties"]["digest"] = {"type": "string", "pattern": r"\A([0-9a-f]{64})?\Z"}  # older ones have none
_STRICT = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(  # 1.0 is no whole number here
    "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
)
VALIDATOR = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=_STRICT)(SCHEMA)


def report(run: Run) -> dict[str, Any]:
    """Return what a submission says of a run: no address, no text of an error, no word that a person typed."""
    return {
        "submission": VERSION,
        "id": run.id,
        "created": run.manifest["created"],
        "digest": run.manifest.get("digest", ""),
        "revision": run.manifest["git"]["revision"],
        "machine": run.manifest["machine"],
        "versions": run.manifest["versions"],
        "checks": dict(checks.tally(run).verdicts),
        "plan": planned(run.plan),
    }


def planned(plan: Plan) -> dict[str, Any]:
    """Return what a submission says of a plan: its numbers, and the names that this program gives."""
    cases = [{name: getattr(case, name) for name in CASE} | {"message": _message(case)} for case in plan.cases]
    return {name: getattr(plan, name) for name in PLAN} | {"cases": cases}


def _message(case: Case) -> str:
    """Return the kind of a case's message; of a user's own file a name made from its content: equal for equal ones."""
    return f"own-{hashlib.sha256(case.content.encode()).hexdigest()[:8]}" if case.content else case.message


def read(data: bytes) -> dict[str, Any]:
    """Return id, created, facts (of the machine), plan, checks and the run's digest of a stranger's manifest.

    The digest is the one that its manifest has where it was measured: who has that run can compare it. It shows that a
    run is the same one (integrity), and not who measured it (authenticity): whoever makes a zip can write any.

    RefusedError, or what ``json`` raises, says what cannot be. All texts can be shown anywhere.
    """
    top = json.loads(data, parse_constant=lambda text: None)
    for error in VALIDATOR.iter_errors(top):
        raise _refusal(error)
    facts = {name: top["machine"][name] for name in FACTS}
    plan = {name: top["plan"][name] for name in PLAN}
    plan["cases"] = [
        {name: case[name] for name in CASE if name in case} | {"target": None} for case in top["plan"]["cases"]
    ]
    created = datetime.fromisoformat(str(top["created"]))
    if created.tzinfo is None or (created - datetime.now(UTC)).days > 0:
        raise RefusedError("in its manifest created has no zone, or is yet to come")
    if top["submission"] != VERSION or not re.fullmatch("[0-9a-f]{8}", str(facts["machine_id"])):
        raise RefusedError(f"its manifest is not of version {VERSION}, or its machine has no salted name")
    if trust_card.Tally(top["checks"]).is_invalid:
        raise RefusedError(f"run {top['id']} is invalid by its own checks")
    shown = {name: "not known" if value is None else plain(value) for name, value in facts.items()}
    about = {"id": top["id"], "created": created, "checks": top["checks"], "facts": shown}
    about["run_digest"] = top.get("digest", "")
    return about | {"plan": Plan.from_dict(plan)}


def _refusal(error: jsonschema.ValidationError) -> RefusedError:
    """Return the error for a field that is missing or cannot be, named with what it belongs to."""
    path = [*error.absolute_path]
    if path == ["plan", "cases"]:
        return RefusedError(f"in its manifest cases of the plan are not 1 to {MOST_CASES}")
    depth = 3 if path[:2] == ["plan", "cases"] else 1 if path and path[0] in ("plan", "machine") else 0
    what = {3: "case", 1: path[0] if path else "", 0: "manifest"}[depth]
    if path[depth:]:
        name = path[depth]
    else:  # what should be here is no object, or lacks a field
        there = error.instance if isinstance(error.instance, dict) else {}
        name = next(each for each in error.schema["required"] if each not in there)
    return RefusedError(f"in its manifest {name} of the {what} is missing or cannot be")
