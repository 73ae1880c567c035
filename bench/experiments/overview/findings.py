"""The systems by their round trip, and what a second client brings to each."""

import pandas as pd

from bench.run.frames import Run, column, once

FLOOR = "sockets"


P50 = column(0.5)


@once
def ranked(run: Run) -> pd.DataFrame:
    """Return the systems' cases with one client, placed as one client is by default; the shortest round trip first."""
    cases = run.cases[(run.cases["system"] != "loopback") & (run.cases["clients"] == 1)]
    return cases.dropna(subset=P50).groupby("system", sort=False).head(1).sort_values(P50)


@once
def rates(run: Run) -> pd.DataFrame:
    """Return calls per second with one client and with two under one placement, and their ranges; index: system."""
    two = run.cases_with(clients=2).set_index("system")
    one = run.cases[(run.cases["clients"] == 1) & (run.cases["system"] != "loopback")]
    one = one[one["placement"].isin(two["placement"])].set_index("system")
    found = {"placement": two["placement"]}
    for name, rows in (("one", one), ("two", two)):
        found |= {f"{name}{end}": rows[f"rate_per_s{end}"] for end in ("", "_low", "_high")}
    return pd.DataFrame(found).dropna()
