"""The certificate of bench's statistics: it passes, and each of its lines fails where they are broken on purpose."""

import numpy as np
import pytest
from click.testing import CliRunner

from bench import stats
from bench.apps import cli
from bench.stats import intervals, steady_state
from certify import instrument


@pytest.mark.slow
@pytest.mark.timeout(600)  # on a busy machine
def test_the_certificate_passes():
    lines = list(instrument.certificate(60))
    assert [str(line) for line in lines if not line.passed] == []
    assert len({line.tried for line in lines}) == len(lines)


def independent(is_slow):
    return intervals.Dependence(sum(map(len, is_slow)), 0.0)


BROKEN = {
    "quantiles": (stats, "quantile", lambda values, p: float(np.quantile(values, p)), instrument.quantiles),
    "dependence": (
        intervals,
        "clustering",
        independent,
        lambda: instrument.within_a_start(0.5, 0.8, 100),
    ),
    "bursts": (intervals, "clustering", independent, lambda: instrument.in_bursts(0.015, 50)),
    "two speeds": (intervals, "clustering", independent, lambda: instrument.at_two_speeds(0.5, 50)),
    "open loop": (stats, "quantile", lambda values, p: float(values.mean()), lambda: instrument.open_loop(0.7, 30)),
    "correction": (stats, "corrected", lambda values, interval: values, instrument.correction),
    "warm-up": (
        steady_state,
        "settle",
        lambda values: steady_state.Settling(steady_state.WARM_UP, 300, ()),
        lambda: list(instrument.warm_up(20)),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_instrument_gets_no_certificate(name, monkeypatch):
    module, function, broken, line = BROKEN[name]
    monkeypatch.setattr(module, function, broken)
    outcome = line()
    assert not any(one.passed for one in (outcome if isinstance(outcome, list) else [outcome]))


@pytest.mark.slow
def test_broken_verdicts_get_no_certificate(monkeypatch):
    def narrow(self, confidence=0.95):
        return intervals.Interval(float(np.median(self.ordered)), self.ordered[0], self.ordered[0] + 1e-9, confidence)

    monkeypatch.setattr(intervals.Shift, "interval", narrow)
    monkeypatch.setattr(stats, "across_starts", lambda values: stats.Spread(*(values or [0.0])[:1] * 3))
    failed = {line.tried for line in instrument.verdicts(10) if not line.passed}
    assert {name.split(" ")[0] for name in failed} >= {"range", "effect", "A"}


def test_the_command_tells_and_fails(monkeypatch):
    monkeypatch.setattr(instrument, "certificate", lambda runs: [instrument.Line("this", "1", "0", False)])
    finished = CliRunner().invoke(cli.cli, ["calibrate", "--runs", "20"], standalone_mode=False)
    assert finished.return_value == 1 and "FAIL" in finished.output and "20 runs" in finished.output
