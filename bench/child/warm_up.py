"""The requests that warm a service up before it is announced, by the engine ``wire``: several at once.

One after another, they would not warm what calls side by side use: a server whose code is compiled while it runs then
answered a third of what it can. Connections are closed and opened again meanwhile: compiled code that has not seen a
connection end is thrown away when one does, and was slow for seconds after that.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from bench.child.timed_loops import NEVER_NS
from bench.child.wire import WireLoad
from bench.errors import TransportError
from bench.plan.case import Case
from bench.process.spec import ClientSpec, ServerSpec

CONNECTIONS = 16
ROUNDS = 8  # of new connections


def by_wire(spec: ServerSpec, system: Any, options: Any, address: str, requests: int) -> bool:
    """Make the requests; return whether their bytes can be prepared; TransportError where a reply is wrong."""
    measured, rounds = spec.case, min(ROUNDS, requests)
    of_round = requests // rounds
    connections = min(CONNECTIONS, max(1, of_round // 2))
    more = of_round // connections - 1  # of each connection, behind its first call
    case = Case(measured.system, measured.transport, measured.payload_bytes, measured.options, engine="wire",
                callers=connections, max_calls=max(1, more) * connections)  # fmt: skip
    client_spec = ClientSpec(case=case, seed=spec.seed, window_s=0.0, cpus=None, server_cpus=None, share=(0, 1),
                       schedule_seed=spec.seed)  # fmt: skip
    with _unpinned():
        for _ in range(rounds):
            try:
                load = WireLoad(system, options, address, client_spec)
            except ValueError:
                return False
            with contextlib.closing(load):
                load.first()
                if more:
                    load.load(0, NEVER_NS)
                if errors := load.report().errors:
                    raise TransportError(f"{errors:,} of {of_round:,} requests that warm it up failed")
    return True


@contextlib.contextmanager
def _unpinned() -> Iterator[None]:
    """Let this process use all CPUs, also those that the service has not."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
