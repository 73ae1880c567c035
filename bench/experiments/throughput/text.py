"""What the figure of rates says."""

import pandas as pd

from bench.experiments.words import clients_of, why_not_more
from bench.run.frames import Run, number_of
from bench.text import quantity


def conclusion(run: Run) -> str:
    """Say how much gets through, and what the limit was."""
    parts = [
        _streams(run),
        *(_limit(run, rows) for _, rows in run.round_trips().groupby("transport", sort=False)),
    ]
    return "\n\n".join(part for part in parts if part)


def _streams(run: Run) -> str:
    cases = run.cases_with(load="stream")
    if cases.empty:
        return ""
    most, widest = cases.loc[cases["rate_per_s"].idxmax()], cases.loc[cases["rate_mbit_per_s"].idxmax()]
    return (
        f"One way, the most messages arrive over {most['transport']} at {most['payload_bytes']:,} B: "
        f"{quantity(most['rate_per_s'])} a second; the most bits over {widest['transport']} at "
        f"{widest['payload_bytes']:,} B: {widest['rate_mbit_per_s']:,.0f} Mb/s."
    )


def _limit(run: Run, rows: pd.DataFrame) -> str:
    """Say how calls per second grew with the clients, and which CPU was the limit at the best point."""
    one, best = rows.loc[rows["clients"].idxmin()], rows.loc[rows["rate_per_s"].idxmax()]
    grown = (
        f"Over **{one['target'] or one['transport']}**, {clients_of(one)} {'makes' if one['clients'] == 1 else 'make'} "
        f"{quantity(one['rate_per_s'])} calls a second"
    )
    if best["clients"] > one["clients"]:
        factor = best["rate_per_s"] / one["rate_per_s"]
        grown += (
            f", and the most, {quantity(best['rate_per_s'])}, come with {clients_of(best)}: {factor:.1f} times as many"
        )
    return f"{grown}. {why_not_more(run, number_of(best.name))}"
