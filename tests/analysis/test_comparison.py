"""Comparisons: the right verdict for effects that are known, and what must not be compared is not."""

import dataclasses
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from handmade import handmade, reference

from bench.analysis import occasions, verdicts
from bench.analysis.comparison import (
    DIFFERENT,
    SAME,
    UNKNOWN,
    Comparison,
    compare,
    compare_cases,
    effect,
    judge,
    shown,
)
from bench.apps import budget, listing
from bench.errors import DataError, UsageError
from bench.plan.case import Case
from bench.run.frames import Run
from bench.stats import intervals

ONE = [Case("zeromq", "ipc")]


def p50(comparisons):
    (one,) = [one for one in comparisons if one.quantity == "median RTT"]
    return one


def test_a_slower_run_is_different_by_the_factor_it_is_slower():
    one = p50(compare(handmade(ONE, [100]), handmade(ONE, [130])))
    assert one.verdict == DIFFERENT and one.ratio == pytest.approx(1.3, rel=0.01)
    assert one.low <= one.ratio <= one.high and one.slower_by > 0.2
    faster = p50(compare(handmade(ONE, [130]), handmade(ONE, [100])))
    assert faster.ratio == pytest.approx(1 / 1.3, rel=0.01) and faster.slower_by == 0
    assert "B is 1.30x [" in str(one) and "worse" in str(one)


def test_fewer_calls_per_second_are_slower():
    comparisons = {one.quantity: one for one in compare(handmade(ONE, [100]), handmade(ONE, [130]))}
    rate = comparisons["calls per second"]
    assert rate.more_is_better and rate.ratio < 1 and rate.slower_by > 0.2
    assert comparisons["CPU time per call"].verdict == SAME  # made by hand: 30 us in both


def test_cases_of_one_run_are_paired_by_block():
    run = handmade([Case("zeromq", "ipc"), Case("zeromq", "tcp")], [100, 100.5])
    one = p50(compare_cases(run, 0, 1))
    assert one.paired and one.is_small and one.high - one.low < 0.001  # starts differ by 5 %, pairs do not


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.01, 1.04, DIFFERENT), (0.96, 1.04, SAME), (1.06, 1.2, DIFFERENT), (1.01, 1.2, DIFFERENT),
        (0.5, 0.9, DIFFERENT), (0.9, 1.1, UNKNOWN), (np.nan, np.nan, UNKNOWN),
    ],
)  # fmt: skip
def test_the_three_verdicts(low, high, verdict):
    assert judge(low, high, 0.05) == verdict


def test_noise_never_widens_the_margin_and_a_difference_clears_the_a_a_ratio():
    assert judge(0.65, 1.55, 0.05, floor=0.77) == UNKNOWN  # not: no practical difference
    assert judge(1.3, 1.7, 0.05, floor=0.77) == UNKNOWN and judge(1.8, 2.1, 0.05, floor=0.77) == DIFFERENT
    assert judge(0.97, 1.04, 0.05, floor=0.2) == SAME


def test_where_a_case_has_a_twin_the_a_a_ratio_is_theirs():
    cases = [Case("zeromq", "ipc"), Case("zeromq", "ipc"), Case("zeromq", "tcp")]
    one = p50(compare_cases(handmade(cases, [100, 103, 102]), 0, 2))
    assert one.floor == one.shown_floor == pytest.approx(0.03, abs=1e-3) and one.verdict == SAME
    assert one.ratio == pytest.approx(1.02, rel=1e-3)
    assert p50(compare_cases(handmade(cases, [100, 103, 106]), 0, 2)).verdict == DIFFERENT


def test_a_case_that_differs_from_itself_is_found():
    same = p50(compare_cases(handmade([Case("zeromq", "ipc")] * 2, [100, 103]), 0, 1))
    assert same.verdict == DIFFERENT and np.isnan(same.floor)


def of_blocks(a, again, b):
    """The verdict on B over A, and on A again over A, from ln(values) of each block."""
    ours, itself = intervals.paired_shift(b - a), intervals.paired_shift(again - a)
    verdict = judge(*np.exp([ours.low, ours.high]), 0.05, math.expm1(shown(itself)))
    return verdict == DIFFERENT, judge(*np.exp([itself.low, itself.high]), 0.05) == DIFFERENT


