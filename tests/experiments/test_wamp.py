"""Effects of factors are recovered exactly from runs whose effects are known."""

import dataclasses
import itertools

import numpy as np
import pytest
from handmade import file_by_file, handmade

from bench.experiments.wamp import effects
from bench.plan.case import Case
from bench.run.frames import Run

ADDED = {"tcp": 3, "websocket": 200, "cbor": -20, "json": 150}
LEVELS = list(itertools.product(("ipc", "tcp"), ("rawsocket", "websocket"), ("msgpack", "cbor", "json")))


def factorial_run(added=ADDED, **options):
    """Return a run in which each level adds its us to the 500 of a routed call; raw sockets take 20."""
    cases = [
        Case("wamp_crossbar", way, options={"framing": framing, "serializer": serializer})
        for way, framing, serializer in LEVELS
    ]
    rtt = [500 + sum(added.get(level, 0) for level in levels) for levels in LEVELS]
    known = {"router_cpu_ns": 30_000_000, "controller_cpu_ns": 0, "router_cpus": "1"}
    return handmade([*cases, Case("sockets", "ipc")], [*rtt, 20], calls=200, notebook="wamp", **known, **options)


def test_every_effect_is_found():
    level_effects = {effect.level: effect for effect in effects(factorial_run())}
    assert level_effects.keys() == ADDED.keys()
    for level, added in ADDED.items():
        assert level_effects[level].interval.middle == pytest.approx(added, rel=0.04)  # a start adds its number in %
        assert len(level_effects[level].added) == 6 and level_effects[level].is_certain
    assert (level_effects["websocket"].factor, level_effects["websocket"].level) == ("framing", "websocket")
    assert level_effects["websocket"].ratio == pytest.approx(1.38, abs=0.05)


def test_the_interval_of_an_effect_decides_and_not_the_sign_in_one_block():
    made = effects(factorial_run())[0]
    one = dataclasses.replace(made, added=np.array([-1.0, *range(10, 29)]))
    other = dataclasses.replace(one, added=one.added - np.array([-2.0] + 19 * [3.0]))
    assert one.is_certain and one.minus(other).low > 0 and other.minus(one).high < 0
    for added in (np.array([-1.0, 2, 3, 4, 5, 6]), np.arange(1.0, 6)):  # six blocks with one below zero; five blocks
        assert not dataclasses.replace(made, added=added).is_certain


def test_a_block_with_a_gap_is_left_out():
    run = factorial_run(write=file_by_file)
    for start, row in run.ledger.iterrows():
        if row["block"] == 2 and row["case"] == 5:
            gone = run.folder.files("ledger")[start]
    run.folder.update(finished=False)
    gone.unlink()
    assert {len(effect.added) for effect in effects(Run(run.folder))} == {5}
