"""Validation: whether a case can be measured with the installed systems. Stored cases are not validated."""

import contextlib
import json
import os
import typing
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from bench import systems
from bench.child import generators
from bench.codecs.message_types import BYTES
from bench.contract import Address, Binding, parse_address
from bench.errors import NotInstalledError, SystemFileError, UsageError, unknown
from bench.measurement.validation import connection_use, message_support, reply_stream_support, sources
from bench.plan import arrivals, credentials, hosts, namespaces, parameters
from bench.plan.case import (
    ENGINES,
    LIMITS,
    MOST_BYTES,
    MOST_CALLS,
    MOST_CLIENTS,
    MOST_CONNECTIONS,
    MOST_PER_S,
    MOST_STREAMS,
    WHOLE,
    Case,
)
from bench.plan.placement import PLACEMENTS
from bench.plan.retry_policy import RetryPolicy
from bench.process import event_loops
from bench.text import listed, quoted


def checked(case: Case) -> Case:
    """Return the case with all of its system's options; UsageError for a combination that cannot be measured.

    NotInstalledError if the system's library, or the program that makes the calls, is missing. Where the case has a
    source, an interpreter that imports from there checks it.
    """
    if case.source:
        return sources.checked(case)
    case = _of_kinds(case)
    hosts.check(case)
    provided = systems.constant(case.system, "TRANSPORTS")
    if case.transport not in provided:
        raise UsageError(f"{case.system} has no transport {quoted(case.transport)}: it has {', '.join(provided)}")
    if case.transport == "inproc" and case.clients != 1:
        raise UsageError("inproc is one process, so it takes clients 1; use ipc or tcp for more")
    if case.target is not None:
        _check_target(case, parse_address(case.target))
    if case.is_paced:
        _check_open(case)
    parameters.one_name(case.engine, "engine", ENGINES)
    module = systems.load(case.system)
    if case.target is None and (running := getattr(module, "target", None)):  # a service that is not started here
        case = replace(case, target=running)
    _check_whole(case, module)
    if case.load == "stream" and not hasattr(module, "Receiver"):
        raise UsageError(f"{case.system} has no one-way streams (no Sender and Receiver in its file)")
    options = case.options
    if case.message != BYTES:
        message_support.refuse_if_no_carrier(case, module)
    case = replace(case, options=options_of(module.Options, options, case.system))
    case = (
        message_support.bytes_only(case, options)
        if case.message == BYTES
        else message_support.carrying(case, options, module)
    )
    if case.engine == "library" and case.load not in ("closed", "session"):
        _check_native_client(case, module)
    if case.load in WHOLE:
        _check_sessions(case)
    if case.load == "retry":
        case = replace(case, retry=_checked_retry(case))
    if credentials.wanted(case.options):
        _check_encrypted(case)
    if case.load == "reply_stream":
        reply_stream_support.check(case, module)
    elif getattr(module, "has_streams", False):
        raise UsageError(f"{case.system} answers with streams of messages: measure them by bench run streaming")
    if case.engine == "wire":
        _check_wire(case, module)
    if case.generator:
        _check_generator(case, module)
    connection_use.check(case, module)
    return case


def _check_whole(case: Case, module: Any) -> None:
    """Refuse a system without programs that it needs here, or whose file is not complete, and too large a payload."""
    if case.target is None:
        systems.need(case.system)
    systems.constant(case.system, "REQUIRES")
    if absent := [name for name in ("serve", "Client") if not hasattr(module, name)]:
        file = systems.file_of(case.system)
        raise SystemFileError(f"{file} defines no {absent[0]}: bench/contract.py lists what a file must define")
    largest, asked = systems.constant(case.system, "LARGEST_BYTES", MOST_BYTES), largest_bytes(case)
    if asked > largest:
        raise UsageError(f"{case.system} carries payloads of at most {largest:,} B, not {asked:,} B: give fewer bytes")


def largest_bytes(case: Case) -> int:
    """Return the largest payload that a case sends, in bytes."""
    return max(case.payload_bytes, case.large_bytes, case.p99_bytes, *(size for _, size in case.sessions))