def tried(b, again=0.0, tries=1000, blocks=88):
    """The shares of tries that call B, and A again, different; starts vary by 1.8 %, some by a multiple of it."""
    chance = np.random.default_rng(5)
    starts = (0.018 * chance.standard_t(4, (3, blocks)) + [[0], [again], [b]] for _ in range(tries))
    return np.mean([of_blocks(*levels) for levels in starts], axis=0)


def test_a_small_difference_is_found_in_four_of_five_tries_and_equals_differ_in_one_of_twenty():
    share_of_b, itself = tried(0.0105)
    assert share_of_b >= 0.8 and 0.01 <= itself <= 0.06
    assert tried(0.0)[0] <= 0.05


def test_what_distinguishes_a_from_itself_is_no_difference_of_b():
    share_of_b, itself = tried(0.02, again=0.02)
    assert share_of_b <= 0.05 and itself >= 0.95


NOISE = {  # ln(value) of blocks, of a machine whose starts have two levels, and of one with rare slow blocks
    "two levels": lambda random, shape: random.normal(0, 0.005, shape) + 0.15 * (random.random(shape) < 0.3),
    "spikes": lambda random, shape: (
        random.normal(0, 0.005, shape) + (random.random(shape) < 0.1) * random.exponential(0.3, shape)
    ),
}


@pytest.mark.parametrize("noise", NOISE)
def test_more_blocks_of_equal_cases_with_a_twin_raise_no_more_alarms(noise):
    random = np.random.default_rng(7)
    tries = [of_blocks(*NOISE[noise](random, (3, 200)))[0] for _ in range(300)]
    assert np.mean(tries) <= 0.065


def test_one_of_five_systems_that_is_slower_is_found_as_if_it_were_alone():
    def differences(random):
        logs = NOISE["spikes"](random, (5, 40)) - NOISE["spikes"](random, (5, 40))
        logs[0] += math.log(1.07)
        shifts = [intervals.paired(row) for row in logs]
        return [one.low > 0 for one in intervals.together(shifts, [0.95] * 5)]

    shares = np.mean([differences(np.random.default_rng(seed)) for seed in range(200)], axis=0)
    assert shares[0] >= 0.95 and max(shares[1:]) <= 0.05


def test_too_few_starts_decide_nothing_and_say_how_many_would():
    one = p50(compare(handmade(ONE, [100], starts=2), handmade(ONE, [130], starts=2)))
    assert one.verdict == UNKNOWN and one.more_starts >= 6


def test_runs_of_different_machines_are_not_compared_and_what_compares_them_is_named():
    a, b = handmade(ONE, [100]), handmade(ONE, [100])
    b.manifest["machine"] = b.manifest["machine"] | {"machine_id": "other"}
    with pytest.raises(DataError, match=f"different machines.*bench replicate latency --runs {b.id} --against"):
        compare(a, b)


def test_runs_of_two_sources_are_compared_source_by_source_and_twins_once():
    sources = [Case("zeromq", "ipc", source=name) for name in ("main@1", "main@1", "head@2")]
    later = [replace(case, source=name) for case, name in zip(sources, ("main@1", "main@1", "head@3"), strict=True)]
    comparisons = compare(
        handmade(sources, [100, 100, 120], is_checked=False), handmade(later, [100, 100, 150], is_checked=False)
    )
    assert [one.ratio for one in comparisons if one.quantity == "median RTT"] == pytest.approx([1.0, 1.25], rel=0.01)


def test_a_tail_that_some_starts_lack_is_not_compared_and_asking_for_it_is_an_error():
    pair = [Case("zeromq", "ipc"), Case("zeromq", "tcp")]
    run = handmade(pair, [100, 130], calls=100)
    comparisons = compare_cases(run, 0, 1)
    assert "p99 RTT" not in {one.quantity for one in comparisons}
    why = verdicts.left_out(run, [0, 1])
    assert verdicts.asked_for(comparisons, "all", why) == comparisons
    for names in ("p99", "p50,p99"):
        with pytest.raises(DataError, match="p99 RTT"):
            verdicts.asked_for(comparisons, names, why)
    with pytest.raises(DataError):
        verdicts.asked_for([], "all", [])


