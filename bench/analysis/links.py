"""The link between client and server: loopback, a veth pair without a limit or with a bandwidth, or between hosts."""

from bench.plan import namespaces
from bench.plan.case import Case

LOOPBACK, VETH, FAR = "loopback", "veth", "hosts"
HEADERS = 66  # bytes of each segment beside its payload: Ethernet, IPv4, TCP with timestamps
SEGMENT = {LOOPBACK: 65_483, VETH: 1448}  # largest payload of a segment: MTU of 65,536 or 1,500 bytes, less headers


def link(case: Case) -> str:
    """Return the link of a case: "loopback", "veth", "veth 100 Mbit/s", "hosts"."""
    return (namespaces.described(case.hosts) or FAR) if case.hosts else LOOPBACK


def rate_mbit(case: Case) -> int:
    """Return the bandwidth to which the link of a case is limited, in Mbit/s; 0 without a limit."""
    return namespaces.rate_mbit(case.hosts) if namespaces.is_asked(case.hosts) else 0


def segment_bytes(case: Case) -> int:
    """Return the largest payload of a segment of the link of a case."""
    return SEGMENT.get(link(case), SEGMENT[VETH])


def transfer_us(case: Case) -> float:
    """Return how long a limited link needs for request and reply, one after the other: 2 × payload / bandwidth."""
    return 2 * 8 * case.payload_bytes / rate_mbit(case)


def with_headers_us(case: Case) -> float:
    """Return how long a limited link needs for request and reply with the headers of every segment."""
    segments = -(-case.payload_bytes // segment_bytes(case))
    return transfer_us(case) * (1 + HEADERS * segments / case.payload_bytes)
