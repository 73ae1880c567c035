"""Specifications of children that tests start, or whose load they make in their own process."""

import asyncio
import contextlib
import time
from dataclasses import fields
from typing import get_args

from bench import systems
from bench.child.caller import is_async, translating
from bench.child.client import make_load
from bench.plan.case import Case
from bench.process.spec import ClientSpec, Connect, ServerSpec

OF_CASE = {field.name for field in fields(Case)}


def divided(values):
    """Return what of some names is of a case, and what of its specification."""
    return ({name: value for name, value in values.items() if name in OF_CASE},
            {name: value for name, value in values.items() if name not in OF_CASE})  # fmt: skip


def choices(module, option):
    """Return the values that an option of a system may have."""
    return get_args(module.Options.__annotations__[option])


def server_spec(system, transport="tcp", options=None, **more) -> ServerSpec:
    """Return what a server is told."""
    of_case, others = divided(more)
    return ServerSpec(case=Case(system, transport, options=options or {}, **of_case), **others)


def client_spec(**more) -> ClientSpec:
    """Return what a client is told: one caller of 100 B, 20 calls, unless ``more`` says otherwise."""
    of_case, others = divided(more)
    usual = {"system": "sockets", "transport": "tcp", "payload_bytes": 100, "max_calls": 20, "offered_per_s": 1.0}
    of_case = usual | of_case
    of_case["max_calls"] *= of_case.get("callers", 1) * of_case.get("outstanding", 1)  # of each caller
    rest = {"window_s": 1.0, "cpus": None, "server_cpus": None, "share": (0, 1), "schedule_seed": 1}
    return ClientSpec(case=Case(**of_case), **rest | others)


def run_load(load, at_ns, until_ns):
    """Make a load's calls of a window, as a client's process does."""
    if hasattr(load, "schedule_from"):
        load.schedule_from(at_ns)
    load.load(at_ns, until_ns)


def reported(load, window_ns=10**11):
    """Make a load's first calls and those of a window, and disconnect; return what it reports."""
    try:
        assert load.first() > 0
        now = time.perf_counter_ns()
        run_load(load, now, now + window_ns)
        return load.report()
    finally:
        load.close()


def library_load(system, options, address, spec):
    """Return the load that a client's process makes of a specification."""
    return make_load(system, options, Connect(address=address), spec)


def report_of(system, address, window_s=20.0, **more):
    """Return what a load reports that this process makes, until its calls are made or its window is over."""
    spec = client_spec(window_s=window_s, **more)
    return reported(library_load(system, system.Options(), address, spec), int(1e9 * window_s))


@contextlib.contextmanager
def calling(name, address, **options):
    """Yield a function that makes a call with an open client of a system, in this process."""
    system = systems.load(name)
    client = system.Client(address, system.Options(**options))
    with asyncio.Runner() as runner:
        run = runner.run if is_async(type(client)) else (lambda result: result)
        run(client.open())

        def call(payload):
            with translating(client):
                return run(client.call(payload))

        try:
            yield call
        finally:
            run(client.close())
