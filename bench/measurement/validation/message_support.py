"""Whether a case's system can carry its message: opaque bytes, a kind of message, or a user's file."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from bench import codecs, systems
from bench.child.structured_messages import carried
from bench.codecs import message_types
from bench.errors import UsageError, reason_of, unknown
from bench.plan import documents
from bench.plan.case import Case
from bench.text import quoted

OWN = "own"


def bytes_only(case: Case, options: Mapping[str, Any]) -> Case:
    """Return a case of opaque bytes without the option ``codec``; UsageError if one was asked for."""
    if "codec" in options and options["codec"] != systems.load(case.system).Options.codec:
        raise UsageError(
            "opaque bytes need no codec: give a message, such as items, with codec " + str(options["codec"])
        )
    return replace(case, options={name: value for name, value in case.options.items() if name != "codec"})


def refuse_if_no_carrier(case: Case, module: Any) -> None:
    """Raise UsageError for a structured message where only opaque bytes are carried."""
    is_own = case.engine == "library" and systems.makes_calls(module, case.options)
    if case.load not in ("closed", "open") or case.generator or is_own:
        raise UsageError(
            f"the message {quoted(case.message)} is carried by a system's own Python library or by the engine wire, in "
            "closed and open loads: give engine library, another system, or message bytes"
        )
    if case.engine == "wire" and hasattr(module, "coder"):
        raise UsageError(f"the engine wire has no bytes for structured messages of {case.system}: give engine library")
    if not _carries(module):
        raise UsageError(f"{case.system} carries opaque bytes only: messages are carried by {', '.join(carriers())}")


def carrying(case: Case, options: Mapping[str, Any], module: Any) -> Case:
    """Return a case of a structured message, with the text of a user's own; UsageError if it cannot be carried."""
    case = _with_options(_with_content(case), options, module)
    how = carried(module, module.Options(**case.options), case.message)
    assert how is not None
    some = message_types.first(case.message, case.payload_bytes, case.content)
    name = codec_of(case)
    label = f"of {case.system}" if name == OWN else name
    codecs.refuse_what_cannot_be_carried(how.coder, label, some, case.message)
    return case


def _with_content(case: Case) -> Case:
    """Return the case with the JSON text of a message of the user's own, and its size."""
    if case.message in message_types.KINDS:
        return case
    if case.content:
        return replace(case, payload_bytes=len(case.content.encode()))
    if not case.message.endswith(".json"):
        raise unknown("message", case.message, [message_types.BYTES, *message_types.KINDS, "FILE.json"])
    file = Path(case.message)
    try:
        text = documents.read(file, 10 * message_types.MOST_OWN_BYTES)  # with spaces, which are not sent
    except (OSError, ValueError) as reason:  # a name with a zero byte is no name
        why = reason_of(reason)
        raise UsageError(f"the message {quoted(case.message)} cannot be read: {why}") from reason
    content = message_types.read_own(text, file.name)
    return replace(case, message=file.name, content=content, payload_bytes=len(content.encode()))


def _with_options(case: Case, options: Mapping[str, Any], module: Any) -> Case:
    """Return the case with the options that structured messages need; UsageError if others were asked for."""
    needed: Mapping[str, Any] = getattr(module, "FOR_MESSAGES", {})
    for name, value in needed.items():
        if options.get(name, value) != value:
            raise UsageError(f"{case.system}: structured messages need {name} {value}")
    return replace(case, options=case.options | dict(needed))


def codec_of(case: Case) -> str:
    """Return the name of a case's codec: its option ``codec`` or ``serializer``; ``own`` where there is no choice."""
    return str(case.options.get("codec") or case.options.get("serializer") or OWN)


def usual_options(system: str, message: str) -> dict[str, str]:
    """Return another codec where the default one needs declared types, which a user's own message does not have."""
    default = getattr(systems.load(system).Options, "codec", None)
    if default is None or message in (message_types.BYTES, *message_types.KINDS):
        return {}
    try:
        codecs.load(default, message)
    except UsageError:
        return {"codec": "json"}
    return {}


def carries(system: str, message: str) -> bool:
    """Return whether a system carries a message: opaque bytes, or structured messages of whatever kind."""
    return message == message_types.BYTES or _carries(systems.load(system))


def carriers() -> list[str]:
    """Return the systems that carry structured messages."""
    return [name for name in systems.offering("Options") if _carries(systems.load(name))]


def _carries(module: Any) -> bool:
    return hasattr(module, "coder") or any(field.name == "codec" for field in fields(module.Options))
