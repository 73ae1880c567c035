"""The oracle in virtual time: known times, and runs that pass through the same tables and checks as real ones."""

import itertools
import math

import pytest

from bench import stats
from bench.analysis import checks, virtual_time
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case

LAW = {"law": "exponential", "mean_us": 1000}


def test_virtual_loops_have_known_times():
    times = virtual_time.closed(itertools.repeat(900.0), 100.0, 0.01)
    assert times.shape == (2, 10) and list(times[0][:3]) == [0, 1_000_000, 2_000_000]
    assert set(times[1] - times[0]) == {1_000_000}
    (calls,) = virtual_time.opened(itertools.repeat(900.0), 100.0, [0, 0, 5_000_000], 1, 1.0)
    assert calls.tolist() == [[0, 1_000_000, 5_000_000], [1_000_000, 2_000_000, 6_000_000], [0, 0, 5_000_000]]
    one, two = virtual_time.opened(itertools.repeat(900.0), 100.0, [0, 0, 5_000_000], 2, 1.0)
    assert two.tolist() == [[0], [1_900_000], [0]] and one.shape == (3, 2)  # it waits for the server, not for a reply


def test_what_virtual_users_cannot_send_in_time_is_dropped():
    dues = [1_000_000 * number for number in range(100)]
    (calls,) = virtual_time.opened(itertools.repeat(10_000.0), 0.0, dues, 1, 0.1)
    assert calls.shape[1] == 12  # a fifth of the window late at most


def test_a_virtual_run_passes_through_the_very_checks_of_real_ones():
    plan = make_plan("compare", [Case("oracle", "ipc", 100, LAW)], starts=6, window_s=0.3)
    run = virtual_time.run(plan, seed=1)
    verdicts = {one.name: one.verdict for one in checks.check(run)}
    assert verdicts["answers"] == verdicts["rate"] == verdicts["starts"] == checks.PASS
    p50 = run.cases.loc[0, "p50_rtt_us"]
    assert p50 == pytest.approx(50 + 1000 * math.log(2), rel=0.1)


@pytest.mark.parametrize("law", ["constant", "exponential", "bimodal"])
def test_quantiles_of_laws(law):
    options = {"law": law, "mean_us": 1000}
    times = list(itertools.islice(virtual_time.service_times(options), 40_000))
    for p in (0.5, 0.8, 0.95):
        assert stats.quantile(times, p) == pytest.approx(virtual_time.law_quantile(options, p), rel=0.03)