def test_nothing_is_concluded_from_an_invalid_run():
    wrong = handmade(ONE, [100], errors=500)
    for pair in ((wrong.id, handmade(ONE, [100]).id), (handmade(ONE, [100]).id, wrong.id)):
        with pytest.raises(DataError, match="answers"):
            listing.compared(*pair, "5%", "2%")
    with pytest.raises(DataError):
        occasions.of_run(wrong)


def test_runs_without_a_case_in_common_are_refused():
    with pytest.raises(DataError):
        compare(handmade(ONE, [100]), handmade([Case("zeromq", "ipc", 10)], [100]))
    run = handmade(ONE, [100])
    with pytest.raises(UsageError, match=run.id):
        compare(run, Run(run.folder))


@pytest.mark.parametrize(("text", "value"), [("5%", 0.05), ("0.05", 0.05), ("0", 0)])
def test_shares(text, value):
    assert verdicts.share(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["five", "", "-1%", "nan", "2"])
def test_shares_that_are_none(text):
    with pytest.raises(UsageError, match="5%"):
        verdicts.share(text)


def test_the_command_is_for_people_and_for_machines(command):
    a, b = handmade(ONE, [100]), handmade(ONE, [130])
    finished = command("compare", a.id, b.id, "--fail-if-slower", "50%")
    assert finished.returncode == 0 and "zeromq ipc, median RTT: B is 1.30x" in finished.stdout
    failed = command("compare", a.id, b.id, "--fail-if-slower", "5%", "--json")
    assert failed.returncode == 3
    told = json.loads(failed.stdout)
    assert told["failed"] is True and told["at_most"] == "5%"
    assert told["a"] == a.id and {one["verdict"] for one in told["comparisons"]} >= {DIFFERENT}
    assert command("compare", a.id, a.id).returncode == 2


def test_cases_that_one_run_lacks_are_named(command):
    ways = [Case("zeromq", "ipc"), Case("grpc_sync", "ipc", options={"threads": 20}), Case("sockets", "ipc")]
    a, b = handmade(ways, [100] * 3), handmade([ways[0], replace(ways[1], options={"threads": 80})], [100, 100])
    text = command("compare", a.id, b.id).stdout
    assert text.count("not compared: grpc_sync ipc") == 2 and "not compared: sockets ipc" in text


def test_a_gate_can_be_for_some_cases(command):
    pair = [*ONE, Case("zeromq", "tcp")]
    a, b = handmade(pair, [100, 100]), handmade(pair, [100, 150])
    for named in (["tcp"], ["ipc", "tcp"]):
        assert {one.case for one in compare(a, b, named=named)} == {f"zeromq {name}" for name in named}
    assert command("compare", a.id, b.id, "--at-most", "5%").returncode == 3
    assert command("compare", a.id, b.id, "--at-most", "5%", "--case", "ipc").returncode == 0
    unknown = command("compare", a.id, b.id, "--case", "grpc")
    assert unknown.returncode == 2 and "zeromq ipc and zeromq tcp" in unknown.stderr
    assert command("compare", "docs", "docs", "--case", "ipc").returncode == 2


def made_comparison(quantity="median RTT", ratio=1.0, half=0.009, floor=0.001, case="mine ipc"):
    """Return a comparison with an interval of that half width."""
    low, high, better = ratio / (1 + half), ratio * (1 + half), quantity == "calls per second"
    verdict = judge(low, high, 0.05, floor)
    return Comparison(case, quantity, ratio, low, high, verdict, floor, floor, 0, True, better, 12, 0.013, 6)


@pytest.mark.parametrize(
    ("one", "at_most", "fails", "words"),
    [
        (made_comparison(ratio=1.05), "3%", True, "at least 4%"),
        (made_comparison(ratio=1.05), "5%", False, "but the interval includes one: mine ipc (median RTT, up to 6%)"),
        (made_comparison(ratio=1.01), "3%", False, "all intervals end below it"),
        (made_comparison(ratio=1.012), "0", True, "at least 0.2%"),
        (made_comparison(ratio=1.05, floor=0.06), "1%", False, "up to"),  # no more than the case differs from itself
        (made_comparison("calls per second", 1 / 1.05), "3%", True, "calls per second, at least 3.9% fewer"),
        (made_comparison("calls per second", 1.05), "3%", False, "all intervals end below it"),
        (made_comparison(ratio=math.nan), "3%", False, "but the interval includes one: mine ipc (median RTT)"),
    ],
)
def test_a_limit_is_exceeded_where_the_whole_interval_is_beyond_it(one, at_most, fails, words):
    text, failed = verdicts.verdict_text([one], at_most)
    assert failed == fails and words in text
    assert verdicts.verdict_text([one], at_most, not_judged=[one.case])[1] is False


