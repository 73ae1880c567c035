"""Cases in turns, on real sockets: what is stored, what is compared, and which case is named when one fails."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import children

from bench.errors import SystemFailedError
from bench.grammar.experiment import experiment
from bench.measurement import runner
from bench.plan import slicing
from bench.run import stored
from bench.run.frames import Run

PROBED = ["spin_ns", "syscall_ns", "switch_ns"]


def planned(b="{system: sockets, transport: tcp}", **parameters):
    parameters = {"starts": 2, "slice_ms": 10, "window_s": 0.02} | parameters
    return experiment("compare").plan(a="{system: sockets, transport: ipc}", b=b, **parameters)


def test_cases_take_turns_and_one_that_makes_few_calls_has_starts_of_its_own():
    plan = planned()
    plan = replace(plan, cases=(*plan.cases, replace(plan.cases[0], max_calls=50)))
    folder = runner.run(plan)
    run = Run(folder)
    assert len(run.ledger) == 8 and (run.ledger["calls"] == run.ledger["server_calls"]).all()
    assert run.ledger_of(3)["calls"].between(1, 50).all() and run.ledger_of(3)[PROBED].gt(0).all(axis=None)
    turns = run.stored_slices.join(run.ledger[["block", "case"]], on="start").sort_values(["block", "at_ns"])
    rounds = turns.dropna(subset="round").groupby(["block", "round"])["case"].agg(list)
    warm_ups = [rounds.pop((block, slicing.WARM_UP)) for block in range(2)]
    assert all(sorted(cases) == [0, 1, 2] for cases in rounds)
    assert all(sorted(cases) == sorted([0, 1, 2] * slicing.WARM_UPS) for cases in warm_ups)
    assert all(rounds[block, 2] == rounds[block, 1][::-1] for block in range(2))
    of_slices = run.ledger.dropna(subset="asleep_s")
    assert run.stored_slices.groupby("start")["calls"].sum().equals(of_slices["calls"].astype("i8"))
    assert (of_slices["metered_ns"] > 1e9 * of_slices["window_s"]).all()  # what others used is of this time
    assert (of_slices["asleep_s"] > 0).all() and run.stored_slices["server_cpu_ns"].gt(0).all()
    for _, calls in run.samples.groupby("start"):
        sent, rtt = calls["t_send_ns"].to_numpy(), calls["rtt_ns"].to_numpy()
        assert (sent[1:] >= sent[:-1] + rtt[:-1]).all()
    assert np.isfinite(run.contrasts(0, 2, "cpu_us_per_call")).all()
    assert of_slices.groupby("block")[PROBED].nunique().eq(1).all(axis=None)  # one probe for all of a block
    lost = of_slices.index[of_slices["block"] == 1][1]  # a block that lacks a start is measured again as a whole
    (folder.path / "ledger" / f"{lost:05}.parquet").unlink()
    after = Run(runner.run(plan, folder)).ledger
    again = [start for start in after.index if after["utc"][start] != run.ledger["utc"][start]]
    assert again == list(of_slices.index[of_slices["block"] == 1])


def test_the_case_that_fails_is_named_with_the_end_of_its_servers_log_and_nothing_is_left(with_systems):
    with_systems()
    before = children()
    plan = planned(b="{system: faulty, transport: tcp, options: {fault: dies_later}}")
    with pytest.raises(SystemFailedError, match=r"faulty.*the last words of the server"):
        runner.run(plan)
    (failure,) = stored.find("latest").stored_manifest()["failures"]
    assert plan.cases[failure["case"]].system == "faulty"
    assert children() == before
