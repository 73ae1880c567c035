"""The trust card: each check passes where it should, and fails on a run built to fail it."""

import numpy as np
import pytest
from handmade import PAIR, file_by_file, handmade, in_order, in_turns, noisy, recorded, reference, usual

from bench.analysis import checks, earlier, rankings, speed, stationarity, trust_card
from bench.analysis.checks import CAUTION, INVALID, NOTHING, PASS
from bench.analysis.resources import Resource, cpus_of, crowded
from bench.analysis.trust_card import tally
from bench.grammar import figure as panels
from bench.measurement import kernel_counters
from bench.plan.case import Case
from bench.run.frames import Run
from bench.run.start_record import StartRecord

STEADY = {"spin_ns": 2e5, "syscall_ns": 200.0, "switch_ns": 3e3, "machine_busy_ns": 150_000_000}  # of every start
LOOPBACK = Case("loopback", "inproc")


def outcome(run, name):
    """Return the outcome of one check of a run, without the others."""
    return getattr(checks, name)(run)


def test_all_is_well():
    run = handmade([*PAIR, LOOPBACK], [100, 50, 0.1], shape=noisy, **STEADY)
    idle = {"pacing", "client", "noise"}  # nothing is paced, no clients are parallel, no case was measured twice
    wanted = {check.__name__: NOTHING if check.__name__ in idle else PASS for check in checks.ALL}
    assert {one.name: one.verdict for one in checks.check(run)} == wanted
    assert checks.tally(run).passed == checks.tally(run).judged == 10 and checks.tally(run).idle == 3
    assert "10/10" in panels.caption(run) and "3 N/A" in panels.caption(run)


def test_a_check_with_nothing_to_look_at_neither_passes_nor_fails():
    verdicts = (PASS, NOTHING, CAUTION, PASS)
    card_checks = [trust_card.Check(f"c{place}", verdict, "") for place, verdict in enumerate(verdicts)]
    card = tally(card_checks)
    assert (card.passed, card.judged, card.idle, card.others) == (2, 3, 1, ["c2"])
    assert not card.is_invalid and str(card).startswith("2/3")
    assert not [words for words in (card.line, str(card)) if "1 N/A" not in words]
    assert "nothing" not in tally([one for one in card_checks if one.verdict != NOTHING]).line


def step(at, factor):
    """Calls that take longer by a factor from one share of the start on, or up to it if ``at`` is negative."""
    return lambda start, calls: (
        noisy(start, calls) * np.where((np.arange(calls) >= abs(at) * calls) == (at > 0), factor, 1)
    )


