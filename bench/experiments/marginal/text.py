"""What the figure of whole client processes says."""

from bench.experiments.marginal.findings import KINDS, call_us, cases, costs, difference_us, stopwatch_us
from bench.run.frames import Run
from bench.stats import Spread
from bench.text import duration, paragraphs, quantity


def conclusion(run: Run) -> str:
    """Say what starting, a call and a byte cost, and how HTTP and Python compare with the alternatives."""
    return paragraphs(each(run), ways(run))


def each(run: Run) -> str:
    """Say what starting, a call and a byte cost in each case, and how the cases compare."""
    return paragraphs(_costs(run), _pairs(run))


def _costs(run: Run) -> str:
    lines = []
    for case in cases(run):
        start, _, byte = costs(run, case, "wall")
        call = call_us(run, case, "wall")
        worth = f", as long as {quantity(start.middle / call.middle)} calls" if call.low > 0 else ""
        each_kb = f" A further kB takes {byte.words(duration)}." if byte.low > 0 else ""
        lines.append(
            f"- **{run.labels[case]}**: a process takes {start.words(duration)} to start, connect and end{worth}. A "
            f"call with {run.labels[case]} takes {_spread(call)}{_shares(run, case)}.{each_kb}"
        )
    return "\n".join(lines)


def _shares(run: Run, case: int) -> str:
    wall, client, server = (call_us(run, case, kind).middle for kind in KINDS)
    if not (client > 0 and server > 0 and call_us(run, case, "wall").low > 0):
        return ""
    cpu = f", of which client CPU {client / wall:.0%} and server CPU {server / wall:.0%}"
    if client + server > 1.01 * wall:
        return f"{cpu} (more than the call: some work runs at the same time, or after the reply)"
    waiting = max(0.0, 1 - (client + server) / wall)
    return f"{cpu}, and waiting {waiting:.0%}" if waiting >= 0.005 else f"{cpu}, and none waiting"


def _spread(spread: Spread) -> str:
    if spread.low <= 0:
        return f"at most {duration(spread.high)} (some starts give less than zero)"
    return spread.words(duration, "starts from {} to {}".format(*spread.ends(duration)))


def _pairs(run: Run) -> str:
    """Say how HTTP compares with a packet stream, and Python with C++, where both were measured."""
    medians = {_name(run, case): call_us(run, case, "wall").middle for case in cases(run)}
    pairs = (
        ("HTTP divided by packet stream, in C++", "xmlrpc_c http", "xmlrpc_c pstream"),
        ("HTTP divided by packet stream, in Python", "xmlrpc_stdlib", "xmlrpc_pstream"),
        ("Python divided by C++, with HTTP", "xmlrpc_stdlib", "xmlrpc_c http"),
        ("Python divided by C++, with the packet stream", "xmlrpc_pstream", "xmlrpc_c pstream"),
    )
    said = [
        f"- {words}: {medians[more] / medians[less]:.1f}"
        for words, more, less in pairs
        if more in medians and less in medians and medians[more] > 0 and medians[less] > 0
    ]
    return "\n".join(["Time per call (ratios of medians):", *said]) if said else ""


def _name(run: Run, case: int) -> str:
    of = run.case(case)
    return f"{of.system} {of.options['protocol']}" if "protocol" in of.options else of.system


def ways(run: Run) -> str:
    """Say how far the estimates of each of the three methods differ between starts."""
    widths = []
    for case in cases(run):
        inside = stopwatch_us(run, case)
        for spread in (difference_us(run, case), call_us(run, case, "wall"), inside):
            widths.append((spread.high - spread.low) / inside.middle)
    origin, regression, stopwatch = (max(widths[place::3]) for place in range(3))
    return (
        f"Estimates of the time per call differ between starts (range over median of timer) by up to {origin:.0%} with "
        f"the difference of two processes, {regression:.0%} with the regression, and {stopwatch:.0%} with the timer."
    )
