"""Samples are held on their host until the window is over, and come back as they were."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as some

from bench.measurement.held_samples import pack, unpack
from bench.measurement.hosts.agent import _Samples
from bench.process.channel import Count, Reader, encode
from bench.process.spec import Done

TIMES = some.lists(some.integers(-(2**63), 2**63 - 1), max_size=50)


@given(some.lists(TIMES, min_size=1, max_size=6))
@settings(max_examples=30, deadline=None)
def test_what_is_packed_comes_back_as_it_was(times):
    blobs = [np.array(values, "i8").tobytes() for values in times]
    assert unpack(pack(blobs)) == blobs


def done(calls, blobs):
    usage = dict.fromkeys(("voluntary_switches", "involuntary_switches", "gc_collections", "client_cpu_ns"), 0)
    return Done(**usage, server_cpu_ns=None, calls=calls, blobs=blobs)


def test_an_agent_holds_samples_and_passes_on_the_rest():
    samples, blobs = _Samples(), [np.arange(11).tobytes(), np.arange(11).tobytes()]
    sent = b"".join(b"".join(encode(message)) for message in (Count(), done(0, ()), done(11, blobs)))
    passed = b"".join(samples.without(sent[at : at + 7]) for at in range(0, len(sent), 7))
    count, none, some_calls = Reader().feed(passed)
    assert isinstance(count, Count) and not none.is_held
    assert (some_calls.blobs, some_calls.is_held, some_calls.calls) == ((), True, 11)
    assert list(samples.blobs) == blobs
    assert samples.without(b"no message\n") == b"no message\n"