def test_a_limit_finds_a_true_five_per_cent_and_accepts_equal_builds():
    def shown(ratio, seed):
        logs = math.log(ratio) + np.random.default_rng(seed).normal(0, 0.03, (2, 50))  # as a noisy machine's blocks
        interval, itself = (intervals.paired_shift(row).exp() for row in (logs[0], logs[1] - math.log(ratio)))
        floor = math.expm1(abs(math.log(itself.middle)))
        verdict = judge(interval.low, interval.high, 0.05, floor)
        one = dataclasses.replace(
            made_comparison(), ratio=interval.middle, low=interval.low, high=interval.high, verdict=verdict
        )
        return verdicts.verdict_text([one], "3%")[1]

    assert sum(shown(1.05, seed) for seed in range(100)) >= 90
    assert sum(shown(1.0, seed) for seed in range(100)) <= 5


def test_baselines_are_compared_and_not_judged_unless_nothing_else_was_measured(command):
    pair = [*ONE, Case("sockets", "ipc")]
    a, b = handmade(pair, [100, 20]), handmade(pair, [100, 40])
    finished = command("compare", a.id, b.id, "--at-most", "5%", "--quantity", "p50")
    assert finished.returncode == 0 and "sockets ipc, median RTT: B is 2.00x" in finished.stdout
    assert "calls per second:" not in finished.stdout
    alone = [handmade([Case("sockets", "ipc")], [level]) for level in (20, 40)]
    assert command("compare", alone[0].id, alone[1].id, "--at-most", "5%").returncode == 3
    assert command("compare", a.id, b.id, "--quantity", "p51").returncode == 2


def test_many_cases_at_once_take_more_to_be_different():
    cases = [Case("zeromq", "ipc", size) for size in range(1, 21)]
    alone = p50(compare(handmade(ONE, [100]), handmade(ONE, [109])))
    first, second = (handmade(cases, [100] * 19 + [last], calls=400) for last in (100, 109))
    last = [one for one in compare(first, second) if one.quantity == "median RTT"][-1]
    assert alone.verdict == DIFFERENT and last.verdict == UNKNOWN
    assert math.isnan(last.low) or last.low < alone.low


def test_the_effect_is_what_compare_says_and_its_estimate_does_not_need_six_blocks():
    run = reference("latency")
    base, other = run.first(system="sockets", transport="tcp"), run.first(system="zeromq", transport="tcp")
    interval, same = effect(run, base, other, "p50_rtt_us"), p50(compare_cases(run, base, other))
    assert (interval.middle, interval.low, interval.high) == (same.ratio, same.low, same.high)
    few = effect(handmade([*ONE, Case("sockets", "ipc")], [100, 130], starts=3), 0, 1, "p50_rtt_us")
    assert few.middle == pytest.approx(1.3, rel=0.001) and few.low != few.low and few.high != few.high
    unknown = effect(run, base, other, "send_rate_per_s")
    assert unknown.middle != unknown.middle


def test_a_comparison_says_first_which_difference_it_can_detect_and_the_starts_for_the_margin(command):
    a, b = (handmade(ONE, [100], shape=lambda start, calls: np.full(calls, 1 + 0.2 * (start % 3))) for _ in range(2))
    one = p50(compare(a, b))
    assert one.detectable > 0.1 and one.starts_for_margin > 6
    text = budget.resolution(b, compare(a, b))
    seconds = int(text.split("(about ")[1].split()[0])
    assert seconds >= 2 * one.starts_for_margin > seconds - 10  # a block takes two seconds
    assert f"-p starts {one.starts_for_margin} " in text and f"{one.detectable:.1%} in median RTT" in text
    printed = command("compare", a.id, b.id).stdout
    assert printed.index(text) < printed.index("B is")


def test_the_slow_down_that_is_found_is_the_limit_and_the_detectable_difference():
    assert verdicts.findable(made_comparison(), "2%") == pytest.approx(1.02 * 1.013 - 1)
