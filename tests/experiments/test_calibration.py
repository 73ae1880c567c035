"""The instrument's certificate: it passes, and each of its lines fails where the instrument is broken on purpose."""

import itertools
import math

import numpy as np
import pytest
from click.testing import CliRunner

from bench import stats
from bench.analysis import checks
from bench.apps import cli
from bench.experiments import calibration
from bench.plan.case import Case
from bench.simulation import certificate, virtual_time
from bench.stats import intervals, steady_state
from bench.validation.profiles import make_plan

LAW = {"law": "exponential", "mean_us": 1000}


@pytest.mark.slow
def test_the_certificate_passes():
    lines = list(certificate.certificate(40))
    assert [str(line) for line in lines if not line.passed] == []
    assert len({line.tried for line in lines}) == len(lines)


BROKEN = {
    "quantiles": (stats, "quantile", lambda values, p: float(np.quantile(values, p)), certificate.quantiles),
    "dependence": (
        intervals,
        "clustering",
        lambda is_slow: 1.0,
        lambda: certificate.within_a_start(0.5, 0.8, 100),
    ),
    "bursts": (intervals, "clustering", lambda is_slow: 1.0, lambda: certificate.in_bursts(0.015, 50)),
    "open loop": (stats, "quantile", lambda values, p: float(values.mean()), lambda: certificate.open_loop(0.7, 30)),
    "correction": (stats, "corrected", lambda values, interval: values, certificate.correction),
    "warm-up": (
        steady_state,
        "settle",
        lambda values: steady_state.Settling(steady_state.WARM_UP, 300, ()),
        lambda: list(certificate.warm_up(20)),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_instrument_gets_no_certificate(name, monkeypatch):
    module, function, broken, line = BROKEN[name]
    monkeypatch.setattr(module, function, broken)
    found = line()
    assert not any(one.passed for one in (found if isinstance(found, list) else [found]))


@pytest.mark.slow
def test_broken_verdicts_get_no_certificate(monkeypatch):
    monkeypatch.setattr(
        intervals,
        "paired_shift",
        lambda d, confidence=0.95: intervals.Interval(float(np.median(d)), d.min(), d.min() + 1e-9, confidence),
    )
    monkeypatch.setattr(stats, "across_starts", lambda values: stats.Spread(*(values or [0.0])[:1] * 3))
    failed = {line.tried for line in certificate.verdicts(10) if not line.passed}
    assert {name.split(" ")[0] for name in failed} >= {"range", "effect", "A"}


def test_the_command_tells_and_fails(monkeypatch):
    monkeypatch.setattr(certificate, "certificate", lambda runs: [certificate.Line("this", "1", "0", False)])
    finished = CliRunner().invoke(cli.cli, ["calibrate", "--runs", "20"], standalone_mode=False)
    assert finished.return_value == 1 and "FAIL" in finished.output and "20 runs" in finished.output


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


def test_the_overhead_of_a_round_trip_is_an_error_and_no_part_of_the_truth():
    shared = {"payload_bytes": 100, "placement": "split"}
    cases = [Case("oracle", "ipc", options={"law": "constant", "mean_us": mean}, **shared) for mean in (1000, 500)]
    run = virtual_time.run(make_plan("calibration", cases, starts=6, window_s=0.1), seed=1, around_us=50.0)
    medians = [truth for truth in calibration.truths(run) if truth.p == 0.5]
    assert [truth.true for truth in medians] == [1000, 500]
    assert [truth.measured.value / truth.true for truth in medians] == pytest.approx([1.05, 1.1])
    (off,) = calibration.medians_off(run)
    assert off.words == "+50.0 µs" and off.subject == "closed loops"
    (claim,) = calibration.claims
    assert claim.verdict(run) == "holds"


@pytest.mark.parametrize("law", ["constant", "exponential", "bimodal"])
def test_quantiles_of_laws(law):
    options = {"law": law, "mean_us": 1000}
    times = list(itertools.islice(virtual_time.service_times(options), 40_000))
    for p in (0.5, 0.8, 0.95):
        assert stats.quantile(times, p) == pytest.approx(virtual_time.law_quantile(options, p), rel=0.03)
