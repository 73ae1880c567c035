"""One rule for the warm-up: quantiles, means, rates and CPU time per call leave it out."""

import numpy as np
import pytest
from handmade import in_order, in_turns, recorded, usual

from bench.analysis import checks
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.run import start_record
from bench.run.start_record import StartRecord

CASE = Case("sockets", "ipc")
CALLS, STEADY_NS = 10_000, 100_000
SLOWER, FASTER = (3, 2000), (0.5, 4000)


def beginning(factor, first, is_read=True, load="closed", own=0.5, under_way=1):
    """Return a run whose ``first`` calls take ``factor`` times as long as the others, and as much more CPU time.

    is_read: whether the CPU clocks were read in the window. own: share of a call in which each side uses its CPU.
    under_way: how many calls there are at once, each of which takes as many times as long.
    """
    rtt_ns = np.full(CALLS, STEADY_NS) + np.arange(CALLS) % 7
    rtt_ns[:first] = factor * rtt_ns[:first]
    times = in_order(rtt_ns.astype("i8"))
    times[0] = np.maximum(0, times[0] - (under_way - 1) * STEADY_NS)
    window_ns = int(times[1][-1])
    at_ns = np.arange(0.15e9, window_ns, 0.2e9).astype("i8")
    roles = ("client", "server")
    rows = [{"role": role, "t_ns": int(at), "rss_bytes": 1, "cpu_ns": int(own * at)} for role in roles for at in at_ns]
    known = usual(CALLS, window_ns / 1e9, **{f"{role}_cpu_ns": int(own * window_ns) for role in roles})
    paced = {"load": "open", "offered_per_s": 1e4, "arrivals": "uniform"} if load == "open" else {}
    known |= {"scheduled": CALLS} if paced else {}
    record = StartRecord(known, [np.concatenate([times, times[:1]])], {"load": rows if is_read else []})
    return recorded("latency", [Case("sockets", "ipc", **paced)], lambda *_: record, window_s=1.0)


@pytest.mark.parametrize(("factor", "first"), [SLOWER, FASTER])
def test_a_beginning_that_is_slower_or_faster_is_left_out_of_all_values(factor, first):
    run = beginning(factor, first)
    row = run.cases.loc[0]
    assert run.ledger["warm_up_ns"].min() >= first * factor * STEADY_NS > 0.2e9 * run.ledger["window_s"].max()
    assert row["p50_rtt_us"] == pytest.approx(100, rel=1e-3) and row["mean_rtt_us"] == pytest.approx(100, rel=1e-3)
    assert row["rate_per_s"] == pytest.approx(1e4, rel=1e-3)
    assert row["client_cpu_us_per_call"] == row["server_cpu_us_per_call"] == pytest.approx(50, rel=1e-3)
    assert row["server_cpu_percent"] == pytest.approx(50, rel=1e-3)
    assert (run.ledger["cpu_from_ns"] == run.ledger["warm_up_ns"]).all()
    assert "CPU" not in checks.settled(run).found


def test_where_cpu_clocks_were_not_read_in_between_the_cpu_time_is_of_the_whole_window_and_the_card_says_so():
    run = beginning(*SLOWER, is_read=False)
    assert (run.ledger["cpu_from_ns"] == 0).all() and "not from the CPU time per call" in checks.settled(run).found
    assert run.cases.loc[0, "server_cpu_us_per_call"] == pytest.approx(50 * 1.4, rel=1e-3)


def test_cpu_time_is_of_the_calls_answered_since_the_cut_also_of_those_under_way_at_it():
    row = beginning(1, 0, under_way=1000).cases.loc[0]
    assert row["server_cpu_us_per_call"] == pytest.approx(50, rel=1e-3)


def test_an_open_load_that_is_faster_at_first_is_overloaded_and_keeps_its_calls():
    ledger = beginning(*FASTER, load="open").ledger
    assert ledger["warm_up_ns"].tolist() == pytest.approx((0.2e9 * ledger["window_s"]).tolist())


def test_slices_that_warm_up_count_neither_in_rates_nor_in_cpu_time():
    run = in_turns([100, 50], interference=1.5)
    rounds = run.stored_slices[run.stored_slices["round"] >= 1].groupby("start")
    per_call = rounds["server_cpu_ns"].sum() / rounds["calls"].sum() / 1e3
    assert run.starts["server_cpu_us_per_call"].tolist() == pytest.approx(per_call.tolist())
    assert run.cases["rate_per_s"].tolist() == pytest.approx([1e6 / 150, 1e6 / 75], rel=1e-3)


def test_a_start_reads_its_cpu_clocks_as_the_warm_up_ends():
    record = measure(CASE, window_s=0.5, seed=1)
    tables = start_record.tables(0, 0, 0, CASE, record)
    load = tables["load"].to_pandas()
    read = load[load["t_ns"].between(0, record.ledger["window_s"] * 1e9)].dropna(subset="cpu_ns").groupby("role")
    assert set(read.groups) == {"client", "server"} and (read["t_ns"].min() >= 0.1e9).all()
    total = {role: record.ledger[f"{role}_cpu_ns"] for role in read.groups}
    assert all(0 < used <= total[role] for role, used in read["cpu_ns"].max().items())


def test_the_rate_of_few_calls_in_step_counts_those_under_way_at_the_cut_and_at_the_end():
    rtt_ns = np.full(6, 40_000_000)
    record = StartRecord(usual(24, 0.25), [in_order(rtt_ns) + late * 500_000 for late in range(4)])
    run = recorded("mystery", [Case("sockets", "tcp", callers=4)], lambda *_: record, window_s=0.23)
    assert 0.04e9 < run.ledger["warm_up_ns"].iloc[0] < 0.08e9
    assert run.starts["rate_per_s"].tolist() == pytest.approx([4 / 0.04] * 6)


@pytest.mark.parametrize("took_ms", [1, 60])  # late replies that come behind the window are not of it
def test_the_achieved_rate_of_a_few_requests_on_a_schedule_is_of_the_window_and_not_of_the_time_between_them(took_ms):
    due_ns = np.array([100, 101, 102, 190]) * 1_000_000
    times = np.stack([due_ns, due_ns + took_ms * 1_000_000, due_ns])
    record = StartRecord(usual(4, 0.2, scheduled=4), [times])
    case = Case("sockets", "ipc", load="open", offered_per_s=20)
    run = recorded("latency", [case], lambda *_: record, window_s=0.2)
    warm_up_s = run.ledger["warm_up_ns"].iloc[0] / 1e9
    answered = 4 if took_ms == 1 else 3
    assert run.starts["rate_per_s"].tolist() == pytest.approx([answered / (0.2 - warm_up_s)] * 6)
