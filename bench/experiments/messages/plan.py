"""What is measured for messages.ipynb: calls that carry structured messages, by system, codec and size."""

from dataclasses import replace

from bench import codecs, message_types
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation import support
from bench.validation.amount import InTurns
from bench.validation.cases import absent_of, chosen_systems, instrument, one_system, payloads
from bench.validation.message_support import usual_options

SYSTEMS = ("sockets", "zeromq", "grpc_sync", "http_aiohttp", "wamp_crossbar", "xmlrpc_stdlib")
CODECS = ("json", "orjson", "msgpack", "pickle", "protobuf")
CLASS_S = 0.1  # hundreds of calls in each start; RTT and codec are both medians
NOT_TAKEN = ("hosts",)


def plan(
    given: InTurns,
    message: object = "items",
    system: object = SYSTEMS,
    transport: object = "tcp",
    codec: object = CODECS,
    carrier: object = "zeromq",
    payload_bytes: object = (200, 2000, 20_000),
) -> Plan:
    """Plan each system with its default codec and with opaque bytes, at the middle size; one carrier with each codec.

    The carrier is measured at every size. A codec or a system that cannot carry the message is named as absent.
    """
    kind = parameters.text(message, "message")
    if kind == message_types.BYTES:
        raise UsageError(
            f"message {kind} has no codec: give {', '.join(message_types.KINDS)}, or a JSON file of your own"
        )
    is_own = kind not in message_types.KINDS
    sizes = sorted(set(payloads(payload_bytes)))
    middle = sizes[len(sizes) // 2]
    sizes = [middle] if is_own else sizes
    by = parameters.one_name(transport, "transport", ("ipc", "tcp"))
    where = given.where()
    chosen, wanted = chosen_systems(system), parameters.names(codec, "codec", codecs.names())
    sweep = one_system(carrier)
    absent = absent_of(list(dict.fromkeys([*chosen, sweep])))
    cases: list[Case] = []
    for name in chosen:
        options = {} if name in absent else usual_options(name, kind)
        carried = _carried(Case(name, by, middle, options, message=kind, placement=where), absent)
        if carried is not None:
            cases += [_bytes(carried), carried]
    for name in wanted:
        for size in sizes:
            case = Case(sweep, by, size, {"codec": name}, message=kind, placement=where)
            carried = _carried(case, absent, label=f"{sweep} {name}")
            cases += [carried] if carried is not None and carried not in cases else []
    planned = [*cases, instrument(middle, where)]
    return given.plan("messages", planned, absent, class_s=CLASS_S, alike=("system", "payload_bytes"))


def _carried(case: Case, absent: dict[str, str], label: str = "") -> Case | None:
    """Return the validated case; None, and the reason in ``absent``, if the message cannot be carried."""
    if case.system in absent:
        return None
    try:
        return support.checked(case)
    except UsageError as reason:
        if "cannot carry" not in str(reason) and "needs declared types" not in str(reason):
            raise
        absent[label or case.system] = str(reason)
        return None


def _bytes(case: Case) -> Case:
    """Return the same call with opaque bytes instead of a message, and its other options."""
    options = {name: value for name, value in case.options.items() if name != "codec"}
    return replace(case, message=message_types.BYTES, content="", options=options)
