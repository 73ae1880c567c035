"""A run that is measured to be interrupted: ``python measuring.py``; it resumes the last one of the same plan."""

import sys

from bench.measurement import runner
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run import stored
from bench.validation.profiles import make_plan

SYSTEMS = ("sockets", "zeromq", "http_stdlib", "xmlrpc_stdlib")


def plan(system: str) -> Plan:
    """Return a plan of a few short starts."""
    return make_plan(
        "latency", [Case(system, "tcp" if "tp" in system or "rpc" in system else "ipc", 64)], starts=4, window_s=0.15
    )


if __name__ == "__main__":
    asked = plan(sys.argv[1])
    print(runner.run(asked, stored.unfinished(asked)).id)