def _of_kinds(case: Case) -> Case:
    """Return the case with numbers, options and placement of their kinds, also where texts spell them."""
    limits = LIMITS | {"callers": (1, _most_callers(case))}
    numbers: dict[str, Any] = {
        name: parameters.count(getattr(case, name), name, maximum, minimum)
        for name, (minimum, maximum) in limits.items()
    }
    is_linked = namespaces.is_asked(case.hosts)
    return replace(
        case,
        options=parameters.mapping(case.options, f"options of {case.system}"),
        placement=parameters.one_name(case.placement, "placement", list(PLACEMENTS)),
        hosts=namespaces.checked(case.hosts, case.transport) if is_linked else hosts.asked(case.hosts),
        **numbers,
    )


def _most_callers(case: Case) -> int:
    if case.load == "reply_stream":
        return MOST_STREAMS
    return MOST_CONNECTIONS if case.engine != "library" and case.load != "retry" else MOST_CLIENTS


def _check_target(case: Case, address: Address) -> None:
    if address.transport != case.transport:
        raise UsageError(f"target {case.target} is not reached over {case.transport}")
    if address.transport == "tcp" and address.port == 0:
        raise UsageError(f"target {case.target} has port 0, which no server listens at: give its real port")


def _check_open(case: Case) -> None:
    if case.transport == "inproc":
        raise UsageError("an open load needs a server in a process of its own: use ipc or tcp")
    arrivals.named(case.arrivals)
    parameters.positive(case.offered_per_s, "offered_per_s", MOST_PER_S, whole=False)
    if case.arrivals == "recorded":
        _check_recorded(case)


def _check_recorded(case: Case) -> None:
    """Refuse recorded arrivals where there is no recording with times, or no single client that replays it."""
    service = systems.service_of(case.system)
    if service is None or (recorded := service.recording) is None:
        raise UsageError("arrivals recorded need a recording: name a service file that has one")
    if not sum(recorded.gaps_s):
        raise UsageError(f"the recorded requests of {case.system} have no times: write at_s, or other arrivals")
    if case.clients != 1:
        raise UsageError("one client process replays a recording: give clients 1, and callers for more connections")


def _check_sessions(case: Case) -> None:
    if case.transport == "inproc" or case.engine != "library" or case.clients * case.callers != 1:
        what = "client processes run" if case.load == "session" else "connections are opened"
        raise UsageError(f"{what} one at a time, with their own library, over ipc or tcp")
    if not case.sessions:
        what = "client process" if case.load == "session" else "connection"
        raise UsageError(f"give at least one {what}: how many calls it makes, and their payload")


def _check_native_client(case: Case, module: Any) -> None:
    """Refuse a load that a native client does not make, where the system lets one choose another client."""
    if "client" in case.options and systems.makes_calls(module, case.options):
        raise UsageError(
            f"the native client of {case.system} makes closed loads only: give the option client python, as in "
            '-p options "{client: python}"'
        )


def _check_encrypted(case: Case) -> None:
    """Refuse a transport that is not encrypted, and a target without the authority that its clients trust."""
    name = next(name for name in credentials.OPTIONS if case.options.get(name))
    offered = encrypted_transports(case.system)
    if case.transport == "inproc":
        raise UsageError(f"inproc is memory of one process, with nothing to encrypt: give {name} false, or ipc or tcp")
    if case.transport not in offered:
        raise UsageError(f"{case.system} encrypts over {', '.join(offered)} only: give {name} false over ipc")
    if case.target is not None and not os.environ.get(credentials.FOLDER):
        raise credentials.missing(credentials.AUTHORITY)


def encryption(system: str) -> str | None:
    """Return the name of the option by which a system encrypts; None if it has none."""
    return next((name for name in credentials.OPTIONS if hasattr(systems.load(system).Options, name)), None)


def encrypting() -> list[str]:
    """Return the names of the systems here that can encrypt; it imports all of them."""
    encrypt = []
    for name in systems.names():
        with contextlib.suppress(NotInstalledError):
            encrypt += [name] * (encryption(name) is not None)
    return encrypt


def encrypted_transports(system: str) -> tuple[str, ...]:
    """Return the transports over which a system encrypts if its options say so."""
    usual = tuple(name for name in systems.constant(system, "TRANSPORTS") if name != "inproc")
    return tuple(systems.constant(system, "ENCRYPTED", usual))


def _checked_retry(case: Case) -> dict[str, Any]:
    """Return all fields of the case's retry policy; UsageError for what it cannot be, or who cannot carry it out."""
    if case.engine != "wire" or case.clients != 1:
        raise UsageError("retries are made by one client: give engine wire, clients 1, and callers: its connections")
    try:
        return asdict(RetryPolicy.from_values(case.retry))
    except ValueError as reason:
        raise UsageError(f"retry policy: {reason}") from reason


