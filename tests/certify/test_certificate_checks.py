"""Each check both ways, with records and reports made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from bench.stats import corrected, quantile
from certify import arrival_checks, certificate, load_checks, time_checks
from certify.check import HELD, NOT_DECIDED, NOT_HELD, Check, outcome
from certify.observation import Observation, PathTimes
from certify.record import CONNECTION, REQUEST, SECOND, Record
from certify.report import Reported
from certify.running import Ended
from certify.scenarios import scenarios

BY_NAME = {scenario.name: scenario for scenario in scenarios()}
MS = 1_000_000  # ns
START = 10**15
DONE = Ended("", "", 0, 10.1)


def record(arrived, response, connections=64, late=0, fault=None, **more):
    """Return a record of requests that arrived and were answered after so long, in ns, on connections in turn."""
    requests = np.zeros(len(arrived), REQUEST)
    requests["arrived"] = START + np.asarray(arrived)
    requests["departed"] = requests["arrived"] + np.asarray(response)
    requests["first"], requests["late"] = requests["departed"], late
    requests["due"] = requests["departed"] - late
    requests["connection"] = np.arange(len(arrived)) % connections
    if fault is not None:
        requests["fault"] = fault
    return Record(requests, np.zeros(connections, CONNECTION), **more)


def constant(scenario, rate=None):
    """Return arrivals with constant gaps, in ns, for a scenario's duration."""
    rate = rate or scenario.rate_per_s
    return (np.arange(int(rate * scenario.duration_s)) * SECOND / rate).astype(np.int64)


def seen(name, recorded, reported=None, schedule="constant", ended=DONE, **reports):
    return Observation(BY_NAME[name], schedule, recorded, ended, reported or Reported(**reports))


HALF = BY_NAME["half-load"]
EXPONENTIAL_NS = (np.random.default_rng(1).exponential(2 * MS, len(constant(HALF)))).astype(np.int64)
OPEN = record(constant(HALF), EXPONENTIAL_NS)
MANY = BY_NAME["many"]
CLOSED = record(constant(MANY, 3200), np.random.default_rng(2).exponential(20 * MS, 32_000).astype(np.int64))


def test_requests_before_the_load_are_left_out():
    load, before = constant(HALF) + 30 * MS, np.arange(8) * MS
    warmed = record([*before, *load], [MS] * 8 + [2 * MS] * len(load))
    assert warmed.after_warm_up(64).requests.tolist() == warmed.requests[8:].tolist()
    assert len(warmed.after_warm_up(64, len(load)).requests) == len(load)
    assert warmed.after_warm_up(64, len(load) + 8) is warmed  # a stall among the requests that are due
    assert warmed.after_warm_up(4) is warmed and OPEN.after_warm_up(64) is OPEN and CLOSED.after_warm_up(64) is CLOSED
    together = np.repeat(np.arange(300) * 10 * MS, 8)  # eight callers in step: while they wait, the server is not idle
    assert len(record(together, 10 * MS - 1000).after_warm_up(8).requests) == len(together)


def one(checks, name):
    (check,) = [check for check in checks if check.name == name]
    return check


@pytest.mark.parametrize(
    ("ended", "scenario", "verdict"),
    [
        (DONE, "many", HELD),
        (replace(DONE, status=1), "many", NOT_HELD),
        (replace(DONE, status=1), "errors", HELD),
        (replace(DONE, status=-11), "errors", NOT_HELD),
        (replace(DONE, status=None), "many", NOT_HELD),
        (replace(DONE, left_processes=True), "many", NOT_HELD),
    ],
)
def test_how_it_ends(ended, scenario, verdict):
    assert load_checks.ending(seen(scenario, CLOSED, ended=ended)).verdict == verdict


def test_without_a_report_or_arrivals():
    silent = Observation(MANY, "constant", record([], []), DONE, None, "It printed nothing.")
    checks = certificate.checks(silent)
    assert [check.name for check in checks if check.verdict == NOT_HELD] == ["report", "arrivals"]
    assert one(checks, "report").text == "It printed nothing." and "exit status is 0" in one(checks, "arrivals").text
    assert load_checks.arrivals(seen("many", replace(CLOSED, refused=1))).verdict == NOT_HELD


def test_rate_delivered():
    assert load_checks.delivered_rate(seen("half-load", OPEN)).verdict == HELD
    fewer = seen("half-load", record(constant(HALF, 490), MS), dropped=150)
    check = load_checks.delivered_rate(fewer)
    assert check.verdict == NOT_HELD and (check.expected, check.tolerance) == (500, 5 + 64 / 15)
    assert check.found == pytest.approx(490, abs=0.1) and "150" in check.text
    assert load_checks.delivered_rate(replace(fewer, schedule="poisson")).verdict == HELD  # within chance


