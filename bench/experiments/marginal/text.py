"""What the figure of whole client processes says."""

from bench.experiments.marginal.findings import KINDS, Spread, call_us, cases, costs, difference_us, stopwatch_us
from bench.run.frames import Run
from bench.text import duration, listed, quantity


def conclusion(run: Run) -> str:
    """Say what starting, a call and a byte cost, and what HTTP and Python cost beside the alternatives."""
    return "\n\n".join(part for part in (_costs(run), _pairs(run), ways(run)) if part)


def _costs(run: Run) -> str:
    lines = []
    for case in cases(run):
        start, _, byte = costs(run, case, "wall")
        call = call_us(run, case, "wall")
        worth = f", as long as {quantity(start.middle / call.middle)} calls" if call.middle > 0 else ""
        each_kb = f"; each further kB {duration(byte.middle)}" if byte.low > 0 else ""
        lines.append(
            f"- **{run.labels[case]}**: {duration(start.middle)} to start, connect and end{worth}; then "
            f"{_spread(call)} for a call{_shares(run, case)}{each_kb}"
        )
    return "\n".join(lines)


def _shares(run: Run, case: int) -> str:
    wall, client, server = (call_us(run, case, kind).middle for kind in KINDS)
    if not (client > 0 and server > 0 and wall > 0):
        return ""
    waiting = max(0.0, 1 - (client + server) / wall)
    return f", {client / wall:.0%} of it client CPU, {server / wall:.0%} server CPU, {waiting:.0%} waiting"


def _spread(one: Spread) -> str:
    if one.low <= 0:
        most = f"at most {duration(one.high)}; not all starts find it to be more than nothing"
        return f"{duration(max(0.0, one.middle))} ({most})"
    return f"{duration(one.middle)} ({duration(one.low)} to {duration(one.high)})"


def _pairs(run: Run) -> str:
    """Say how HTTP compares with a packet stream, and C++ with Python, where both were measured."""
    found = {_name(run, case): call_us(run, case, "wall").middle for case in cases(run)}
    pairs = (
        ("HTTP around the same XML, in C++", "xmlrpc_c http", "xmlrpc_c pstream"),
        ("HTTP around the same XML, in Python", "xmlrpc_stdlib", "xmlrpc_pstream"),
        ("Python instead of C++, over HTTP", "xmlrpc_stdlib", "xmlrpc_c http"),
        ("Python instead of C++, by packet stream", "xmlrpc_pstream", "xmlrpc_c pstream"),
    )
    said = [
        f"{words} makes a call {found[more] / found[less]:.1f} times as long"
        for words, more, less in pairs
        if more in found and less in found and found[more] > 0 and found[less] > 0
    ]
    return f"{listed(said)}." if said else ""


def _name(run: Run, case: int) -> str:
    of = run.case(case)
    return f"{of.system} {of.options['protocol']}" if "protocol" in of.options else of.system


def ways(run: Run) -> str:
    """Say how well the three methods agree, and how wide each is."""
    widths = []
    for case in cases(run):
        inside = stopwatch_us(run, case)
        for one in (difference_us(run, case), call_us(run, case, "wall"), inside):
            widths.append((one.high - one.low) / inside.middle)
    origin, regression, stopwatch = (max(widths[place::3]) for place in range(3))
    return (
        f"What the starts say of one call lies apart by up to {origin:.0%} of it with the origin's difference, "
        f"{regression:.0%} with the regression, {stopwatch:.0%} with a stopwatch inside the process."
    )
