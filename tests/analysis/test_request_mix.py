"""Requests of a service's mix, each by itself: what is stored of them, and a slow one among many fast ones."""

import numpy as np
import pytest
from handmade import in_order, recorded, usual

from bench.analysis import quantiles, request_mix
from bench.analysis.comparison import compare, compare_cases, evidence, in_words, judged
from bench.analysis.verdicts import of_one_only, of_quantities, verdict_text
from bench.apps import service_page
from bench.apps.numbers import by_request
from bench.grammar import result_tables
from bench.grammar.table import level
from bench.plan.case import Case
from bench.run.start_record import Requests, StartRecord
from bench.text import duration

NAMES = ("price", "login")
CALLS = 1000


def mixed(login_us, names=NAMES, starts=12, system="http_aiohttp", one_in=10):
    """Return a run of equal cases: every tenth call is a login, which takes login_us[case] us; a price takes 100 us."""

    def record(start, block, index):
        chance = np.random.default_rng([start, 1])
        is_login = np.arange(CALLS) % one_in == 0
        us = np.where(is_login, login_us[index], 100.0) * np.exp(0.02 * chance.standard_normal(CALLS))
        rtt_ns = np.rint(1000 * us * (1 + block / 100)).astype("i8")
        return StartRecord(
            usual(CALLS, rtt_ns.sum() / 1e9),
            [in_order(rtt_ns)],
            requests=Requests(names, [is_login.astype("i8")]) if names else None,
        )

    return recorded("latency", [Case(system, "tcp")] * len(login_us), record, starts=starts)


def test_the_quantiles_of_each_request_are_those_of_its_calls():
    run = mixed([2000])
    assert tuple(request_mix.counts(run, 0)) == NAMES
    assert request_mix.counts(run, 0)["login"] == pytest.approx(run.count(0) / 10, rel=0.02)
    assert quantiles.quantile(run, 0, 0.5, "rtt", "login").value == pytest.approx(2110, rel=0.03)
    assert quantiles.quantile(run, 0, 0.5, "rtt", "price").value == pytest.approx(105, rel=0.03)
    frame = result_tables.requests_of_mix(run)
    assert [*frame.index] == [*NAMES] and frame.loc["login", "share of time"].startswith(("68", "69"))
    samples = run.samples
    assert samples.loc[samples["request"] == "login", "rtt_ns"].min() > 1_500_000


def test_the_terminal_has_the_rtt_of_each_request_and_the_cpu_time_of_a_service():
    run = mixed([2000])
    title, columns, *rows, cpu = service_page.round_trips(run).splitlines()
    assert columns.split()[:3] == ["p50", "p90", "p99"] and "share of time" in columns
    assert [row.split("  ")[0] for row in rows] == ["all calls", *NAMES]
    of_login = quantiles.quantile(run, 0, 0.5, "rtt", "login").spread.words(duration)
    assert of_login in rows[2] and f"client {level(run, 0, 'client_cpu_us_per_call')}, server " in cpu and title
    assert "share" not in service_page.round_trips(mixed([2000], names=()))


def test_a_run_without_a_mix_has_no_requests():
    run = mixed([2000], names=())
    assert (
        request_mix.counts(run, 0) == {}
        and not len(result_tables.requests_of_mix(run))
        and "request" not in run.samples
    )


def test_a_slow_request_is_found_that_the_whole_mix_hides():
    run = mixed([2000, 2400])
    of_all, login = (
        next(each for each in compare_cases(run, 0, 1) if each.quantity == name)
        for name in ("median RTT", "median RTT of login")
    )
    assert of_all.words == "no practical difference"
    assert login.words == "worse" and login.low < 1.2 < login.high
    text, failed = verdict_text(compare_cases(run, 0, 1), "5%")
    assert failed and "median RTT of login" in text
    assert {each.quantity for each in of_quantities(compare_cases(run, 0, 1), ["p50"])} == {
        "median RTT",
        "median RTT of price",
        "median RTT of login",
    }


def test_two_runs_are_compared_by_the_requests_that_both_have():
    old, new = mixed([2000]), mixed([2400], names=("price", "login"))
    words = {each.quantity: each.words for each in compare(old, new)}
    assert words["median RTT of login"] == "worse" and words["median RTT of price"] == "no practical difference"
    other = mixed([2400], names=("price", "sign in"))
    assert [each.quantity for each in compare(old, other) if " of " in each.quantity] == ["median RTT of price"]


def equal_calls(names, us=100.0, cases=1, starts=12, seed=1):
    """Return a run of equal cases whose requests, if they have names, all take the same time."""

    def record(start, block, index):
        chance = np.random.default_rng([start, seed])
        rtt_ns = np.rint(1000 * us * np.exp(0.05 * chance.standard_normal(CALLS))).astype("i8")
        requests = Requests(names, [chance.integers(0, len(names), CALLS)]) if names else None
        return StartRecord(usual(CALLS, rtt_ns.sum() / 1e9), [in_order(rtt_ns)], requests=requests)

    return recorded("latency", [Case("http_aiohttp", "tcp")] * cases, record, starts=starts)


def test_of_many_equal_requests_few_are_called_different():
    names, alarms, tries = tuple(f"request {number}" for number in range(10)), 0, 20
    for seed in range(tries):
        compared = compare_cases(equal_calls(names, cases=2, seed=seed), 0, 1)
        of_requests = [each for each in compared if " of " in each.quantity]
        alarms += any(each.low > 1 or each.high < 1 for each in of_requests)
    assert alarms <= 4  # of 20, at 5 %: 1 is expected, and more than 4 come in 0.3 % of such tests


def test_many_equal_requests_leave_the_interval_of_the_whole_mix_as_it_is():
    names = tuple(f"request {number}" for number in range(20))
    whole, with_requests = (
        {each.quantity: each for each in compare(*(equal_calls(some, us, starts=6) for us in (100, 130)))}
        for some in ((), names)
    )
    assert whole["median RTT"].words == with_requests["median RTT"].words == "worse"
    assert with_requests["median RTT"].interval == whole["median RTT"].interval


def test_comparisons_of_several_services_come_in_the_order_of_their_evidence():
    pieces = [*evidence(mixed([2000, 2400]), 0, 1), *evidence(mixed([2000, 2000]), 0, 1)]
    made = judged(pieces)
    assert [each.quantity for each in made] == [in_words(piece.name)[0] for piece in pieces]
    first, second = (each for each in made if each.quantity == "median RTT of login")
    assert first.words == "worse" and second.words == "no practical difference"


def test_numbers_of_each_request_are_in_the_document_of_a_run():
    of_login = by_request(mixed([2000]), 0)["login"]
    assert of_login["p50_rtt_us"]["median"] == pytest.approx(2110, rel=0.03)
    assert of_login["sum_rtt_us"] == pytest.approx(2110 * of_login["calls"], rel=0.03)


def test_a_request_that_only_one_side_has_is_named():
    old, new = mixed([2000]), mixed([2400], names=("price", "sign in"))
    assert of_one_only(old, 0, new, 0) == [
        "the request login is not compared: only A has calls of it",
        "the request sign in is not compared: only B has calls of it",
    ]
