"""Plan of network.ipynb: systems over loopback and a veth pair, limited links by payload, and Nagle's stall."""

from typing import Any

from bench.errors import UsageError
from bench.experiments.nodelay import CALLS, HELD
from bench.measurement.hosts import namespaces as measurable
from bench.plan import hosts as far_hosts
from bench.plan import namespaces, parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import OnHosts
from bench.validation.cases import FLOOR, absent_of, chosen_systems, instrument, one_transport, payload, payloads

STALL_BYTES = 100  # payload of the calls with one write or two: far less than any segment


def why_not(hosts: object = "", **asked: Any) -> str | None:
    """Return why no veth pair can be made here, if no other machines are asked for either; else None."""
    return None if far_hosts.asked(hosts) else measurable.why_not()


def plan(
    given: OnHosts,
    system: object = ("sockets", "zeromq", "grpc_sync", "http_aiohttp"),
    payload_bytes: object = 1000,
    large_bytes: object = 100_000,
    rates_mbit: object = (10, 100),
    sizes: object = (1000, 10_000, 100_000),
    stall_sizes: object = (1400, 1500, 40_000, 66_000),
) -> Plan:
    """Plan three groups of cases. Every link is of this machine, so that only the link differs; ``hosts`` adds others.

    Systems, small payload: over loopback and over a veth pair. Large payload: over loopback and the fastest limited
    link. Raw sockets by payload over the unlimited link and each limited one. Raw sockets with two writes per message,
    with and without TCP_NODELAY, and by payload without it, over loopback and over the unlimited link. Systems, both
    payloads: between the machines of ``hosts``, if any; the veth pair is then left out where none can be made.
    """
    chosen = [name for name in chosen_systems(system) if one_transport(name, "tcp")]
    absent = absent_of(chosen)
    present = [name for name in chosen if name not in absent]
    if not present:
        raise UsageError(" ".join(absent.values()))
    small_size, large_size, where = payload(payload_bytes), payload(large_bytes, "large_bytes"), given.where()
    if small_size >= large_size:
        raise UsageError(
            f"large_bytes must be more than payload_bytes ({small_size:,} B): the link's bandwidth shows there"
        )
    far = given.there
    if far and (reason := measurable.why_not()):
        absent["veth pair"] = reason
    limited = [namespaces.hosts(rate) for rate in rates(rates_mbit)]
    unlimited = namespaces.hosts()
    best = limited[-1] if limited else unlimited
    pairs: list[tuple[int, dict[str, Any]]] = [
        (small_size, {}),
        (small_size, unlimited),
        (large_size, {}),
        (large_size, best),
    ]
    cases = [Case(name, "tcp", size, placement=where, hosts=link) for size, link in pairs for name in present]
    for link in (unlimited, *limited):
        sweep = [Case(FLOOR, "tcp", size, placement=where, hosts=link) for size in payloads(sizes, "sizes")]
        cases += [case for case in sweep if case not in cases]
    cases += _stalls(payloads(stall_sizes, "stall_sizes"), where, ({}, unlimited))
    if "veth pair" in absent:
        cases = [case for case in cases if not case.hosts]
    if far:
        cases += [
            Case(name, "tcp", size, placement="free", hosts=far)
            for size in (small_size, large_size)
            for name in present
        ]
    cases.append(instrument(small_size, where))
    return given.plan("network", cases, absent)


def rates(given: object) -> list[int]:
    """Return the bandwidths of the limited links in Mbit/s, the lowest first; none of an empty list."""
    if parameters.as_list(given) == []:
        return []
    return sorted(parameters.positives(given, "rates_mbit", namespaces.MOST_MBIT))


def _stalls(sizes: list[int], where: str, links: tuple[dict[str, Any], ...]) -> list[Case]:
    """Return the cases of two writes per message: TCP_NODELAY on both sides, and on neither by payload."""
    shared: dict[str, Any] = {"placement": where, "max_calls": CALLS}
    both = HELD | {"client_nodelay": True, "server_nodelay": True}
    return [
        Case(FLOOR, "tcp", size, options, hosts=hosts, **shared)
        for hosts in links
        for options, payloads_of in ((both, [STALL_BYTES]), (HELD, dict.fromkeys([STALL_BYTES, *sizes])))
        for size in payloads_of
    ]