def in_two_levels(start, calls):
    """Starts of even blocks take half as long again; each varies by some per cent."""
    return np.full(calls, (1 + (start // 2) % 2 / 2) * (1 + 0.02 * np.random.default_rng(start).random()))


FAILING = {
    "answers": (INVALID, lambda: handmade(PAIR, [100, 50], server_calls=4999)),
    "rate": (CAUTION, lambda: handmade([Case("zeromq", "ipc", clients=2)], [100])),  # one of two callers is missing
    "client": (CAUTION, lambda: paced(client_cpu_ns=int(0.45e9))),
    "settled": (CAUTION, lambda: handmade(PAIR, [100, 50], shape=step(0.8, 1.5))),
    "levels": (CAUTION, lambda: handmade(PAIR, [100, 50], shape=in_two_levels)),
    "samples": (CAUTION, lambda: handmade(PAIR, [100, 50], calls=60)),
    "starts": (CAUTION, lambda: handmade(PAIR, [100, 50], starts=3)),
    "noise": (CAUTION, lambda: in_turns([100, 50], alternate=1.1)),
    "speed": (CAUTION, lambda: probed([1.0, 1.0, 1.3, 1.3, 1.0, 1.3])),
    "machine": (CAUTION, lambda: handmade(PAIR, [100, 50], gc_collections=60)),  # of 5,000 calls, whose p99 is printed
    "instrument": (CAUTION, lambda: handmade([*PAIR, LOOPBACK], [100, 50, 2])),
}


def paced(**ledger):
    """A run of an open load of two clients at 1,000/s, whose windows take half a second."""
    cases = [Case("zeromq", "ipc", clients=2, load="open", offered_per_s=1000.0)]
    return handmade(cases, [100], scheduled=5000, **ledger)


def probed(factors):
    """A run whose fixed work takes so much longer in each block."""

    def record(start, block, index):
        rtt_ns = np.full(200, 100_000)
        slower = {work: ns * factors[block] for work, ns in STEADY.items()}
        return StartRecord(usual(200, 0.02, **slower), [in_order(rtt_ns)])

    return recorded("latency", PAIR, record, starts=len(factors))


@pytest.mark.parametrize("name", FAILING)
def test_each_check_can_fail(name):
    verdict, run = FAILING[name]
    check = outcome(run(), name)
    assert check.verdict == verdict and check.advice and check.found


def test_what_cannot_be_known_is_not_passed():
    assert outcome(handmade(PAIR, [100, 50], starts=2), "settled").verdict == NOTHING
    few = handmade([Case("zeromq", "ipc", load="open", offered_per_s=100.0)], [100], calls=50, scheduled=50)
    assert outcome(few, "pacing").verdict == NOTHING and "too few" in outcome(few, "pacing").found
    assert "throttling was not recorded" in outcome(handmade(PAIR, [100, 50], throttled_ns=None), "machine").found
    assert "no throttling" in outcome(handmade(PAIR, [100, 50], throttled_ns=0), "machine").found
    assert cpus_of({"cpus": 64, "cpus_allowed": 4}) == 64 and cpus_of({"cpus_allowed": 4}) == 4


@pytest.mark.parametrize(
    ("name", "few"),
    [
        ("machine", {"gc_collections": 2}),  # of 5,000 calls: fewer than half of those above p99.9
        ("machine", {"gc_collections": 8, "calls": 200}),  # of 200, of which 20 are above p90: p99 is not printed
        ("samples", {"calls": 300}),  # p99 has its calls, p99.9 is left out
    ],
)
def test_a_finding_that_changes_no_printed_number_is_no_caution(name, few):
    assert outcome(handmade(PAIR, [100, 50], shape=noisy, **few), name).verdict == PASS


def stationary(series, number):
    """A run of stationary cases: the starts differ by 3 % (normal ln), ``series`` makes the calls."""

    def record(start, block, index):
        chance = np.random.default_rng([number, start])
        rtt_ns = np.rint(1e5 * series(chance, 1000) * np.exp(0.03 * chance.standard_normal())).astype("i8")
        return StartRecord(usual(1000, rtt_ns.sum() / 1e9), [in_order(rtt_ns)])

    return recorded("latency", [Case("zeromq", "ipc", size) for size in (1, 2, 3)], record)


def correlated(chance, calls):
    """Lognormal calls whose neighbours are correlated by 0.95."""
    series = np.convolve(chance.standard_normal(calls + 200), 0.95 ** np.arange(100), "valid")[:calls]
    return np.exp(0.05 * series * (1 - 0.95**2) ** 0.5)


def switching(chance, calls):
    """Two speeds a tenth apart, each for a twentieth of the window on average."""
    state = np.cumsum(chance.random(calls) < 20 / calls) + chance.integers(2)
    return np.where(state % 2, 0.9, 1.0) * np.exp(0.02 * chance.standard_normal(calls))


@pytest.mark.slow
@pytest.mark.parametrize("series", [correlated, switching])
def test_stationary_runs_raise_no_more_alarms_than_the_checks_state(series):
    runs = [stationary(series, number) for number in range(20)]
    for name in ("settled", "levels", "samples", "starts", "rate"):
        alarms = [number for number, run in enumerate(runs) if getattr(checks, name)(run).verdict != PASS]
        assert len(alarms) <= 2, (name, alarms)  # at a rate of 5 %, more than 2 of 20 have a chance of 7.5 %


def test_levels_of_an_open_load_are_those_of_its_response_times():
    """The round trips of every start are alike; requests of every second block wait half as long again."""

    def record(start, block, index):
        due_ns = np.arange(400) * 10**7
        late_ns = int(5e6 * (1 + block % 2 / 2) * (1 + start / 1000))
        return StartRecord(
            usual(400, 4.0, scheduled=400), [np.vstack([due_ns + late_ns, due_ns + late_ns + 1000, due_ns])]
        )

    run = recorded("openload", [Case("sockets", "ipc", load="open", offered_per_s=100)], record)
    check = outcome(run, "levels")
    assert check.verdict == CAUTION and "1.50 times the lower" in check.found


@pytest.mark.parametrize(
    ("busy", "words"),
    [(0.5, "50%"), (0.9004, "90.04%"), (0.8996, "89.96%"), (0.902, "90.2%"), (0.9, "90%"), (1.0, "100%")],
)
def test_a_utilization_is_told_on_its_side_of_the_limit(busy, words):
    assert Resource("the server's CPU", ("server",), 1, np.ones(6), busy).percent == words


def test_cpus_of_two_speeds_are_one_machine_and_one_disturbed_block_is_no_other_machine():
    def record(start, block, index):
        spin_ns = 2e5 * (1 + index) * (1.5 if block == 7 else 1.0)
        cpus = {"client_cpus": str(index), "server_cpus": str(index)}
        return StartRecord(usual(200, 0.02, **STEADY | cpus | {"spin_ns": spin_ns}), [in_order(np.full(200, 100_000))])

    assert speed.speed_range(recorded("latency", PAIR, record, starts=24)) == pytest.approx(0)
    assert speed.speed_range(handmade(PAIR, [100, 50])) is None
    assert outcome(handmade(PAIR, [100, 50]), "speed").verdict == NOTHING


def test_a_case_that_differs_from_its_twin_is_noise():
    quiet = in_turns([100, 50], blocks=12, wobble=0.01)
    assert outcome(quiet, "noise").verdict == PASS
    for levels, verdict in (([100, 101], PASS), ([100, 104], CAUTION)):
        twins = in_turns(levels, blocks=12, wobble=0.01, cases=[PAIR[0], PAIR[0]])
        assert outcome(twins, "noise").verdict == verdict
    assert outcome(in_turns([100, 50], blocks=5, alternate=1.1), "noise").verdict == NOTHING


def test_an_order_that_changes_with_the_placement_names_the_pair():
    cases = [
        Case(name, "ipc", placement=placement)
        for placement in ("same", "split")
        for name in ("zeromq", "sockets", "nng")
    ]
    check = outcome(handmade(cases, [100, 50, 70, 40, 60, 200], shape=noisy, is_checked=False), "order")
    assert check.verdict == CAUTION and "nng ipc on one CPU divided by zeromq ipc on one CPU is 0.70" in check.found
    run = handmade(cases, [100, 50, 70, 100, 50, 200], shape=noisy, is_checked=False)
    assert [(pair.base, pair.other) for pair in rankings.reversed_pairs(run)] == [(0, 2)]
    near = handmade(cases, [100, 98, 300, 98, 100, 300], shape=noisy, is_checked=False)  # ordered by less than 5 %
    assert outcome(near, "order").verdict == PASS
    assert checks.order not in checks.applicable(handmade(PAIR, [100, 50], starts=1))


def test_the_last_run_of_the_notebook_is_what_a_run_is_compared_with():
    first = handmade(PAIR, [100, 50], shape=noisy)
    assert earlier.replication(first).verdict == NOTHING and earlier.replication(reference("latency")) is None
    same, other = handmade(PAIR, [100, 50], shape=noisy), handmade(PAIR, [140, 50], shape=noisy)
    assert earlier.replication(same).verdict == PASS and first.id in earlier.replication(same).found
    check = earlier.replication(other)
    assert check.verdict == CAUTION and same.id in check.found and "0 of 1" in check.found
    assert earlier.replication(handmade(PAIR, [140, 50], shape=noisy, notebook="languages")).verdict == NOTHING


def at_one_start(usual_shape, other_shape):
    """Calls of one shape, and of another one in the start 3."""
    return lambda start, calls: (other_shape if start == 3 else usual_shape)(start, calls)


def test_a_step_or_a_warm_up_of_a_lone_start_passes_and_is_not_cut():
    lone = handmade(PAIR, [100, 50], shape=at_one_start(noisy, step(0.8, 1.5)))
    assert outcome(lone, "settled").verdict == PASS
    ledger = handmade(PAIR, [100, 50], shape=at_one_start(noisy, step(-0.3, 2))).ledger
    assert ledger["warm_up_ns"].to_numpy() == pytest.approx(0.2e9 * ledger["window_s"].min())


def test_a_drift_of_every_start_is_reported():
    drifting = handmade(PAIR, [100, 50], shape=lambda start, n: noisy(start, n) * np.linspace(1, 1.1, n))
    check = outcome(drifting, "settled")
    assert check.verdict == CAUTION and "starts" in check.found


@pytest.mark.parametrize(
    ("unsteady", "of_others", "wanted"),
    [((6, 0), 6, [0]), ((4, 0), 6, []), ((4, 3), 6, [0]), ((6, 5), 6, [0, 1]), ((3, 0), 6, [])],
)
def test_a_case_is_unsteady_where_chance_does_not_explain_it(unsteady, of_others, wanted):
    """6 of 6 beside 0 of 6 has a chance of 1/924; 4 of 6 beside 0 of 6 one of 15/495, above a half of 5 %."""
    levels = {case: stationarity.Levels(0.0, 0.0, count, of_others) for case, count in enumerate(unsteady)}
    assert stationarity.unsteady(levels) == wanted


def test_what_the_plan_makes_unsteady_is_not_judged():
    frozen = {"law": "constant", "mean_us": 100, "freeze_after": 100, "freeze_ms": 60}
    for options in (frozen, {"law": "exponential", "mean_us": 100}):
        run = handmade([Case("oracle", "ipc", 100, options)], [100], shape=step(0.8, 1.5))
        assert outcome(run, "settled").verdict == NOTHING


def test_a_rate_that_the_server_did_not_serve_is_a_caution():
    def run(share):  # the last reply comes late: the server counted what it did in a longer window
        return handmade(PAIR, [100, 50], window_s=share)

    assert outcome(run(0.25), "rate").verdict == CAUTION  # 5,000 calls of 100 us take half a second
    assert outcome(run(0.5), "rate").verdict == CAUTION  # of the other case 0.25 s


def test_a_start_cut_short_is_said():
    check = outcome(handmade(PAIR, [100, 50], planned_s=1), "samples")
    assert check.verdict == CAUTION and "12 starts" in check.found


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"steal_ns": 40_000_000, "machine_busy_ns": 0}, "guests"),
        ({"machine_busy_ns": 700_000_000}, "processes"),
        ({"throttled_ns": 5_000_000}, "0.06 s"),
    ],
)
def test_what_disturbs_is_named(known, text):
    check = outcome(handmade(PAIR, [100, 50], **known), "machine")
    assert check.verdict == CAUTION and text in check.found


