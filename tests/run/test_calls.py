"""Calls of a run in memory: in order, in few bytes, and looked at without copies."""

import tracemalloc

import numpy as np
import pyarrow as pa

from bench.run import calls, schema

RTT_NS = [5, 7, 6, 9]


def part(start, rtt_ns=RTT_NS, **columns):
    count = len(rtt_ns)
    sent = np.cumsum(rtt_ns)
    usual = {"client": np.zeros(count, "i4"), "t_send_ns": sent, "lag_ns": np.zeros(count, "i8"), "rtt_ns": rtt_ns,
             "open_ns": pa.nulls(count, pa.int64()), "request": pa.nulls(count, pa.string())}  # fmt: skip
    return schema.make("samples", {"start": np.full(count, start, "i4")} | usual | columns)


def test_calls_follow_each_other_by_start_and_time_of_sending():
    swapped = part(2, client=[0, 0, 1, 1], t_send_ns=[10, 30, 20, 40], rtt_ns=[1, 3, 2, 4])
    all_calls = calls.gathered([swapped, part(1), part(7, [])])
    assert all_calls.places == {1: slice(0, 4), 2: slice(4, 8)}
    assert all_calls.of_start(1).rtt_ns.tolist() == RTT_NS and all_calls.of_start(2).rtt_ns.tolist() == [1, 2, 3, 4]
    assert all_calls.of_start(2).client.tolist() == [0, 1, 0, 1] and all_calls.of_start(7).size == 0
    assert calls.gathered([swapped]).of_start(2).rtt_ns.tolist() == [1, 2, 3, 4]
    both = calls.gathered([pa.concat_tables([part(1), swapped])])
    assert both.places == all_calls.places and both.calls.rtt_ns.tolist() == all_calls.calls.rtt_ns.tolist()


def test_a_column_with_one_value_takes_no_memory_in_one_start_only_as_much_as_it_needs():
    first, second = part(0), part(1, lag_ns=[0, 0, 3, 0], open_ns=pa.array([None, 4, None, None], pa.int64()))
    columns = calls.gathered([first, part(1)]).calls.lag_ns, calls.compact(np.ones(9))
    assert all(calls.is_constant(column) for column in columns)
    gathered_calls = calls.gathered([first, second]).calls
    assert gathered_calls.lag_ns.tolist() == [0] * 6 + [3, 0]
    assert np.flatnonzero(~np.isnan(gathered_calls.open_ns)).tolist() == [5]
    assert calls.is_constant(gathered_calls.client) and gathered_calls.client.dtype == np.int32


def test_the_request_of_a_call_goes_with_it_into_the_order_of_sending():
    swapped = part(2, t_send_ns=[10, 30, 20, 40], request=["a", "b", "c", "a"])
    all_calls = calls.gathered([part(1, request=["c", None, "c", "c"]), swapped, part(3)])
    assert all_calls.requests == ("c", "a", "b")
    named = [["c", "a", "b", None][place] for place in all_calls.calls.request]
    assert named == ["c", None, "c", "c", "a", "c", "b", "a", None, None, None, None]


def test_calls_of_a_closed_loop_take_sixteen_bytes_each_also_while_they_are_read():
    count, starts = 20_000, 10
    tables = [part(start, np.arange(1, count + 1)) for start in range(starts)]
    tracemalloc.start()
    try:
        all_calls = calls.gathered(tables)
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all_calls.calls.size == count * starts
    assert (
        16 <= now / all_calls.calls.size < 16.5 and peak / all_calls.calls.size < 26
    )  # a half more, which is not touched, beside one start
