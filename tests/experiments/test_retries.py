"""Retries around a freeze: outcomes with exact values, checks both ways, and one real run."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from handmade import recorded, usual

from bench.analysis import checks, retry_outcomes
from bench.errors import UsageError
from bench.experiments import retries
from bench.grammar.experiment import experiment
from bench.measurement import runner
from bench.measurement.reports import attempts_of
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.run.frames import Run
from bench.run.start_record import StartRecord

MS = 1_000_000
FROZEN = {"law": "constant", "mean_us": 2000, "freeze_after": 4, "freeze_ms": 100, "server": "python", "wait": "sleep"}


def case(**policy):
    retry = {"timeout_ms": 50, "deadline_ms": 500} | policy
    return Case("oracle", "tcp", 100, FROZEN, "free", "retry", 100.0, "poisson", engine="wire", retry=retry)


def run_of(cases, rows, starts=6, window_s=1.0, **ledger):
    """Return a run whose starts of case c have the attempts rows[c]: (request, number, ms sent, reply or 0, ms due).

    Where rows[c] is an iterator, each start takes its next.
    """

    def record(start, block, index):
        attempts = rows[index] if isinstance(rows[index], list) else next(rows[index])
        times = (np.array(attempts, float).T * [[1], [1], [MS], [MS], [MS]]).round().astype("i8")
        answered = int((times[3] > 0).sum())
        cpu = {"client_cpu_ns": 1000, "server_cpu_ns": 1000}
        known = usual(answered, window_s, **{"scheduled": len(set(times[0]))} | cpu | ledger)
        return StartRecord(
            known, tables={"attempts": attempts_of([SimpleNamespace(blobs=[row.tobytes() for row in times])], 0)}
        )

    return recorded("retries", cases, record, starts, window_s)


# Four requests, 10 ms apart; the fourth that the server sees (the third here) waits for a freeze from 20 to 120 ms.
GIVEN_UP = [(0, 0, 0, 2, 0), (1, 0, 10, 12, 10), (2, 0, 20, 122, 20), (3, 0, 30, 124, 30), (4, 0, 130, 132, 130)]
RETRIED = [
    *((0, 0, 0, 2, 0), (1, 0, 10, 12, 10), (2, 0, 20, 122, 20), (3, 0, 30, 124, 30)),
    *((2, 1, 70, 126, 20), (3, 1, 80, 128, 30), (2, 2, 120, 0, 20), (4, 0, 130, 182, 130)),
]


def test_outcomes_are_counted_from_the_attempts():
    run = run_of([case(), case(retries=3)], [GIVEN_UP, RETRIED])
    first, second = retry_outcomes.outcomes(run)
    assert set(first.attempts_per_request) == {1.0} and set(second.attempts_per_request) == {8 / 5}
    assert set(first.awaited) == {3 / 5} and set(first.goodput_per_s) == {3.0}
    assert set(second.awaited) == {3 / 5}  # the retry of request 3 is answered after 48 ms
    assert set(first.met) == set(second.met) == {1.0}  # all replies came within 500 ms
    assert set(first.overtaken) == set(second.overtaken) == {0.0}  # one connection is answered in order
    assert list(first.wasted) + list(second.wasted) == pytest.approx([2 / 5] * 6 + [4 / 7] * 6)
    assert list(first.utilization) == pytest.approx([(2 + 2 + 102 + 2 + 2) / 1000] * 6)


# Two workers, a connection to each: requests 0 and 2 and the retry of 1 use the first; the freeze is the second's.
TWO = {"workers": 2}
OVERTAKEN = [(0, 0, 0, 2, 0), (1, 0, 10, 112, 10), (2, 0, 20, 22, 20), (1, 1, 60, 62, 10), (3, 0, 90, 114, 90)]


def test_a_retry_by_another_connection_can_be_answered_before_its_original():
    retried_case = replace(case(retries=3), callers=2, options=FROZEN | TWO)
    (outcome,) = retry_outcomes.outcomes(run := run_of([retried_case], [OVERTAKEN]))
    assert set(outcome.overtaken) == {1 / 4} and set(outcome.awaited) == {1.0} and set(outcome.met) == {1.0}
    assert set(retry_outcomes.freezes_ns(run, 0)) == {10.0 * MS}
    assert list(outcome.utilization) == pytest.approx([(2 + 102 + 2 + 2 + 2) / 2 / 1000] * 6)
    assert retry_outcomes.utilization(run) == pytest.approx(0.1)


def test_a_reply_after_its_attempt_was_abandoned_meets_the_deadline_and_is_not_awaited():
    late = [(0, 0, 0, 60, 0), (1, 0, 10, 520, 10)]  # 60 ms, and 510 ms, after they were due
    (outcome,) = retry_outcomes.outcomes(run_of([case()], [late]))
    assert set(outcome.met) == {1 / 2} and set(outcome.awaited) == {0.0}


def test_the_freeze_is_found_from_the_order_of_the_replies():
    run = run_of([case()], [GIVEN_UP])
    assert set(retry_outcomes.freezes_ns(run, 0)) == {20.0 * MS}
    later = [(0, 0, 0, 2, 0), (1, 0, 10, 25, 10), (2, 0, 20, 125, 20)]
    assert set(retry_outcomes.freezes_ns(run_of([case()], [later]), 0)) == {25.0 * MS}  # it waited for the reply before
    none = run_of([case()], [GIVEN_UP[:2]])
    assert retry_outcomes.freezes_ns(none, 0).isna().all() and math.isnan(
        retry_outcomes.outcomes(none)[0].recovery_s.iloc[0]
    )
    assert retries.tables["retries"](none)["recovery after the freeze"].to_list() == ["no freeze"]
    assert [claim.verdicts(none) for claim in retries.claims] == [[], []]


@pytest.mark.parametrize(
    ("failing", "wanted"),
    [((), 0.0), ((0.25,), 0.1), ((0.25, 0.45), 0.3), ((0.25, 0.75), 0.1), (np.arange(0, 1, 0.01), math.inf)],
)
def test_recovery_is_the_first_time_that_holds(failing, wanted):
    due = np.arange(0, 1, 0.01)
    met = ~np.isin(np.round(due, 2), np.round(failing, 2))
    for at in failing if len(failing) < 5 else ():  # one request in ten is not enough to be late: fail two
        met[round(at * 100) + 1] = False
    assert retry_outcomes.recovery_s(due, met, 0.2, 1.0) == pytest.approx(wanted)
    assert math.isnan(retry_outcomes.recovery_s(due, met, 0.8, 1.0))  # the window ends too soon to show it


def test_the_prediction_is_utilization_times_attempts():
    run = run_of([case(), case(retries=3), case(retries=3, budget=0.1), case(retries=9)], [GIVEN_UP] * 4)
    assert retry_outcomes.utilization(run) == pytest.approx(0.2)
    assert retries.tables["predicted"](run).iloc[:, 1].to_list() == ["20%", "80%", "22%", "200%"]


def test_a_start_that_does_not_recover_counts_as_the_longest():
    stuck = [*GIVEN_UP[:3], *((3 + n, 0, 130 + n, 0, 130 + n) for n in range(0, 860, 5))]
    calm = [*GIVEN_UP[:3], *((3 + n, 0, 130 + n, 132 + n, 130 + n) for n in range(0, 860, 5))]
    for many, wanted in ((0, "0.0 s"), (2, "0.0 s"), (3, "0.0 s or not recovered"), (6, "not recovered")):
        run = run_of([case()], {0: iter([stuck] * many + [calm] * (6 - many))})
        (recovery,) = retries.recoveries(run)
        assert recovery.words == wanted and recovery.ends == f"recovered: {6 - many} of 6 starts"
        can_recover, cannot = retries.claims
        assert can_recover.verdict(run) == {0: "holds", 6: "contradicted"}.get(many, "undecided")
        assert cannot.verdicts(run) == []


def verdict(run, name):
    return next(one for one in checks.check(run) if one.name == name)


def test_the_server_s_count_may_hold_attempts_whose_reply_was_not_waited_for_and_no_more():
    assert verdict(run_of([case(retries=3)], [RETRIED], server_calls=8), "answers").verdict == checks.PASS
    assert verdict(run_of([case(retries=3)], [RETRIED], server_calls=9), "answers").verdict == checks.INVALID
    assert verdict(run_of([case(retries=3)], [RETRIED], server_calls=6), "answers").verdict == checks.INVALID


def test_requests_have_to_be_sent_all_and_in_time_beside_their_timeout():
    assert verdict(run_of([case()], [GIVEN_UP]), "pacing").verdict == checks.PASS
    late = [(*one[:2], one[2] + 7, one[3] + 7, one[4]) for one in GIVEN_UP]
    assert verdict(run_of([case()], [late]), "pacing").verdict == checks.CAUTION
    assert verdict(run_of([case()], [GIVEN_UP], scheduled=6), "pacing").verdict == checks.INVALID


@pytest.mark.parametrize(("changed", "words"), [({"engine": "library"}, "engine wire"), ({"clients": 2}, "clients 1")])
def test_impossible_cases_are_refused(changed, words):
    with pytest.raises(UsageError, match=words):
        checked(Case(**vars(case()) | changed))


def test_a_rate_above_the_capacity_is_refused():
    with pytest.raises(UsageError, match=r"^600 requests/s .*rate"):
        experiment("retries").plan(rate=600)


@pytest.mark.slow
def test_a_real_server_that_freezes_is_asked_again_by_a_real_run():
    plan = experiment("retries").plan(profile="smoke", starts=1, window_s=0.8, rate=150, freeze_ms=200)
    run = Run(runner.run(plan))
    assert verdict(run, "answers").verdict == checks.PASS and len(run.samples) == 0
    for one in retry_outcomes.outcomes(run):
        rows, ledger = retry_outcomes.attempts(run, one.case), run.ledger_of(one.case).iloc[0]
        assert rows.loc[rows["number"] == 0, "request"].nunique() == ledger["scheduled"] == rows["request"].nunique()
        assert ledger["calls"] == rows["rtt_ns"].notna().sum() and (rows["number"] <= one.policy.retries).all()
        assert (rows["t_send_ns"] >= rows["due_ns"]).all() and (rows["rtt_ns"].dropna() > 0).all()
        assert (rows["number"] > 0).any() == (one.policy.retries > 0)  # the freeze outlasts the timeout
        assert 0 < one.wasted.iloc[0] <= 1 and one.awaited.iloc[0] <= one.met.iloc[0]
        assert one.policy.retries or (one.awaited.iloc[0] < 1 and one.overtaken.iloc[0] == 0)
    assert isinstance(retry_outcomes.over_time(run, 0), pd.DataFrame)
