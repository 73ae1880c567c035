"""The first check: every answer was right, and the server counted as many requests as were made."""

import pandas as pd

from bench.outcomes import CAUTION, INVALID, PASS, Check
from bench.run.frames import Run
from bench.text import listed

MOST_FAILED = 0.001  # share of a run's requests that may fail before it tells nothing


def answers(run: Run) -> Check:
    """1. Every answer was verified, and the server counted as many requests as the clients made."""
    known = run.ledger.dropna(subset="server_calls")
    wrong = known[~_agree(run, known)]
    if len(wrong):
        return _differing(run, wrong)
    if (run.ledger["errors"] > 0).any():
        return _failed(run)
    told = run.ledger["case"].map(lambda case: run.case(case).generator)
    count, unseen = int(run.ledger.loc[told == "", "calls"].sum()), len(run.ledger) - len(known)
    outside = f"; in {unseen} starts there was no server to ask" if unseen else ""
    if not (told != "").any():
        return Check("answers", PASS, f"all {count:,} messages verified; servers counted the same{outside}")
    by = (
        f"{listed(dict.fromkeys(told[told != '']))} verified none of {int(run.ledger['calls'].sum()) - count:,} answers"
    )
    here = f"all {count:,} messages of the other starts verified; " if count else ""
    found = f"{here}{by}, and saw no error; servers counted those and what was under way at the end{outside}"
    return Check("answers", PASS, found)


def _agree(run: Run, starts: pd.DataFrame) -> "pd.Series[bool]":
    """Return whether the counts of each start agree.

    A load generator leaves with requests under way, one for each connection at most; those that failed may be counted.
    """
    cases = [run.plan.cases[case] for case in starts["case"]]
    room = [case.callers if run.case(n).generator else 0 for n, case in zip(starts["case"], cases, strict=True)]
    more = starts["server_calls"] - starts["calls"]
    return (more >= -starts["errors"]) & (more <= starts["errors"] + room)


def _differing(run: Run, wrong: pd.DataFrame) -> Check:
    row = wrong.iloc[0]
    found = f"in {len(wrong)} starts the counts differ: {row['calls']} calls, the server saw {row['server_calls']:.0f}"
    if run.case(row["case"]).generator:
        found += f", more than the {run.plan.cases[int(row['case'])].callers} that may have been under way at the end"
    advice = "another server answered, or messages were lost: look for stale servers"
    return Check("answers", INVALID, found, advice)


def _failed(run: Run) -> Check:
    """Return the outcome for requests that failed: a few are a caution, more make the numbers worthless."""
    failing = run.ledger.index[run.ledger["errors"] > 0]
    errors, made = int(run.ledger["errors"].sum()), int(run.ledger.loc[failing, "calls"].sum())
    kinds = _kinds(run.reports, failing)
    found = f"{errors:,} failures beside {made:,} answers in {len(failing)} starts{f' ({kinds})' * bool(kinds)}"
    theirs = any(run.case(case).generator for case in run.ledger.loc[failing, "case"])
    include = "times and rates include answers that tell of errors" if theirs else "failed calls are in no time or rate"
    advice = f"{include}: look at the server"
    return Check("answers", INVALID if errors > MOST_FAILED * made else CAUTION, found, advice)


def _kinds(reports: pd.DataFrame, starts: "pd.Index[int]") -> str:
    """Return how many requests of some starts failed, by kind, as the reports tell: "status 12, read 3"."""
    mine = reports[reports["start"].isin(starts) & reports["name"].str.startswith("error_")]
    counts = mine.groupby("name", sort=False)["value"].sum()
    return ", ".join(f"{str(name).removeprefix('error_')} {count:,.0f}" for name, count in counts.items() if count)