def test_rate_reported():
    overload = BY_NAME["overload"]
    slower = seen("overload", record(constant(overload, 400), 10 * MS, 4), rate_per_s=800)
    planned = load_checks.reported_rate(slower, 800)
    assert planned.verdict == NOT_HELD and planned.expected == pytest.approx(400, abs=0.5)
    assert "asked for" in planned.text
    assert load_checks.reported_rate(slower, 401).verdict == HELD
    assert "asked for" not in load_checks.reported_rate(slower, 500).text
    assert load_checks.reported_rate(seen("many", CLOSED), 3200).verdict == HELD
    assert load_checks.reported_rate(seen("many", CLOSED), 3000).verdict == NOT_HELD


def test_requests_reported():
    for reported, verdict in ((32_000, HELD), (32_064, HELD), (31_936, HELD), (32_065, NOT_HELD), (31_900, NOT_HELD)):
        assert load_checks.requests(seen("many", CLOSED), reported).verdict == verdict
    faulty = record(constant(BY_NAME["errors"], 800), MS, 8, fault=np.arange(3200) % 20 == 19)
    for reported, verdict in ((3200, HELD), (3040, HELD), (3100, HELD), (3031, NOT_HELD), (3209, NOT_HELD)):
        assert load_checks.requests(seen("errors", faulty), reported).verdict == verdict


def test_window():
    assert load_checks.window(seen("many", CLOSED)).verdict == HELD
    for share, word in ((0.5, "early"), (1.2, "late")):
        other = record(constant(replace(MANY, duration_s=share * MANY.duration_s), 3200), MS)
        check = load_checks.window(seen("many", other))
        assert check.verdict == NOT_HELD and word in check.text
    longer = record(constant(BY_NAME["overload"], 400 * 1.3), 10 * MS, 4)
    longer.requests["arrived"] = START + (longer.requests["arrived"] - START) * 1.3
    assert load_checks.window(seen("overload", longer)).verdict == HELD
    assert load_checks.reported_window(seen("many", CLOSED), 10.2).verdict == HELD
    assert load_checks.reported_window(seen("many", CLOSED), 8.0).verdict == NOT_HELD
    last = record(constant(MANY, 3200), [MS] * 31_999 + [SECOND])
    assert load_checks.reported_window(seen("many", last), 11.2).verdict == HELD
    assert load_checks.reported_window(seen("many", CLOSED), 11.2).verdict == NOT_HELD


def test_connections_and_their_shares():
    for count, verdict in ((64, HELD), (1, NOT_HELD), (65, NOT_HELD)):
        assert load_checks.connections(seen("many", record(constant(MANY, 3200), MS, count))).verdict == verdict
    assert load_checks.shares(seen("many", CLOSED)).verdict == HELD
    uneven = record(constant(MANY, 3200), MS)
    uneven.requests["connection"] = np.minimum(uneven.requests["connection"], 1)
    assert load_checks.shares(seen("many", uneven)).verdict == NOT_HELD


