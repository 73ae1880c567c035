"""Slices: the pauses between them are left out, their first calls do not count, and a drift of the machine cancels."""

import numpy as np
import pytest
from handmade import FACTS, handmade

from bench.measurement.slices import without_pauses
from bench.plan import slicing
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run import slices, start_record, stored
from bench.run.frames import Run
from bench.run.start_record import StartRecord

PAIR = (Case("zeromq", "ipc"), Case("sockets", "ipc"))


def calls_of(begin_ns, rtt_ns, count):
    """Return send and receive times of calls that follow each other."""
    sent = begin_ns + rtt_ns * np.arange(count)
    return np.stack([sent, sent + rtt_ns]).astype("i8")


def in_turns(levels_us, drift=0.0, blocks=8, rounds=4, calls=100):
    """Return a run of two cases in turns; the machine becomes slower by ``drift`` from one slice to the next."""
    plan = Plan("compare", PAIR, blocks, 0.1, 1, "class", slice_s=0.1 / rounds)
    folder, ledger = stored.create(plan, FACTS), {}
    for block, (starts,) in plan.blocks():
        made = {place: ([], []) for place in range(2)}
        at_ns = 0.0
        for number, turn in enumerate(slicing.turns(2, rounds, block, 1)):
            rtt_ns = 1000 * levels_us[starts[turn.place][1]] * (1 + drift * number)
            made[turn.place][0].append(calls_of(at_ns, rtt_ns, calls))
            made[turn.place][1].append({"round": turn.round, "at_ns": int(at_ns), "client_cpu_ns": int(calls * rtt_ns)})
            at_ns += calls * rtt_ns + 5e6
        for place, (start, case) in enumerate(starts):
            times, rows = without_pauses([np.concatenate(made[place][0], axis=1)], made[place][1])
            ledger = {"calls": times[0].shape[1], "server_calls": times[0].shape[1], "errors": 0, "first_rtt_ns": 1,
                      "window_s": sum(row["length_ns"] for row in rows) / 1e9, "client_cpu_ns": 1, "server_cpu_ns": 1,
                      "gc_collections": 0, "turns_with": starts[0][0]}  # fmt: skip
            record = StartRecord(ledger, times, {"slices": rows})
            folder.append(start, start_record.tables(start, block, case, plan.cases[case], record))
    folder.update(finished=True)
    return Run(folder)


def test_pauses_are_left_out_and_calls_belong_to_their_slices():
    times = np.concatenate([calls_of(0, 10, 3), calls_of(1000, 20, 2)], axis=1)
    (moved,), rows = without_pauses([times], [{"at_ns": 0}, {"at_ns": 990}])
    assert moved.tolist() == [[0, 10, 20, 30, 50], [10, 20, 30, 50, 70]]
    assert [(row["number"], row["begin_ns"], row["length_ns"], row["calls"]) for row in rows] == [
        (0, 0, 30, 3),
        (1, 30, 40, 2),
    ]


def test_a_slice_of_several_callers_begins_with_the_first_of_them():
    (one, two), rows = without_pauses([calls_of(100, 10, 2), calls_of(105, 10, 2)], [{"at_ns": 90}])
    assert one[0].tolist() == [0, 10] and two[0].tolist() == [5, 15] and rows[0]["length_ns"] == 25


def test_warm_calls_are_those_of_the_rounds_without_the_first_of_each_slice():
    run = in_turns([100, 50])
    rounds = run.samples.join(run.stored_slices.set_index(["start", "number"])["round"], on=["start", "slice"])
    warm = rounds[rounds["warm"]]
    assert warm["round"].min() == 1 and warm["round"].notna().all()
    assert warm.groupby(["start", "slice"]).size().unique().tolist() == [100 - slices.DROPPED]
    assert run.starts["p50_rtt_us"].groupby(run.ledger["case"]).first().tolist() == pytest.approx([100, 50])


def test_few_calls_in_a_slice_lose_a_quarter_of_them():
    run = in_turns([100, 50], calls=10)
    assert run.samples.groupby(["start", "slice"])["warm"].sum().max() == 8


def test_a_drift_of_the_machine_cancels_in_the_ratio_of_slices():
    run = in_turns([100, 50], drift=0.01)
    assert np.exp(run.contrasts(0, 1, "p50_rtt_us")).tolist() == pytest.approx([0.5] * 16, rel=1e-3)
    assert np.exp(run.contrasts(0, 1, "rate_per_s")).tolist() == pytest.approx([2.0] * 16, rel=1e-3)
    by_start = run.starts.set_index(["block", "case"])["p50_rtt_us"].unstack()
    assert np.abs(by_start[1] / by_start[0] / 0.5 - 1).max() > 1e-3  # not the ratio of two medians


def test_a_run_in_starts_has_no_contrasts_of_slices():
    assert handmade(PAIR, [100, 50]).contrasts(0, 1, "p50_rtt_us") is None
