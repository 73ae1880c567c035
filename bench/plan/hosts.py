"""Which hosts take part in a case: the parameter ``hosts`` as typed, and what a case on other hosts may be."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.errors import UsageError, unknown
from bench.plan import documents, paths, yaml_text
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.text import listed, quoted

ROLES = ("server", "load", "latency")
KEYS = ("scheduler", "plain", *ROLES)
SCHEMES = ("tcp", "tls")
LOADS = ("closed", "open")
FORMS = "the address of a scheduler (tls://HOST:PORT) or a YAML file of roles (FILE.yaml)"
LONGEST_NAME = 80


def asked(value: object) -> dict[str, Any]:
    """Return the scheduler and the roles that are asked for, as ``Case.hosts`` holds them; {} for this machine.

    value: "", the address of a scheduler, the path of a YAML file of roles, or such a file's content as a mapping.
    UsageError if it is none of these.
    """
    if value is None or value == "":
        return {}
    if isinstance(value, Mapping):
        return _roles(value, "hosts") if value else {}
    text = str(value).strip() if isinstance(value, str | Path) else ""
    if text.partition("://")[0] in SCHEMES:
        return {"scheduler": _scheduler(text)}
    if text.endswith((".yaml", ".yml")):
        return _roles(_content(text), f"the hosts file {text}")
    raise UsageError(f"hosts must be {FORMS}, not {quoted(value)}")


def _content(name: str) -> object:
    """Return what a YAML file holds; it is looked for in the current folder, then in the laboratory's."""
    files = [Path(name), paths.home() / name]
    try:
        file = next((file for file in files if file.is_file()), files[0])
        return yaml_text.value_of(documents.read(file).decode())
    except OSError as reason:
        raise UsageError(f"the hosts file {quoted(name)} cannot be read: {reason.strerror or reason}") from reason
    except ValueError as reason:
        raise UsageError(
            f"the hosts file {quoted(name)} is no YAML that can be used ({reason}): write lines like scheduler: ADDRESS"
        ) from reason


def _scheduler(text: str) -> str:
    """Return the address of a scheduler; UsageError if it is not complete."""
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in SCHEMES and bool(parts.hostname) and bool(parts.port) and not parts.path
    except ValueError:
        is_whole = False
    if not is_whole:
        raise UsageError(f"the scheduler {quoted(text)} is no address: write tls://HOST:PORT")
    return text


def _roles(given: object, what: str) -> dict[str, Any]:
    """Return the roles of a mapping; UsageError for one that is not known, not named rightly, or named twice."""
    if not isinstance(given, Mapping):
        raise UsageError(f"{what} must hold lines like scheduler: ADDRESS and load: [NAME, NAME], not {quoted(given)}")
    if strange := [name for name in given if name not in KEYS]:
        raise unknown(f"role in {what}", strange[0], KEYS)
    if not isinstance(given.get("scheduler"), str):
        raise UsageError(f"{what} names no scheduler: add a line like scheduler: tls://HOST:8786")
    roles: dict[str, Any] = {"scheduler": _scheduler(given["scheduler"])}
    if (plain := given.get("plain")) is not None:
        if not isinstance(plain, bool):
            raise UsageError(f"plain in {what} must be true or false, not {quoted(plain)}")
        roles["plain"] = plain
    for role in ("server", "latency"):
        if given.get(role) is not None:
            roles[role] = _name(given[role], role, what)
    if (load := given.get("load")) is not None:
        roles["load"] = [_name(name, "load", what) for name in (load if isinstance(load, list | tuple) else [load])]
        if not roles["load"]:
            raise UsageError(f"load in {what} is empty: name at least one host, or leave load out")
    names = [name for role in ROLES if role in roles for name in _listed(roles[role])]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{what} names {twice[0]} twice: a host has one role")
    return {key: roles[key] for key in KEYS if key in roles}


def _listed(value: Any) -> list[str]:
    return list(value) if isinstance(value, list) else [value]


def _name(value: object, role: str, what: str) -> str:
    """Return a host's name; a number of digits alone, which YAML reads as such, is one too."""
    text = value if isinstance(value, str) else quoted(value)
    is_simple = isinstance(value, str | int) and not isinstance(value, bool) and len(text) <= LONGEST_NAME
    if not is_simple or not re.fullmatch(r"[\w.+-]+", text):
        wanted = "a list of names of hosts" if role == "load" else "the name of one host"
        raise UsageError(f"{role} in {what} must be {wanted} (letters, digits, . _ + -), not {quoted(value)}")
    return text


def check(case: Case) -> None:
    """Raise UsageError for a case that other machines cannot measure; what is measured on this one passes."""
    if not is_far(case.hosts):
        return
    if case.transport != "tcp" and case.system != "loopback":
        raise UsageError(f"a server on another host is reached over tcp, not {case.transport}: give transport tcp")
    if case.placement != "free":
        raise UsageError(f"processes on other hosts are not pinned to CPUs: give placement free, not {case.placement}")
    if case.load not in LOADS:
        raise UsageError(f"hosts make {listed(LOADS)} loads, not {case.load}: leave out hosts for this load")
    if case.engine not in ("library", "wire"):
        raise UsageError(f"{case.engine} makes calls on this machine only: give engine library or wire with hosts")
    if case.target is not None and "server" in case.hosts:
        raise UsageError("a target is a server that runs already: leave out the role server, or the target")


def is_far(hosts: Mapping[str, Any]) -> bool:
    """Return whether other machines than this one take part."""
    return "scheduler" in hosts


def each(plan: Plan) -> list[str]:
    """Return the hosts that a plan's cases ask for, each in words, as ``described`` does."""
    return list(dict.fromkeys(described(case.hosts) for case in plan.cases if is_far(case.hosts)))


def described(hosts: Mapping[str, Any]) -> str:
    """Return who does what, in words, as far as it is known before the hosts are asked; "" for this machine."""
    if not is_far(hosts):
        return ""
    roles = [f"{role} {listed(_listed(hosts[role]))}" for role in ROLES if role in hosts]
    if "server" not in hosts:
        roles.append("server: the first host that is free, by name")
    if "load" not in hosts:
        roles.append("load: all other hosts, or this machine if there is none")
    return f"hosts of {hosts['scheduler']}: {'; '.join(roles)}"
