"""Estimates: how long a plan takes, and its description before it begins."""

import contextlib
import math
import os
from dataclasses import replace

from bench import systems
from bench.child import generators
from bench.errors import SystemFileError, UsageError
from bench.measurement.validation.cases import INSTRUMENT
from bench.plan import hosts, slicing
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.text import counted

FAR_S = 0.4  # of a start in addition, where other machines take part: orders, and two comparisons of clocks
START_S = 0.065  # time of each process of a start in addition to the window: interpreter, connecting, writing
ROUTER_S = 7.0
SWITCH_S = 0.0025  # between two slices: clocks, counters, orders, the last call
TRACED_S = 0.06  # for each slice that is traced: its events are read and decoded
BLOCK_S = 0.15  # of a block of slices in addition
AT_ONCE = 2  # so many times faster than one after another processes start that start together, on one CPU
LEAST_BLOCKS, MOST_BLOCKS = 12, 200
AGREED = "ROUNDTRIP_YES"  # set by `bench run --yes`
MOST_HOURS = 24
STREAM_S = 0.0015  # for each stream of replies: connecting, and its last replies behind the window's end
CALL_S = 0.0004  # per call, to estimate how long client processes take
WIRED_CALL_S = 0.00008  # of a warm-up by wire, several at once
CONNECTION_S = 0.004


def expected_s(plan: Plan) -> float:
    """Return how long all starts of a plan will take, in seconds."""
    here = set(systems.names())  # a stored plan may name others
    routed = {
        case.system for case in plan.cases if case.system in here and systems.is_routed(case.system, case.options)
    }
    routers_s = sum(float(systems.constant(system, "ROUTER_S", ROUTER_S)) for system in routed)
    return plan.starts * _block_s(plan) + routers_s


def blocks_in(plan: Plan, seconds: float) -> int:
    """Return how many blocks of a plan in slices fit into a time, from ``LEAST_BLOCKS`` to ``MOST_BLOCKS``.

    Of less than ``LEAST_BLOCKS`` seconds: two, which are no more than a test.
    """
    least = LEAST_BLOCKS if seconds > LEAST_BLOCKS else 2
    return max(least, min(MOST_BLOCKS, int(seconds / _block_s(plan))))


def _block_s(plan: Plan) -> float:
    """Return how long a block takes: its starts one after another, those of a group at once."""
    ((_, parts),) = replace(plan, starts=1).blocks()
    return sum(_part_s(plan, [plan.cases[index] for _, index in part]) for part in parts)


def _part_s(plan: Plan, cases: list[Case]) -> float:
    if len(cases) == 1:
        return _start_s(cases[0], plan.window_s)
    slices = (slicing.WARM_UPS + plan.rounds) * len(cases) + slicing.STRETCH / slicing.blocks_per_stretch(len(cases))
    processes_s = sum(_process_s(case) * (1 + case.processes) for case in cases)
    processes_s /= AT_ONCE * min(2, os.cpu_count() or 1)
    traced_s = TRACED_S * slices / len(cases) * sum(case.traced for case in cases)
    return slices * (plan.slice_s + SWITCH_S) + processes_s + traced_s + max(map(_warm_up_s, cases)) + BLOCK_S


def _start_s(case: Case, window_s: float) -> float:
    process_s = _process_s(case)
    if case.generator:
        window_s = generators.module(case.generator).seconds(window_s)
    if case.is_short:  # until its calls are made, or all of its window if they are slow
        calls = 0 if case.system == "loopback" or case.sessions else case.max_calls / case.under_way
        window_s = min(window_s, CALL_S * calls)
    streams_s = case.stream_s / 2 + STREAM_S * case.callers * (case.load == "reply_stream")
    far_s = FAR_S * hosts.is_far(case.hosts)
    return float(window_s + process_s * (1 + case.processes) + _warm_up_s(case) + sessions_s(case) + streams_s + far_s)


def _warm_up_s(case: Case) -> float:
    with contextlib.suppress(UsageError, SystemFileError):
        return WIRED_CALL_S * systems.warm_up(case.system)
    return 0.0


def _process_s(case: Case) -> float:
    """Return how long a process of a case's system takes to start, in seconds; that system need not be here."""
    with contextlib.suppress(UsageError, SystemFileError):
        return float(systems.constant(case.system, "START_S", START_S))
    return START_S


def sessions_s(case: Case) -> float:
    """Return about how long the client processes, or connections, of a load of whole ones take together, in seconds."""
    process_s = 0.1 + _process_s(case) if case.load == "session" else CONNECTION_S
    return sum(process_s + CALL_S * calls for calls, _ in case.sessions)


def refuse_too_long(plan: Plan) -> None:
    """Raise UsageError for a plan that takes too long: see ``refuse``."""
    fewer = "ask for fewer cases, starts (starts) or shorter windows (window_s)"
    refuse(expected_s(plan), plan.profile, "this plan", fewer)


def refuse(seconds: float, profile: str, what: str, instead: str) -> None:
    """Raise UsageError for what takes more than a day, and for what takes more than an hour without consent.

    The profile ``full`` and the environment variable ``ROUNDTRIP_YES`` agree.
    """
    hours = seconds / 3600
    if hours > MOST_HOURS:
        raise UsageError(
            f"{what} takes about {hours:,.0f} hours: at most {MOST_HOURS} are measured in one run; {instead}"
        )
    if hours > 1 and profile != "full" and AGREED not in os.environ:
        raise UsageError(
            f"{what} takes about {hours:.1f} hours: if you want that, choose -p profile full, or bench run --yes; "
            f"else {instead}"
        )


def described(plan: Plan) -> str:
    """Return a description of the plan with its expected duration."""
    processes = max(len(case.sessions) for case in plan.cases)
    what = "connections" if any(case.load == "reconnect" for case in plan.cases) else "client processes"
    windows = f"{processes} {what} in each" if processes else "" if plan.slice_s else plan.windows
    if plan.slice_s:
        amount = [f"{counted(plan.starts, 'block')} of {plan.slices}", windows]
        if alone := plan.windows_apart:
            amount.append(f"{counted(len(alone), 'case')} in starts with {plan.windows}")
    else:
        amount = [counted(plan.starts, "start"), windows]
    taking_turns = len(plan.cases) - len(plan.apart) if plan.slice_s else len(plan.cases)
    of_instrument = [index for index, case in enumerate(plan.cases) if case.system == INSTRUMENT]
    instrument = ""
    if len(of_instrument) == 1 < len(plan.cases):
        is_apart = plan.slice_s and of_instrument[0] in plan.apart
        instrument = f" and {INSTRUMENT}" if is_apart else f" (one is {INSTRUMENT}, the instrument alone)"
    starts = f"{counted(taking_turns, 'case')}{instrument} x {', '.join(filter(None, amount))}"
    return "; ".join([f"{starts}, profile {plan.profile}: about {expected_s(plan):.0f} s", *hosts.each(plan)])


def whole_replays_s(case: Case, window_s: float) -> float:
    """Return a window in which a recording is replayed once or more, always as a whole; of other arrivals this one."""
    service = systems.service_of(case.system)
    if case.arrivals != "recorded" or service is None or service.recording is None:
        return window_s
    replay_s = len(service.recording.requests) / case.offered_per_s
    return replay_s * max(1, math.ceil(window_s / replay_s - 1e-9))
