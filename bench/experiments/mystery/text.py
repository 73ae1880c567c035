"""What the figure of the boxes says: the symptoms of each, never its fault."""

import math

from bench.analysis import comparison
from bench.analysis.quantiles import quantile
from bench.experiments.mystery.findings import P50, alone, boxes, name_of
from bench.grammar.contrast import times
from bench.run.frames import Run, column, number_of
from bench.text import duration


def conclusion(run: Run) -> str:
    """List the symptoms of each box: times, gain with callers, growth with payload, the kernel's counters."""
    lines = [f"- **{name_of(box)}**: {seen(run, box)}" for box in alone(run).index if box != "sound"]
    return "\n".join(
        [f"The box without a fault (sound): {seen(run, 'sound')}", "", *lines, "", "What explains each of them?"]
    )


def seen(run: Run, box: str) -> str:
    """Return the symptoms of a box in sentences, with numbers."""
    row = alone(run).loc[box]
    parts = [f"one caller has a median of {_spread(run, int(row['case']))}{_tail(run, int(row['case']))}"]
    rows = boxes(run)
    several = rows[(rows["box"] == box) & (rows["callers"] > 1)]
    if len(several):
        gain = comparison.effect(run, int(row["case"]), number_of(several.index[0]), "rate_per_s")
        parts.append(f"{several['callers'].iloc[0]} callers make {times(gain)} as many calls/s as one")
    return ". ".join([*parts, *_payload(run, box), *_counted(run, int(row["case"]))]) + "."


def _tail(run: Run, case: int) -> str:
    """Return p99 where the calls carry it."""
    p99 = quantile(run, case, 0.99)
    return f", p99 {p99.spread.words(duration)}" if p99.over else ""


def _spread(run: Run, case: int) -> str:
    """Return the median RTT with the range of the starts' medians."""
    spread = run.over_starts(case, P50)
    return spread.words(duration, "starts from {} to {}".format(*spread.ends(duration)))


def _payload(run: Run, box: str) -> list[str]:
    """Return the largest payload over the smallest, by block: median round trip and server CPU per call."""
    rows = boxes(run)
    rows = rows[(rows["box"] == box) & (rows["callers"] == 1)].sort_values("payload_bytes")
    if len(rows) < 2:
        return []
    smallest, largest = rows.iloc[0], rows.iloc[-1]
    ends = number_of(smallest.name), number_of(largest.name)
    longer, cpu = (comparison.effect(run, *ends, name).middle for name in (column(0.5), "server_cpu_us_per_call"))
    return [
        f"Calls with {largest['payload_bytes']:,} B divided by calls with {smallest['payload_bytes']:,} B: "
        f"{longer:.1f} in median RTT, {cpu:.1f} in CPU time of the server"
    ]


def _counted(run: Run, case: int) -> list[str]:
    """Return the kernel's counters per call, where they are known."""
    starts = run.starts_of(case)
    names = {"tcp_delayed_acks": "delayed ACKs", "tcp_connections": "new connections"}
    per_call = {words: (starts[field] / starts["calls"]).median() for field, words in names.items()}
    counted = " and ".join(f"{value:.2f} {words}" for words, value in per_call.items() if not math.isnan(value))
    return [f"The kernel counted {counted} per call"] if counted else []
