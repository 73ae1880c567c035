"""What the notebook calibration finds where the truth is known."""

from bench.analysis import virtual_time
from bench.experiments import calibration
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case


def test_the_overhead_of_a_round_trip_is_an_error_and_no_part_of_the_truth():
    shared = {"payload_bytes": 100, "placement": "split"}
    cases = [Case("oracle", "ipc", options={"law": "constant", "mean_us": mean}, **shared) for mean in (1000, 500)]
    run = virtual_time.run(make_plan("calibration", cases, starts=6, window_s=0.1), seed=1, around_us=50.0)
    medians = [truth for truth in calibration.truths(run) if truth.p == 0.5]
    assert [truth.true for truth in medians] == [1000, 500]
