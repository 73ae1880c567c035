"""Quantiles as a run tells them: over its starts, of these calls only, or not at all."""

import math
import re

import numpy as np
import pytest
from handmade import PAIR, handmade, moody, noisy

from bench.analysis import quantiles
from bench.plan.case import Case


def test_starts_that_carry_it_give_their_median_and_range():
    run = handmade(PAIR, [100, 50], shape=noisy)
    p99 = quantiles.quantile(run, 0, 0.99)
    each = run.starts.loc[run.starts["case"] == 0, "p99_rtt_us"]
    assert p99.over == quantiles.STARTS and (p99.low, p99.high) == (each.min(), each.max())
    assert str(p99).count("µs") == 3 and "calls" not in str(p99)


def test_calls_of_all_starts_carry_what_no_start_does_and_say_so():
    run = handmade(PAIR, [100, 50], shape=noisy, calls=300)
    assert run.starts["p99_rtt_us"].isna().all() and math.isnan(run.cases.loc[0, "p99_rtt_us"])
    p99 = quantiles.quantile(run, 0, 0.99)
    assert p99.over == quantiles.CALLS and p99.low <= p99.value <= p99.high
    assert str(p99).count("µs") == 3


def test_calls_that_are_worth_too_few_independent_ones_have_no_quantile():
    p99 = quantiles.quantile(handmade(PAIR, [100, 50], shape=moody, calls=300), 0, 0.99)
    assert math.isnan(p99.value) and p99.worth < p99.needed < p99.has and not p99.over
    assert re.fullmatch(rf"n/a .*\b368\b independent.*\b{p99.has:,}\b.*\b{p99.worth}\b.*", str(p99))


def test_few_changes_of_level_within_a_start_leave_out_the_interval_and_say_so():
    def shape(start, calls):
        return noisy(start, calls) + np.isin(np.arange(calls), 200 + 9 * np.arange(4))  # one in each of four blocks

    p99 = quantiles.quantile(handmade(PAIR, [100, 50], shape=shape, calls=360), 0, 0.99)
    assert p99.over == quantiles.CALLS and p99.worth >= p99.needed and math.isnan(p99.low)
    assert str(p99).count("µs") == 1 and str(p99).endswith("(a longer window has more)")


def test_what_is_missing_is_said():
    p99 = quantiles.quantile(handmade(PAIR, [100, 50], calls=30), 0, 0.99)
    assert math.isnan(p99.value) and re.fullmatch(rf"n/a .*\b368\b.*\b{p99.has}\b.*", str(p99))


def test_the_lateness_of_requests_that_had_to_wait_is_not_the_clocks():
    case = Case("zeromq", "ipc", load="open", offered_per_s=1000.0)
    run = handmade([case], [100], load="open", offered_per_s=1000.0, scheduled=5000)
    assert quantiles.quantile(run, 0, 0.5, "lag").value == pytest.approx(0, abs=1e-9)
    assert quantiles.quantile(run, 0, 0.5, "response").value == quantiles.quantile(run, 0, 0.5).value
