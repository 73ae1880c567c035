"""Predictions: locked before a run, never changed silently, scored by a defined quantity of the run."""

import math

import pytest
from handmade import handmade, reference
from matplotlib.figure import Figure

import bench
from bench.apps.teaching import predictions, questions, scores
from bench.errors import DataError, UsageError
from bench.grammar.experiment import experiment
from bench.plan import paths
from bench.plan.case import Case

WHY = "because I say so"


def test_a_prediction_is_locked_a_second_is_not_taken_and_one_for_the_next_run_stands_beside_it():
    message = bench.predict("latency q1", 20, 80, WHY).data
    assert "20 to 80 µs" in message and WHY in message
    message = bench.predict("latency q1", 30, 31, "I have seen it").data
    assert "`anew=True`" in message and "20 to 80" in message
    assert "anew" not in bench.predict("latency q1", 20, 80, WHY).data  # the same cell, run again
    assert [one.why for one in predictions.locked(questions.find("latency q1"))] == [WHY]
    bench.predict("latency q1", 40, 50, "I have seen it", anew=True)
    assert [one.low for one in predictions.locked(questions.find("latency q1"))] == [20, 40]
    assert "2 of 2" in str(scores.scores(reference("latency"), "q1")[0])


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        ((80, 20, WHY), "80.*20"),
        ((20, 80, ""), "why"),
        ((20, None, WHY), "high"),
        (("many", 80, WHY), "low.*many"),
        ((20, 80, 70 * "because it is so "), "1,189 signs: say it in at most 1,000"),
    ],
)
def test_what_cannot_be_scored_is_not_locked(words, pattern):
    with pytest.raises(UsageError, match=pattern):
        bench.predict("latency q1", *words)
    assert not predictions.locked(questions.find("latency q1"))


def test_required_predictions_are_asked_for_before_anything_is_measured():
    plan = experiment("latency").plan(profile="smoke")
    for off in ("off", False):  # the second is how YAML reads the first
        predictions.require(plan, off)
    with pytest.raises(UsageError, match="latency q1 and latency q2"):
        bench.measure("latency", {"predictions": "required"}, profile="smoke")
    bench.predict("latency q1", 20, 80, WHY)
    with pytest.raises(UsageError, match=" latency q2"):
        predictions.require(plan, "required")
    bench.predict("latency q2", 1, 2, WHY)
    predictions.require(plan, "required")
    with pytest.raises(UsageError, match=r"'always'.*off, required"):
        predictions.require(plan, "always")


def test_a_question_on_a_system_that_is_not_measured_is_neither_asked_nor_scored():
    plan = experiment("overview").plan(system=["sockets", "http_asgi", "grpc_sync"], profile="smoke")
    assert [one.name for one in questions.of_plan(plan)] == ["overview q1", "overview q3"]
    with pytest.raises(UsageError, match="overview q1 and overview q3 have"):
        predictions.require(plan, "required")
    run = handmade([Case("sockets", "ipc"), Case("http_asgi", "ipc")], [10, 200], notebook="overview")
    assert [one.asked.name for one in scores.scores(run)] == ["overview q3"]


def test_every_question_is_asked_of_the_plan_of_its_reference_run():
    assert [one.name for one in questions.ALL if not one.is_answered_by(reference(one.notebook).plan)] == []


def test_a_damaged_file_says_what_to_do():
    bench.predict("latency q1", 20, 80, WHY)
    (paths.runs() / "predictions" / "latency-q1.json").write_text("[{]")
    with pytest.raises(DataError, match=r"latency-q1\.json"):
        bench.predict("latency q1", 20, 80, WHY)


@pytest.mark.parametrize("name", [one.name for one in questions.ALL])
def test_every_question_is_answered_by_its_reference_run(name):
    asked = questions.find(name)
    value, low, high, _ = questions.measured(reference(asked.notebook), asked)
    assert 0 < low <= value <= high


def test_answers_are_quantities_of_the_run():
    cases = [Case("zeromq", "tcp"), Case("zeromq", "ipc"), Case("sockets", "ipc"), Case("loopback", "inproc")]
    run = handmade(cases, [90, 60, 30, 1], notebook="latency")
    assert questions.measured(run, questions.find("latency q1"))[0] == pytest.approx(60, rel=0.05)
    assert questions.measured(run, questions.find("latency q2"))[0] == pytest.approx(1.5, rel=0.05)


def test_what_a_run_did_not_measure_is_not_answered():
    run = handmade([Case("zeromq", "ipc"), Case("loopback", "inproc")], [60, 1], notebook="latency")
    assert questions.measured(run, questions.find("latency q2")) is None
    assert not scores.scores(run, "q2")[0].measured


def test_the_score_is_the_log_of_the_middle_over_the_measured():
    made = predictions.Prediction(10, 40, WHY, "2000-01-01T00:00:00+00:00")
    assert made.middle == pytest.approx(20)
    assert made.off_by(20) == 0 and made.off_by(40) == made.off_by(10) == pytest.approx(math.log(2))
    assert made.holds(10) and made.holds(40) and not made.holds(40.1)


def test_a_score_says_whether_the_range_held_and_is_drawn_on_a_logarithmic_axis():
    value = questions.measured(reference("latency"), questions.find("latency q1"))[0]
    bench.predict("latency q1", value / 2, value * 2, WHY)
    bench.predict("latency q2", 50, 60, WHY)
    first, second = scores.scores(reference("latency"))
    assert "0.00" in str(first) and "**not**" not in str(first)
    assert "**not**" in str(second) and WHY in str(second)
    axes = Figure().subplots()
    scores.draw_score(first, axes)
    assert axes.get_xscale() == "log" and axes.get_xlabel() == "µs"
    ends = [tuple(line.get_xdata()) for line in axes.lines]
    assert (first.made.low, first.made.high) in ends and first.measured[1:3] in ends


def test_what_is_predicted_after_the_run_is_not_scored(monkeypatch):
    bench.predict("latency q1", 20, 80, WHY)
    run = handmade([Case("zeromq", "ipc"), Case("loopback", "inproc")], [60, 1], notebook="latency")
    assert scores.scores(run, "q1")[0].made
    monkeypatch.setitem(run.manifest, "created", "2000-01-01T00:00:00+00:00")
    assert not scores.scores(run, "q1")[0].made
