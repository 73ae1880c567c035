"""Tables and sentences of the documents, from the published occasions."""

import math
import re
from collections import Counter
from statistics import geometric_mean, median

import pandas as pd

from bench.analysis import probes
from bench.analysis.occasions import CPU_RATIO, RATE_RATIO, RTT_RATIO
from bench.analysis.published import Published, rank_text, ratio_text
from bench.analysis.replication import APART, SHARED, Row
from bench.plan.case import BASELINE
from bench.plan.placement import IN_WORDS
from bench.text import duration, listed

BASE = f"{BASELINE} (baseline)"
WELL_KNOWN = {  # of each kind, all over one transport, for those who look at one table; under the names that they bear
    "zeromq": "ZeroMQ (pyzmq)",
    "grpc_cpp": "gRPC in C++",
    "redis": "Redis lists",
    "http_asgi": "HTTP, uvicorn",
    "http_aiohttp": "HTTP, aiohttp",
    "grpc_sync": "gRPC in Python",
    "mqtt": "MQTT, Mosquitto",
    "wamp_crossbar": "WAMP, Crossbar.io",
}
WELL_KNOWN_OVER = "ipc"


def machine_name(number: int) -> str:
    """Return a machine's name in tables and pictures."""
    return f"M{number + 1}"


APART_RTT = "RTT divided by that of raw sockets, separate CPUs (`split`)"
COLUMNS = {  # of a table: quantity and placement
    APART_RTT: (RTT_RATIO, APART),
    "RTT divided by that of raw sockets, one CPU (`same`)": (RTT_RATIO, SHARED),
    "CPU time per call divided by that of raw sockets, separate CPUs (`split`)": (CPU_RATIO, APART),
}


def by_system(published: Published, transport: str) -> pd.DataFrame:
    """Return a row for each system over a transport: its rank, and its ratios on the machines."""
    columns = COLUMNS | {"the same, one CPU (`same`)": (CPU_RATIO, SHARED)}
    order = published.orders[transport]
    made = [
        {"system": _name(row), "rank": rank_text(rank), "machines": str(len(row.on))}
        | {heading: _ratio(published, row, quantity, placement) for heading, (quantity, placement) in columns.items()}
        for row, rank in zip(order.rows, order.ranks, strict=True)
    ]
    return pd.DataFrame(made).set_index("system")


def well_known_rows(published: Published) -> list[Row]:
    """Return the RTT on separate CPUs of systems that many people know, over one transport, the shortest first."""
    order = published.orders.get(WELL_KNOWN_OVER)
    return [row for row in order.rows if row.system in WELL_KNOWN] if order else []


def well_known(published: Published) -> pd.DataFrame:
    """Return RTT, ratios and CPU time of systems that many people know: geometric means over the machines."""
    made = [
        {
            "one call over": WELL_KNOWN[row.system],
            "name here": f"`{row.system}`",
            "median RTT": rounded(mean_us(published, row.system)),
            "CPU time per call": rounded(mean_us(published, row.system, "cpu_us", CPU_RATIO)),
            "RTT divided by a raw socket's (range over the machines)": _mean_and_range(row),
            "this ratio on one CPU": _mean_and_range(on_ipc(published, row.system, RTT_RATIO, SHARED)),
        }
        for row in well_known_rows(published)
    ]
    return pd.DataFrame(made).set_index("one call over") if made else pd.DataFrame()


def mean_us(published: Published, system: str, level: str = "p50_us", quantity: str = RTT_RATIO) -> float:
    """Return a time of a system in us: the geometric mean over the machines of raw sockets', times its mean ratio.

    So the times are in the ratios that stand beside them, also where a system was measured on fewer machines.
    """
    us = geometric_mean(levels_us(published, WELL_KNOWN_OVER, APART, level=level))
    return us if system == BASELINE else us * math.exp(on_ipc(published, system, quantity, APART).middle)


def on_ipc(published: Published, system: str, quantity: str, placement: str) -> Row:
    """Return a ratio of a well-known system."""
    row = published.row(system, WELL_KNOWN_OVER, placement, quantity)
    assert row is not None, f"no {quantity} of {system}"
    return row


def _mean_and_range(row: Row) -> str:
    """Return the mean ratio, and the smallest and the largest of all machines, with two digits."""
    values = [math.exp(ln) for ln in row.on.values()]
    return f"{math.exp(row.middle):.2g} ({min(values):.2g} to {max(values):.2g})"


def gains(published: Published) -> pd.DataFrame:
    """Return calls per second of two clients over those of one for each system, the largest first."""
    rows = [row for row in published.rows if row.quantity == RATE_RATIO]
    made = [
        {
            "system": f"`{row.system}`",
            "transport": row.place[0],
            "calls/s of two clients divided by those of one": ratio_text(row),
        }
        for row in sorted(rows, key=lambda row: row.middle, reverse=True)
    ]
    return pd.DataFrame(made).set_index("system") if made else pd.DataFrame()


