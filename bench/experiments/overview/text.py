"""What the figure of all systems says."""

import pandas as pd

from bench.analysis.resources import total_cpu
from bench.experiments.overview.findings import FLOOR, P50, ranked, rates
from bench.run.frames import Run, numbered
from bench.text import duration, quantity


def conclusion(run: Run) -> str:
    """Say what each system adds to the floor, what a call costs, and how much a second client brings."""
    cases = ranked(run)
    floor = cases.loc[cases["system"] == FLOOR, P50].iloc[0]
    cpu = total_cpu(cases)
    lines = [
        f"- **{row['system']}** ({row['transport']}): {duration(row[P50])}, {row[P50] / floor:.1f} times the floor, "
        f"for {duration(cpu.loc[case])} of CPU"
        for case, row in numbered(cases)
    ]
    return "\n".join([*lines, "", _two(run), *absent(run)])


def _two(run: Run) -> str:
    both = rates(run)
    gain = (both["two"] / both["one"]).sort_values()
    if gain.empty:
        return ""
    least, most = gain.index[0], gain.index[-1]
    return (
        f"A second client brings most to **{most}** ({_rates(both, most)}, × {gain.iloc[-1]:.2f}) and least to "
        f"**{least}** ({_rates(both, least)}, × {gain.iloc[0]:.2f}), both with the placement "
        f"{both['placement'].iloc[0]}. One client on one CPU together with its server is often quicker still."
    )


def _rates(both: pd.DataFrame, system: str) -> str:
    return f"{quantity(both.loc[system, 'one'])} to {quantity(both.loc[system, 'two'])} calls a second"


def absent(run: Run) -> list[str]:
    """Say what could not be measured here, and what installs it."""
    return [f"\n**{name}** was not measured: {reason}." for name, reason in run.plan.absent.items()]
