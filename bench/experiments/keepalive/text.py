"""What the figure of reused and new connections says."""

from bench.analysis.comparison import effect
from bench.experiments.case_ratios import times
from bench.experiments.keepalive.findings import (
    CLIENT,
    PORTS,
    RTT,
    SERVER,
    TIME_WAIT_S,
    Pair,
    differences,
    longest_rate_per_s,
    pairs,
    per_call,
)
from bench.run.frames import Run
from bench.stats import across_starts
from bench.text import duration


def conclusion(run: Run) -> str:
    """Say what a new connection adds to a call, to the CPU time of each role, and what it leaves in the kernel."""
    return "\n\n".join(part for part in (cost(run), kernel(run)) if part)


def cost(run: Run) -> str:
    """Say for each system and transport what a new connection adds to the round trip, and to the CPU time by role."""
    return "\n".join(_line(run, pair) for pair in pairs(run))


def _line(run: Run, pair: Pair) -> str:
    added = [across_starts(differences(run, pair, name).to_list())[0] for name in (RTT, CLIENT, SERVER)]
    rtt, client, server = (f"{duration(abs(one))} {'more' if one >= 0 else 'less'}" for one in added)
    return (
        f"- **{pair.name}**: with a new connection per call the median round trip is "
        f"{times(effect(run, pair.reused, pair.new, RTT))} as long: {rtt}. CPU time per call: {client} in the client, "
        f"{server} in the server."
    )


def kernel(run: Run) -> str:
    """Say how many connections per call the kernel opened and put into TIME_WAIT, and which rate the ports allow."""
    found = []
    for pair in pairs(run):
        opened = [
            across_starts(per_call(run, case, "tcp_connections").to_list())[0] for case in (pair.reused, pair.new)
        ]
        waits = across_starts(per_call(run, pair.new, "tcp_time_waits").to_list())[0]
        if pair.transport == "tcp" and opened[1] == opened[1]:
            wait = f", and {waits:.2f} entered TIME_WAIT" if waits == waits else ""
            found.append(
                f"- **{pair.name}**: {opened[0]:.2f} connections per call if reused, {opened[1]:.2f} if new{wait}."
            )
    if not found:
        return ""
    law = (
        f"TIME_WAIT lasts {TIME_WAIT_S} s on Linux, and a client has {PORTS:,} ports for one server (default range). "
        f"Where the client closes first, at most {longest_rate_per_s():.0f} new connections per second can last."
    )
    return "\n".join([*found, "", law])
