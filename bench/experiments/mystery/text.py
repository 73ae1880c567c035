"""What the figure of boxes says: what is seen of each, and never what is wrong with it."""

import pandas as pd

from bench.analysis.quantiles import quantile
from bench.experiments.mystery.findings import P50, alone, boxes, crowded, name_of
from bench.run.frames import Run, column
from bench.text import duration


def conclusion(run: Run) -> str:
    """Say of each box how its times, its growth with callers and payload, and the kernel's counts differ from sound."""
    lines = [f"- **{name_of(box)}**: {seen(run, box)}" for box in alone(run).index if box != "sound"]
    return "\n".join([f"The sound box: {seen(run, 'sound')}.", "", *lines, "", "What explains each of them?"])


def seen(run: Run, box: str) -> str:
    """Return what was seen of a box, in numbers."""
    row = alone(run).loc[box]
    parts = [f"one caller {duration(row[P50])} in the middle{_tail(run, int(row['case']))}{_spread(row)}"]
    more = crowded(run)
    if box in more.index:
        callers, times = more.loc[box, "callers"], more.loc[box, "rate_per_s"] / row["rate_per_s"]
        parts.append(f"{callers} callers make {times:.2f} times its calls")
    return "; ".join([*parts, *_payload(run, box), *_counted(run, int(row["case"]))])


def _tail(run: Run, case: int) -> str:
    """Return p99 where the calls carry it."""
    found = quantile(run, case, 0.99)
    return f", p99 {duration(found.value)}" if found.over else ""


def _spread(row: "pd.Series[float]") -> str:
    """Return the range of the starts' medians."""
    return f" (starts from {duration(row[f'{P50}_low'])} to {duration(row[f'{P50}_high'])})"


def _payload(run: Run, box: str) -> list[str]:
    """Return how much longer the largest payload takes than the smallest, and what it costs the server."""
    rows = boxes(run)
    rows = rows[(rows["box"] == box) & (rows["callers"] == 1)].sort_values("payload_bytes")
    if len(rows) < 2:
        return []
    small, large = rows.iloc[0], rows.iloc[-1]
    longer = large[column(0.5)] / small[column(0.5)]
    dearer = large["server_cpu_us_per_call"] / small["server_cpu_us_per_call"]
    return [f"{large['payload_bytes']:,} B take {longer:.1f} times as long for {dearer:.1f} times the server's CPU"]


def _counted(run: Run, case: int) -> list[str]:
    """Return what the kernel counted of a call, where it counts."""
    starts = run.starts_of(case)
    names = {"tcp_delayed_acks": "delayed acknowledgements", "tcp_connections": "new connections"}
    per_call = {words: (starts[field] / starts["calls"]).median() for field, words in names.items()}
    counted = ", ".join(f"{value:.2f} {words}" for words, value in per_call.items() if value == value)
    return [f"of a call the kernel counted {counted}"] if counted else []
