"""Why response times of an open load are long: one slow request that later ones inherit, or an overload."""

import itertools
from dataclasses import replace

import pytest
from handmade import recorded, usual

from bench.analysis import open_load, overload, virtual_time
from bench.analysis.slow_requests import slow_request
from bench.apps.teaching import questions
from bench.experiments import openload
from bench.plan.case import Case
from bench.run.start_record import StartRecord

PACED = {"load": "open", "offered_per_s": 500.0, "clients": 8, "arrivals": "uniform"}
CASES = [Case("oracle", "ipc", options={"mean_us": 1000}), Case("oracle", "ipc", options={"mean_us": 1000}, **PACED)]
REQUESTS, NUMBER = 600, 200  # of each start; the one that is slow


def stalled(stall_us, starts=()):
    """Return a run of a server that takes 1 ms, but ``stall_us`` for one request of some starts."""

    def record(start, block, index):
        times_us = [1000.0] * REQUESTS
        if not index:
            calls = [virtual_time.closed(times_us, 50.0, 0.6)]
            return StartRecord(usual(calls[0].shape[1], 0.6), calls)
        if start in starts:
            times_us[NUMBER - 1] = stall_us
        dues = [2_000_000 * number for number in range(REQUESTS)]
        calls = virtual_time.opened(iter(times_us), 50.0, dues, 8, 1.2)
        return StartRecord(usual(REQUESTS, 1.2, scheduled=REQUESTS), calls)

    return recorded("openload", CASES, record)


def overloaded_at(offered_per_s, busy_ns, service_us=3000.0):
    """Return a run of an open load of a server that takes so long for a request, and was to take 1 ms."""
    cases = [CASES[0], replace(CASES[1], offered_per_s=offered_per_s)]

    def record(start, block, index):
        if not index:
            calls = virtual_time.closed([service_us] * REQUESTS, 50.0, 0.6)
            return StartRecord(usual(calls.shape[1], 0.6), [calls])
        known = usual(REQUESTS, 1.2, scheduled=REQUESTS, machine_busy_ns=busy_ns)
        dues = [int(1e9 / offered_per_s) * number for number in range(REQUESTS)]
        return StartRecord(known, virtual_time.opened(itertools.repeat(service_us), 50.0, dues, 8, 3.0))

    return recorded("openload", cases, record)


def test_an_overload_below_the_upper_limit_has_no_mean():
    assert questions.measured(overloaded_at(450.0, 10**9), questions.find("openload q1")) is None


def test_a_rate_at_or_above_the_known_capacity_is_overloaded_whatever_a_short_queue_looks_like():
    run = overloaded_at(1000.0, 10**9, service_us=1000.0)  # a queue that does not grow in so regular a load
    assert overload.overloaded(run) == [1] and not overload.overloaded(overloaded_at(900.0, 10**9, service_us=1000.0))


def test_the_capacity_of_workers_on_several_cpus_is_not_that_of_one():
    options = {"workers": 4}
    cases = [Case("http_aiohttp", "tcp", 100, options, "free"),
             Case("http_aiohttp", "tcp", 100, options, "free", "open", 7000.0, "uniform", 8)]  # fmt: skip

    def record(start, block, index):
        if not index:
            calls = virtual_time.closed([250.0] * REQUESTS, 50.0, 0.6)
            cpu_ns = 250_000 * calls.shape[1]
            known = usual(calls.shape[1], 0.6, server_cpu_ns=cpu_ns, server_cpus=None, client_cpus=None)
            return StartRecord(known, [calls])
        dues = [int(1e9 / 7000) * number for number in range(REQUESTS)]
        calls = virtual_time.opened(itertools.repeat(100.0), 50.0, dues, 8, 0.1)
        return StartRecord(usual(REQUESTS, 0.1, scheduled=REQUESTS), calls)

    run = recorded("openload", cases, record)
    cpus = min(4, run.manifest["machine"]["cpus_allowed"])
    assert open_load.capacity(run) == pytest.approx(cpus * 1e6 / 250, rel=0.06)
    assert set(openload.mm1(run)["settling time"]) == {"not known"}


@pytest.fixture(scope="module")
def paced_starts():
    """Return the numbers of the starts of the open load."""
    return [int(start) for start in stalled(1000.0).ledger_of(1).index]


def test_a_slow_request_is_named_with_its_pause_and_those_behind_it(paced_starts):
    run = stalled(100_000.0, paced_starts[2:3])
    request = slow_request(run, 1)
    assert (request.start, request.number, request.of_tail) == (paced_starts[2], NUMBER, 1.0)
    assert request.pause_us == pytest.approx(100_000, rel=0.01)
    assert request.behind == pytest.approx(98, abs=1)  # each of them has 1 ms less to wait than the one before
    (row,) = openload.tables["slow_requests"](run).to_dict("records")
    assert row["slow request"] == f"{NUMBER} of start {paced_starts[2]}"
    assert row["until the queue was empty"] == f"{request.behind} later requests waited"


def test_where_no_single_request_explains_the_tail_none_is_named(paced_starts):
    for run in (stalled(1000.0), stalled(5000.0, paced_starts[2:3]), stalled(100_000.0, paced_starts)):
        assert slow_request(run, 1) is None and openload.tables["slow_requests"](run).empty


def test_a_queue_that_grows_by_itself_has_no_slow_request():
    options = {"law": "exponential", "mean_us": 1000}
    cases = [Case("oracle", "ipc", options=options, **PACED | {"arrivals": "poisson", "offered_per_s": 850.0})]

    def record(start, block, index):
        return virtual_time.measured(cases[0], 0.6, start, start, 50.0)

    assert slow_request(recorded("openload", cases, record), 0) is None
