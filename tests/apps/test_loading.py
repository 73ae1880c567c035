"""``bench load``: what it reports of one start."""

import numpy as np
import pytest

from bench.apps.loading import most_requests, report
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.run.start_record import StartRecord


def reported(count, scheduled):
    """Return the times of a report: requests of 1, 2, ... ms each, of so many scheduled ones."""
    due = np.arange(count) * 10_000_000
    calls = np.stack([due, due + np.arange(1, count + 1) * 1_000_000, due]).astype("i8")
    ledger = {"calls": count, "errors": 0, "scheduled": scheduled, "window_s": 1.0}
    return report(StartRecord(ledger, [calls]), 1)["response_us"]


@pytest.mark.parametrize(
    ("count", "scheduled", "known"),
    [
        (100, 100, {"p50": 50_000, "p90": 90_000, "p99": None, "p99.9": None}),  # p99 needs 368 requests
        (100, 150, {"p50": 75_000, "p90": None}),  # a third were not sent: later than any other
        (3, 3, {"p50": 2000, "p90": None}),
        (0, 10, {"p50": None, "mean": None}),
    ],
)
def test_requests_that_were_not_sent_are_late_and_few_have_no_tail(count, scheduled, known):
    times = reported(count, scheduled)
    assert {name: times[name] for name in known} == known


@pytest.mark.parametrize("duration_s", [1.0, 8.0, 3600.0])
def test_a_closed_load_may_be_long(duration_s):
    case = checked(Case("sockets", "tcp", placement="free", max_calls=most_requests(duration_s)))
    assert not case.is_short
