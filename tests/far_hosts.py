"""Runs of several hosts made by hand: each host's clients make calls of a given duration."""

from dataclasses import replace

import numpy as np
from handmade import FACTS, finished

from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run import start_record, stored
from bench.run.start_record import StartRecord

SCHEDULER = {"scheduler": "tcp://10.0.0.1:8786"}
SERVER = "s"


def far_case(**changes):
    """A case that hosts measure."""
    return Case("sockets", "tcp", **{"placement": "free", "hosts": SCHEDULER} | changes)


def machine(number, cpus=4):
    """The record of a host's machine."""
    return FACTS["machine"] | {"machine_id": f"{number:08x}", "cpus_allowed": cpus}


def far_run(
    cases,
    hosts,
    rtt_us,
    starts=6,
    calls=1000,
    latency=None,
    late_ns=None,
    busy=None,
    rows=None,
    shape=None,
    notebook="latency",
    write=finished,
):
    """Return a run in which the clients of host h make calls of about rtt_us[h] us back to back: ``calls`` the slowest.

    hosts: names of those that load; clients are shared out in turn. latency: one more host, whose client is alone.
    late_ns: by host, when its clients begin after *go*. busy: by host, CPU time of its role in ns. rows: by host,
    further columns of the table. shape: factors of the calls of a host from its name and the number of the start.
    write: as of ``handmade``.
    """
    if latency:
        cases = [replace(case, hosts=case.hosts | {"latency": latency}) for case in cases]
    plan = make_plan(notebook, cases, starts=starts, window_s=0.01)
    records = {name: machine(number) for number, name in enumerate((SERVER, *hosts, *([latency] if latency else [])))}
    folder, made = stored.create(plan, FACTS | {"hosts": records}), []
    for start, block, index in plan.order():
        case = plan.cases[index]
        if not case.hosts:
            made.append(start_record.tables(start, block, index, case, _here(rtt_us["here"], calls)))
            continue
        client_hosts = [hosts[number % len(hosts)] for number in range(case.clients)] + ([latency] if latency else [])
        arrays = []
        for name in client_hosts:
            many = int(calls * max(rtt_us[one] for one in client_hosts) / rtt_us[name])
            for _ in range(case.callers * case.outstanding):
                rtt = np.rint(1000 * rtt_us[name] * (1 + block / 100 + np.arange(many) / 1e6))
                rtt = (rtt * (shape(name, start, many) if shape else 1)).astype("i8")
                sent = np.concatenate([[0], np.cumsum(rtt)[:-1]]) + (late_ns or {}).get(name, 0)
                arrays.append(np.stack([sent, sent + rtt, sent][: 3 if case.load == "open" else 2]))
        total, window_ns = sum(len(one[1]) for one in arrays), max(int(one[1][-1]) for one in arrays)
        table = [(SERVER, "server", None, 0)]
        table += [(name, "load", *_first(client_hosts[: case.clients], name)) for name in hosts]
        table += [(latency, "latency", case.clients, 1)] if latency else []
        known = {"calls": total, "server_calls": total, "window_s": window_ns / 1e9, "errors": 0, "first_rtt_ns": 1,
                 "client_cpu_ns": 10 * total, "server_cpu_ns": 20 * total, "gc_collections": 0,
                 "scheduled": total if case.load == "open" else None}  # fmt: skip
        host_rows = [
            {"host": name, "role": role, "first_client": first, "clients": clients, "offset_ns": 0, "bound_ns": 100,
             "at_ns": -1000, "after_offset_ns": 0, "after_bound_ns": 100, "after_at_ns": window_ns,
             "machine_busy_ns": 0, "steal_ns": 0, "throttled_ns": 0, "cpu_ns": (busy or {}).get(name, 0),
             "gc_collections": 0 if clients else None} | (rows or {}).get(name, {})
            for name, role, first, clients in table
        ]  # fmt: skip
        made.append(start_record.tables(start, block, index, case, StartRecord(known, arrays, {"hosts": host_rows})))
    return write(folder, made)


def _here(us, calls):
    """The record of a start of this machine alone, whose calls take ``us``."""
    sent = np.arange(calls) * round(1000 * us)
    known = {"calls": calls, "server_calls": calls, "window_s": calls * us / 1e6, "errors": 0, "gc_collections": 0}
    return StartRecord(known, calls=[np.stack([sent, sent + round(1000 * us)])])


def _first(client_hosts, name):
    return (client_hosts.index(name), client_hosts.count(name)) if name in client_hosts else (None, 0)
