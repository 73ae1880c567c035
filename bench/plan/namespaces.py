"""Two network namespaces of this machine, joined by a veth pair: how a case asks for them, and what it may be."""

from collections.abc import Mapping
from typing import Any

from bench.errors import UsageError, unknown
from bench.plan import parameters
from bench.text import plain, quantity

KEY = "namespaces"  # of ``Case.hosts``
RATE = "rate_mbit"
MOST_MBIT = 100_000


def hosts(rate_mbit: int = 0) -> dict[str, Any]:
    """Return ``Case.hosts`` for server and clients in a namespace each; the link's bandwidth in Mbit/s, 0: no limit."""
    return {KEY: {RATE: rate_mbit}}


def is_asked(asked_hosts: Mapping[str, Any]) -> bool:
    """Return whether ``Case.hosts`` asks for namespaces."""
    return KEY in asked_hosts


def checked(asked_hosts: Mapping[str, Any], transport: str) -> dict[str, Any]:
    """Return ``Case.hosts`` with its link's rate; UsageError for what no link can be."""
    if others := [name for name in asked_hosts if name != KEY]:
        raise UsageError(f"namespaces are on this machine, so {others[0]} cannot be given with them: leave one out")
    if transport != "tcp":
        raise UsageError(f"a server in another network namespace is reached over tcp, not {transport}: give tcp")
    link = parameters.mapping(asked_hosts[KEY], KEY)
    if strange := [name for name in link if name != RATE]:
        raise unknown(f"property of {KEY}", strange[0], (RATE,))
    rate = link.get(RATE, 0)
    return hosts(parameters.count(rate, RATE, MOST_MBIT) if rate else 0)


def rate_mbit(asked_hosts: Mapping[str, Any]) -> int:
    """Return the bandwidth of the link in Mbit/s, 0 without a limit."""
    return int(asked_hosts[KEY][RATE])


def described(asked_hosts: Mapping[str, Any]) -> str:
    """Return the link in words: "veth", "veth 100 Mbit/s"; "" without namespaces."""
    if not is_asked(asked_hosts):
        return ""
    return f"veth {bandwidth(rate)}" if (rate := rate_mbit(asked_hosts)) else "veth"


def bandwidth(mbit: float) -> str:
    """Return a bandwidth given in Mbit/s in words: "100 Mbit/s", "1 Gbit/s"."""
    return plain(quantity(1e6 * mbit, "bit/s"))