def test_callers_that_bring_nothing_where_no_cpu_is_saturated_are_a_caution():
    cases = [Case("zeromq", "ipc", clients=1), Case("zeromq", "ipc", clients=2)]
    riddle = outcome(handmade(cases, [100, 210], server_cpu_ns=10**7), "limit")
    assert riddle.verdict == CAUTION and riddle.advice
    explained = outcome(handmade(cases, [100, 210], server_cpu_ns=10**9), "limit")
    assert explained.verdict == PASS and "server" in explained.found


@pytest.mark.parametrize(("own_ns", "verdict"), [(10**7, CAUTION), (480_000_000, PASS)])
def test_where_others_left_no_cpu_idle_the_limit_is_known_only_if_a_role_saturated_its_own(own_ns, verdict):
    run = handmade([Case("zeromq", "ipc")], [100], server_cpu_ns=own_ns, machine_busy_ns=10**9)
    assert outcome(run, "limit").verdict == verdict
    assert (crowded(run, 0) is not None) == (verdict == CAUTION)


@pytest.mark.parametrize(
    ("busy", "calls", "verdict", "phrase"),
    [
        (2.0, 100, CAUTION, "other processes left no CPU of the machine idle in zeromq ipc and 1 other case"),
        (1.0, 100, PASS, "saturated no CPU"),
        (0.3, 100, PASS, "saturated no CPU"),
        (2.0, 2, NOTHING, "ticks at 10 ms"),
        (None, 100, NOTHING, "not recorded"),
    ],
)
def test_slices_are_too_short_to_know_what_others_used_and_those_of_a_case_together_are_not(
    busy, calls, verdict, phrase
):
    run = in_turns([100, 50], busy=busy, calls=calls)
    assert run.ledger["window_s"].max() < 0.2
    limit, machine = (outcome(run, name) for name in ("limit", "machine"))
    assert limit.verdict == verdict and phrase in limit.found
    assert ("little other work" in machine.found) is (busy == 0.3)  # else others use 70 % of a CPU, or it is not known
    assert (machine.verdict == CAUTION) is ((busy or 0) >= 1 and "ticks" not in phrase)


