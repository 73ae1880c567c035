"""Effects of factors are recovered exactly from runs whose effects are known."""

import dataclasses
import itertools

import numpy as np
import pytest
from handmade import file_by_file, handmade

from bench.experiments import words
from bench.experiments.wamp import findings
from bench.experiments.wamp import text as wamp_text
from bench.experiments.wamp.findings import effects
from bench.plan.case import Case
from bench.run.frames import Run

ADDED = {"tcp": 3, "websocket": 200, "cbor": -20, "json": 150}
LEVELS = list(itertools.product(("ipc", "tcp"), ("rawsocket", "websocket"), ("msgpack", "cbor", "json")))


def factorial_run(**options):
    cases = [
        Case("wamp_crossbar", way, options={"framing": framing, "serializer": serializer})
        for way, framing, serializer in LEVELS
    ]
    rtt = [500 + sum(ADDED.get(level, 0) for level in levels) for levels in LEVELS]
    known = {"router_cpu_ns": 30_000_000, "controller_cpu_ns": 0, "router_cpus": "1"}
    return handmade([*cases, Case("sockets", "ipc")], [*rtt, 20], calls=200, notebook="wamp", **known, **options)


def test_every_effect_is_found():
    found = {one.level: one for one in effects(factorial_run())}
    assert found.keys() == ADDED.keys()
    for level, added in ADDED.items():
        assert found[level].middle == pytest.approx(added, rel=0.04)  # a start adds its number in %
        assert found[level].low <= found[level].middle <= found[level].high
        assert len(found[level].us) == 6
    assert found["websocket"].name == "framing: websocket instead of rawsocket"
    assert found["websocket"].ratio == pytest.approx(np.mean([1.38]), abs=0.05)


def test_the_interval_of_an_effect_decides_and_not_the_sign_in_one_block():
    made = effects(factorial_run())[0]
    one = dataclasses.replace(made, us=np.array([-1.0, *range(10, 29)]), low=-1.0, high=28.0)
    assert one.is_certain and "not distinguishable" not in wamp_text._effect(one)
    other = dataclasses.replace(one, us=one.us - np.array([-2.0] + 19 * [3.0]))
    assert findings.is_larger(one, other) and not findings.is_larger(other, one)
    for us in (np.array([-1.0, 2, 3, 4, 5, 6]), np.arange(1.0, 6)):  # six blocks with one below zero; five blocks
        unknown = dataclasses.replace(made, us=us)
        assert not unknown.is_certain and "not distinguishable from zero" in wamp_text._effect(unknown)


def test_a_block_with_a_gap_is_left_out():
    run = factorial_run(write=file_by_file)
    for start, row in run.ledger.iterrows():
        if row["block"] == 2 and row["case"] == 5:
            gone = run.folder.files("ledger")[start]
    gone.unlink()
    assert {len(one.us) for one in effects(Run(run.folder))} == {5}


def test_a_factor_of_one_level_has_no_effect():
    run = factorial_run()
    assert effects(run, "sockets") == []
    assert findings.medians(run, "wamp_crossbar").shape == (6 * 12, 1)


def test_the_conclusion_names_the_factor_that_makes_the_difference():
    text = words.conclusion(factorial_run())
    assert "Three factors changed at once" in text
    assert "The largest effect is **framing**, " in text and "framing: websocket instead of rawsocket: +" in text
    framing, json = (one for one in effects(factorial_run()) if one.level in ("websocket", "json"))
    assert findings.is_larger(framing, json) and not findings.is_larger(json, framing)
    assert wamp_text._near(framing, [json], 2 * framing.middle) == (
        "The largest median effect is **framing**, 50% of the sum of the three effects, but it is not "
        "distinguishable from that of **serializer**."
    )
    assert "the router uses 150 µs (83%), its controller none" in text
    assert "sockets ipc is 20.5 µs; the routed call takes 24.0 times (95 % CI 24.0 to 24.0) as long" in text
