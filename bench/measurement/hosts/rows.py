"""The rows of the table ``hosts``: which host had which role in a start, its clock, and its kernel's counters."""

from collections.abc import Sequence
from typing import Any

from bench.contract import PACING
from bench.measurement.hosts.host import Assignment, Host, HostWindow
from bench.process.spec import Done
from bench.run.schema import HOSTS

OF_SERVER = ("server_cpu_ns", "router_cpu_ns", "controller_cpu_ns")
COUNTERS = tuple(name for name in HOSTS.names if name.endswith("_ns") or name.startswith("tcp_"))


def rows(
    hosts: Assignment,
    of_clients: Sequence[Host],
    windows: Sequence[HostWindow],
    done: Sequence[Done],
    has_server: bool,
) -> list[dict[str, Any]]:
    """Return one row per host and role, without the start; none where all processes ran on this machine.

    of_clients: the host of each client process, in the order of ``done``. has_server: whether a server was started.
    """
    if hosts.is_here:
        return []
    by_host = {id(window.host): window for window in windows}
    made = [_row(by_host[id(hosts.server)], "server", [], done)] if has_server else []
    loading = len(of_clients) - (hosts.latency is not None)
    for host in {id(host): host for host in hosts.load}.values():
        numbers = [number for number in range(loading) if of_clients[number] is host]
        made.append(_row(by_host[id(host)], "load", numbers, done))
    if hosts.latency is not None:
        made.append(_row(by_host[id(hosts.latency)], "latency", [loading], done))
    return made


def _row(window: HostWindow, role: str, clients: Sequence[int], done: Sequence[Done]) -> dict[str, Any]:
    go_ns = window.go_ns - window.before.offset_ns  # by the conductor's clock
    used, reports = window.metered.used, [done[number] for number in clients]
    cpu_times = [used[name] for name in OF_SERVER if name in used]
    if role == "server":
        cpu_ns = sum(cpu_times) if cpu_times else None
    else:
        cpu_ns = sum(report.client_cpu_ns for report in reports)
    return {name: value for name, value in used.items() if name in COUNTERS} | {
        "host": window.host.name,
        "role": role,
        "first_client": clients[0] if clients else None,
        "clients": len(clients),
        "offset_ns": window.before.offset_ns,
        "bound_ns": window.before.bound_ns,
        "at_ns": window.before.at_ns - go_ns,
        "after_offset_ns": window.after.offset_ns,
        "after_bound_ns": window.after.bound_ns,
        "after_at_ns": window.after.at_ns - go_ns,
        "cpu_ns": cpu_ns,
        "pacing_cpu_ns": _pacing_ns(reports),
        "gc_collections": sum(report.gc_collections for report in reports) if reports else None,
    }


def _pacing_ns(reports: Sequence[Done]) -> int | None:
    """Return the CPU time that clients spent spinning until requests were due; None where none of them counted it."""
    spun_us = [value for report in reports for name, value, _ in report.numbers if name == PACING]
    return round(1e3 * sum(spun_us)) if spun_us else None
