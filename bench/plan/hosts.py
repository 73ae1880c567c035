"""Which hosts take part in a case: the parameter ``hosts`` as typed, and what a case on other hosts may be."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from bench.contract import is_host
from bench.errors import UsageError
from bench.plan import documents, paths, yaml_text
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.text import listed, one_line, quoted

ROLES = ("server", "load", "latency")
SCHEMES = ("tcp", "tls")
PORT = 8786
LOADS = ("closed", "open")
FORMS = "the address of a scheduler (tls://HOST:PORT) or a YAML file of roles (FILE.yaml)"

Name = Annotated[str, Meta(pattern=r"\A[\w.+-]+\Z", max_length=80)]


class Roles(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The hosts of a case: a scheduler, whether it may be reached in plain TCP, and the names of those with a role."""

    scheduler: str
    plain: bool = False
    server: Name = ""
    load: Annotated[list[Name], Meta(min_length=1)] = []
    latency: Name = ""


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
        address_of(text)
        return {"scheduler": text}
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


def address_of(scheduler: str) -> tuple[str, str, int]:
    """Return protocol, host and port of an address tcp://HOST:PORT or tls://HOST:PORT; UsageError for others."""
    try:
        parts = urlsplit(scheduler)
        protocol, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        protocol, host, port = "", None, None
    if protocol not in SCHEMES or not host or not is_host(host) or parts.path:
        raise UsageError(
            f"{quoted(scheduler)} is no address of a scheduler: write tcp://HOST:{PORT} or tls://HOST:{PORT}"
        )
    return protocol, host, PORT if port is None else port


def _roles(mapping: object, what: str) -> dict[str, Any]:
    """Return the roles of a mapping, as ``Case.hosts`` holds them; UsageError says what is wrong with them."""
    typed = mapping
    if isinstance(mapping, Mapping):
        typed = {role: _named(role, value) for role, value in mapping.items() if value is not None}
    try:
        roles: dict[str, Any] = msgspec.to_builtins(msgspec.convert(typed, Roles))
    except msgspec.ValidationError as reason:
        raise UsageError(
            f"{what}: {one_line(str(reason), 300)}; write lines like scheduler: tls://HOST:{PORT}, server: NAME and "
            "load: [NAME, NAME], with names of letters, digits, . _ + -"
        ) from reason
    address_of(roles["scheduler"])
    names = [name for role in ROLES if role in roles for name in _listed(roles[role])]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{what} names {twice[0]} twice: a host has one role")
    return roles


def _named(role: object, value: Any) -> Any:
    """Return what has a role; a number, which YAML reads where a name has digits alone, is a name too."""
    if role not in ROLES:
        return value
    names = [quoted(name) if type(name) is int else name for name in _listed(value)]
    return names if role == "load" or isinstance(value, list | tuple) else names[0]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


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
