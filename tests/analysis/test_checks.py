"""The trust card: each of the twelve checks passes where it should, and fails on a run built to fail it."""

import re

import numpy as np
import pytest
from handmade import PAIR, file_by_file, handmade, moody, noisy

from bench.analysis import checks, stationarity
from bench.analysis.checks import CAUTION, INVALID, PASS
from bench.experiments import panels
from bench.measurement import kernel_counters
from bench.plan.case import Case
from bench.run import start_record
from bench.run.frames import Run
from bench.run.start_record import StartRecord
from bench.simulation import virtual_time
from bench.validation.profiles import make_plan

LOOPBACK = Case("loopback", "inproc")
CAPACITY = r"capacity .*at least ([\d,]+)/s"  # of a server whose clients are the limit


def outcome(run, name):
    (found,) = [one for one in checks.check(run) if one.name == name]
    return found


def test_all_is_well():
    run = handmade([*PAIR, LOOPBACK], [100, 50, 0.1], shape=noisy)
    assert {one.name: one.verdict for one in checks.check(run)} == {check.__name__: PASS for check in checks.ALL}
    assert str(checks.tally(run)) == "12/12" and "12/12" in panels.caption(run)
    assert len(checks.ALL) == 12


def step(at, factor):
    """Calls that take longer by a factor from one share of the start on, or up to it if ``at`` is negative."""
    return lambda start, calls: (
        noisy(start, calls) * np.where((np.arange(calls) >= abs(at) * calls) == (at > 0), factor, 1)
    )


