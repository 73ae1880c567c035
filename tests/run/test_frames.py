"""From stored rows to numbers, checks and sentences, on runs made by hand."""

from dataclasses import replace

import numpy as np
import pytest
from handmade import PAIR, file_by_file, handmade, in_order, recorded, usual

from bench.contract import PACING
from bench.grammar import result_tables
from bench.grammar.experiment import experiment, of_run
from bench.plan.case import Case
from bench.plan.labels import labels
from bench.run.frames import Run, shared
from bench.run.start_record import StartRecord


def test_numbers_of_a_run_made_by_hand():
    run = handmade(PAIR, [100, 50])
    zeromq = run.cases.loc[0]
    assert zeromq["label"] == "zeromq ipc" and zeromq["starts"] == 6
    low, high = run.starts.loc[run.starts["case"] == 0, "p50_rtt_us"].agg(["min", "max"])
    assert (zeromq["p50_rtt_us_low"], zeromq["p50_rtt_us_high"]) == (low, high)
    assert (low, high) == pytest.approx((100.3, 105.3), abs=0.05)  # the middle of the last four fifths of 5 000 calls
    assert zeromq["client_cpu_us_per_call"] == 10 and zeromq["server_cpu_us_per_call"] == 20
    assert zeromq["rate_per_s"] == pytest.approx(1e6 / 105, rel=0.03)
    assert 0 < zeromq["n"] < 6 * 5000


def test_the_warm_up_is_kept_but_left_out_of_quantiles():
    run = handmade(PAIR, [100, 50])
    assert len(run.samples) == run.ledger["calls"].sum()
    assert run.cases["n"].sum() == run.samples["warm"].sum() < len(run.samples)
    cut = run.ledger.groupby("case")["warm_up_ns"].nunique()
    assert (cut == 1).all()


def test_a_start_of_one_slow_call_still_counts():
    run = handmade([Case("sockets", "tcp")], [900_000], calls=1)
    assert run.cases["n"].iloc[0] == 6 and run.cases["p50_rtt_us"].iloc[0] > 900_000


def conclusion(run):
    return of_run(run).conclusion(run)


def test_no_conclusion_from_an_invalid_or_small_run():
    assert conclusion(handmade(PAIR, [100, 50], server_calls=1)).startswith("**No conclusion.**")
    assert "6" in conclusion(handmade(PAIR, [100, 50], starts=2))


def test_the_conclusion_is_computed():
    text = conclusion(handmade([*PAIR, Case("loopback", "inproc")], [100, 50, 0.1]))
    assert text.startswith(  # the sentence is the product here: no other test holds one of it
        "Median RTT of zeromq ipc (103 µs) divided by that of sockets ipc (51.4 µs): **2.00** (95 % CI 2.00 to 2.00)."
    )


def test_absent_cpu_is_absent_not_zero():
    run = handmade([Case("zeromq", "tcp", target="tcp://127.0.0.1:5")], [100], server_cpu_ns=None, server_calls=None)
    assert result_tables.costs(run)["server CPU/call"].iloc[0] == "not known"
    assert experiment("latency").tables["cpu"](run).empty


def test_labels_tell_what_differs():
    assert labels((Case("zeromq", "ipc"), Case("loopback", "inproc"))) == ["zeromq ipc", "loopback (no server)"]
    assert labels((Case("zeromq", "ipc"), Case("zeromq", "ipc", 10)))[1] == "zeromq ipc 10 B"
    turned = Case("sockets", "tcp", options={"client_nodelay": False})
    assert labels((Case("sockets", "tcp"), turned))[1] == "sockets tcp no client_nodelay"
    assert labels(experiment("throughput").plan(clients=[1, 2], transport="ipc", payload_bytes=5).cases) == [
        "zeromq ipc",
        "zeromq ipc 1 client",
        "zeromq ipc 2 clients",
    ]


def test_a_run_that_is_being_measured_is_read_up_to_the_start_that_its_ledger_ends_with():
    run = handmade(PAIR, [100, 20], starts=2, calls=200, write=file_by_file)
    run.folder.update(finished=False)
    hidden = {file: file.read_bytes() for table in ("ledger", "samples") for file in run.folder.files(table)[-1:]}
    for file in hidden:
        file.unlink()
    early = Run(run.folder)
    assert len(early.stored_ledger) == 3
    for file, content in hidden.items():
        file.write_bytes(content)
    assert set(early.samples["start"]) == set(early.ledger.index) == {0, 1, 2}


def test_a_run_is_shared_until_a_file_of_it_changes():
    folder = handmade(PAIR, [100, 50]).folder
    run = shared(folder.path)
    assert shared(folder.path) is run and run.cases["n"].sum() > 0
    folder.update(note="another")
    assert shared(folder.path) is not run and shared(folder.path).manifest["note"] == "another"


def test_spinning_until_a_request_is_due_is_no_cost_of_a_call_and_no_limit_of_a_rate():
    def record(start, block, index):
        rtt_ns = np.full(1000, 100_000)
        spun = [{"name": PACING, "value": 2000.0, "unit": "us"}, {"name": PACING, "value": 3000.0, "unit": "us"}]
        times = np.vstack([in_order(rtt_ns), in_order(rtt_ns)[0]])
        return StartRecord(usual(1000, 0.1, scheduled=1000), [times], {"reports": spun * index})

    case = Case("sockets", "ipc", load="open", offered_per_s=10_000)
    run = recorded("openload", [case, replace(case, clients=2)], record)
    assert run.cases["client_cpu_us_per_call"].tolist() == [10, 5]  # of 10 ms the two clients spun 5 ms
    assert run.cases["client_cpu_percent"].tolist() == [10, 5]
    assert run.cases["client_cpu_share"].to_numpy() == pytest.approx([0.1, 0.05])


def test_cpu_time_of_other_processes_is_that_of_the_machine_without_the_roles():
    run = handmade(PAIR, [100, 50], machine_busy_ns=250_000_000)
    assert (run.ledger["other_cpu_ns"] == 100_000_000).all()  # the roles used 150 ms
