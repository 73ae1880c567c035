"""The plans of the notebooks: from a notebook's parameters to the cases that answer its question.

One function for each notebook, of the same name; its arguments are the notebook's parameters.
"""

from typing import Any

from bench import params, systems
from bench.choices import FLOOR, INSTRUMENT, MADE_UP, case_of, subjects, transports, transports_of, why_absent
from bench.errors import UsageError
from bench.placement import PLACEMENTS, why_not
from bench.plan import ARRIVALS, MOST_BYTES, MOST_CLIENTS, MOST_PER_S, Case, Plan, make_plan, placement_of


def latency(
    system: object = "zeromq",
    transport: object = "all",
    payload_bytes: object = 1000,
    options: object = None,
    placement: object = "default",
    target: object = "",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan sequential round trips of one or more systems, of raw sockets, and of the instrument itself."""
    sizes = params.positives(payload_bytes, "payload_bytes", MOST_BYTES)
    chosen = params.names(system, "system", systems.names())
    if chosen == [INSTRUMENT]:
        raise UsageError(f"{INSTRUMENT} goes along with every system: name another ({', '.join(systems.names())})")
    chosen = [name for name in chosen if name != INSTRUMENT]
    where = placement_of(placement)
    shared: dict[str, Any] = {"placement": where}
    cases = subjects(chosen, transport, target, options, sizes, shared)
    if not target:
        floors = [(t, size) for t in transports_of(cases, FLOOR) for size in sizes]
        cases += [Case(FLOOR, t, size, **shared) for t, size in floors if FLOOR not in chosen]
    cases.append(Case(INSTRUMENT, "inproc", sizes[0], max_calls=20_000, **shared))
    return make_plan("latency", cases, profile, starts, window_s, seed)


def throughput(
    system: object = "zeromq",
    transport: object = "all",
    payload_bytes: object = (100, 1000, 10_000, 100_000),
    call_bytes: object = 1000,
    clients: object = (1, 2, 4, 8),
    options: object = None,
    placement: object = "default",
    target: object = "",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan one-way streams over payload sizes, and calls by parallel client processes.

    A target gets the calls only: what a stream's receiver took in cannot be seen from here.
    """
    name = params.one_name(system, "system", systems.names())
    where = placement_of(placement, parallel=True)
    given = params.mapping(options, "options")
    cases: list[Case] = []
    for by in transports(name, transport, target):
        if not target and hasattr(systems.load(name), "Receiver"):
            sizes = params.positives(payload_bytes, "payload_bytes", MOST_BYTES)
            cases += [Case(name, by, size, given, where, "stream") for size in sizes]
        if by != "inproc":
            size = int(params.positive(call_bytes, "call_bytes", MOST_BYTES))
            callers = params.positives(clients, "clients", MOST_CLIENTS)
            cases += [Case(name, by, size, given, where, clients=n, target=str(target) or None) for n in callers]
    if not cases:
        raise UsageError(f"nothing to measure: {name} over {transport} has neither streams nor parallel clients")
    return make_plan("throughput", cases, profile, starts, window_s, seed)


def placement(
    system: object = "zeromq",
    transport: object = "[ipc, tcp]",
    payload_bytes: object = 1000,
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan the same round trips, of a system and of raw sockets, under each placement."""
    if reason := why_not():
        raise UsageError(f"placements cannot be compared: {reason}; draw the reference run: -p source reference")
    size = int(params.positive(payload_bytes, "payload_bytes", MOST_BYTES))
    chosen = list(dict.fromkeys([*params.names(system, "system", systems.names()), FLOOR]))
    cases = [
        Case(name, by, size, placement=where)
        for name in chosen
        for by in transports(name, transport, "")
        for where in PLACEMENTS
    ]
    return make_plan("placement", cases, profile, starts, window_s, seed)


BURST = 100  # calls in the loop of the class lab


def clients(
    system: object = "grpc_sync",
    transport: object = "tcp",
    payload_bytes: object = 100,
    clients: object = (1, 2, 4, 8, 16),
    options: object = None,
    placement: object = "default",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan the class lab (100 calls by one client, and by two), and then calls by more and more client processes.

    One client is always measured: what is predicted is predicted from it.
    """
    name = params.one_name(system, "system", systems.names())
    by = params.one_name(transport, f"transport of {name}", systems.constant(name, "TRANSPORTS"))
    if by == "inproc":
        raise UsageError("inproc lives in one process, so clients cannot be added: use ipc or tcp")
    shared: dict[str, Any] = {
        "payload_bytes": int(params.positive(payload_bytes, "payload_bytes", MOST_BYTES)),
        "options": params.mapping(options, "options"),
        "placement": placement_of(placement, parallel=True),
    }
    counts = sorted({1, *params.positives(clients, "clients", MOST_CLIENTS)})
    cases = [Case(name, by, clients=n, max_calls=BURST * n, **shared) for n in (1, 2)]
    cases += [Case(name, by, clients=n, **shared) for n in counts]
    return make_plan("clients", cases, profile, starts, window_s, seed)


def wamp(
    transport: object = "all",
    framing: object = "all",
    serializer: object = "all",
    payload_bytes: object = 100,
    fresh_router: object = False,
    placement: object = "default",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan the factorial of transport, framing and serializer through a router, and the same echo without one."""
    name = "wamp_crossbar"
    shared: dict[str, Any] = {
        "payload_bytes": int(params.positive(payload_bytes, "payload_bytes", MOST_BYTES)),
        "placement": placement_of(placement),
    }
    ways = params.names(transport, "transport", systems.constant(name, "TRANSPORTS"))
    framings = params.names(framing, "framing", ("rawsocket", "websocket"))
    serializers = params.names(serializer, "serializer", ("msgpack", "cbor", "json"))
    fresh = params.flag(fresh_router, "fresh_router")
    cases = [
        Case(name, by, options={"framing": frame, "serializer": text}, fresh_router=fresh, **shared)
        for by in ways
        for frame in framings
        for text in serializers
    ]
    cases += [Case(other, by, **shared) for other in (FLOOR, "zeromq") for by in ways]
    return make_plan("wamp", cases, profile, starts, window_s, seed)


def overview(
    system: object = "all",
    payload_bytes: object = 100,
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan every installed system by its shortest way between two processes: one client, and then two.

    Two clients are held against one client under the placement of parallel work: one factor at a time.
    """
    size = int(params.positive(payload_bytes, "payload_bytes", MOST_BYTES))
    chosen = params.names(system, "system", systems.names())
    absent = {name: reason for name in chosen if (reason := why_absent(name))}
    there = [name for name in dict.fromkeys([*chosen, FLOOR]) if name not in absent and name not in MADE_UP]
    one, two = placement_of("default"), placement_of("default", parallel=True)
    cases: list[Case] = []
    for name in there:
        by = "ipc" if "ipc" in systems.constant(name, "TRANSPORTS") else "tcp"
        cases += [Case(name, by, size, placement=where) for where in dict.fromkeys((one, two))]
        cases.append(Case(name, by, size, placement=two, clients=2))
    cases.append(Case(INSTRUMENT, "inproc", size, placement=one, max_calls=20_000))
    return make_plan("overview", cases, profile, starts, window_s, seed, absent)


def compare(
    a: object = "{system: zeromq, transport: ipc}",
    b: object = "{system: zeromq, transport: tcp}",
    payload_bytes: object = 1000,
    placement: object = "default",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan case A, the same case A again, and case B: what differs less than A from itself does not differ."""
    shared: dict[str, Any] = {
        "payload_bytes": int(params.positive(payload_bytes, "payload_bytes", MOST_BYTES)),
        "placement": placement_of(placement),
    }
    one, other = case_of(a, "a", shared), case_of(b, "b", shared)
    return make_plan("compare", [one, one, other], profile, starts, window_s, seed)


def openload(
    system: object = "oracle",
    transport: object = "ipc",
    payload_bytes: object = 100,
    rates: object = (100, 300, 500, 700, 850, 950, 1100),
    arrivals: object = "poisson",
    clients: object = 8,
    options: object = "{law: exponential, mean_us: 1000}",
    freeze_rate: object = 500,
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan one closed loop, the same system under offered rates, and a server that freezes once under both loads."""
    name = params.one_name(system, "system", systems.names())
    by = params.one_name(transport, f"transport of {name}", systems.constant(name, "TRANSPORTS"))
    shared: dict[str, Any] = {
        "payload_bytes": int(params.positive(payload_bytes, "payload_bytes", MOST_BYTES)),
        "placement": placement_of("default", parallel=True),
    }
    given = params.mapping(options, "options")
    paced: dict[str, Any] = {
        "load": "open",
        "clients": int(params.positive(clients, "clients", MOST_CLIENTS)),
        "arrivals": params.one_name(arrivals, "arrivals", ARRIVALS),
    }
    offered = sorted(float(params.positive(rate, "rates", MOST_PER_S, whole=False)) for rate in params.as_list(rates))
    cases = [Case(name, by, options=given, **shared)]
    cases += [Case(name, by, options=given, offered_per_s=rate, **paced, **shared) for rate in offered]
    freeze = {"law": "constant", "mean_us": 1000, "freeze_after": 150, "freeze_ms": 200}
    rate = float(params.positive(freeze_rate, "freeze_rate", MOST_PER_S, whole=False))
    cases.append(Case("oracle", "ipc", options=freeze, **shared))
    cases.append(
        Case("oracle", "ipc", options=freeze, offered_per_s=rate, **(paced | {"arrivals": "uniform"}), **shared)
    )
    return make_plan("openload", cases, profile, starts, window_s, seed)
