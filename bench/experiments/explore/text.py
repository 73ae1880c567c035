"""What the figure of cases side by side says."""

from collections.abc import Sequence

from bench import stats
from bench.experiments.explore.findings import Row, rows
from bench.run.frames import Run
from bench.text import duration, listed


def conclusion(run: Run) -> str:
    """Say which time is the shortest, and what is told from it; and whether the cases were measured in turns."""
    apart = (
        " These cases were measured one behind the other, not in turns: what changed in the machine meanwhile looks "
        "like a difference between them. The page gives the command that measures them in turns."
    )
    return sentences(rows(run)) + apart * ("collected" in run.manifest)


def sentences(shown: Sequence[Row]) -> str:
    """Say which time is the shortest, and which others were told from it: those whose starts do not overlap."""
    over = [f"**{row.name}** is overloaded at its rate: no time is told." for row in shown if row.over]
    known = [(row, *stats.across_starts(list(row.medians))) for row in shown if not row.over]
    known = sorted((one for one in known if one[1] == one[1]), key=lambda one: one[1])
    if not known:
        return " ".join(over)
    row, shortest, low, high = known[0]
    first = "A call of" if len(known) == 1 else "The shortest is a call of"
    said = [f"{first} **{row.name}**: {_with_range(shortest, low, high)}."]
    said += [
        f"**{row.name}** takes {_with_range(value, low, most)}, {value / shortest:.1f} times as long."
        for row, value, low, most in known[1:]
        if low > high
    ]
    if near := [row.name for row, _, low, _ in known[1:] if low <= high]:
        said.append(f"Not told from the shortest, because their starts overlap: {listed(near)}.")
    return " ".join([*said, *over])


def _with_range(value: float, low: float, high: float) -> str:
    return f"{duration(value)} (starts from {duration(low)} to {duration(high)})"
