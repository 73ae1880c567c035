"""What docs/hosts.md quotes: what each host costs the conductor in a start, and what that predicts for more of them."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from bench import paths
from bench.apps.documents.blocks import table
from bench.stats import growth
from bench.stats.intervals import Interval
from bench.text import listed, quantity

FILE = "docs/hosts.json"  # python -m benchmarks hosts --write
FURTHER = (100, 1000)  # hosts
BYTES = 16  # a call: when it was sent, when its reply came
WHOLE, CPU = "in all", "CPU of the conductor"


def cost() -> str:
    """Return the table of what was measured, and what is the first limit."""
    return described(json.loads((paths.home() / FILE).read_text("utf-8")))


def described(found: Mapping[str, Any]) -> str:
    """Return the fit of each part of a start, its predictions, and the first limit, as Markdown.

    found: ``starts``, each with its ``hosts`` and ms by part; ``large``: ``hosts``, ``calls`` of each, and ``ms`` of
    collecting them in each start; ``calls``, ``machine``, ``measured``.
    """
    lines = lines_of(found["starts"])
    head = ["part of a start", "a [ms]", "b [ms a host]", "95 % CI of b", *(f"{n:,} hosts" for n in FURTHER)]
    rows = [[name, f"{one.base:.1f}", *_slope(one.each), *(_range(one.at(n)) for n in FURTHER)] for name, one in lines]
    return "\n\n".join([table(head, rows), _basis(found), _limit(found, dict(lines)[WHOLE])])


def lines_of(starts: list[Mapping[str, float]]) -> list[tuple[str, growth.Line]]:
    """Return for each part of a start the line a + b n through its time in ms, n: the number of hosts."""
    hosts = np.array([one["hosts"] for one in starts])
    return [
        (name, growth.line(hosts, np.array([one[name] for one in starts]))) for name in starts[0] if name != "hosts"
    ]


def _slope(each: Interval) -> list[str]:
    return [f"{each.middle:.2f}", f"{each.low:.2f} to {each.high:.2f}"]


def _range(of: Interval) -> str:
    """Return a prediction of ms in s, with its interval, which ends at 0."""
    low, middle, high = (max(0.0, one) / 1e3 for one in (of.low, of.middle, of.high))
    return f"{middle:.2f} s ({low:.2f} to {high:.2f})"


def _basis(found: Mapping[str, Any]) -> str:
    machine, numbers = found["machine"], sorted({one["hosts"] for one in found["starts"]})
    return (
        f"A start on n hosts costs a + b n: fitted to {len(found['starts'])} starts with {listed(map(str, numbers))} "
        f"hosts, {found['calls']:,} calls by each, on {machine['cpus']} CPUs ({machine['cpu']}, Python "
        f"{machine['python']}), {found['measured']}. Times of more hosts are predictions with their 95 % interval. The "
        "hosts were light: workers in one process, whose children are threads. Conductor, scheduler and hosts shared "
        "these CPUs, so that waiting is an upper bound."
    )


def _limit(found: Mapping[str, Any], whole: growth.Line) -> str:
    """Return which limit comes first: orders to so many hosts, or their samples."""
    large = found["large"]
    ms = float(np.median(large["ms"]))
    per_s = 1e3 * BYTES * large["hosts"] * large["calls"] / ms
    equal = whole.each.middle / 1e3 * per_s / BYTES
    return (
        f"The first limit is the conductor, one process. Samples arrive there at {quantity(per_s, 'B/s')}: the median "
        f"of {len(large['ms'])} starts in which {large['hosts']} hosts brought {large['calls']:,} calls each, {BYTES} "
        f"bytes a call before compression. Up to {quantity(equal)} calls by each host in a start, its orders take "
        "longer than its samples."
    )