def test_an_incomplete_run_says_so():
    run = handmade(PAIR, [100, 50], write=file_by_file)
    run.folder.update(finished=False)
    run.folder.files("ledger")[0].unlink()
    check = outcome(Run(run.folder), "starts")
    assert check.verdict == CAUTION and "11 of 12" in check.found and "resume" in check.advice


def test_a_server_that_could_not_be_asked_is_said():
    check = outcome(handmade(PAIR, [100, 50], server_calls=None), "answers")
    assert check.verdict == PASS and "12 starts" in check.found


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
    counters = kernel_counters.read(tmp_path, tmp_path)
    times = {"machine_busy_ns": 17 * tick, "steal_ns": 7 * tick, "pressure_ns": 123_000, "throttled_ns": 11_000}
    counted = {"tcp_delayed_acks": 23, "tcp_segments_out": 8, "tcp_connections": 6}
    assert counters == times | counted | {"tcp_time_waits": 4, "tcp_time_wait": 42}
    assert kernel_counters.read(tmp_path / "none", tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("group", "files", "throttled_ns"),
    [
        ("0::/a/b", {"a/b": "throttled_usec 3", "a": "throttled_usec 4", ".": "usage_usec 1"}, 7000),
        ("4:cpu,cpuacct:/a\n3:memory:/b", {"cpu/a": "throttled_time 5", "b": "throttled_time 9"}, 5),
        ("0::/a", {"a": "usage_usec 1"}, None),
    ],
)
def test_throttling_is_that_of_the_own_control_group_and_of_those_around_it(tmp_path, group, files, throttled_ns):
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "cgroup").write_text(f"{group}\n")
    for place, text in files.items():
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "cpu.stat").write_text(f"nr_periods 1\n{text}\n")
    assert kernel_counters.read(tmp_path, tmp_path).get("throttled_ns") == throttled_ns


@pytest.mark.parametrize(
    ("changed", "verdict"), [({}, PASS), ({"interference": 1.1}, CAUTION), ({"awake": 0.05}, CAUTION)]
)
def test_cases_in_turns_that_disturb_each_other_are_a_caution(changed, verdict):
    run = in_turns([100, 50], blocks=48, rounds=2, calls=20, **changed)  # in one of four a case is alone
    check = outcome(run, "turns")
    assert checks.turns in checks.applicable(run) and checks.turns not in checks.applicable(
        handmade(PAIR, [100, 50], starts=1)
    )
    assert check.verdict == verdict and ("slice_ms" in check.advice) == (verdict == CAUTION)


def test_callers_that_had_no_time_in_common_are_a_caution_although_their_start_has_no_rate():
    def record(start, block, index):
        sent = np.arange(100) * 1_000_000
        later = sent + (10**9 if block == 2 else 0)  # the second begins when the first has ended
        return StartRecord(usual(200, 2.0), [np.vstack([each, each + 900_000]) for each in (sent, later)])

    run = recorded("latency", [Case("zeromq", "ipc", clients=2)], record)
    check = outcome(run, "rate")
    assert check.verdict == CAUTION and "in 1 of 6 starts" in check.found