def every_other(start, calls):
    """Starts of even blocks take twice as long."""
    return np.full(calls, 1 + (start // 2) % 2)


FAILING = {
    "answers": (INVALID, lambda: handmade(PAIR, [100, 50], server_calls=4999)),
    "little": (CAUTION, lambda: handmade([Case("zeromq", "ipc", clients=2)], [100])),  # one of two callers is missing
    "client": (CAUTION, lambda: handmade([Case("zeromq", "ipc", clients=2)], [100], client_cpu_ns=9 * 10**8)),
    "settled": (CAUTION, lambda: handmade(PAIR, [100, 50], shape=step(0.8, 1.5))),
    "independence": (CAUTION, lambda: handmade(PAIR, [100, 50], shape=moody, calls=3000)),
    "samples": (CAUTION, lambda: handmade(PAIR, [100, 50], calls=60)),
    "starts": (CAUTION, lambda: handmade(PAIR, [100, 50], starts=3)),
    "noise": (CAUTION, lambda: handmade(PAIR, [100, 50], shape=every_other)),
    "machine": (CAUTION, lambda: handmade(PAIR, [100, 50], gc_collections=30)),
    "instrument": (CAUTION, lambda: handmade([*PAIR, LOOPBACK], [100, 50, 2])),
}


@pytest.mark.parametrize("name", FAILING)
def test_each_check_can_fail(name):
    verdict, run = FAILING[name]
    found = outcome(run(), name)
    assert found.verdict == verdict and found.advice and found.found


def test_saturated_clients_are_not_the_servers_capacity():
    busy = handmade([Case("zeromq", "ipc", clients=2)], [100], client_cpu_ns=9 * 10**8, server_cpu_ns=10**8)
    rate = busy.cases.loc[0, "rate_per_s"]
    for name in ("client", "limit"):
        found = outcome(busy, name).found
        assert re.search(CAPACITY, found)[1] == f"{rate:,.0f}"
    both = handmade([Case("zeromq", "ipc", clients=2)], [100], client_cpu_ns=9 * 10**8, server_cpu_ns=10**9)
    assert checks.client_limited(busy) == [0] and checks.client_limited(both) == []
    assert not re.search(CAPACITY, outcome(both, "limit").found)


@pytest.mark.parametrize(
    ("name", "few"),
    [
        ("machine", {"gc_collections": 3}),  # of 5,000 calls: no quantile moves
        ("samples", {"calls": 300}),  # p99 has its calls, p99.9 is left out
        ("independence", {"calls": 8}),  # too few calls to say: that is for another check
    ],
)
def test_a_finding_that_changes_no_printed_number_is_no_caution(name, few):
    assert outcome(handmade(PAIR, [100, 50], shape=noisy, **few), name).verdict == PASS


def stationary(series, number, cases=3, starts=6, calls=1000, spread=0.03):
    """A run of stationary cases: the starts differ by ``spread`` (normal ln), ``series`` makes the calls."""
    of = [Case("zeromq", "ipc", size) for size in range(1, cases + 1)]
    plan, tables = make_plan("latency", of, starts=starts, window_s=0.01), []
    for start, block, index in plan.order():
        chance = np.random.default_rng([number, start])
        rtt = np.rint(1e5 * series(chance, calls) * np.exp(spread * chance.standard_normal())).astype("i8")
        sent = np.concatenate([[0], np.cumsum(rtt)[:-1]])
        ledger = {
            "calls": len(rtt),
            "server_calls": len(rtt),
            "window_s": rtt.sum() / 1e9,
            "errors": 0,
            "scheduled": None,
        }
        used = {"client_cpu_ns": 1, "server_cpu_ns": 1, "voluntary_switches": 1, "involuntary_switches": 0}
        known = ledger | used | {"gc_collections": 0, "first_rtt_ns": 1}
        record = StartRecord(known, [np.stack([sent, sent + rtt])])
        tables.append(start_record.tables(start, block, index, plan.cases[index], record))
    return Run(virtual_time.InMemory(f"stationary-{number}", plan, tables))


def independent(chance, calls):
    """Lognormal calls, one in a hundred ten times slower."""
    return np.exp(0.05 * chance.standard_normal(calls)) * np.where(chance.random(calls) < 0.01, 10, 1)


def correlated(chance, calls):
    """Lognormal calls whose neighbours are correlated by 0.95."""
    series = np.convolve(chance.standard_normal(calls + 200), 0.95 ** np.arange(100), "valid")[:calls]
    return np.exp(0.05 * series * (1 - 0.95**2) ** 0.5)


def switching(chance, calls):
    """Two speeds a tenth apart, each for a twentieth of the window on average."""
    state = np.cumsum(chance.random(calls) < 20 / calls) + chance.integers(2)
    return np.where(state % 2, 0.9, 1.0) * np.exp(0.02 * chance.standard_normal(calls))


def exponential(chance, calls):
    """Few calls with exponential times: a level of few calls must not depend on how they are binned."""
    return 1 + chance.exponential(size=calls // 3)


@pytest.mark.slow
@pytest.mark.parametrize("series", [independent, correlated, switching, exponential])
def test_stationary_runs_raise_no_more_alarms_than_the_checks_state(series):
    runs = [stationary(series, number) for number in range(20)]
    for name in ("settled", "noise", "independence", "samples", "starts", "little"):
        alarms = [number for number, run in enumerate(runs) if getattr(checks, name)(run).verdict != PASS]
        assert len(alarms) <= 2, (name, alarms)  # at a rate of 5 %, more than 2 of 20 have a chance of 7.5 %


def test_the_a_a_ratio_that_chance_explains():
    assert stationarity.aa_allowance(6, 1) == pytest.approx(np.expm1(1.959964 * 0.05 * np.sqrt(np.pi / 2 * 2 / 3)))
    assert stationarity.aa_allowance(6, 1) < stationarity.aa_allowance(6, 30) < stationarity.aa_allowance(4, 30)


def test_a_step_of_a_lone_start_passes_and_a_step_of_all_starts_does_not():
    lone = handmade(PAIR, [100, 50], shape=lambda start, n: step(0.8, 1.5)(start, n) if start == 3 else noisy(start, n))
    assert outcome(lone, "settled").verdict == PASS
    found = outcome(handmade(PAIR, [100, 50], shape=step(0.8, 1.5)), "settled")
    assert found.verdict == CAUTION and "starts" in found.found


def test_a_drift_of_every_start_is_reported():
    drifting = handmade(PAIR, [100, 50], shape=lambda start, n: noisy(start, n) * np.linspace(1, 1.1, n))
    found = outcome(drifting, "settled")
    assert found.verdict == CAUTION and "starts" in found.found


def test_a_start_cut_short_is_said():
    found = outcome(handmade(PAIR, [100, 50], planned_s=1), "samples")
    assert found.verdict == CAUTION and "12 starts" in found.found


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"steal_ns": 40_000_000, "machine_busy_ns": 0}, "guests"),
        ({"machine_busy_ns": 700_000_000}, "processes"),
        ({"throttled_ns": 5_000_000}, "0.06 s"),
    ],
)
def test_what_disturbs_is_named(known, text):
    found = outcome(handmade(PAIR, [100, 50], **known), "machine")
    assert found.verdict == CAUTION and text in found.found


