"""What is measured for overview.ipynb: every installed system, or those of some groups."""

from typing import Any

from bench import systems
from bench.contract import GROUPS
from bench.errors import SystemFileError, UsageError
from bench.plan import parameters
from bench.plan.case import MOST_BYTES, Case
from bench.plan.plan import Plan
from bench.text import quoted
from bench.validation.amount import InTurns
from bench.validation.cases import FLOOR, MADE_UP, absent_of, chosen_systems, instrument, payload
from bench.validation.message_support import carries, usual_options
from bench.validation.support import encrypted_transports, encryption

SLOW_S = 1.0
BLOCKS_S = 140.0  # about fifteen blocks of all systems
MOST_PAIRED = 12  # systems whose second client is measured too, unless it is asked for
SHOWN = tuple(name for name in GROUPS if name != "instrument")
NOT_TAKEN = ("placement",)  # one client and two have one each


def plan(
    given: InTurns,
    system: object = "all",
    groups: object = "all",
    two_clients: object = "auto",
    payload_bytes: object = 1000,
    tls: object = False,
    message: object = "bytes",
) -> Plan:
    """Plan every installed system by its shortest way between two processes: one client, and then two.

    Of ``all`` systems those in ``groups`` are measured. One whose servers take seconds to start is measured if it is
    named. Two clients are compared with one client under the placement of parallel work: one factor at a time; with
    ``two_clients`` auto that is left out where more than ``MOST_PAIRED`` systems are measured, to take no longer.
    With ``tls`` all are encrypted, and systems that cannot encrypt are left out; likewise with a ``message``.
    hosts: see ``bench.plan.hosts``; all systems are then measured over tcp, and those without it are left out.
    In slices raw sockets are measured twice: their ratio to themselves is the noise of the other ratios.
    """
    size = payload(payload_bytes)
    chosen = chosen_systems(system)
    if parameters.literal(system) == "all":
        wanted = parameters.names(groups, "group", SHOWN)
        chosen = [name for name in chosen if _is_in(name, wanted)]
    elif parameters.literal(groups) != "all":
        raise UsageError("groups choose among all systems: give system all, or no groups")
    absent = absent_of(chosen) | _too_small(chosen, size)
    there = [name for name in dict.fromkeys([*chosen, FLOOR]) if name not in absent and name not in MADE_UP]
    between = given.there
    alone, parallel = given.where(), given.where(is_parallel=True)
    encrypted = parameters.flag(tls, "tls")
    kind = parameters.text(message, "message")
    offered = {name: _way(name, encrypted, is_far=bool(between)) for name in there if carries(name, kind)}
    ways = {name: way for name, way in offered.items() if way is not None}
    paired = _is_paired(two_clients, len(ways))
    cases: list[Case] = []
    shared: dict[str, Any] = {"message": kind, "hosts": between}
    for name, (by, options) in ways.items():
        options = options | usual_options(name, kind)
        cases.append(Case(name, by, size, options, alone, **shared))
        if paired and parallel != alone:
            cases.append(Case(name, by, size, options, parallel, **shared))
        if paired:
            cases.append(Case(name, by, size, options, parallel, clients=2, **shared))
    if any(case.transport == "tcp" for case in cases) and not between:
        places = dict.fromkeys([alone, parallel] if paired else [alone])
        cases += [Case(FLOOR, "tcp", size, {"tls": encrypted}, where, **shared) for where in places]  # for its ratios
    if given.slice_s and not between:
        cases += [case for case in cases if case.system == FLOOR and case.clients == 1][:1]  # the A/A ratio's twin
    cases.append(instrument(size, alone, between))
    return given.plan("overview", cases, absent, alike=("transport", "placement"), blocks_s=BLOCKS_S)


def _is_in(name: str, groups: list[str]) -> bool:
    """Return whether a system is in some groups and starts fast; one whose file cannot be read says so later."""
    try:
        return systems.group(name) in groups and systems.constant(name, "START_S", 0.0) <= SLOW_S
    except SystemFileError:
        return True


def _too_small(chosen: list[str], size: int) -> dict[str, str]:
    """Return the systems that do not carry a payload, each with its limit."""
    too_small = {}
    for name in chosen:
        try:
            most = systems.constant(name, "LARGEST_BYTES", MOST_BYTES)
        except SystemFileError:
            continue
        if most < size:
            too_small[name] = f"payload of {size:,} B: it carries {most:,} B at most"
    return too_small


def _is_paired(two_clients: object, count: int) -> bool:
    """Return whether a second client is measured: as asked, or for few systems."""
    if parameters.literal(two_clients) == "auto":
        return count <= MOST_PAIRED
    try:
        return parameters.flag(two_clients, "two_clients")
    except UsageError:
        raise UsageError(f"two_clients must be true, false or auto, not {quoted(two_clients)}") from None


def _way(name: str, encrypted: bool, is_far: bool = False) -> tuple[str, dict[str, Any]] | None:
    """Return a system's shortest transport between two processes, and its options; None if it cannot encrypt.

    Between machines it is tcp; None for a system without it.
    """
    option = encryption(name) if encrypted else None
    if encrypted and option is None:
        return None
    offered = encrypted_transports(name) if encrypted else systems.constant(name, "TRANSPORTS")
    if is_far and "tcp" not in offered:
        return None
    return "ipc" if "ipc" in offered and not is_far else "tcp", {option: True} if option else {}
