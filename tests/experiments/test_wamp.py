"""Effects of factors are recovered exactly from runs whose effects are known."""

import dataclasses
import itertools
import re

import numpy as np
import pytest
from handmade import file_by_file, handmade

from bench.experiments import sentences
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
    assert (found["websocket"].factor, found["websocket"].level) == ("framing", "websocket")
    assert found["websocket"].ratio == pytest.approx(np.mean([1.38]), abs=0.05)


def test_the_interval_of_an_effect_decides_and_not_the_sign_in_one_block():
    made = effects(factorial_run())[0]
    one = dataclasses.replace(made, us=np.array([-1.0, *range(10, 29)]), low=-1.0, high=28.0)
    assert one.is_certain and "distinguishable" not in wamp_text._effect(one)
    other = dataclasses.replace(one, us=one.us - np.array([-2.0] + 19 * [3.0]))
    assert findings.is_larger(one, other) and not findings.is_larger(other, one)
    for us in (np.array([-1.0, 2, 3, 4, 5, 6]), np.arange(1.0, 6)):  # six blocks with one below zero; five blocks
        unknown = dataclasses.replace(made, us=us)
        assert not unknown.is_certain and "distinguishable" in wamp_text._effect(unknown)


def test_a_block_with_a_gap_is_left_out():
    run = factorial_run(write=file_by_file)
    for start, row in run.ledger.iterrows():
        if row["block"] == 2 and row["case"] == 5:
            gone = run.folder.files("ledger")[start]
    run.folder.update(finished=False)
    gone.unlink()
    assert {len(one.us) for one in effects(Run(run.folder))} == {5}


def test_a_factor_of_one_level_has_no_effect():
    alone = Case("wamp_crossbar", "ipc", options={"framing": "rawsocket", "serializer": "msgpack"})
    assert [effects(handmade([case], [500], notebook="wamp")) for case in (alone, Case("sockets", "ipc"))] == [[], []]


def test_the_conclusion_names_the_factor_that_makes_the_difference():
    run = factorial_run()
    text = sentences.conclusion(run)
    framing, json = (one for one in effects(run) if one.level in ("websocket", "json"))
    assert "**framing**" in text and "**serializer**" not in text and f"{framing.name}: +" in text
    assert findings.is_larger(framing, json) and not findings.is_larger(json, framing)
    assert re.search(
        r"\*\*framing\*\*, 50%.*\*\*serializer\*\*",
        wamp_text._near(wamp_text._part(framing, [framing, framing]), [json]),
    )
    assert "150 µs (83%)" in text and re.search(r"24\.0 times.* sockets ipc, .*20\.5 µs", text)