def test_a_saturated_resource_is_named_and_is_no_fault():
    found = outcome(handmade([Case("zeromq", "ipc")], [100], server_cpu_ns=480_000_000), "limit")
    assert found.verdict == PASS and "server" in found.found


def test_callers_that_bring_nothing_where_no_cpu_is_saturated_are_a_caution():
    cases = [Case("zeromq", "ipc", clients=1), Case("zeromq", "ipc", clients=2)]
    riddle = outcome(handmade(cases, [100, 210], server_cpu_ns=10**7), "limit")
    assert riddle.verdict == CAUTION and riddle.advice
    explained = outcome(handmade(cases, [100, 210], server_cpu_ns=10**9), "limit")
    assert explained.verdict == PASS and "server" in explained.found


def test_an_incomplete_run_says_so():
    run = handmade(PAIR, [100, 50], write=file_by_file)
    run.folder.update(finished=False)
    run.folder.files("ledger")[0].unlink()
    found = outcome(Run(run.folder), "starts")
    assert found.verdict == CAUTION and "11 of 12" in found.found and "resume" in found.advice


def test_a_server_that_could_not_be_asked_is_said():
    found = outcome(handmade(PAIR, [100, 50], server_calls=None), "answers")
    assert found.verdict == PASS and "12 starts" in found.found


def test_a_warm_up_of_most_starts_is_cut_from_all_and_a_lone_step_is_not():
    run = handmade(PAIR, [100, 50], shape=step(-0.3, 2), planned_s=1)
    cut = run.ledger["warm_up_ns"].unique()
    assert len(cut) == 1 and cut[0] > 0.4e9 * run.ledger["window_s"].min()  # by time the slow third is half of it
    alone = handmade(
        PAIR, [100, 50], shape=lambda start, calls: step(-0.3, 2)(start, calls) if start == 3 else noisy(start, calls)
    )
    assert alone.ledger["warm_up_ns"].to_numpy() == pytest.approx(0.2e9 * alone.ledger["window_s"].min())


def test_counters_of_the_kernel(tmp_path):
    (tmp_path / "pressure").mkdir()
    (tmp_path / "stat").write_text("cpu  10 0 5 900 3 1 1 7 0 0\ncpu0 1 1 1 1\n")
    (tmp_path / "pressure" / "cpu").write_text(
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0 total=9\n"
    )
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "netstat").write_text("TcpExt: A DelayedACKs TW\nTcpExt: 1 23 4\nIpExt: C\nIpExt: 5\n")
    (tmp_path / "net" / "snmp").write_text("Tcp: InSegs OutSegs ActiveOpens\nTcp: 7 8 6\n")
    (tmp_path / "net" / "sockstat").write_text("sockets: used 9\nTCP: inuse 5 orphan 0 tw 42 alloc 6 mem 0\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 5\nthrottled_usec 11\n")
    tick = kernel_counters.TICK_NS
    found = kernel_counters.read(tmp_path, tmp_path)
    times = {"machine_busy_ns": 17 * tick, "steal_ns": 7 * tick, "pressure_ns": 123_000, "throttled_ns": 11_000}
    counted = {"tcp_delayed_acks": 23, "tcp_segments_out": 8, "tcp_connections": 6}
    assert found == times | counted | {"tcp_time_waits": 4, "tcp_time_wait": 42}
    assert kernel_counters.read(tmp_path / "none", tmp_path / "none") == {}
    assert {"machine_busy_ns", "steal_ns"} <= kernel_counters.read().keys()
