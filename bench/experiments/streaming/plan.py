"""What is measured for streaming.ipynb: streams of replies by how many at once, and the origin's choice of a stack."""

from typing import Any

from bench import replies as limits
from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import MOST_STREAMS, Case
from bench.plan.plan import Plan
from bench.validation.cases import absent_of, chosen_systems, placement_of
from bench.validation.profiles import make_plan

SYSTEMS = ("sockets", "zeromq", "grpc_sync", "grpc_aio", "http_aiohttp", "wamp_crossbar")
LOAD = "reply_stream"
STREAMS = {"full": (1, 10, 100, 1000)}  # paced streams at once, by profile; many take long to connect
FEW_STREAMS = (1, 100)  # of the other profiles
SHARED = ("grpc_sync", "grpc_aio")  # one channel carries all streams of a process, as their users do
CODECS = ("bytes", "pickle", "protobuf")
STACKS = (  # of the origin's question, one factor at a time: system, transport, options
    ("grpc_aio", "tcp", {"serialization": "protobuf"}),
    ("grpc_aio", "ipc", {"serialization": "protobuf"}),
    *(("zeromq", "tcp", {"token_codec": codec}) for codec in CODECS),
    ("zeromq", "ipc", {"token_codec": "protobuf"}),
)


def plan(
    system: object = "all",
    transport: object = "tcp",
    streams: object = "auto",
    unpaced_streams: object = (10,),
    origin_streams: object = 100,
    gap_us: object = 20_000,
    replies: object = 10,
    reply_bytes: object = 50,
    payload_bytes: object = 2000,
    options: object = None,
    placement: object = "default",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan paced streams by how many run at once, unpaced ones, and the stacks of the origin; 0 streams leave them out.

    ``streams`` auto are as many as the profile has time for. ``options`` are those of the one system that is asked for.
    """
    chosen = _chosen(system)
    by = parameters.one_name(transport, "transport", ("ipc", "tcp"))
    given = parameters.mapping(options, "options")
    if given and len(chosen) != 1:
        raise UsageError("options are of one system: name it, as in -p system http_aiohttp")
    absent = absent_of(chosen)
    shared: dict[str, Any] = {
        "payload_bytes": int(parameters.positive(payload_bytes, "payload_bytes", 1_000_000)),
        "placement": placement_of(placement, parallel=True),
        "load": LOAD,
        "replies": _replies(replies),
        "reply_bytes": _reply_bytes(reply_bytes),
    }
    gap = int(parameters.positive(gap_us, "gap_us", 10_000_000))
    if parameters.literal(streams) == "auto":
        streams = STREAMS.get(profile, FEW_STREAMS)
    paced, unpaced = _counts(streams, "streams"), _counts(unpaced_streams, "unpaced_streams")
    here = [name for name in chosen if name not in absent]
    of = {name: {**({"connections": "shared"} if name in SHARED else {}), **given} for name in here}
    cases = [Case(name, by, options=of[name], callers=n, gap_us=gap, **shared) for name in here for n in paced]
    cases += [Case(name, by, options=of[name], callers=n, **shared) for name in here for n in unpaced]
    for count in _counts(origin_streams, "origin_streams"):
        cases += _stacks([name for name in here if name in ("zeromq", "grpc_aio")], cases, count, gap, shared)
    return make_plan("streaming", cases, profile, starts, window_s, seed, absent)


def _chosen(system: object) -> list[str]:
    """Return the systems asked for: "all" are those of the figure, which others may join by name."""
    if parameters.as_list(system) == ["all"]:
        return list(SYSTEMS)
    return chosen_systems(system)


def _replies(value: object) -> int:
    return int(parameters.positive(value, "replies", limits.MOST_REPLIES))


def _reply_bytes(value: object) -> int:
    return int(parameters.positive(value, "reply_bytes", limits.MOST_REPLY_BYTES))


def _counts(value: object, what: str) -> list[int]:
    """Return numbers of streams; none for 0."""
    if parameters.literal(value) in (0, [0], ()):
        return []
    return parameters.positives(value, what, MOST_STREAMS)


def _stacks(present: list[str], known: list[Case], count: int, gap: int, shared: dict[str, Any]) -> list[Case]:
    """Return the cases of the origin that are not among those known."""
    found = []
    for name, by, options in STACKS:
        if name in present and not _is_known(known, name, by, options, count, gap):
            more = {"connections": "shared"} if name in SHARED else {}
            found.append(Case(name, by, options=more | options, callers=count, gap_us=gap, **shared))
    return found


def _is_known(known: list[Case], name: str, by: str, options: dict[str, str], count: int, gap: int) -> bool:
    usual = {"serialization": "protobuf", "token_codec": "bytes"}
    return any(
        (case.system, case.transport, case.callers, case.gap_us) == (name, by, count, gap)
        and all(case.options.get(one, usual[one]) == value for one, value in options.items())
        for case in known
    )
