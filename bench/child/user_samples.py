"""In which file's code threads run: samples of their instruction pointers, which the kernel takes.

The kernel looks at each CPU once in a millisecond (perf_event_open(2)), and keeps what runs there in user code. An
address is named by the file that is mapped there.
"""

import bisect
import contextlib
import ctypes
import mmap
import os
import re
import struct
from collections.abc import Iterable, Iterator

SYSTEM_CALL = {"x86_64": 298, "aarch64": 241}  # perf_event_open
HERTZ = 997  # no multiple of what timers use; 5,000 make calls a third longer
SOFTWARE, CPU_CLOCK = 1, 0
ADDRESS, THREAD, TIME, CPU = 1, 2, 4, 128  # what a sample has
NOT_IN_KERNEL, NOT_IN_HYPERVISOR, BY_FREQUENCY, BY_CLOCK = 1 << 5, 1 << 6, 1 << 10, 1 << 25
MONOTONIC = 1  # the clock of time.perf_counter_ns
ATTRIBUTES = struct.Struct("IIQQQQQ44xi16x")  # type, size, event, frequency, samples of, read, flags; clock
HEADER, SAMPLE = struct.Struct("IHH"), struct.Struct("8xQIIQII")  # kind, mode, bytes; address, pid, tid, time, cpu
IS_SAMPLE = 9
PAGE = mmap.PAGESIZE
PAGES = 64  # of a CPU's buffer, a power of two: samples of 6 s
HEAD = 1024  # where the buffer's first page has the number of bytes that were written
ENDS_OF_NAME = re.compile(r"(-[0-9a-f]{8})?(\.cpython-\d+\S*|\.abi3)?\.so[.\d]*$")  # of a wheel, Python, a version
GENERATED = "generated code"  # of no file: compiled while the program runs

Sample = tuple[int, int, int, str]  # when, in ns; on which CPU; of which thread; in which file's code


class Sampled:
    """All CPUs, whose user code is sampled from now on until ``close``; where the kernel does not allow it, none.

    Each CPU has one timer, whoever runs there: a timer of each thread would be set at every switch, which makes calls
    several times as long on a virtual machine.
    """

    def __init__(self) -> None:
        self._buffers = [buffer for cpu in range(os.cpu_count() or 1) if (buffer := _opened(cpu))]

    def samples(self, tids: Iterable[int]) -> Iterator[Sample]:
        """Yield what was sampled of some threads until now, by CPU; their processes must not have ended."""
        files = {tid: _Files(tid) for tid in tids} if self._buffers else {}
        for buffer in self._buffers:
            (written,) = struct.unpack_from("Q", buffer, HEAD)
            at = PAGE
            while at < PAGE + written:
                kind, _, length = HEADER.unpack_from(buffer, at)
                if kind == IS_SAMPLE:
                    address, _, tid, t_ns, cpu, _ = SAMPLE.unpack_from(buffer, at)
                    if tid in files:
                        yield t_ns, cpu, tid, files[tid].name_at(address)
                at += length

    def close(self) -> None:
        """Sample no longer."""
        while self._buffers:
            self._buffers.pop().close()


def _opened(cpu: int) -> mmap.mmap | None:
    """Return the buffer into which the kernel writes what it samples on a CPU; None where it does not."""
    number = SYSTEM_CALL.get(os.uname().machine)
    if number is None:
        return None
    flags = NOT_IN_KERNEL | NOT_IN_HYPERVISOR | BY_FREQUENCY | BY_CLOCK
    has = ADDRESS | THREAD | TIME | CPU
    attributes = ATTRIBUTES.pack(SOFTWARE, ATTRIBUTES.size, CPU_CLOCK, HERTZ, has, 0, flags, MONOTONIC)
    descriptor = ctypes.CDLL(None).syscall(number, attributes, -1, cpu, -1, 0)
    if descriptor < 0:
        return None
    try:
        return mmap.mmap(descriptor, PAGE * (1 + PAGES))
    except OSError:
        return None
    finally:
        os.close(descriptor)  # the mapping keeps the event


class _Files:
    """The files that are mapped as code into the process of a thread, by address."""

    def __init__(self, tid: int) -> None:
        self._begins, self._ends, self._names = list[int](), list[int](), list[str]()
        with contextlib.suppress(OSError), open(f"/proc/{tid}/maps") as maps:  # noqa: PTH123 - see tracer
            for line in maps:
                addresses, rights, _, _, _, *path = line.split(maxsplit=5)
                if "x" in rights:
                    begin, _, end = addresses.partition("-")
                    self._begins.append(int(begin, 16))
                    self._ends.append(int(end, 16))
                    self._names.append(file_name(path[0].strip() if path else ""))

    def name_at(self, address: int) -> str:
        index = bisect.bisect(self._begins, address) - 1
        return self._names[index] if index >= 0 and address < self._ends[index] else GENERATED


def file_name(path: str) -> str:
    """Return how a mapped file is called: a library without its version."""
    if path.startswith("[") and path != "[heap]":
        return path.strip("[]")
    return ENDS_OF_NAME.sub("", os.path.basename(path)) if path.startswith("/") else GENERATED  # noqa: PTH119