def test_requests_that_share_connections_are_counted_at_once():
    arrived = np.repeat(np.arange(800) * 10 * MS, 64)
    full = record(arrived, 10 * MS - 1000, connections=1)
    fewer = record(arrived[arrived // MS % 20 == 0][::2], 10 * MS - 1000, connections=1)
    for recorded, verdict, most in ((full, HELD, 64), (fewer, NOT_HELD, 32)):
        shared = replace(seen("many", recorded), shares_connections=True)
        check = one(load_checks.of_load(shared), "concurrency")
        assert (check.verdict, check.found, check.expected) == (verdict, most, 64)
        assert not {"connections", "shares"} & {check.name for check in load_checks.of_load(shared)}
        assert time_checks.cycle_us(shared) == pytest.approx(most * 1e6 / recorded.answers_per_s)
    assert record([], []).most_at_once == 0


def test_a_generator_that_ends_at_the_first_failures_hides_none():
    failed = record(np.arange(40) * MS, MS, 8, fault=np.arange(40) == 39)
    ended = Observation(BY_NAME["errors"], "constant", failed, replace(DONE, status=1), None, "It printed nothing.")
    assert [(check.name, check.verdict) for check in load_checks.of_load(ended)] == [
        ("exit", HELD),
        ("arrivals", HELD),
        ("errors", HELD),
    ]
    goes_on = record(np.arange(400) * MS, MS, 8, fault=np.arange(400) % 20 == 19)
    for other in (replace(ended, ended=DONE), replace(ended, record=goes_on), replace(ended, record=CLOSED)):
        assert one(load_checks.of_load(other), "report").verdict == NOT_HELD


def test_only_http_libraries_may_send_a_request_again():
    faulty = record(constant(BY_NAME["errors"], 800), MS, 8, fault=np.arange(3200) % 20 == 10)
    closed = seen("closed-connections", faulty)
    for protocol, verdict in {"http1": NOT_DECIDED, "http2": NOT_DECIDED, "grpc": NOT_HELD, "resp": NOT_HELD}.items():
        check = load_checks.errors(replace(closed, protocol=protocol), Reported(errors=0))
        assert check.verdict == verdict


def test_errors():
    faulty = record(constant(BY_NAME["errors"], 800), MS, 8, fault=np.arange(3200) % 20 == 10)
    for reported, verdict in ((160, HELD), (152, HELD), (0, NOT_HELD), (None, NOT_HELD)):
        assert load_checks.errors(seen("errors", faulty), Reported(errors=reported)).verdict == verdict
    assert load_checks.errors(seen("many", CLOSED), Reported()) is None
    for reported, verdict in ((160, HELD), (0, NOT_DECIDED), (320, NOT_HELD)):  # a library may send a request again
        assert load_checks.errors(seen("closed-connections", faulty), Reported(errors=reported)).verdict == verdict
    assert load_checks.errors(seen("many", CLOSED), Reported(errors=1)).verdict == NOT_HELD
    last = record(constant(BY_NAME["errors"], 800), MS, 8, fault=np.arange(3200) == 3199)  # nothing arrives after it
    assert load_checks.errors(seen("closed-connections", last), Reported(errors=0)).verdict == NOT_HELD
    few = record(constant(BY_NAME["errors"], 800), MS, 8, fault=np.arange(3200) % 400 == 399)  # one per connection
    assert load_checks.errors(seen("errors", few), Reported(errors=0)).verdict == NOT_HELD


def test_constant_gaps():
    assert arrival_checks.constant_gaps(seen("half-load", OPEN)).verdict == HELD
    bursts = seen("half-load", record(constant(HALF) // (10 * MS) * (10 * MS), MS))
    assert arrival_checks.constant_gaps(bursts).verdict == NOT_HELD
    for schedule, verdict in {"connections": NOT_HELD, "workers": NOT_DECIDED, "limit": NOT_DECIDED}.items():
        assert arrival_checks.constant_gaps(replace(bursts, schedule=schedule)).verdict == verdict
    late = replace(bursts, record=record(constant(HALF), MS, late=3 * MS))
    assert arrival_checks.constant_gaps(late).verdict == NOT_DECIDED


def test_index_of_dispersion():
    assert arrival_checks.dispersion(constant(HALF), 40 * MS)[0] == pytest.approx(0, abs=1e-3)
    pairs = np.repeat(np.sort(np.random.default_rng(3).integers(0, 1000 * SECOND, 10_000)), 2)
    assert arrival_checks.dispersion(pairs, SECOND)[0] == pytest.approx(2, abs=0.3)  # of two at once


def test_poisson_arrivals():
    chance, verdicts = np.random.default_rng(4), []
    for _ in range(100):
        arrived = np.cumsum(chance.exponential(2 * MS, 5000)).astype(np.int64)
        verdicts.append(arrival_checks.poisson(seen("half-load", record(arrived, MS), schedule="poisson")).verdict)
    assert verdicts.count(NOT_HELD) <= 5  # one in 100 is expected
    regular = arrival_checks.poisson(seen("half-load", OPEN, schedule="poisson"))
    assert regular.verdict == NOT_HELD and "regular" in regular.text
    pairs = record(np.repeat(np.cumsum(chance.exponential(4 * MS, 2500)), 2).astype(np.int64), MS)
    assert "bursts" in arrival_checks.poisson(seen("half-load", pairs, schedule="poisson")).text


def test_a_load_stays_open_while_the_server_is_frozen():
    due, first = constant(BY_NAME["freeze"]), SECOND // 2
    frozen = (due - first) % SECOND < SECOND // 10
    kept = record(due, MS, first_freeze_ns=START + first)
    check = arrival_checks.stays_open(seen("freeze", kept))
    assert check.verdict == HELD and check.found == check.expected == 500
    closed = record(due[~frozen | (due < first)], MS, first_freeze_ns=START + first)
    check = arrival_checks.stays_open(seen("freeze", closed))
    assert check.verdict == NOT_HELD and check.found == 0 and "closed" in check.text
    bursts = record(due // (SECOND // 5) * (SECOND // 5), MS, first_freeze_ns=START + first)
    assert arrival_checks.stays_open(seen("freeze", bursts)).verdict == NOT_DECIDED
    sent = np.where(frozen, due + SECOND // 10 - (due - first) % SECOND, due)  # what a freeze held up, in a burst
    in_pairs = record(sent // (4 * MS) * (4 * MS), MS, first_freeze_ns=START + first)
    assert arrival_checks.stays_open(seen("freeze", in_pairs)).verdict == NOT_HELD
    at_once = record(np.repeat(np.arange(10), 10) * MS, MS, first_freeze_ns=START)  # over before the freeze is
    assert arrival_checks.stays_open(seen("freeze", at_once)).verdict == NOT_DECIDED
    assert [check.name for check in arrival_checks.of_arrivals(seen("freeze", closed))] == ["open-in-freeze"]
    assert not arrival_checks.of_arrivals(seen("freeze-few", closed))  # eight connections cannot carry 50 requests


def quantiles_of(values_us, **changed):
    times = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99}
    return Reported(**{name: quantile(values_us, p) for name, p in times.items()} | changed)


def test_true_quantiles_are_held_and_wrong_ones_are_not():
    values = CLOSED.response_us
    honest = seen("many", CLOSED, quantiles_of(values, mean_us=values.mean(), max_us=values.max()))
    assert outcome(time_checks.of_times(honest)) == HELD
    slow_dropped = np.sort(values)[: len(values) * 9 // 10]
    lie = seen("many", CLOSED, quantiles_of(slow_dropped, max_us=slow_dropped.max()))
    assert {check.name for check in time_checks.of_times(lie) if check.verdict == NOT_HELD} >= {"p99", "max"}
    averaged = np.mean([quantile(part, 0.99) for part in np.array_split(values, 1000)])
    check = time_checks.quantile_check("p99", averaged, honest)
    assert check.verdict == NOT_HELD and check.expected == quantile(values, 0.99)


def test_the_way_to_the_server_is_allowed_for():
    slow = seen("single", record(constant(BY_NAME["single"], 999), MS, 1), p50_us=1150)
    assert time_checks.of_times(slow)[0].verdict == NOT_HELD
    assert time_checks.of_times(replace(slow, path=PathTimes(60, 100, 100)))[0].verdict == HELD


def test_a_mean_cannot_be_beyond_littles_law():
    cycle_us = 64e6 / CLOSED.answers_per_s
    assert time_checks.mean_check(cycle_us, seen("many", CLOSED)).verdict == HELD
    check = time_checks.mean_check(1.05 * cycle_us, seen("many", CLOSED))
    assert check.verdict == NOT_HELD and "Little" in check.text


def test_connections_may_have_schedules_of_their_own():
    number = np.arange(len(constant(HALF)))
    due = number // 64 * 128 * MS + number % 64 * MS // 3  # each connection every 128 ms, and 64 of them within 21 ms
    late = np.where(due % SECOND < SECOND // 10, SECOND // 10 - due % SECOND, 0)
    observation = seen("half-load", record(due + late, EXPONENTIAL_NS))
    scheduled = time_checks.from_schedule_us(observation)
    assert scheduled == pytest.approx((EXPONENTIAL_NS + late) / 1e3, abs=500)
    assert load_checks.delivered_rate(observation).verdict == HELD


def test_a_load_whose_connections_begin_one_after_another_is_on_the_schedule_that_it_promises():
    number, connection = np.divmod(np.arange(len(constant(HALF))), 64)
    due = number * 128 * MS + connection * 5 * MS  # the next begins 5 ms later, so that gaps of the load are not even
    in_order = np.argsort(due, kind="stable")
    recorded = record(due[in_order], MS)
    recorded.requests["connection"] = connection[in_order]
    assert arrival_checks.constant_gaps(seen("half-load", recorded)).verdict == NOT_HELD
    own = arrival_checks.constant_gaps(seen("half-load", recorded, schedule="connections"))
    assert own.verdict == HELD and "of their connection" in own.text
    late = recorded.requests["arrived"] + np.random.default_rng(1).integers(0, 40 * MS, len(due))
    recorded.requests["arrived"] = np.sort(late)
    assert arrival_checks.constant_gaps(seen("half-load", recorded, schedule="connections")).verdict == NOT_HELD


def test_what_the_front_itself_may_have_added_is_not_decided():
    late = seen("many", record(constant(MANY, 3200), 20 * MS, late=MS), p50_us=22_600)
    assert time_checks.of_times(late)[0].verdict == NOT_DECIDED  # 22 ms and 1 ms of lateness
    assert time_checks.of_times(replace(late, reported=Reported(p50_us=24_000)))[0].verdict == NOT_HELD


def test_too_few_requests_have_no_quantile_to_compare():
    few = seen("many", record(constant(MANY, 20), MS), p50_us=1, p99_us=1)
    assert [check.name for check in time_checks.of_times(few)] == ["p50"]


def test_omission_is_named_when_times_count_from_the_sending():
    due = constant(HALF)
    phase = (due - SECOND // 2) % SECOND
    late = np.where(phase < SECOND // 5, SECOND // 5 - phase, 0)
    observation = seen("freeze-few", record(due + late, EXPONENTIAL_NS))
    sent, scheduled = observation.record.response_us, time_checks.from_schedule_us(observation)
    assert quantile(scheduled, 0.9) > 10 * quantile(sent, 0.9)
    omitted = time_checks.quantile_check("p90", quantile(sent, 0.9), observation)
    assert omitted.verdict == NOT_HELD and "coordinated omission" in omitted.text
    assert time_checks.quantile_check("p90", quantile(scheduled, 0.9), observation).verdict == HELD
    elsewhere = replace(observation, scenario=HALF)  # no reply holds requests back
    assert "coordinated" not in time_checks.quantile_check("p90", quantile(sent, 0.9), elsewhere).text


def test_late_sending_is_the_generator_s_own_time():
    late = np.random.default_rng(3).uniform(0, 2 * MS, len(constant(HALF))).astype(np.int64)  # a timer of 2 ms
    observation = seen("half-load", record(constant(HALF) + late, EXPONENTIAL_NS))
    assert time_checks.sent_late_us(observation) == pytest.approx(1000, rel=0.05)
    counted = observation.record.response_us + late / 1e3
    assert time_checks.quantile_check("p50", quantile(counted, 0.5), observation).verdict == HELD
    assert time_checks.quantile_check("p50", 1.5 * quantile(counted, 0.5), observation).verdict == NOT_HELD
    assert not time_checks.sent_late_us(seen("many", CLOSED))


def test_a_check_is_not_held_if_two_runs_do_not_hold_it():
    held, refused = Check("mean", HELD, ""), Check("mean", NOT_HELD, "It is long.")
    window = Check("window", NOT_HELD, "It stopped early.")
    checks = certificate.unless_held_again([refused, window, held], [held, window])
    assert [check.verdict for check in checks] == [NOT_DECIDED, NOT_HELD, HELD]


def test_a_correction_for_omission_is_named():
    observation = seen("many", CLOSED)
    reported = quantile(corrected(CLOSED.response_us, 64e6 / CLOSED.answers_per_s), 0.5)
    check = time_checks.quantile_check("p50", reported, observation)
    assert check.verdict == NOT_HELD and "corrected" in check.text


@pytest.mark.parametrize(
    ("reported", "verdict", "step"),
    [((2000, 5000, 9000), NOT_HELD, 1000), ((1390, 4600, 9210), HELD, 10), ((1386.29, 4605.17, 9210.34), HELD, 0)],
)
def test_times_that_are_rounded(reported, verdict, step):
    p50, p90, p99 = reported
    check = time_checks.resolution_check(Reported(p50_us=p50, p90_us=p90, p99_us=p99), seen("half-load", OPEN))
    assert check.verdict == verdict and check.found == step
    assert time_checks.resolution_check(Reported(p50_us=1000), seen("half-load", OPEN)) is None


def test_a_record_without_room_decides_nothing():
    full = seen("many", replace(CLOSED, not_recorded=1), requests=32_000, rate_per_s=3200)
    assert {check.verdict for check in certificate.checks(full)} == {NOT_DECIDED}


def test_one_check_that_is_not_held_decides_the_outcome():
    held, undecided, not_held = (Check("a", verdict, "") for verdict in (HELD, NOT_DECIDED, NOT_HELD))
    assert outcome([held]) == HELD and outcome([held, undecided]) == NOT_DECIDED == outcome([])
    assert outcome([undecided, not_held, held]) == NOT_HELD


def test_times_above_those_from_the_arrival_may_be_true_where_due_instants_are_not_known():
    bursts = seen("half-load", record(constant(HALF) // (100 * MS) * (100 * MS), EXPONENTIAL_NS))
    true = quantile(bursts.record.response_us, 0.5)
    for reported, verdict in ((true, HELD), (2 * true, NOT_DECIDED), (true / 2, NOT_HELD)):
        assert time_checks.quantile_check("p50", reported, bursts).verdict == verdict
    assert time_checks.mean_check(2 * bursts.record.response_us.mean(), bursts).verdict == NOT_DECIDED
