"""The trust card: each of the twelve checks passes where it should, and fails on a run built to fail it."""

import numpy as np
import pytest
from handmade import PAIR, handmade, moody, noisy

from bench.analysis import checks
from bench.analysis.checks import CAUTION, INVALID, PASS
from bench.experiments import panels
from bench.measurement import kernel_counters
from bench.plan.case import Case
from bench.run.frames import Run

LOOPBACK = Case("loopback", "inproc")


def outcome(run, name):
    (found,) = [one for one in checks.check(run) if one.name == name]
    return found


def test_all_is_well():
    run = handmade([*PAIR, LOOPBACK], [100, 50, 0.1], shape=noisy)
    assert {one.name: one.verdict for one in checks.check(run)} == {check.__name__: PASS for check in checks.ALL}
    assert str(checks.tally(run)) == "12/12" and "Checks passed: 12/12." in panels.caption(run)
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
    "samples": (CAUTION, lambda: handmade(PAIR, [100, 50], calls=300)),
    "starts": (CAUTION, lambda: handmade(PAIR, [100, 50], starts=3)),
    "noise": (CAUTION, lambda: handmade(PAIR, [100, 50], shape=every_other)),
    "machine": (CAUTION, lambda: handmade(PAIR, [100, 50], gc_collections=3)),
    "instrument": (CAUTION, lambda: handmade([*PAIR, LOOPBACK], [100, 50, 2])),
}


@pytest.mark.parametrize("name", FAILING)
def test_each_check_can_fail(name):
    verdict, run = FAILING[name]
    found = outcome(run(), name)
    assert found.verdict == verdict and found.advice and found.found


def test_a_start_cut_short_is_said():
    found = outcome(handmade(PAIR, [100, 50], planned_s=1), "samples")
    assert found.verdict == CAUTION and "were full of calls early" in found.found


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"steal_ns": 40_000_000, "machine_busy_ns": 0}, "went to other guests"),
        ({"machine_busy_ns": 700_000_000}, "other processes used"),
        ({"throttled_ns": 5_000_000}, "held tasks back for 0.06 s"),
    ],
)
def test_what_disturbs_is_named(known, text):
    found = outcome(handmade(PAIR, [100, 50], **known), "machine")
    assert found.verdict == CAUTION and text in found.found


def test_a_full_resource_is_named_and_is_no_fault():
    found = outcome(handmade([Case("zeromq", "ipc")], [100], server_cpu_ns=480_000_000), "limit")
    assert found.verdict == PASS and "the server's CPU" in found.found


def test_callers_that_bring_nothing_where_nothing_is_full_are_a_riddle():
    cases = [Case("zeromq", "ipc", clients=1), Case("zeromq", "ipc", clients=2)]
    riddle = outcome(handmade(cases, [100, 210], server_cpu_ns=10**7), "limit")
    assert riddle.verdict == CAUTION and "nothing there is full" in riddle.found and riddle.advice
    explained = outcome(handmade(cases, [100, 210], server_cpu_ns=10**9), "limit")
    assert explained.verdict == PASS and "the server's CPU" in explained.found


def test_an_incomplete_run_says_so():
    run = handmade(PAIR, [100, 50])
    run.folder.files("ledger")[0].unlink()
    found = outcome(Run(run.folder), "starts")
    assert found.verdict == CAUTION and "11 of 12" in found.found and "resume" in found.advice


def test_a_server_that_could_not_be_asked_is_said():
    found = outcome(handmade(PAIR, [100, 50], server_calls=None), "answers")
    assert found.verdict == PASS and "there was no server to ask" in found.found


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
    (tmp_path / "net" / "netstat").write_text("TcpExt: A DelayedACKs B\nTcpExt: 1 23 4\nIpExt: C\nIpExt: 5\n")
    (tmp_path / "net" / "snmp").write_text("Tcp: InSegs OutSegs ActiveOpens\nTcp: 7 8 6\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 5\nthrottled_usec 11\n")
    tick = kernel_counters.TICK_NS
    found = kernel_counters.read(tmp_path, tmp_path)
    times = {"machine_busy_ns": 17 * tick, "steal_ns": 7 * tick, "pressure_ns": 123_000, "throttled_ns": 11_000}
    assert found == times | {"tcp_delayed_acks": 23, "tcp_segments_out": 8, "tcp_connections": 6}
    assert kernel_counters.read(tmp_path / "none", tmp_path / "none") == {}
    assert {"machine_busy_ns", "steal_ns"} <= kernel_counters.read().keys()
