"""latency.ipynb and throughput.ipynb: what their claims and tables say of runs whose answers are known."""

import numpy as np
import pytest
from handmade import PAIR, handmade, in_turns, recorded, usual
from matplotlib.figure import Figure

from bench.experiments import latency, throughput
from bench.grammar import timeline
from bench.grammar.claim import CONTRADICTED, HOLDS, UNDECIDED
from bench.grammar.experiment import experiment
from bench.plan.case import Case
from bench.run.start_record import StartRecord


@pytest.mark.parametrize(("rtt_us", "verdict"), [((5, 10), CONTRADICTED), ((10, 5), HOLDS)])
def test_a_library_can_be_faster_than_raw_sockets(rtt_us, verdict):
    (claim,) = latency.claims
    assert claim.verdict(handmade(PAIR, rtt_us)) == verdict


def test_systems_are_compared_with_raw_sockets_over_the_same_transport_and_payload():
    cases = [Case("sockets", transport, size) for transport in ("ipc", "tcp") for size in (10, 1000)]
    run = handmade([*cases, Case("zeromq", "tcp", 1000), Case("zeromq", "inproc", 1000)], [10, 20, 30, 40, 80, 5])
    assert [(ratio.base, ratio.other, round(ratio.value)) for ratio in experiment("latency").ratios(run)] == [(3, 4, 2)]
    answer = experiment("latency").answer(run)
    assert "zeromq inproc" in answer and "**2.00**" in answer  # the one without raw sockets by itself


def test_the_tables_divide_what_they_show():
    run = handmade([*PAIR, Case("loopback", "inproc")], [100, 25, 1])  # 30 us of CPU time for each call
    medians, cpu = (experiment("latency").tables[name](run) for name in ("medians", "cpu"))
    assert list(medians.iloc[:, -1]) == ["1.00", "4.00"] and list(medians["p99.9 / median"]) == ["1.00", "1.00"]
    shares = cpu["CPU time / mean RTT"].astype(float)
    assert list(shares) == pytest.approx([30 / 102.5, 30 / 25.6], rel=0.01)


@pytest.mark.parametrize("parts", ["starts", "slices"])
def test_of_many_calls_some_are_drawn_and_it_says_so(parts, monkeypatch):
    monkeypatch.setattr(timeline, "MOST_DOTS", 4000)
    run = handmade(PAIR, [100, 50], calls=2000) if parts == "starts" else in_turns([20, 25])
    axes, calls = Figure().subplots(), int(run.ledger["calls"].sum())
    experiment("latency").panels["calls_in_order"](run, axes)
    dots = sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == ".")
    assert dots < calls and f"the {parts} of each case" in axes.get_xlabel()
    assert f"{dots:,} of {calls:,} calls" in axes.get_xlabel()


STREAMS = [Case("zeromq", "tcp", size, load="stream") for size in (100, 10_000)]


def streamed(each_us, count=1000):
    """Return a run of one-way streams in which a message of case c takes each_us[c] us, starts 1 % apart."""

    def record(start, block, index):
        at = np.rint(1000 * each_us[index] * (1 + block / 100) * np.arange(count)).astype("i8")
        numbers = np.arange(1, count + 1)
        marks = {
            "role": ["client"] * count + ["server"] * count,
            "t_ns": np.concatenate([at, at + 100]),
            "messages": np.concatenate([numbers, numbers]),
        }
        return StartRecord(usual(count, at[-1] / 1e9), tables={"marks": marks})

    return recorded("throughput", STREAMS, record)


@pytest.mark.parametrize(("each_us", "verdict"), [((1, 200), CONTRADICTED), ((1, 50), HOLDS), ((1, 100), UNDECIDED)])
def test_whether_larger_messages_make_more_bits_per_second(each_us, verdict):
    run = streamed(each_us)
    assert throughput.claims[0].verdict(run) == verdict
    (estimate,) = throughput.bits_by_size(run)
    assert estimate.interval.middle == pytest.approx(100 * each_us[0] / each_us[1], rel=0.01)
    assert "**976 k**" in experiment("throughput").answer(run)  # the median start takes 1.025 us for a message
