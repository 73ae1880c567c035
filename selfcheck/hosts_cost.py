"""What docs/hosts.md quotes: what each host costs the conductor in a start, and what that predicts for more of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bench.stats.intervals import Interval
from bench.text import listed, quantity
from selfcheck import growth, keeping

FILE = "docs/hosts.json"  # python -m selfcheck hosts --write
FURTHER = (100, 1000)  # hosts
BYTES = 16  # a call: when it was sent, when its reply came
WHOLE, CPU = "in all", "CPU of the conductor"


def cost() -> tuple[pd.DataFrame, str, str, str]:
    """Return what was measured last: the table, how it was measured, real hosts, and the first limit."""
    return described(keeping.read(FILE))


def described(document: Mapping[str, Any]) -> tuple[pd.DataFrame, str, str, str]:
    """Return the fit of each part of a start with its predictions, how it was measured, real hosts, the first limit.

    document: ``starts``, each with its ``hosts`` and ms by part; ``large``: ``hosts``, ``calls`` of each, and ``ms`` of
    collecting them in each start; ``real``: ``hosts``, and ``ms`` of each start; ``calls``, ``machine``, ``measured``.
    """
    lines = lines_of(document["starts"])
    rows = [
        {
            "part of a start": name,
            "a [ms]": f"{line.base:.1f}",
            "b [ms a host]": f"{line.each.middle:.2f}",
            "95 % CI of b": f"{line.each.low:.2f} to {line.each.high:.2f}",
            **{f"{n:,} hosts": _range(line.at(n)) for n in FURTHER},
        }
        for name, line in lines.items()
    ]
    return (
        pd.DataFrame(rows).set_index("part of a start"),
        _basis(document),
        _real(document, lines[WHOLE]),
        _limit(document, lines[WHOLE]),
    )


def lines_of(starts: Sequence[Mapping[str, float]]) -> dict[str, growth.Line]:
    """Return for each part of a start the line a + b n through its time in ms, n: the number of hosts."""
    hosts = np.array([start["hosts"] for start in starts])
    return {
        part: growth.line(hosts, np.array([start[part] for start in starts])) for part in starts[0] if part != "hosts"
    }


def _range(predicted: Interval) -> str:
    """Return a prediction of ms in s, with its interval, which ends at 0."""
    low, middle, high = (max(0.0, ms) / 1e3 for ms in (predicted.low, predicted.middle, predicted.high))
    return f"{middle:.2f} s ({low:.2f} to {high:.2f})"


def _basis(document: Mapping[str, Any]) -> str:
    machine, numbers = document["machine"], sorted({start["hosts"] for start in document["starts"]})
    return (
        f"A start on n hosts costs a + b n: fitted to {len(document['starts'])} starts with "
        f"{listed(map(str, numbers))} hosts, {document['calls']:,} calls by each, on {machine['cpus']} CPUs "
        f"({machine['cpu']}, Python {machine['python']}), {document['measured']}. Times of more hosts are predictions "
        "with their 95 % interval. The hosts were light: workers in one process, whose children are threads. "
        "Conductor, scheduler and hosts shared these CPUs, so that waiting is an upper bound."
    )


def _real(document: Mapping[str, Any], total: growth.Line) -> str:
    """Return what a start on real hosts took, beside the prediction for light ones."""
    hosts, ms = document["real"]["hosts"], document["real"]["ms"]
    light_s = total.at(hosts).middle / 1e3
    return (
        f"Real hosts also start processes: on {hosts} hosts, namespaces of this machine, a start took "
        f"{np.median(ms) / 1e3:.2f} s in addition to its window (median of {len(ms)}, {min(ms) / 1e3:.2f} to "
        f"{max(ms) / 1e3:.2f} s), on light ones {light_s:.2f} s."
    )


def _limit(document: Mapping[str, Any], total: growth.Line) -> str:
    """Return which limit comes first: orders to so many hosts, or their samples."""
    large = document["large"]
    ms = float(np.median(large["ms"]))
    per_s = 1e3 * BYTES * large["hosts"] * large["calls"] / ms
    equal = total.each.middle / 1e3 * per_s / BYTES
    return (
        f"The first limit is the conductor, one process. Samples arrive there at {quantity(per_s, 'B/s')}: the median "
        f"of {len(large['ms'])} starts in which {large['hosts']} hosts brought {large['calls']:,} calls each, {BYTES} "
        f"bytes a call before compression. Up to {quantity(equal)} calls by each host in a start, its orders take "
        "longer than its samples."
    )
