"""From stored rows to numbers, checks and sentences, on runs made by hand."""

import numpy as np
import pytest

from bench.experiments import published, registry, tables, words
from bench.experiments.latency.text import cpu
from bench.experiments.throughput.text import conclusion
from bench.plan.case import Case
from bench.plan.labels import labels
from bench.plan.profiles import make_plan
from bench.run import start_record, stored
from bench.run.frames import Run
from bench.run.start_record import StartRecord

FACTS = {
    "machine": {"machine_id": "0", "cpu_model": "x", "cpus_allowed": 2, "virtual": True, "system": "L", "kernel": "1"},
    "versions": {},
    "git": {"revision": "abc", "dirty": False},
}


def handmade(cases, rtt_us, starts=6, calls=5000, notebook="latency", planned_s=0.01, shape=None, **ledger):
    """Return a run in which call i of case c takes rtt_us[c] us plus i millionths, and a start adds its number in %.

    shape: factors of the calls of a start, from the number of the start and of calls.
    """
    plan = make_plan(notebook, cases, starts=starts, window_s=planned_s)
    folder = stored.create(plan, FACTS)
    for start, block, index in plan.order():
        rtt = np.rint(1000 * rtt_us[index] * (1 + block / 100 + np.arange(calls) / 1e6)).astype("i8")
        rtt = (rtt * shape(start, calls)).astype("i8") if shape else rtt
        sent = np.concatenate([[0], np.cumsum(rtt)[:-1]])
        known = {
            "calls": calls, "server_calls": calls, "window_s": float(rtt.sum()) / 1e9, "errors": 0, "first_rtt_ns": 1,
            "client_cpu_ns": 10_000 * calls, "server_cpu_ns": 20_000 * calls, "client_cpus": "0", "server_cpus": "1",
            "gc_collections": 0,
        } | ledger  # fmt: skip
        measured = StartRecord(known, calls=[np.stack([sent, sent + rtt])])
        folder.append(start, start_record.tables(start, block, index, cases[index], measured))
    folder.update(finished=True)
    return Run(folder)


PAIR = [Case("zeromq", "ipc"), Case("sockets", "ipc")]


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


def test_no_conclusion_from_an_invalid_or_small_run():
    assert words.conclusion(handmade(PAIR, [100, 50], server_calls=1)).startswith("**No conclusion.**")
    assert "6 are needed" in words.conclusion(handmade(PAIR, [100, 50], starts=2))


def test_the_conclusion_is_computed():
    text = words.conclusion(handmade([*PAIR, Case("loopback", "inproc")], [100, 50, 0.1]))
    assert "A round trip of **zeromq ipc** takes 103 µs (starts from 100 µs to 105 µs)" in text
    assert "2.0 times as long as raw sockets there (51.4 µs)" in text
    assert "the instrument itself makes" in text


def test_quantiles_that_the_samples_do_not_carry_are_not_printed():
    run = handmade(PAIR, [100, 50], calls=100, starts=6)
    table = tables.calls(run)
    n = run.cases["n"].iloc[0]
    assert table["p99.9"].iloc[0] == f"n/a (needs 3,688 samples, has {n})"
    assert "µs [" in table["p90"].iloc[0]


def test_half_a_round_trip_is_what_others_call_latency():
    text = published.zeromq_lines(handmade(PAIR, [100, 50], starts=1, calls=1001))
    assert "message size: 1000 [B]\nroundtrip count: 1001\nelapsed time: 0.100 [s]\naverage RTT: 100.050 [us]" in text
    assert "average latency: 50.025 [us]" in text


def test_the_limit_of_parallel_clients_is_named():
    def verdict(client, server, where="split"):
        cases = [Case("zeromq", "tcp", clients=n, placement=where) for n in (1, 2)]
        known = {"client_cpu_ns": int(client * 0.51e9), "server_cpu_ns": server and int(server * 0.51e9)}
        known |= {"client_cpus": "1"} if where == "same" else {}
        known |= {"client_cpus": None, "server_cpus": None} if where == "free" else {}
        return conclusion(handmade(cases, [200, 100], notebook="throughput", **known))

    assert "limit is the clients' CPU" in verdict(0.95, 0.5)
    assert "limit is the server's CPU" in verdict(0.3, 0.95)
    assert "no CPU is full" in verdict(0.3, 0.3)
    assert "neither is the limit" in verdict(0.3, None)
    assert "limit is the CPU that clients and server share" in verdict(0.56, 0.44, "same")
    assert "no CPU is full" in verdict(0.3, 0.3, "same")
    assert "limit is the server's thread" in verdict(0.0, 0.92, "free")


def test_absent_cpu_is_absent_not_zero():
    run = handmade([Case("zeromq", "tcp", target="tcp://127.0.0.1:5")], [100], server_cpu_ns=None, server_calls=None)
    assert tables.costs(run)["server CPU/call"].iloc[0] == "not known"
    assert "absent, not zero" in cpu(run)


def test_labels_tell_what_differs():
    assert labels((Case("zeromq", "ipc"), Case("loopback", "inproc"))) == ["zeromq ipc", "loopback (no server)"]
    assert labels((Case("zeromq", "ipc"), Case("zeromq", "ipc", 10)))[1] == "zeromq ipc 10 B"
    turned = Case("sockets", "tcp", options={"client_nodelay": False})
    assert labels((Case("sockets", "tcp"), turned))[1] == "sockets tcp client_nodelay=False"
    assert labels(registry.plan("throughput", clients=[1, 2], transport="ipc", payload_bytes=5).cases) == [
        "zeromq ipc",
        "zeromq ipc 1 client",
        "zeromq ipc 2 clients",
    ]
