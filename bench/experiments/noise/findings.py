"""Machine noise: lateness of waits, spread of starts by placement, drift of the baseline."""

import numpy as np
import pandas as pd
from scipy import special

from bench.analysis.comparison import ratio_of
from bench.run.frames import Run, column
from bench.stats.intervals import Interval
from bench.validation.cases import FLOOR

P50 = column(0.5)


WORDS = {
    "nobody": "without other load",
    "same": "beside a busy process on its CPU",
    "others": "beside busy processes on the other CPUs",
}


TIMERS = {"sleep": "time.sleep", "asyncio": "asyncio.sleep", "spin": "sleep, then spin"}


STOLEN = 0.01  # share of the CPUs' time above which a start is marked


def waits(run: Run, **wanted: object) -> list[int]:
    """Return the cases that wait and whose options are these."""
    return run.find(system="pause", **wanted)


def hiccup_cases(run: Run) -> dict[str, int]:
    """Return the cases of long waits by their neighbours."""
    longest = max(run.case(case).options["us"] for case in waits(run, way="sleep"))
    return {str(run.case(case).options["beside"]): case for case in waits(run, way="sleep", us=longest)}


def timer_cases(run: Run) -> dict[str, int]:
    """Return the cases of short waits by their timer."""
    shortest = min(run.case(case).options["us"] for case in waits(run))
    return {str(run.case(case).options["way"]): case for case in waits(run, beside="nobody", us=shortest)}


def overshoot(run: Run, case: int) -> "pd.Series[float]":
    """Return the lateness of each wait of a case in us, shape (waits,); index: start."""
    rows = run.samples_of(case, warm=True)
    return (rows["rtt_ns"] / 1e3 - run.case(case).options["us"]).set_axis(rows["start"])


def baseline(run: Run) -> dict[str, int]:
    """Return the cases of raw sockets by placement."""
    return {run.case(case).placement: case for case in run.find(system=FLOOR)}


def spread(run: Run, case: int) -> float:
    """Return the standard deviation of ln(start median)."""
    return float(np.log(run.starts_of(case)[P50]).std())


def beside(run: Run, neighbour: str) -> Interval:
    """Return the median lateness of long waits beside a busy process over that without other load, paired by block."""
    cases = hiccup_cases(run)
    alone, busy = (_late_us(run, cases[name]) for name in ("nobody", neighbour))
    return ratio_of(alone, busy)


def _late_us(run: Run, case: int) -> "pd.Series[float]":
    """Return the median lateness of each start of a case in us; index: block."""
    return run.starts_of(case).set_index("block")[P50] - run.case(case).options["us"]


def differ_in_spread(run: Run, one: int, other: int) -> bool:
    """Return whether two cases' variances of ln(start median) are distinguishable: two-sided F test, 5 %."""
    logs = [np.log(run.starts_of(case)[P50]).dropna() for case in (one, other)]
    if min(map(len, logs)) < 2 or not all(log.var() > 0 for log in logs):
        return False
    ratio, *freedom = logs[0].var() / logs[1].var(), len(logs[0]) - 1, len(logs[1]) - 1
    return bool(2 * min(special.fdtr(*freedom, ratio), special.fdtrc(*freedom, ratio)) < 0.05)


def timeline(run: Run) -> pd.DataFrame:
    """Return the baseline's starts: ``at_s`` in the run, ``ratio`` to the case's median, ``stolen`` share."""
    rows = run.starts[run.starts["system"] == FLOOR].copy()
    begun = pd.to_datetime(run.ledger["utc"])
    rows["at_s"] = (begun.reindex(rows.index) - begun.min()).dt.total_seconds()
    rows["ratio"] = rows[P50] / rows.groupby("case")[P50].transform("median")
    rows["stolen"] = rows["steal_ns"] / rows["window_s"] / 1e9 / int(run.manifest["machine"]["cpus_allowed"])
    return rows.sort_values("at_s")