def _check_wire(case: Case, module: Any) -> None:
    """Refuse a system that does not describe its wire, or options that the wire cannot carry out."""
    if case.load == "stream":
        raise UsageError("the engine wire makes calls, and a stream has none: give engine library")
    if not hasattr(module, "Wire") or case.transport == "inproc":
        able = ", ".join(systems.offering("Wire"))
        raise UsageError(f"{case.system} over {case.transport} has no engine wire: over ipc or tcp {able} have one")
    if instead := systems.unmet(module.Options(**case.options), getattr(module, "FOR_WIRE", {})):
        raise UsageError(f"{case.system}: for the engine wire give {instead}, or give engine library")
    try:
        kind = module.StreamWire if case.load == "reply_stream" and hasattr(module, "StreamWire") else module.Wire
        wire = kind(Binding(case.transport, "").endpoint(), module.Options(**case.options))
    except ValueError as reason:
        raise UsageError(f"{case.system}: {reason}, or engine library") from reason
    if case.load in ("retry", "reply_stream") and hasattr(wire, "begin") and kind is module.Wire:
        raise UsageError(
            f"the engine wire makes the load {case.load} without HTTP/2 and brokers: name another system than "
            f"{case.system}"
        )


def _check_generator(case: Case, module: Any) -> None:
    """Refuse a case that its load generator cannot carry out; NotInstalledError if the program is missing."""
    name = case.engine
    if case.load != "closed":
        raise UsageError(f"{name} makes closed loads only: give load closed, or engine library")
    if case.transport != "tcp" or not hasattr(module, "url"):
        able = ", ".join(systems.offering("url"))
        raise UsageError(f"{case.system} over {case.transport} has no engine {name}: over tcp {able} have one")
    if case.clients != 1:
        raise UsageError(
            f"{name} holds all connections in one process: give callers (one per connection) and clients 1"
        )
    if case.max_calls < MOST_CALLS:
        raise UsageError(f"{name} runs for a time, not for a number of calls: give engine library or wire for those")
    try:
        module.url("tcp://127.0.0.1:0", module.Options(**case.options), case.payload_bytes)
    except ValueError as reason:
        raise UsageError(f"{case.system}: {reason}, or engine library") from reason
    generators.program(name)


def options_of(kind: type[Any], options: Mapping[str, Any], system: str) -> dict[str, Any]:
    """Return all options of a system with their values; UsageError lists the known options or values.

    NotInstalledError for a library that an option asks for, an event loop for example.
    """
    by_name = {field.name: field for field in fields(kind)}
    if not by_name and options:
        raise UsageError(f"{system} has no options, so {', '.join(options)} cannot be set")
    values, allowed = {name: field.default for name, field in by_name.items()}, choices(kind)
    for name, value in options.items():
        if name not in by_name:
            raise unknown(f"option of {system}", name, by_name)
        what = f"option {name} of {system}"
        values[name] = (
            _one_of(value, allowed[name], what) if name in allowed else _typed(value, type(values[name]), what)
        )
    try:
        event_loops.factory(kind(**values))
    except ValueError as reason:
        raise UsageError(f"option of {system}: {reason}") from reason
    return values


def choices(kind: type[Any]) -> dict[str, tuple[Any, ...]]:
    """Return the values of each option that is a ``Literal``, by its name."""
    hints = typing.get_type_hints(kind)
    return {
        field.name: typing.get_args(hints[field.name])
        for field in fields(kind)
        if typing.get_origin(hints[field.name]) is typing.Literal
    }


def _one_of(value: object, allowed: tuple[Any, ...], what: str) -> object:
    """Return the value that is written so, which a shell or YAML may have read as another type (1.1 for "1.1")."""
    written = value if isinstance(value, str) else quoted(value)
    chosen = [choice for choice in allowed if str(choice) == written]
    if not chosen:
        texts = [json.dumps(text) if isinstance(text, str) and text[:1].isdigit() else str(text) for text in allowed]
        raise UsageError(f"{what} must be {listed(texts, 'or')}, not {quoted(value)}")
    return chosen[0]


def _typed(value: object, kind: type[Any], what: str) -> object:
    value = value if kind is str else parameters.literal(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise UsageError(f"{what} must be {_kind_in_words(kind)}, not {quoted(value)}")
    return value


def _kind_in_words(kind: type[Any]) -> str:
    return {bool: "true or false", int: "a whole number", float: "a number", str: "text"}.get(kind, kind.__name__)
