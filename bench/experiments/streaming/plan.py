"""What is measured for streaming.ipynb: streams of replies by how many at once, and the origin's choice of a stack."""

from dataclasses import replace
from typing import Any

from bench import replies as limits
from bench import systems
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import MOST_STREAMS, Case
from bench.plan.plan import Plan
from bench.validation import support
from bench.validation.amount import Placed
from bench.validation.cases import absent_of, chosen_systems, own_engine

SYSTEMS = ("sockets", "zeromq", "grpc_sync", "grpc_aio", "http_aiohttp", "wamp_crossbar")
LOAD = "reply_stream"
STREAMS = {"full": (1, 10, 100, 1000)}  # paced streams at once, by profile; many take long to connect
FEW_STREAMS = (1, 100)  # of the other profiles
SHARED = ("grpc_sync", "grpc_aio")  # one channel carries all streams of a process, as their users do
TOGETHER = 2  # streams follow each other in a window: they begin spread over the first, and all run in the second
CODECS = ("bytes", "pickle", "protobuf")
STACKS = (  # of the origin's question, one factor at a time: system, transport, options
    ("grpc_aio", "tcp", {"serialization": "protobuf"}),
    ("grpc_aio", "ipc", {"serialization": "protobuf"}),
    *(("zeromq", "tcp", {"token_codec": codec}) for codec in CODECS),
    ("zeromq", "ipc", {"token_codec": "protobuf"}),
)


def plan(
    given: Placed,
    system: object = "all",
    transport: object = "tcp",
    streams: object = "auto",
    unpaced_streams: object = (10,),
    origin_streams: object = 100,
    gap_us: object = 20_000,
    replies: object = 10,
    reply_bytes: object = 50,
    payload_bytes: object = 2000,
    options: object = "",
    engine: object = "library",
) -> Plan:
    """Plan paced streams by how many run at once, unpaced ones, and the stacks of the origin; 0 streams leave them out.

    Of a user's service the streams are as its file describes them, by the same numbers at once. ``streams`` auto are as
    many as the profile has time for. ``options`` are those of the one system that is asked for. engine: of users'
    services, and of raw sockets.
    """
    chosen = _chosen(system)
    by = parameters.one_name(transport, "transport", ("ipc", "tcp"))
    system_options = parameters.mapping(options, "options")
    if system_options and len(chosen) != 1:
        raise UsageError("options are of one system: name it, as in -p system http_aiohttp")
    absent = absent_of(chosen)
    shared: dict[str, Any] = {
        "payload_bytes": parameters.count(payload_bytes, "payload_bytes", 1_000_000),
        "placement": given.where(is_parallel=True),
        "load": LOAD,
        "engine": own_engine(engine),
        "replies": parameters.count(replies, "replies", limits.MOST_REPLIES),
        "reply_bytes": parameters.count(reply_bytes, "reply_bytes", limits.MOST_REPLY_BYTES),
    }
    gap = parameters.count(gap_us, "gap_us", 10_000_000)
    if parameters.literal(streams) == "auto":
        streams = STREAMS.get(given.profile, FEW_STREAMS)
    paced, unpaced = _counts(streams, "streams"), _counts(unpaced_streams, "unpaced_streams")
    present = [name for name in chosen if name not in absent]
    services = [name for name in present if systems.service_of(name)]
    here = [name for name in present if name not in services]
    of = {name: {**({"connections": "shared"} if name in SHARED else {}), **system_options} for name in here}
    cases = [Case(name, by, options=of[name], callers=count, gap_us=gap, **shared) for name in here for count in paced]
    cases += [Case(name, by, options=of[name], callers=count, **shared) for name in here for count in unpaced]
    cases += [_of_service(name, count, shared) for name in services for count in paced]
    for count in _counts(origin_streams, "origin_streams"):
        cases += _stacks(here, cases, callers=count, gap_us=gap, **shared)
    planned = given.plan("streaming", cases, absent)
    if parameters.literal(given.window_s) is not None:
        return planned
    longest_s = max((case.stream_s for case in planned.cases), default=0.0)
    return replace(planned, window_s=max(planned.window_s, TOGETHER * longest_s))


def _of_service(name: str, streams: int, shared: dict[str, Any]) -> Case:
    """Return the case of a user's service, which says itself what it sends and when."""
    (by,) = systems.constant(name, "TRANSPORTS")
    given = {part: shared[part] for part in ("payload_bytes", "placement", "load", "engine")}
    return Case(name, by, callers=streams, **given)


def _chosen(system: object) -> list[str]:
    """Return the systems asked for: "all" are those of the figure, which others may join by name."""
    if parameters.as_list(system) == ["all"]:
        return list(SYSTEMS)
    return chosen_systems(system)


def _counts(value: object, what: str) -> list[int]:
    """Return numbers of streams; none for 0."""
    if parameters.literal(value) in (0, [0], ()):
        return []
    return parameters.positives(value, what, MOST_STREAMS)


def _stacks(present: list[str], measured: list[Case], **shared: Any) -> list[Case]:
    """Return the cases of the origin that are not measured anyway."""
    stacks = [
        Case(name, by, options=({"connections": "shared"} if name in SHARED else {}) | options, **shared)
        for name, by, options in STACKS
        if name in present
    ]
    checked = [support.checked(case) for case in measured]
    return [case for case in stacks if support.checked(case) not in checked]
