"""The boxes: alone, with several callers, and with larger payloads."""

import pandas as pd

from bench.run.frames import Run, column, once

P50 = column(0.5)


@once
def boxes(run: Run) -> pd.DataFrame:
    """Return the cases of boxes, with ``box``; the sound one last."""
    rows = run.cases_with(system="mystery")
    return rows.assign(box=[run.case(case).options["box"] for case in rows.index])


@once
def alone(run: Run) -> pd.DataFrame:
    """Return the cases of one caller with the smallest payload, by box."""
    rows = boxes(run)
    return _with_time(run, rows[rows["callers"] == 1]).set_index("box", drop=False)


@once
def crowded(run: Run) -> pd.DataFrame:
    """Return the cases of several callers, by box."""
    rows = boxes(run)
    return rows[rows["callers"] > 1].set_index("box", drop=False)


def _with_time(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the cases that have a whole window, with ``case``: the number that the index was."""
    rows = rows.assign(case=rows.index)
    return rows[rows.index.isin(run.find(is_short=False))]


def name_of(box: str) -> str:
    """Return how a box is called in figures: A to F, or sound."""
    return box if box == "sound" else box.upper()
