"""A run that stops when precise: at a look fixed beforehand, and every interval of it knows the confidence used."""

import numpy as np
import pytest
from handmade import FACTS, PAIR, in_order, usual

from bench.analysis import comparison
from bench.errors import UsageError
from bench.grammar import precision
from bench.grammar.experiment import experiment
from bench.measurement import runner
from bench.plan.plan import Plan
from bench.run import start_record, stored
from bench.run.frames import Run
from bench.run.start_record import StartRecord
from bench.stats import looks
from bench.stats.intervals import CONFIDENCE

P50, MOST = "p50_rtt_us", 18


def planned(until_width):
    return Plan("latency", tuple(PAIR), MOST, 0.01, 1, "class", until_width=until_width)


@pytest.fixture
def varying(monkeypatch):
    """Let starts be made by hand, whose times vary by so much from start to start; the starts that were made."""
    made = []

    def use(spread):
        def one(folder, plan, block, part, routers):
            ((start, index),) = part
            made.append(start)
            level_us = 100 * (1 + index) * np.exp(spread * np.random.default_rng(start).standard_normal())
            rtt_ns = np.full(200, int(1000 * level_us))
            record = StartRecord(usual(200, float(rtt_ns.sum()) / 1e9), [in_order(rtt_ns)])
            folder.append(start, start_record.tables(start, block, index, plan.cases[index], record))

        monkeypatch.setattr(runner, "_measure", one)
        monkeypatch.setattr(runner, "facts", lambda plan: FACTS)
        return made

    return use


def measured(plan, **options):
    return Run(runner.run(plan, width=precision.half_width, **options))


def test_a_run_stops_at_the_first_look_at_which_every_ratio_is_known(varying):
    varying(0.01)
    plan = planned(0.02)
    run = measured(plan)
    blocks = run.manifest["look"]["blocks"]
    assert blocks in looks.looks(MOST)[:-1] and run.plan.starts == run.ledger["block"].nunique() == blocks
    place = looks.looks(MOST).index(blocks)
    assert run.confidence == looks.confidences(MOST)[place] > CONFIDENCE
    effect = comparison.effect(run, 1, 0, P50)
    assert effect.confidence >= run.confidence and effect.half_width == run.manifest["look"]["half_width"] <= 0.02
    compared = comparison.compare_cases(run, 1, 0)[0]
    assert compared.ratio == effect.middle  # of one of four quantities: its interval is no narrower
    assert compared.low <= effect.low and compared.high >= effect.high
    assert f"Stopped after {blocks} of at most {MOST} blocks" in precision.reached(run, plan)
    assert stored.unfinished(plan) is None


def test_a_run_that_never_knows_its_ratios_ends_after_all_blocks_and_resumed_looks_at_nothing_measured_before(varying):
    made = varying(0.5)
    plan = planned(0.02)
    run = measured(plan)
    assert run.manifest["look"]["blocks"] == run.plan.starts == MOST
    assert run.confidence == looks.confidences(MOST)[-1]
    assert f"Ended after {MOST} of at most {MOST} blocks" in precision.reached(run, plan)
    run.folder.update(finished=False)
    for start in (34, 35):
        (run.folder.path / "ledger" / f"{start:05}.parquet").unlink()
    made.clear()
    assert Run(runner.run(plan, run.folder, width=lambda _: 0.0)).plan.starts == MOST and made == [34, 35]


def test_a_run_without_a_width_looks_only_at_the_end(varying):
    varying(0.001)
    run = measured(planned(0.0))
    assert "look" not in run.manifest and run.confidence == CONFIDENCE and run.ledger["block"].nunique() == MOST


def test_the_width_is_a_percentage():
    assert experiment("compare").plan(until_width="2%").until_width == 0.02
    assert experiment("compare").plan().until_width == 0
    for wrong in ("2", 0.02, "0%", "200%", "two"):
        with pytest.raises(UsageError, match="until_width"):
            experiment("compare").plan(until_width=wrong)
