"""The symptoms of mystery.ipynb, on runs made by hand: they hold where counters are missing, too."""

import pytest
from handmade import handmade

from bench.errors import UsageError
from bench.experiments import mystery
from bench.grammar.experiment import experiment
from bench.plan.case import Case


def box(name, payload_bytes=100, callers=1, **more):
    return Case("mystery", "tcp", payload_bytes, {"box": name}, "free", callers=callers, **more)


def boxes(sizes=(6000,), callers=4):
    return [
        case
        for name in ("a", "sound")
        for case in (box(name), box(name, callers=callers), *(box(name, size, max_calls=60) for size in sizes))
    ]


COUNTED = {"tcp_segments_out": 40, "tcp_connections": 20, "tcp_delayed_acks": 0, "server_worker_calls": "[5, 15]"}


def test_the_symptoms_are_of_each_box_and_do_not_name_its_fault():
    run = handmade(boxes(), [700, 700, 2100, 600, 600, 600], calls=20, notebook="mystery", **COUNTED)
    faulty, sound = mystery.tables["symptoms"](run).to_dict("records")
    longer = "largest payload divided by smallest, median RTT"
    assert faulty[longer].startswith("3.00 times") and sound[longer].startswith("1.00 times")
    assert faulty["TCP connections opened per call"] == "1.00" and faulty["delayed ACKs per call"] == "0.00"
    unknown = handmade(boxes(), [700] * 6, calls=20, notebook="mystery")
    assert set(mystery.tables["symptoms"](unknown)["delayed ACKs per call"]) == {"not known"}
    text = experiment("mystery").conclusion(run) + mystery.tables["symptoms"](run).to_string()
    for word in ("nagle", "convoy", "stale", "gzip", "late calls", "connection per call"):
        assert word not in text.lower()


def test_the_plan_always_has_the_sound_box_and_refuses_others():
    plan = experiment("mystery").plan(box="b", sizes=[6000, 100])
    assert [(case.options.get("box"), case.payload_bytes, case.callers) for case in plan.cases[:-1]] == [
        (name, *factors) for name in ("b", "sound") for factors in ((100, 1), (100, 4), (6000, 1))
    ]
    with pytest.raises(UsageError, match=r"'g'.*a, b, c, d, e, f, sound"):
        experiment("mystery").plan(box="g")
