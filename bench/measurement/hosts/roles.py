"""Roles of hosts: which of those that are connected serve, load, or measure latency."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.errors import BENCH, UsageError
from bench.measurement.hosts.host import HERE, Assignment, Host
from bench.text import listed, quoted


def assigned(asked: Mapping[str, Any], hosts: Sequence[Host]) -> Assignment:
    """Return the roles of hosts: those asked for by name; else the first by name serves and the rest load.

    Where no host is left to load, this machine does. UsageError for a name that no host has.
    """
    by_name: dict[str, Host] = {host.name: host for host in sorted(hosts, key=lambda host: host.name)}

    def named(role: str, name: str) -> Host:
        if name == HERE.name and role != "server":
            return HERE
        if name not in by_name:
            raise UsageError(
                f"no host is called {quoted(name)}, which {role} names: there are {listed(by_name) or 'none'}"
            )
        return by_name[name]

    loads = [named("load", name) for name in asked.get("load", ())]
    latency = named("latency", asked["latency"]) if asked.get("latency") else None
    free = [host for host in by_name.values() if host not in loads and host is not latency]
    if asked.get("server"):
        server = named("server", asked["server"])
    elif free:
        server = free[0]
    else:
        raise UsageError(f"no host is left for the server: start one more ({BENCH} host), or name a server")
    loads = loads or [host for host in free if host is not server] or [HERE]
    return Assignment(server, tuple(loads), latency)


def for_target(asked: Mapping[str, Any], assignment: Assignment) -> Assignment:
    """Return the roles for a server that runs elsewhere: all hosts load, unless those that load are named."""
    loads = assignment.load if asked.get("load") else (assignment.server, *assignment.load)
    loads = tuple(host for host in loads if host is not HERE) or (HERE,)
    return Assignment(HERE, loads, assignment.latency, assignment.records)


def role_of(assignment: Assignment, host: Host) -> str:
    """Return the roles of a host in words."""
    roles = ["server"] * (host is assignment.server) + ["load"] * (host in assignment.load)
    return ", ".join(roles + ["latency"] * (host is assignment.latency)) or "none"
