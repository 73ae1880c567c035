"""The loads that differ in how they use connections: new ones after some calls, many calls under way on each."""

import inspect
from typing import Any

from bench.process.spec import ClientSpec


def load_of(system: Any, options: Any, address: str, spec: ClientSpec) -> Any:
    """Return the load for a specification, with the methods of ``bench.child.loads.Callers``."""
    if spec.case.calls_per_connection:
        from bench.child.renewed_connections import Churn

        return Churn(system, options, address, spec)
    if spec.case.load == "open":
        from bench.child.outstanding_open import OpenOutstanding

        return OpenOutstanding(system, options, address, spec)
    from bench.child import outstanding

    is_async = inspect.iscoroutinefunction(getattr(system.Client, "call", None))
    kind = outstanding.Awaited if is_async else outstanding.Pipelined
    return kind(system, options, address, spec)
