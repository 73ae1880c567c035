"""What a rate says of the server, and what CPU time says of a round trip: sentences from runs made by hand."""

import pytest
from handmade import handmade

from bench.analysis.resources import resources
from bench.experiments import tables, words
from bench.experiments.latency.text import cpu
from bench.experiments.overview import text as overview
from bench.plan.case import Case


def limited(client, server, placement="split"):
    """Return what limited a run whose clients and server were busy for these shares of their CPUs."""
    known = {"client_cpu_ns": int(client * 0.51e9), "server_cpu_ns": server and int(server * 0.51e9)}
    known |= {"client_cpus": "1"} if placement == "same" else {}
    run = handmade([Case("zeromq", "tcp", clients=2, placement=placement)], [100], notebook="throughput", **known)
    return words.why_not_more(run, 0), run


def test_a_rate_that_the_clients_limit_is_a_lower_limit_of_the_servers_capacity():
    text, run = limited(0.97, 0.5)
    assert [one.busy for one in resources(run, 0)] == pytest.approx([0.97, 0.5], abs=0.04)
    assert "The limit is the clients' CPU. The server's capacity is at least this rate." in text
    assert "cannot help" not in text and "is the server's capacity" not in text


def test_a_rate_is_the_servers_capacity_only_if_the_server_alone_is_saturated():
    assert "this rate is the server's capacity for this load" in limited(0.4, 0.97)[0]
    both = limited(0.96, 0.97)[0]
    assert "the clients' CPU and the server's CPU" in both and "at least this rate" in both
    assert "is the server's capacity" not in both


def test_a_shared_cpu_limits_both_together():
    text = limited(0.5, 0.46, "same")[0]
    assert "The limit is the CPU that clients and server share" in text and "at least this rate" in text


def test_without_a_saturated_cpu_the_capacity_is_at_least_the_rate():
    assert "no CPU is saturated" in limited(0.3, 0.3)[0] and "at least this rate" in limited(0.3, 0.3)[0]
    assert "neither is the limit" in limited(0.3, None)[0]


def test_the_table_of_limits_says_the_same():
    (row,) = tables.limits(limited(0.97, 0.5)[1]).to_dict("records")
    assert (row["saturated"], row["the server's capacity"]) == ("the clients' CPU", "at least this rate")
    (row,) = tables.limits(limited(0.4, 0.97)[1]).to_dict("records")
    assert (row["saturated"], row["the server's capacity"]) == ("the server's CPU", "this rate")
    (row,) = tables.limits(limited(0.3, None)[1]).to_dict("records")
    assert row["saturated"] == row["the server's capacity"] == "not known"


CASES = [Case("zeromq", "ipc"), Case("sockets", "ipc")]


def test_cpu_time_above_the_round_trip_is_explained():
    text = cpu(handmade(CASES, [100, 25]))  # 30 us of CPU time for each call
    assert "For sockets ipc the CPU time per call exceeds the RTT" in text and "after its reply has left" in text
    assert "exceeds" not in cpu(handmade(CASES, [100, 50]))


def test_overview_computes_how_round_trip_and_cpu_time_compare():
    text = overview.cpu(handmade(CASES, [100, 25], notebook="overview"))
    assert "It is shorter than the CPU time for sockets:" in text and "It is longer for zeromq:" in text
    longer = overview.cpu(handmade(CASES, [100, 50], notebook="overview"))
    assert "shorter" not in longer and "It is longer for sockets and zeromq:" in longer
    shorter = overview.cpu(handmade(CASES, [20, 25], notebook="overview"))
    assert "longer for" not in shorter and "shorter than the CPU time for zeromq and sockets" in shorter


@pytest.mark.parametrize(
    ("value", "said"), [(0.127, "0.13"), (1.94, "1.9"), (18.2, "18"), (104, "104"), (2150, "2,150")]
)
def test_a_factor_is_no_power_of_ten(value, said):
    assert words.factor(value) == said
