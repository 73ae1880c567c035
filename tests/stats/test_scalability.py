"""More workers: laws that are known are found again, and nothing is fitted to too little."""

import re

import numpy as np
import pytest
from handmade import handmade

from bench.errors import UsageError
from bench.experiments import scaleup
from bench.grammar.experiment import experiment
from bench.plan.case import Case
from bench.stats import scalability

WORKERS = np.array([1, 2, 4, 8, 16, 24, 32])


def test_the_law_is_found_again():
    curve = scalability.fit(WORKERS, scalability.law(WORKERS, 1000.0, 0.05, 0.002))
    assert (curve.one, curve.contention, curve.coherence) == pytest.approx((1000, 0.05, 0.002), rel=0.01)
    assert curve.rates([1, 2])[0] == pytest.approx(1000, rel=0.01)


def test_amdahls_law_has_no_coherence():
    curve = scalability.fit(WORKERS, scalability.law(WORKERS, 500.0, 0.1, 0.0), amdahl=True)
    assert (curve.one, curve.contention) == pytest.approx((500, 0.1), rel=0.01) and curve.coherence == 0


def test_a_serial_share_is_at_most_all():
    falling = scalability.law(WORKERS, 500.0, 0.5, 0.05)
    assert scalability.fit(WORKERS, falling, amdahl=True).contention <= 1


def test_too_few_points_or_cpus_are_not_fitted():
    assert re.search(r"\b3 .*\b6\b", scalability.why_not(WORKERS[:3], 48))
    assert re.search(r"\b2 CPUs.*\b6\b", scalability.why_not(WORKERS, 2))
    assert scalability.why_not(WORKERS, 6) is None


def http(workers, resource="bytes", size=16):
    options = {"resource": resource, "workers": workers, "pin": True}
    return Case("http_aiohttp", "tcp", size, options, "free", callers=2, engine="wire")


def run_of(rtt_us, **known):
    cases = [http(1), http(2), http(1, "json"), http(2, "json")]
    return handmade(cases, rtt_us, notebook="scaleup", callers=2, **known)


def test_growth_shares_and_what_is_not_fitted():
    run = run_of([100, 60, 200, 150], server_worker_calls="[300, 100]")
    (gain,) = scaleup.gain.ratios(run)
    assert gain.value == pytest.approx(100 / 60, rel=1e-3) and run.case(gain.other).options["workers"] == 2
    assert scaleup.tables["shares"](run).iloc[0, 0].startswith("1.50 [")
    (linear,), reason = scaleup.scaling(run)
    assert linear.at(run, 1) == pytest.approx(2 * run.cases.loc[0, "rate_per_s"])
    assert scalability.why_not([1, 2], 48) in reason


def test_the_plan_always_has_one_worker_and_refuses_other_systems():
    plan = experiment("scaleup").plan(workers="[2, 4]", payload_bytes=16)
    assert [case.options["workers"] for case in plan.cases if case.options.get("resource") == "bytes"] == [1, 2, 4]
    assert {case.engine for case in plan.cases if case.system != "loopback"} == {"wire"}
    with pytest.raises(UsageError, match="sockets"):
        experiment("scaleup").plan(system="sockets")