def _name(row: Row) -> str:
    return f"`{row.system}`" if row.measured.over else BASE


def _ratio(published: Published, row: Row, quantity: str, placement: str) -> str:
    if not row.measured.over:
        return "1"
    ratio = published.row(row.system, row.place[0], placement, quantity)
    return ratio_text(ratio) if ratio else "not measured"


def occasions_table(published: Published) -> pd.DataFrame:
    """Return a row for each occasion: when, on which machine, and by which revision of Roundtrip."""
    made = [
        {
            "begun (UTC)": f"{occasion.began:%Y-%m-%d %H:%M}",
            "machine": f"{machine_name(number)} ({occasion.machine.machine_id}): {occasion.machine.words}",
            "revision": (occasion.revision or "not known")[:10],
        }
        for number, occasion in published.numbered
    ]
    return pd.DataFrame(made).set_index("begun (UTC)")


CAUTIONS = {  # of the trust card, in words for those who do not know it
    "order": "some systems change places between one CPU and separate CPUs",
    "settled": "some starts changed their level",
}


def cautions(published: Published) -> str:
    """Return what the trust cards of all occasions have against them, and in how many a check says so; "" of none."""
    all_of_them = len(published.occasions)
    counts = Counter(name for occasion in published.occasions for name in not_passed(occasion.checks))
    reasons = [why for name, why in CAUTIONS.items() if counts[name] == all_of_them]
    each = ", ".join(f"`{name}` {count}" for name, count in counts.most_common())
    in_each = f"In each of them {listed(reasons)}. " if reasons else ""
    return f"{in_each}Checks that did not pass, and in how many of the {all_of_them}: {each}." if counts else ""


def not_passed(tally: str) -> list[str]:
    """Return the names in a tally such as "10/11 (not: settled and order), 4 N/A"."""
    return re.findall(r"\w+", tally.partition("(not: ")[2].partition(")")[0].replace(" and ", " "))


def rounded(us: float) -> str:
    """Return a time with two digits, as the ratios beside it have."""
    return f"{float(f'{us:.2g}'):g} µs"


def levels_us(
    published: Published, transport: str, placement: str, system: str = BASELINE, level: str = "p50_us"
) -> list[float]:
    """Return the median RTT (``cpu_us``: CPU time per call) of a system in us on each machine: over its occasions."""
    levels: dict[int, list[float]] = {}
    for number, occasion in published.numbered:
        if (us := occasion.levels(level).get((system, transport, placement))) is not None:
            levels.setdefault(number, []).append(us)
    return list(map(median, levels.values()))


def levels(published: Published) -> pd.DataFrame:
    """Return the median RTT of raw sockets on each machine, over each transport, on separate CPUs and on one."""
    rows = {
        f"over {transport} {IN_WORDS[placement]}": list(map(duration, us))
        for transport in published.orders
        for placement in (APART, SHARED)
        if len(us := levels_us(published, transport, placement)) == len(published.machines)
    }
    names = map(machine_name, published.machines)
    return pd.DataFrame.from_dict(rows, "index", columns=list(names)).rename_axis("raw sockets")


def systems(published: Published) -> dict[str, int]:
    """Return the names of all systems, and on how many machines each was measured."""
    pairs = {(row.case["system"], number) for number, occasion in published.numbered for row in occasion.rows}
    return dict(sorted(Counter(system for system, _ in pairs).items()))


def minutes(published: Published) -> int:
    """Return about how long one occasion takes."""
    return max(1, math.ceil(median(occasion.minutes for occasion in published.occasions)))


def holds(published: Published) -> str:
    """Return in one sentence how far ratios on separate CPUs differ on another machine; "" if that is not known."""
    _, other = published.reach(APART) or (math.inf, None)
    if other is None or not other.most:
        return ""
    return (
        f"On another machine a ratio can be {math.exp(other.reach(other.most)):.2g} times larger or smaller "
        "([how good were the forecasts?](docs/results.md#how-good-were-the-forecasts))."
    )


def predicted(published: Published) -> str:
    """Return in one sentence how far forecasts are off on another machine, if it measures two systems."""
    score = probes.left_out(published.occasions)
    if not score.count:
        return ""
    return (
        "`.venv/bin/bench predict` measures two systems on yours and forecasts the times of the others. Where another "
        f"machine had the same processor, {score.coverage:.0%} of the times on machines that were left out were within "
        f"its intervals, a factor of {score.factor:.2g} either way in the median. For a processor "
        "that was not measured the intervals are wider, and nothing has tested them."
    )
