"""Validation of how a case uses connections: new ones after some calls, calls under way side by side, a large one."""

from typing import Any

from bench import systems
from bench.child.caller import is_async
from bench.codecs.message_types import BYTES
from bench.contract import Binding
from bench.errors import UsageError
from bench.plan.case import Case

ENCRYPTS_ONE = {"tls": False}  # the engine wire carries one call at a time on an encrypted connection


def check(case: Case, module: Any) -> None:
    """Raise UsageError for a use of connections that cannot be carried out."""
    if case.calls_per_connection:
        _check_churn(case, module)
    if case.outstanding > 1:
        _check_outstanding(case, module)
    if case.large_bytes:
        _check_large(case, module)
    if case.p99_bytes:
        _check_sizes(case, module)
    if case.message != BYTES and (case.large_bytes, case.p99_bytes) != (0, 0):
        raise UsageError("only opaque bytes can vary in size: give message bytes")
    if case.load == "open" and case.engine != "wire" and case.callers * case.outstanding > 1:
        _check_open(case, module)


def _check_churn(case: Case, module: Any) -> None:
    if case.transport == "inproc":
        raise UsageError("inproc has no connections to open again: use ipc or tcp for calls_per_connection")
    is_own = case.engine == "library" and systems.makes_calls(module, case.options)
    if case.load != "closed" or case.generator or is_own:
        raise UsageError(
            f"calls_per_connection is for closed loads by a system's own client library in Python, or wire, not for "
            f"{case.system} with load {case.load} and engine {case.engine}: give 0, which keeps connections"
        )
    if case.outstanding != 1:
        raise UsageError("a connection is renewed between two calls: give outstanding 1, or calls_per_connection 0")
    if case.options.get("connections") == "shared":
        raise UsageError("a shared connection is never closed: give connections own, or calls_per_connection 0")


def _check_outstanding(case: Case, module: Any) -> None:
    by_wire = case.engine == "wire" and case.load == "closed"
    if not by_wire and (case.load not in ("closed", "open") or case.engine != "library"):
        raise UsageError(
            f"several calls are under way on one connection in closed and open loads by a system's own client library "
            f"and in closed loads by the engine wire, not with load {case.load} and engine {case.engine}: give "
            "outstanding 1, and callers for more connections"
        )
    _need_multiplexed(case, module)


def _need_multiplexed(case: Case, module: Any) -> None:
    """Raise UsageError where a connection of the system carries one call at a time, with these options or any."""
    name, suffix = ("MultiplexedWire", " by the engine wire") if case.engine == "wire" else ("Multiplexed", "")
    if not hasattr(module, name):
        raise UsageError(
            f"a connection of {case.system} carries one call at a time{suffix}: give callers, a connection each, "
            f"instead of outstanding; several calls share one in {', '.join(systems.offering(name))}"
        )
    options = module.Options(**case.options)
    needed = ENCRYPTS_ONE if case.engine == "wire" else getattr(module, "FOR_MULTIPLEXED", {})
    if instead := systems.unmet(options, needed):
        several = f"several calls under way on one connection{suffix}"
        raise UsageError(f"{case.system}: for {several} give {instead}, or give outstanding 1")
    try:
        getattr(module, name)(Binding(case.transport, "").endpoint(), options)
    except ValueError as reason:
        raise UsageError(f"{case.system}: {reason}, or outstanding 1") from reason


def _check_large(case: Case, module: Any) -> None:
    if (
        case.load != "closed"
        or case.engine != "library"
        or case.calls_per_connection
        or systems.makes_calls(module, case.options)
    ):
        raise UsageError("large_bytes is for closed loads by a system's own client library, over kept connections")
    if case.callers * case.outstanding < 2:
        raise UsageError("no other call is under way beside the large one: give outstanding or callers 2 or more")


def _check_sizes(case: Case, module: Any) -> None:
    if case.load not in ("closed", "open") or case.engine != "library" or systems.makes_calls(module, case.options):
        raise UsageError("sizes vary (p99_bytes) in closed and open loads by a system's own client library in Python")
    if case.p99_bytes <= case.payload_bytes:
        raise UsageError(f"p99_bytes must be above the median payload_bytes ({case.payload_bytes:,}), or 0")


def _check_open(case: Case, module: Any) -> None:
    if not is_async(module.Client):
        raise UsageError(
            f"the client of {case.system} waits for each reply, so an open load is paced by client processes with one "
            "caller each: give clients, not callers or outstanding"
        )
