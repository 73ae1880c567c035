"""Samples of user code: files' names, and the library in which a thread spends its time."""

import os
import threading
import time
import zlib
from collections import Counter

import pytest

from bench.child.user_samples import GENERATED, Sampled, file_name
from bench.process.cpu_clocks import threads


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/usr/lib/libpython3.11.so.1.0", "libpython3.11"),
        ("/usr/bin/python3.11", "python3.11"),
        ("/site-packages/grpc/_cython/cygrpc.cpython-311-x86_64-linux-gnu.so", "cygrpc"),
        ("/site-packages/pyzmq.libs/libzmq-2f02442c.so.5.2.5", "libzmq"),
        ("[heap]", GENERATED),
    ],
)
def test_a_file_is_called_without_its_version(path: str, name: str) -> None:
    assert file_name(path) == name


def test_a_thread_is_sampled_in_the_library_whose_code_it_runs() -> None:
    stop = threading.Event()

    def compress() -> None:
        while not stop.is_set():
            zlib.compress(bytes(range(256)) * 2000)

    other = threading.Thread(target=compress)
    other.start()
    began_ns = time.perf_counter_ns()
    sampled = Sampled()
    try:
        while time.perf_counter_ns() < began_ns + 300_000_000:
            pass
        samples = list(sampled.samples(threads(os.getpid())))
        ended_ns = time.perf_counter_ns()
    finally:
        sampled.close()
        stop.set()
        other.join()
    if not samples:
        pytest.skip("this kernel samples nothing for this user")
    times_ns, _, tids, _ = zip(*samples, strict=True)
    assert began_ns < min(times_ns) and max(times_ns) < ended_ns
    assert set(tids) >= {threading.get_native_id(), other.native_id}
    names = Counter(name for _, _, tid, name in samples if tid == other.native_id)
    assert names.most_common(1)[0][0] == "libz"
