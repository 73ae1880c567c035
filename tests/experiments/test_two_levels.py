"""A median between two levels of the starts is printed as both of them: in sentences, tables, figures and scores."""

import re

import numpy as np
import pytest
from handmade import PAIR, handmade, in_order, recorded, usual

from bench.grammar import tables
from bench.grammar.experiment import of_run
from bench.run.start_record import StartRecord

CPU = {"client_cpu_ns": 50_000_000}  # the same in each start


def two_speeds(start, calls):
    """Starts of every second block take half as long again: a machine of two speeds."""
    return 1.5 if start // len(PAIR) % 2 else 1.0


@pytest.fixture(scope="module")
def run():
    return handmade(PAIR, [100, 40], shape=two_speeds, **CPU)


def test_sentences_and_tables_give_both_levels(run):
    spread = run.over_starts(0, "p50_rtt_us")
    assert spread.levels == pytest.approx((104.26, 151.87), rel=1e-3)
    both, bare = "104 or 152 µs", "128 µs"
    assert "104 or 152 µs" in of_run(run).answer(run) and bare not in of_run(run).answer(run)
    for table in (tables.calls(run), tables.loads(run)):
        shown = table.to_string()
        assert both in shown and bare not in shown
    assert " or " in tables.calls(run)["calls/s [range over starts]"].iloc[0]
    assert " or " not in tables.costs(run)["client CPU/call"].iloc[0]


def slower_in(blocks, us=160):
    """Return a run in which a call of zeromq takes 100 us, in some blocks longer, and one of raw sockets 50 us."""

    def record(start, block, index):
        level_us = 50 if index else us if block in blocks else 100
        rtt_ns = np.full(2000, 1000 * level_us * (1 + block / 1000), "i8")
        return StartRecord(usual(2000, rtt_ns.sum() / 1e9), [in_order(rtt_ns)])

    return recorded("latency", PAIR, record, starts=10)


def answer_of(run):
    return of_run(run).answer(run)


def test_an_answer_of_a_case_with_two_levels_gives_both():
    answer = answer_of(slower_in((2, 5, 8)))
    assert "The starts of zeromq ipc have two levels, whose medians are 100 µs and 161 µs." in answer
    divided = "zeromq ipc divided by sockets ipc: "
    assert re.search(divided + r"2\.00 at the lower level, 3\.20 at the upper level, 2\.\d\d in all\.", answer)
    assert "levels" not in answer_of(slower_in(()))
    below = answer_of(slower_in((2, 5, 8), us=35))  # the contrary, with another ratio
    assert "0.70 at the lower level, 2.00 at the upper level" in below
