"""Each check of times in streams both ways, by hand."""

from dataclasses import replace

import numpy as np
from test_certificate_checks import DONE, START, one

from bench.stats import quantile
from certify import load_checks, stream_checks
from certify.check import HELD, NOT_DECIDED, NOT_HELD
from certify.observation import Observation, PathTimes
from certify.record import CONNECTION, REQUEST, SECOND, Record
from certify.report import Reported, ReportedTimes
from certify.scenarios import scenarios

MS = 1_000_000  # ns
BY_NAME = {scenario.name: scenario for scenario in scenarios(protocol="sse")}
MANY, HALF = BY_NAME["many"], BY_NAME["half-load"]
FIRST_NS = np.random.default_rng(1).exponential(50 * MS, 1000).astype(np.int64)
OPEN_FIRST_NS = np.random.default_rng(2).exponential(20 * MS, int(HALF.rate_per_s * HALF.duration_s)).astype(np.int64)


def record(arrived, first, late=0, connections=16):
    """Return a record of streams of 16 events, one every 10 ms, of which the first came so long after the arrival."""
    requests = np.zeros(len(arrived), REQUEST)
    requests["arrived"] = START + np.asarray(arrived)
    requests["first"] = requests["arrived"] + first
    requests["departed"] = requests["first"] + 150 * MS
    requests["due"], requests["late"] = requests["first"] - late, late
    requests["connection"] = np.arange(len(arrived)) % connections
    return Record(requests, np.zeros(connections, CONNECTION))


def times_of(values_us, **changed):
    probabilities = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99}
    return ReportedTimes(**({name: quantile(values_us, p) for name, p in probabilities.items()} | changed))


CLOSED = record(np.arange(1000) * 12 * MS, FIRST_NS)


def seen(recorded=CLOSED, scenario=MANY, **reported):
    return Observation(scenario, "constant", recorded, DONE, Reported(**reported), protocol="sse")


def verdicts(observed):
    return {check.name: check.verdict for check in stream_checks.of_streams(observed)}


def test_true_times_are_held_and_those_with_40_ms_more_or_less_are_not():
    true = FIRST_NS / 1e3
    names = {"ttft-p50", "ttft-p90", "ttft-p99", "ttft-mean"}
    assert verdicts(seen(ttft=times_of(true, mean_us=true.mean()))) == dict.fromkeys(names, HELD)
    added = true + 40_000
    checks = stream_checks.of_streams(seen(ttft=times_of(added, mean_us=added.mean())))
    assert {check.name for check in checks if check.verdict == NOT_HELD} == names - {"ttft-p99"}  # p99 is 230 ms
    assert "It adds 40.0 ms." in one(checks, "ttft-p50").text
    fewer = stream_checks.of_streams(seen(ttft=times_of(true * 0.5)))
    assert {check.verdict for check in fewer} == {NOT_HELD} and "omits" in fewer[0].text


def test_what_the_generator_does_itself_is_no_excuse_for_the_first_token():
    own = record(np.arange(1000) * 40 * MS, FIRST_NS)  # 16 connections, each idle for 440 ms between two requests
    observed = seen(own, replace(MANY, duration_s=40.0), ttft=times_of(FIRST_NS / 1e3 + 40_000))
    assert verdicts(observed)["ttft-p50"] == NOT_HELD


def test_the_way_to_the_server_is_allowed_for_in_times_of_streams():
    slow = seen(ttft=times_of(FIRST_NS / 1e3 + 10_000))
    assert verdicts(slow)["ttft-p50"] == NOT_HELD
    assert verdicts(replace(slow, path=PathTimes(10_000, 10_000, 10_000)))["ttft-p50"] == HELD
    far = replace(slow, path=PathTimes(50_000, 50_000, 50_000))  # longer than the median time itself
    assert verdicts(far)["ttft-p50"] == NOT_DECIDED


def test_times_between_tokens():
    for gap_us, verdict in ((10_000, HELD), (9600, HELD), (10_900, HELD), (9400, NOT_HELD), (11_100, NOT_HELD)):
        gap_verdicts = verdicts(seen(gap=ReportedTimes(p50_us=gap_us, p99_us=gap_us, mean_us=gap_us)))
        assert gap_verdicts == dict.fromkeys(("gap-p50", "gap-p99", "gap-mean"), verdict)


def test_a_front_that_was_late_explains_gaps_but_does_not_hide_true_ones():
    late = record(np.arange(1000) * 12 * MS, FIRST_NS, late=5 * MS)
    assert verdicts(seen(late, gap=ReportedTimes(p99_us=14_000, p50_us=10_000))) == {
        "gap-p99": NOT_DECIDED,
        "gap-p50": HELD,
    }
    assert verdicts(seen(late, ttft=times_of(FIRST_NS / 1e3, p50_us=1e6)))["ttft-p50"] == NOT_HELD
    later = record(np.arange(1000) * 12 * MS, FIRST_NS, late=50 * MS)
    assert verdicts(seen(later, ttft=times_of(FIRST_NS / 1e3)))["ttft-p50"] == NOT_DECIDED


def test_the_first_token_of_an_open_load_counts_from_when_the_request_was_due():
    due = (np.arange(len(OPEN_FIRST_NS)) * SECOND / HALF.rate_per_s).astype(np.int64)
    held_up = np.where(due % SECOND < SECOND // 5, SECOND // 5 - due % SECOND, 0)
    recorded = record(due + held_up, OPEN_FIRST_NS, connections=64)
    scheduled, sent = (OPEN_FIRST_NS + held_up) / 1e3, OPEN_FIRST_NS / 1e3
    for values, verdict in ((scheduled, HELD), (sent, NOT_HELD)):
        assert verdicts(seen(recorded, HALF, ttft=times_of(values)))["ttft-p90"] == verdict


def test_streams_that_are_not_read_to_their_end():
    left = record(np.arange(1000) * 12 * MS, FIRST_NS)
    for count, verdict in ((16, HELD), (17, NOT_HELD)):
        left.requests["departed"][:count] = -1
        observed = seen(Record(left.requests, left.connections), requests=1000)
        assert one(load_checks.of_load(observed), "streams-read").verdict == verdict
    assert "streams-read" not in {check.name for check in load_checks.of_load(replace(seen(), protocol="http1"))}
