"""Figures, checks, tables and documents of runs in which calls failed, or of which one start is there."""

import warnings

import numpy as np
import pytest
from drawings import RUNS
from handmade import reference

from bench.analysis.anatomy import breakdown
from bench.apps import numbers
from bench.grammar import figure as panels
from bench.grammar import result_tables
from bench.grammar.experiment import experiment, of_run
from bench.run.calls import AllCalls
from bench.run.frames import Run

LEAST_BLOCKS = 6  # without them no ratio has an interval
TABLES = ("marks", "sessions", "replies", "reports", "attempts", "streams", "stored_slices", "load", "hosts", "events")


def of_starts(run, ledger, kept, emptied=()):
    """Return a run with another ledger, and the rows of the other tables of some starts; emptied: of none at all."""
    rows = {name: run.stored_slices if name == "stored_slices" else run._read(name) for name in TABLES}
    rows = {name: table[table["start"].isin([] if name in emptied else kept)] for name, table in rows.items()}
    places = {start: place for start, place in run.calls.places.items() if start in kept and "calls" not in emptied}
    at = np.concatenate([np.arange(0), *(np.arange(place.start, place.stop) for place in places.values())])
    ends = np.cumsum([0, *(place.stop - place.start for place in places.values())])
    calls = AllCalls(run.calls.calls.select(at), dict(zip(places, map(slice, ends[:-1], ends[1:]), strict=True)))

    class Lacking(Run):
        def _read(self, table):
            return rows[table].reset_index(drop=True)

    made = object.__new__(Lacking)
    kept_parts = {name: vars(run)[name] for name in ("folder", "manifest", "id", "plan")}
    slices = rows["stored_slices"].reset_index(drop=True)
    vars(made).update(kept_parts, stored_ledger=ledger, calls=calls, stored_slices=slices)
    return made


def first_blocks(run, count):
    """Return the ledger of a run's first blocks: what is drawn and said of the others is the same."""
    return run.stored_ledger[run.stored_ledger["block"] < count].copy()


def all_failed(run):
    """Return a run in which every request was refused."""
    ledger = first_blocks(run, 2)
    ledger["errors"] = ledger["scheduled"].fillna(ledger["calls"])
    ledger["calls"], ledger["server_calls"] = 0, 0
    return of_starts(run, ledger, list(ledger.index), emptied={"calls", *TABLES} - {"load", "hosts"})


def first_failed(run):
    """Return a run in which every request of the first case was refused; of the others there are intervals."""
    ledger = first_blocks(run, LEAST_BLOCKS)
    gone = ledger["case"] == ledger["case"].iloc[0]
    ledger.loc[gone, "errors"], ledger.loc[gone, ["calls", "server_calls"]] = ledger.loc[gone, "calls"], 0
    return of_starts(run, ledger, list(ledger.index[~gone]))


def one_start(run):
    """Return what there is of a run that was interrupted in its second start."""
    return of_starts(run, run.stored_ledger.iloc[:1], list(run.stored_ledger.index[:1]))


def untraced(run):
    """Return a run whose traced slices hold no whole call, as on a machine that is too busy."""
    ledger = first_blocks(run, LEAST_BLOCKS)
    return of_starts(run, ledger, list(ledger.index), emptied={"events"})


PARTLY = ("anatomy", "capacity", "latency", "marginal", "overview", "retries", "streaming", "tls", "whatif")
LACKING = [(name, all_failed) for name in RUNS] + [
    (name, lacking) for name in PARTLY for lacking in (first_failed, one_start)
]
LACKING += [(name, untraced) for name in ("anatomy", "whatif")]


@pytest.mark.slow
@pytest.mark.parametrize(("notebook", "lacking"), LACKING)
def test_whatever_a_run_lacks_is_drawn_or_said(notebook, lacking):
    run = lacking(reference(notebook))
    with warnings.catch_warnings(action="error"):
        figure = panels.whole(run)
        figure.draw_without_rendering()
        of_run(run).answer(run)
        result_tables.results(run)
        result_tables.limits(run)
        for name in experiment(notebook).tables:
            experiment(notebook).table(run, name)
        document = numbers.document(run)
    if lacking is untraced:
        assert (breakdown(run, run.numbers[0]).dtypes == "int64").all()  # so that a reader can plot them
    if lacking is all_failed:
        words = [
            text.get_text() for axes in figure.findobj(lambda artist: hasattr(artist, "texts")) for text in axes.texts
        ]
        assert sum("no request of" in text.replace("\n", " ") for text in words) == 4
        assert "No conclusion" in document["conclusion"]
    if lacking is one_start and notebook != "capacity":  # whose manifest still holds the search
        assert "No conclusion" in document["conclusion"]
