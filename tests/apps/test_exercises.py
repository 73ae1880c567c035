"""Exercises: right answers, likely wrong ones with their hints, and the boxes of mystery.ipynb."""

import json

import pytest

import bench
from bench.apps.teaching import mystery
from bench.apps.teaching.course import EXERCISES
from bench.errors import UsageError
from bench.measurement.start import measure
from bench.plan import placement
from bench.plan.case import Case
from bench.systems import mystery as system

NUMBERS = [one for one in EXERCISES if one.unit]
WORDS = [one for one in EXERCISES if not one.unit]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.name)
def test_the_right_answer_is_told_why_and_a_likely_slip_gets_its_hint(exercise):
    right = bench.check(exercise.name, exercise.answer)
    assert right and exercise.why in right.data
    for slip, hint in exercise.slips.items():
        judged = bench.check(exercise.name, slip)
        assert not judged and hint in judged.data


@pytest.mark.parametrize("exercise", NUMBERS, ids=lambda one: one.name)
def test_other_numbers_are_told_their_side_and_rounding_is_forgiven(exercise):
    assert bench.check(exercise.name, 1.015 * exercise.answer)
    assert bench.check(exercise.name, str(exercise.answer))
    high, low = (bench.check(exercise.name, factor * exercise.answer).data for factor in (700, 1 / 700))
    assert high.endswith(exercise.hint) and low.endswith(exercise.hint) and high != low
    with pytest.raises(UsageError, match="a lot"):
        bench.check(exercise.name, "a lot")


@pytest.mark.parametrize("exercise", WORDS, ids=lambda one: one.name)
def test_words_that_are_no_answer_are_refused_with_those_that_are(exercise):
    assert bench.check(exercise.name, f" {exercise.answer.upper()} ")
    with pytest.raises(UsageError, match=f'perhaps.*"{exercise.answer}"'):  # in quotes: True is no word
        bench.check(exercise.name, "perhaps")


def test_slips_are_wrong_and_differ_from_each_other():
    for one in NUMBERS:
        values = [one.answer, *one.slips]
        assert all(abs(a / b - 1) > 0.04 for a in values for b in values if a is not b), one.name


def kind(way: system.Way) -> str:
    """Return what is wrong with a box, from how it does its work."""
    told = {
        "nagle": way.pieces > 1 and not way.at_once,
        "connection per call": not way.keep,
        "late calls": way.rare_ms > 0,
        "lock convoy": way.alone,
        "stale server": bool(way.slow) and way.workers > 1,
        "gzip": way.pack_from < 1 << 30,
    }
    (suspect,) = [name for name, holds in told.items() if holds]
    return suspect


def test_each_suspect_is_in_one_box_and_only_the_right_one_is_accepted():
    suspects = {}
    for box in "ABCDEF":
        suspects[box] = kind(system.way(box.lower()))
        for name in mystery.EVIDENCE:
            judged = bench.check(f"mystery {box}", name)
            assert bool(judged) == (name == suspects[box]) and mystery.EVIDENCE[name] in judged.data
    assert sorted(suspects.values()) == sorted(mystery.EVIDENCE)


def test_suspects_have_other_names_and_others_are_refused():
    assert {mystery.suspect(word) for word in mystery.SYNONYMS} == mystery.EVIDENCE.keys()
    assert mystery.suspect("  Lock  Convoy ") == "lock convoy"
    with pytest.raises(UsageError, match="'the moon'"):
        bench.check("mystery A", "the moon")
    assert not bench.check("mystery A", None)


def start(box, **factors):
    case = Case("mystery", "tcp", options={"box": box}, placement=placement.default(), **factors)
    return measure(case, 2.0, 1).ledger


def box_of(suspect):
    return next(box for box in "abcdef" if mystery.is_right(box, suspect))


@pytest.mark.parametrize("box", system.BOXES)
def test_every_box_answers_right_and_counts(box):
    for factors in ({"max_calls": 40, "callers": 4}, {"max_calls": 2, "payload_bytes": 20_000}):
        told = start(box, **factors)
        assert told["calls"] == told["server_calls"] == factors["max_calls"] and not told["errors"]
        assert sum(json.loads(told["server_worker_calls"])) == told["calls"]


def test_connections_are_opened_and_acknowledgements_delayed_where_they_should_be():
    calls = 30
    again, held = (start(box_of(what), max_calls=calls) for what in ("connection per call", "nagle"))
    if again["tcp_connections"] is None:
        pytest.skip("the counters are Linux's")
    sounds = (start("sound", max_calls=calls)["tcp_segments_out"] for _ in range(10))  # others' are counted too
    assert again["tcp_connections"] >= calls and any(again["tcp_segments_out"] >= 2 * sound for sound in sounds)
    assert held["tcp_delayed_acks"] >= calls / 2
