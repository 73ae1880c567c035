"""Clocks of hosts that are really apart: 50 ms and 10 s, over TCP between network namespaces."""

import contextlib
import threading

import pytest
from namespaces import bed, clock_of

from bench.errors import SystemFailedError
from bench.measurement.hosts.clock_exchange import compare
from bench.stats import clock_offsets

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("offset_s", [0.05, 10, -0.05])
def test_an_offset_is_recovered_within_its_bound_in_100_of_100_tries(offset_s):
    with bed(offset_s) as made, clock_of(made.hosts[0]) as address:
        readings = [compare(address) for _ in range(100)]
    offset_ns = made.hosts[0].offset_ns
    within = [abs(one.offset_ns - offset_ns) <= one.bound_ns for one in readings]
    assert sum(within) == len(within) == 100
    assert all(one.bound_ns <= 0.1 * abs(offset_ns) for one in readings)


def test_an_offset_is_recovered_within_its_bound_over_a_slow_link_and_two_hosts_do_not_disturb_each_other():
    with bed(0.05, 10) as made, contextlib.ExitStack() as clocks:
        addresses = [clocks.enter_context(clock_of(host)) for host in made.hosts]
        made.hosts[0].limit("1mbit")
        for _ in range(10):
            for host, address in zip(made.hosts, addresses, strict=True):
                found = compare(address)
                assert abs(found.offset_ns - host.offset_ns) <= found.bound_ns


def test_the_drift_between_two_readings_is_within_its_bound():
    with bed(10) as made, clock_of(made.hosts[0]) as address:
        before, after = compare(address), compare(address)
        while after.at_ns - before.at_ns < 10**9:
            after = compare(address)
    found = clock_offsets.drift(before, after)
    assert abs(found.ppm) <= found.bound_ppm and clock_offsets.step_ns(before, after) == 0


def test_a_clock_behind_a_pulled_cable_is_one_sentence_in_time():
    with bed(0) as made, clock_of(made.hosts[0]) as address:
        compare(address)
        made.hosts[0].plug(False)
        with pytest.raises(SystemFailedError, match=address):
            compare(address, limit_s=0.5)
        made.hosts[0].plug(True)
        assert compare(address).bound_ns > 0


def test_a_cable_that_is_out_for_a_moment_costs_time_and_not_the_bound():
    with bed(10) as made, clock_of(made.hosts[0]) as address:
        (host,) = made.hosts
        compare(address)
        host.plug(False)
        again = threading.Timer(0.5, host.plug, [True])
        again.start()
        found = compare(address, limit_s=20)
        again.join()
        assert abs(found.offset_ns - host.offset_ns) <= found.bound_ns
